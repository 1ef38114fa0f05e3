#include "ir_runtime/tensor.h"

#include <fmt/format.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "ir_runtime/diagnostics.h"
#include "kernels/base/aligned_floats.h"
#include "kernels/elementwise/convert.h"
#include "runtime/types/budget.h"
#include "runtime/types/memory_pool.h"
#include "runtime/types/processor.h"
#include "runtime/types/scalar_type.h"
#include "runtime/types/scaled_codes.h"

namespace ir {
namespace {

// Mapped by themselves where somebody asks for pages: blocks that come and go by the dozen leave holes in a
// heap.
constexpr std::size_t kManyBytes = std::size_t{1} << 17;

#if defined(__linux__)
// The advice may fail, and then nothing is lost.
void advise(const void* memory, std::size_t bytes, int advice,
            Tensor::SharedPages shared = Tensor::SharedPages::stay) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t inwards = shared == Tensor::SharedPages::stay ? page - 1 : 0;
  const std::uintptr_t begin = (address + inwards) / page * page;
  const std::uintptr_t end = (address + bytes + page - 1 - inwards) / page * page;
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}
#endif

// Elements, and the bytes that they lie in; strings have none of their own.
std::pair<std::int64_t, std::size_t> checked_size(ElementType type, const Shape& shape) {
  constexpr std::int64_t kMostStrings =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(std::string));
  const auto count = element_count(shape);
  if (type == ElementType::string && count && *count <= kMostStrings) return {*count, 0};
  const auto bytes = count ? storage_bytes(type, *count) : std::nullopt;
  if (!bytes) {
    throw Error("IR-tensor-size",
                fmt::format("a tensor of type {} and shape {} has no size that can be stored", name_of(type),
                            to_string(shape)));
  }
  return {*count, static_cast<std::size_t>(*bytes)};
}

[[noreturn]] void throw_out_of_memory(std::size_t bytes, ElementType type, const Shape& shape) {
  throw Error("IR-tensor-size", fmt::format("out of memory: {} bytes for a tensor of type {} and shape {}",
                                            bytes, name_of(type), to_string(shape)));
}

}  // namespace

Tensor::Tensor(ElementType type, Shape shape, Memory memory) : type_(type), shape_(std::move(shape)) {
  std::tie(size_, bytes_) = checked_size(type_, shape_);
  if (type_ == ElementType::string) {
    Budget::require_tensor(size_ * static_cast<std::int64_t>(sizeof(std::string)), type_, shape_);
    allocate_strings();
    return;
  }
  Budget::require_tensor(static_cast<std::int64_t>(bytes_), type_, shape_);
  allocate_bytes(memory);
}

void Tensor::allocate_bytes(Memory memory) {
#if defined(__linux__)
  if (memory == Memory::pages && bytes_ >= kManyBytes) {
    // More than is needed, to begin where a huge page can. What nobody touches takes no memory.
    const std::size_t alignment = bytes_ < kernels::kLargePage ? 1 : kernels::kLargePage;
    const std::size_t mapped = bytes_ + alignment - 1;
    void* const pages = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw_out_of_memory(bytes_, type_, shape_);
    const std::size_t before = (alignment - reinterpret_cast<std::uintptr_t>(pages) % alignment) % alignment;
    memory_ = static_cast<std::byte*>(pages) + before;
    if (alignment > 1) advise(memory_, bytes_, MADV_HUGEPAGE);
    owner_ = std::shared_ptr<const void>(pages, [mapped](void* begin) { ::munmap(begin, mapped); });
    return;
  }
#else
  (void)memory;
#endif
  auto block = MemoryPool::allocate(bytes_);
  if (block == nullptr) throw_out_of_memory(bytes_, type_, shape_);
  memory_ = block.get();
  owner_ = std::move(block);
}

Tensor::Tensor(ElementType type, Shape shape, void* memory, std::shared_ptr<const void> owner)
    : type_(type), shape_(std::move(shape)), memory_(memory), owner_(std::move(owner)) {
  std::tie(size_, bytes_) = checked_size(type_, shape_);
}

Tensor Tensor::of_file(ElementType type, Shape shape, const void* memory, std::shared_ptr<const void> owner) {
  // Read-only memory: what comes of it is a const Tensor.
  Tensor tensor(type, std::move(shape), const_cast<void*>(memory), std::move(owner));
  tensor.is_of_file_ = true;
  return tensor;
}

