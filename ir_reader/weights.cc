#include "ir_reader/weights.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "ir_reader/errors.h"
#include "ir_reader/regular_file.h"

namespace ir::reader {
namespace {

constexpr std::string_view kWhat = "weights file";
constexpr std::align_val_t kAlignment{64};

}  // namespace

std::filesystem::path weights_file_of(const std::filesystem::path& xml, const std::filesystem::path& named) {
  return named.empty() ? std::filesystem::path(xml).replace_extension(".bin") : named;
}

std::shared_ptr<const Weights> Weights::map(const std::filesystem::path& path) {
  const RegularFile file(path, kWhat);
  std::shared_ptr<Weights> weights(new Weights());
  weights->name_ = file.name();
  weights->size_ = file.size();
  if (weights->size_ > 0) {
    void* data = ::mmap(nullptr, static_cast<std::size_t>(weights->size_), PROT_READ, MAP_PRIVATE,
                        file.descriptor(), 0);
    if (data == MAP_FAILED)
      file.fail(fmt::format("the weights file cannot be mapped: {}", std::strerror(errno)));
    weights->data_ = data;
    weights->mapped_ = true;
  }
  return weights;
}

std::shared_ptr<const Weights> Weights::load(const std::filesystem::path& path, std::int64_t most) {
  const RegularFile file(path, kWhat);
  std::shared_ptr<Weights> weights(new Weights());
  weights->name_ = file.name();
  weights->size_ = file.size();
  if (weights->size_ > most) {
    throw file_error(
        "IR-limit", file.name(),
        fmt::format("the file has {} bytes to be read into memory, the limit max_copied_bytes is {}",
                    weights->size_, most));
  }
  if (weights->size_ > 0) {
    weights->data_ = ::operator new(static_cast<std::size_t>(weights->size_), kAlignment, std::nothrow);
    if (weights->data_ == nullptr)
      throw file_error("IR-memory", file.name(),
                       fmt::format("no memory for the {} bytes of the file", file.size()));
    file.read_into(weights->data_);
  }
  return weights;
}

std::shared_ptr<const Weights> Weights::in_memory(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner, std::string name) {
  std::shared_ptr<Weights> weights(new Weights());
  weights->name_ = std::move(name);
  weights->size_ = static_cast<std::int64_t>(bytes.size());
  // Never written: constants are read only.
  weights->data_ = const_cast<std::byte*>(bytes.data());
  weights->borrowed_ = true;
  weights->owner_ = std::move(owner);
  return weights;
}

Weights::~Weights() {
  if (borrowed_) return;
  if (mapped_) {
    ::munmap(data_, static_cast<std::size_t>(size_));
  } else {
    ::operator delete(data_, kAlignment);
  }
}

const std::byte* Weights::view(std::int64_t offset, std::int64_t size) const {
  if (offset < 0 || size < 0 || offset > size_ || size > size_ - offset) return nullptr;
  // An empty file has no mapping, and yet no bytes lie in it.
  static constexpr std::byte kNothing{};
  return size_ == 0 ? &kNothing : static_cast<const std::byte*>(data_) + offset;
}

std::optional<std::int64_t> Weights::lfs_size() const {
  constexpr std::int64_t kLongestPointer = 1024;
  constexpr std::string_view kSize = "\nsize ";
  const std::string_view text(reinterpret_cast<const char*>(view(0, size_)),
                              static_cast<std::size_t>(std::min(size_, kLongestPointer)));
  if (!is_lfs_pointer(text)) return std::nullopt;
  std::int64_t size = 0;
  if (const auto at = text.find(kSize); at != std::string_view::npos)
    std::from_chars(text.data() + at + kSize.size(), text.data() + text.size(), size);
  return size;
}

}  // namespace ir::reader
