#include "ir_reader/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "ir_reader/packed_strings.h"

namespace ir::reader {
namespace {

// Constants beyond the end of the file that are named one by one.
constexpr std::int64_t kNamed = 3;

// An end for messages; the sum of two such numbers fits into one without a sign.
std::uint64_t end_of(const op::v0::Constant& constant) {
  return static_cast<std::uint64_t>(constant.offset) + static_cast<std::uint64_t>(constant.size);
}

// Bytes that strings take in memory, at most.
std::int64_t memory_of_strings(std::int64_t count, std::int64_t packed_bytes) {
  constexpr auto kObject = static_cast<std::int64_t>(sizeof(std::string));
  std::int64_t objects = 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, kObject, &objects) ||
      __builtin_add_overflow(objects, packed_bytes, &bytes))
    return std::numeric_limits<std::int64_t>::max();
  return bytes;
}

}  // namespace

// One constant of one layer.
class ConstantReader::Binding {
 public:
  Binding(ConstantReader& reader, const ReadState& state, LayerReference layer, const pugi::xml_node& data,
          op::v0::Constant& constant)
      : reader_(reader), state_(state), layer_(std::move(layer)), data_(data), constant_(constant) {}

  bool run() {
    if (!measure()) return false;
    if (state_.options.without_weights) {
      note_excess();
      if (bytes_ > 0) ++reader_.unchecked_;
      return true;
    }
    if (reader_.weights_ == nullptr) {
      if (bytes_ > 0) return report_absence();
      constant_.value = std::make_shared<const Tensor>(constant_.element_type, constant_.shape);
      return true;
    }
    const std::byte* memory = reader_.weights_->view(constant_.offset, constant_.size);
    if (memory == nullptr) return report_range();
    note_excess();
    reader_.places_.push_back({layer_, state_.document.where(data_, "offset"), constant_.element_type,
                               constant_.shape, constant_.offset, constant_.size});
    return is_text() ? bind_strings(memory) : bind_elements(memory);
  }

 private:
  [[nodiscard]] bool is_text() const { return constant_.element_type == ElementType::string; }

  bool wrong(std::string code, const char* attribute, std::string message, std::string hint = {}) {
    state_.findings.error(std::move(code), state_.document.where(data_, attribute), layer_,
                          std::move(message), std::move(hint));
    return false;
  }

  // What type and shape take, against what the file says they take.
  bool measure() {
    const std::int64_t most = state_.options.limits.max_rank;
    if (static_cast<std::int64_t>(constant_.shape.size()) > most) {
      return wrong(
          "IR-limit", "shape",
          fmt::format("the constant has {} dims, the limit max_rank is {}", constant_.shape.size(), most));
    }
    const auto count = element_count(constant_.shape);
    const auto bytes = !count      ? std::nullopt
                       : is_text() ? packed_string_bytes(*count)
                                   : storage_bytes(constant_.element_type, *count);
    if (!bytes) {
      return wrong("IR-const-size", "shape",
                   fmt::format("a constant of type {} and shape {} has no size that can be stored",
                               name_of(constant_.element_type), to_string(constant_.shape)));
    }
    count_ = *count;
    bytes_ = *bytes;
    if (constant_.size < bytes_) {
      return wrong("IR-const-size", "size",
                   fmt::format("a constant of type {} and shape {} takes {}{} bytes, size is {}",
                               name_of(constant_.element_type), to_string(constant_.shape),
                               is_text() ? "at least " : "", bytes_, constant_.size));
    }
    return true;
  }

  void note_excess() {
    // OpenVINO writes one byte for a constant without elements.
    const std::int64_t expected = std::max<std::int64_t>(bytes_, 1);
    if (constant_.size <= expected || is_text()) return;
    state_.findings.warning(
        "IR-const-size", state_.document.where(data_, "size"), layer_,
        fmt::format("a constant of type {} and shape {} takes {} bytes, size is {}",
                    name_of(constant_.element_type), to_string(constant_.shape), bytes_, constant_.size),
        fmt::format("the last {} bytes are ignored", constant_.size - bytes_));
  }

  bool report_absence() {
    // Once: all constants of the model are in the same case.
    if (reader_.reported_absence_) return false;
    reader_.reported_absence_ = true;
    return wrong("IR-weights-missing", "offset", "the model has constants and no weights file",
                 fmt::format("there is no {}", reader_.file_));
  }