Tensor Tensor::of_codes(Tensor codes, Tensor scales, std::size_t per_scale) {
  Tensor tensor(ElementType::f32, codes.shape(), nullptr);
  Budget::require_tensor(static_cast<std::int64_t>(tensor.bytes_), tensor.type_, tensor.shape_);
  auto made_of = std::make_shared<const ScaledCodes>(std::move(codes), std::move(scales), per_scale);
  tensor.codes_ = made_of.get();
  tensor.owner_ = std::move(made_of);
  return tensor;
}

void* Tensor::made_of_codes() const { return codes_->floats().memory_; }

Tensor Tensor::in_memory() const { return codes_ == nullptr ? *this : codes_->floats().reshaped(shape_); }

bool Tensor::is_sole_owner() const {
  if (is_of_file_ || owner_.use_count() != 1) return false;
  return codes_ == nullptr || codes_->has_floats_alone();
}

void Tensor::release_pages(SharedPages shared) const {
  if (codes_ != nullptr) codes_->codes().release_pages(shared);
#if defined(__linux__)
  if (is_of_file_) advise(memory_, bytes_, MADV_DONTNEED, shared);
#endif
}

void Tensor::discard_pages(std::size_t byte_offset, std::size_t bytes) const {
#if defined(__linux__)
  advise(static_cast<const std::byte*>(raw()) + byte_offset, bytes, MADV_DONTNEED);
#else
  (void)byte_offset;
  (void)bytes;
#endif
}

void Tensor::provide_pages() const {
#if defined(__linux__) && defined(MADV_POPULATE_READ)
  if (is_of_file_) advise(memory_, bytes_, MADV_POPULATE_READ);
#endif
}

void Tensor::allocate_strings() {
  const auto count = static_cast<std::size_t>(size_);
  try {
    // One more, so that every tensor has an address of its own.
    const std::shared_ptr<std::string[]> strings(new std::string[count + 1]);
    memory_ = strings.get();
    owner_ = strings;
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(count * sizeof(std::string), type_, shape_);
  }
}

Tensor Tensor::converted(ElementType type, Memory memory) const {
  require_processor();
  Tensor result(type, shape_, memory);
  kernels::convert(scalar_type_of(type_), raw(), scalar_type_of(type), result.memory_,
                   static_cast<std::size_t>(size_));
  return result;
}

Tensor Tensor::clone() const {
  Tensor result(type_, shape_);
  if (type_ == ElementType::string) {
    result.copy_from(data<std::string>());
  } else {
    result.copy_from(raw(), bytes_);
  }
  return result;
}

Tensor Tensor::constant_part(ElementType type, Shape shape, std::size_t byte_offset) const {
  if (codes_ != nullptr) {
    const bool is_all = type == type_ && element_count(shape) == size_;
    return is_all ? reshaped(std::move(shape))
                  : in_memory().constant_part(type, std::move(shape), byte_offset);
  }
  auto* const memory = static_cast<std::byte*>(memory_) + byte_offset;
  if (is_of_file_) return of_file(type, std::move(shape), memory, owner_);
  Tensor part(type, std::move(shape), memory, owner_);
  return part.bytes_ == bytes_ ? part : part.clone();
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor result = *this;
  const auto count = element_count(shape);
  if (count != size_) {
    const std::string why = count ? fmt::format("{} elements are not {}", size_, *count)
                                  : fmt::format("{} is no shape of a tensor", to_string(shape));
    throw Error("IR-tensor-size", fmt::format("a tensor of shape {} cannot be seen as {}: {}",
                                              to_string(shape_), to_string(shape), why));
  }
  result.shape_ = std::move(shape);
  return result;
}

void Tensor::require_type(ElementType type) const {
  if (type != type_) {
    throw Error("IR-tensor-type", fmt::format("the tensor holds {}, not {}", name_of(type_), name_of(type)));
  }
}

void Tensor::copy_from(const void* bytes, std::size_t count) {
  if (count != bytes_) {
    throw Error("IR-tensor-size",
                fmt::format("{} bytes given for a tensor of type {} and shape {}, which has {}", count,
                            name_of(type_), to_string(shape_), bytes_));
  }
  if (count > 0) std::memcpy(memory_, bytes, count);
}

void Tensor::copy_from(std::span<const std::string> strings) {
  if (strings.size() != static_cast<std::size_t>(size_)) {
    throw Error("IR-tensor-size", fmt::format("{} strings given for a tensor of shape {}, which has {}",
                                              strings.size(), to_string(shape_), size_));
  }
  std::ranges::copy(strings, static_cast<std::string*>(memory_));
}

}  // namespace ir
