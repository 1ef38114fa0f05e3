#include "ir_reader/c_api_handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace ir::c_api {
namespace {

/// What the last failed call of a thread found. Trivially destructible: destructors of other thread_locals,
/// of static objects and handlers of atexit may still call, and objects with destructors are gone then.
struct LastError {
  std::array<char, 1024> beginning;
  std::array<char, 64> code;
  /// All of a text that does not fit in `beginning`; null when it does.
  const char* whole;
  /// The thread's `long_text` is gone.
  bool thread_ended;
};
static_assert(std::is_trivially_destructible_v<LastError>);

constinit thread_local LastError last_error{};

/// Gives the memory of a long text back.
struct LongText {
  std::string text;

  LongText() = default;
  LongText(const LongText&) = delete;
  LongText& operator=(const LongText&) = delete;
  LongText(LongText&&) = delete;
  LongText& operator=(LongText&&) = delete;
  ~LongText() {
    last_error.whole = nullptr;
    last_error.thread_ended = true;
  }
};

/// Made by the first text of the thread that is long.
std::string& long_text() {
  thread_local LongText text;
  return text.text;
}

/// What does not fit is cut off where a character of UTF-8 ends, and dots stand for it.
void copy_beginning(std::string_view text, std::span<char> to) {
  constexpr std::string_view kMore = "...";
  const std::size_t room = to.size() - 1;
  std::size_t size = text.size();
  if (size > room) {
    size = room - kMore.size();
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  }
  auto end = std::copy_n(text.begin(), size, to.begin());
  if (size < text.size()) end = std::ranges::copy(kMore, end).out;
  *end = '\0';
}

}  // namespace

ir_status fail(ir_status status, std::string_view code, std::string_view text) noexcept {
  last_error.whole = nullptr;
  copy_beginning(code, last_error.code);
  copy_beginning(text, last_error.beginning);
  if (text.size() < last_error.beginning.size() || last_error.thread_ended) return status;
  try {
    long_text() = text;
    last_error.whole = long_text().c_str();
  } catch (...) {
    // There is no memory for more than the beginning.
    return status;
  }
  return status;
}

ir_status fail_argument(std::string_view text) noexcept {
  return fail(IR_STATUS_INVALID_ARGUMENT, "IR-argument", text);
}

ir_status status_of(std::string_view code) {
  if (code == "IR-input-missing" || code == "IR-input-type" || code == "IR-input-shape" ||
      code == "IR-output-missing" || code == "IR-port-unknown" || code == "IR-port-ambiguous" ||
      code == "IR-request-busy")
    return IR_STATUS_INVALID_ARGUMENT;
  if (code == "IR-file" || code == "IR-weights-missing" || code == "IR-lfs-pointer" || code == "IR-tuning")
    return IR_STATUS_FILE;
  if (code == "IR-unsupported" || code == "IR-operation-unknown") return IR_STATUS_UNSUPPORTED;
  if (code == "IR-limit" || code == "IR-tensor-size" || code == "IR-memory") return IR_STATUS_LIMIT;
  return IR_STATUS_INVALID_MODEL;
}

ir_status check_index(std::string_view what, std::size_t index, std::size_t count) {
  if (index < count) return IR_STATUS_OK;
  return fail_argument(fmt::format("{} {} is asked for, there are {}", what, index, count));
}

ir_status describe(const char* name, ElementType type, const PartialShape& shape, ir_port* port) {
  *port = {};
  if (shape.rank() > IR_MAX_RANK) {
    return fail(IR_STATUS_UNSUPPORTED, "IR-unsupported",
                fmt::format("'{}' has rank {}, which is more than {}", name, shape.rank(),
                            static_cast<int>(IR_MAX_RANK)));
  }
  port->name = name;
  port->element_type = name_of(type).data();
  port->rank = shape.has_rank() ? static_cast<std::int32_t>(shape.rank()) : -1;
  std::ranges::transform(shape, port->dims,
                         [](const Dimension& dim) { return dim.is_static() ? dim.value() : -1; });
  return IR_STATUS_OK;
}

ir_status view(Tensor& tensor, ir_tensor* to) {
  *to = {};
  if (tensor.element_type() == ElementType::string)
    return fail(IR_STATUS_UNSUPPORTED, "IR-unsupported", "tensors of strings have no C view");
  const Shape& shape = tensor.shape();
  if (shape.size() > IR_MAX_RANK) {
    return fail(IR_STATUS_UNSUPPORTED, "IR-unsupported",
                fmt::format("the tensor has rank {}, which is more than {}", shape.size(),
                            static_cast<int>(IR_MAX_RANK)));
  }
  to->element_type = name_of(tensor.element_type()).data();
  to->rank = static_cast<std::int32_t>(shape.size());
  std::ranges::copy(shape, to->dims);
  to->data = tensor.raw();
  to->byte_size = tensor.byte_size();
  return IR_STATUS_OK;
}

ir_status wrap(const ir_tensor& from, Tensor& to) {
  const auto type = from.element_type == nullptr ? std::nullopt : element_type_of(from.element_type);
  if (!type || bits_of(*type) == 0) {
    return fail_argument(fmt::format("'{}' is no element type that a tensor can have here",
                                     from.element_type == nullptr ? "" : from.element_type));
  }
  if (from.rank < 0 || from.rank > IR_MAX_RANK) return fail_argument(fmt::format("rank {}", from.rank));
  const Shape shape(from.dims, from.dims + from.rank);
  const auto count = element_count(shape);
  const auto bytes = count ? storage_bytes(*type, *count) : std::nullopt;
  if (!bytes) return fail_argument(fmt::format("{} is no shape of a tensor", to_string(shape)));
  if (static_cast<std::size_t>(*bytes) != from.byte_size) {
    return fail_argument(fmt::format("a tensor of {} {} takes {} bytes, {} are given", name_of(*type),
                                     to_string(shape), *bytes, from.byte_size));
  }
  if (from.data == nullptr && *bytes != 0) return fail_argument("the tensor has no data");
  const auto alignment = static_cast<std::uintptr_t>(std::max(bits_of(*type) / 8, 1));
  if (reinterpret_cast<std::uintptr_t>(from.data) % alignment != 0)
    return fail_argument(fmt::format("the data of a tensor of {} is not aligned to {} bytes", name_of(*type),
                                     static_cast<int>(alignment)));
  to = Tensor(*type, shape, from.data);
  return IR_STATUS_OK;
}

}  // namespace ir::c_api

const char* ir_last_error(void) {
  const ir::c_api::LastError& error = ir::c_api::last_error;
  return error.whole == nullptr ? error.beginning.data() : error.whole;
}

const char* ir_last_error_code(void) { return ir::c_api::last_error.code.data(); }