  bool report_range() {
    reader_.furthest_end_ =
        std::max(reader_.furthest_end_, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                            end_of(constant_), std::numeric_limits<std::int64_t>::max())));
    if (++reader_.beyond_ > kNamed) return false;
    return wrong("IR-const-range", "offset",
                 fmt::format("the constant takes bytes {} to {} of {}, which has {}", constant_.offset,
                             end_of(constant_), reader_.file_, reader_.weights_->size()));
  }

  // `bytes` more in memory that is no part of the file.
  bool may_copy(std::int64_t bytes) {
    const std::int64_t most = state_.options.limits.max_copied_bytes;
    if (bytes > most - state_.memory.copied_bytes) {
      return wrong(
          "IR-limit", "offset",
          fmt::format("constants that cannot be read in place take {} bytes of memory up to this one, "
                      "which takes {}; the limit max_copied_bytes is {}",
                      state_.memory.copied_bytes, bytes, most));
    }
    state_.memory.copied_bytes += bytes;
    return true;
  }

  // The copy that another constant has of the same bytes.
  bool share_copy(const CopyKey& key) {
    const auto copy = reader_.copies_.find(key);
    if (copy == reader_.copies_.end() || copy->second->size() != count_) return false;
    constant_.value = std::make_shared<const Tensor>(copy->second->reshaped(constant_.shape));
    return true;
  }

  bool bind_strings(const std::byte* memory) {
    const CopyKey key{constant_.offset, constant_.size, constant_.element_type};
    if (share_copy(key)) return true;
    if (!may_copy(memory_of_strings(count_, constant_.size))) return false;
    try {
      constant_.value = std::make_shared<const Tensor>(
          unpack_strings(constant_.shape, {memory, static_cast<std::size_t>(constant_.size)}));
    } catch (const Error& fault) {
      return wrong(fault.code(), "offset", fault.diagnostics().front().message);
    }
    reader_.copies_[key] = constant_.value;
    return true;
  }

  bool bind_elements(const std::byte* memory) {
    // Read-only memory behind a const Tensor.
    const Tensor view =
        reader_.weights_->is_mapped()
            ? Tensor::of_file(constant_.element_type, constant_.shape, memory, reader_.weights_)
            : Tensor(constant_.element_type, constant_.shape, const_cast<std::byte*>(memory),
                     reader_.weights_);
    // Files pack constants without gaps; elements that lie astride their own size cannot be read in place.
    const auto element_bytes = static_cast<std::uintptr_t>(std::max(1, bits_of(constant_.element_type) / 8));
    if (reinterpret_cast<std::uintptr_t>(memory) % element_bytes == 0) {
      constant_.value = std::make_shared<const Tensor>(view);
      return true;
    }
    const CopyKey key{constant_.offset, bytes_, constant_.element_type};
    if (share_copy(key)) return true;
    if (!may_copy(bytes_)) return false;
    constant_.value = std::make_shared<const Tensor>(view.clone());
    reader_.copies_[key] = constant_.value;
    return true;
  }

  ConstantReader& reader_;
  const ReadState& state_;
  LayerReference layer_;
  pugi::xml_node data_;
  op::v0::Constant& constant_;
  std::int64_t count_ = 0;
  std::int64_t bytes_ = 0;
};

bool ConstantReader::bind(const ReadState& state, LayerReference layer, const pugi::xml_node& data,
                          op::v0::Constant& constant) {
  const bool good = Binding(*this, state, std::move(layer), data, constant).run();
  whole_ = whole_ && good;
  return good;
}

void ConstantReader::report_missing(Findings& findings) const {
  if (beyond_ <= kNamed) return;
  findings.error(
      "IR-weights-short", {file_, 0, 0}, {},
      fmt::format("{} constants lie beyond the end of the file, {} of them named above: they reach up to "
                  "byte {}, it has {}",
                  beyond_, kNamed, furthest_end_, weights_->size()),
      "the file was cut off, or belongs to another model");
}

void ConstantReader::note_unchecked(const ReadState& state) const {
  if (unchecked_ == 0) return;
  state.findings.add({.severity = Severity::note,
                      .code = "IR-weights-unchecked",
                      .where = state.document.where(state.document.root()),
                      .message = fmt::format("{} was not read: what {} is unknown, and dims that depend on "
                                             "it are taken as declared",
                                             file_.empty() ? "the weights file" : file_,
                                             unchecked_ == 1 ? "the one constant holds"
                                                             : fmt::format("{} constants hold", unchecked_)),
                      .hint = "put the .bin beside the .xml"});
}

}  // namespace ir::reader
