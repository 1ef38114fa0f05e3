// A block of elements with a type and a shape.
#ifndef IR_RUNTIME_TENSOR_H_
#define IR_RUNTIME_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "ir_runtime/element_type.h"
#include "ir_runtime/shape.h"

namespace ir {

class ScaledCodes;

/// Dense, row-major, little-endian elements. Copies share the memory. Packed types (u1, i4, ...) are laid out
/// as in IR constants. Elements of type string are std::string objects, UTF-8 by convention: they are
/// assigned, never copied as bytes.
class Tensor {
 public:
  /// No elements, type `dynamic`.
  Tensor() = default;

  /// Where own memory comes from: the heap, which may keep it when the tensor is gone, or, for a MiB and
  /// more, pages that go back to the system at once. The latter is for what comes and goes without others of
  /// its size to follow: constants while a model is compiled, room that was outgrown.
  enum class Memory : std::uint8_t { heap, pages };

  /// Own memory, aligned to 64 bytes, not initialised; strings are empty. Throws Error `IR-tensor-size` when
  /// the size overflows or memory runs out, or when the type has no storage.
  Tensor(ElementType type, Shape shape, Memory memory = Memory::heap);

  /// Memory of the caller, which stays valid as long as the tensor or `owner` lives; for strings an array of
  /// std::string.
  Tensor(ElementType type, Shape shape, void* memory, std::shared_ptr<const void> owner = nullptr);

  /// Part of a file that is mapped read-only, for as long as `owner` lives.
  static Tensor of_file(ElementType type, Shape shape, const void* memory, std::shared_ptr<const void> owner);

  /// f32 elements that are made, and take memory, when somebody reads them: element i is that of `codes`, of
  /// which there are as many, as Convert-1 converts it, times element i / per_scale % scales.size() of
  /// `scales`. These are f32; without any, the converted codes are it. The number of codes is a multiple of
  /// per_scale * scales.size().
  static Tensor of_codes(Tensor codes, Tensor scales, std::size_t per_scale);
  static Tensor of_codes(Tensor codes) { return of_codes(std::move(codes), Tensor(), 1); }

  /// A copy of `values`. Throws Error `IR-tensor-size` when there are more or fewer than `shape` takes.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor tensor(element_type_for<T>, std::move(shape));
    if constexpr (std::is_same_v<T, std::string>) {
      tensor.copy_from(values);
    } else {
      tensor.copy_from(values.data(), values.size_bytes());
    }
    return tensor;
  }
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }

  explicit operator bool() const { return type_ != ElementType::dynamic; }
  [[nodiscard]] ElementType element_type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// 0 for strings, whose characters lie elsewhere.
  [[nodiscard]] std::size_t byte_size() const { return bytes_; }

  [[nodiscard]] void* raw() { return codes_ == nullptr ? memory_ : made_of_codes(); }
  [[nodiscard]] const void* raw() const { return codes_ == nullptr ? memory_ : made_of_codes(); }

  /// What the elements are made of when they are read; nullptr where they lie in memory.
  [[nodiscard]] const ScaledCodes* codes() const { return codes_; }
  /// The same elements, in memory.
  [[nodiscard]] Tensor in_memory() const;

  /// Whether the elements are part of a mapped file, which never changes and must not be written.
  [[nodiscard]] bool is_of_file() const { return is_of_file_; }
  /// Whether the memory, which need not be there yet, is this tensor's own, and no copy shares it.
  [[nodiscard]] bool is_sole_owner() const;
  /// Pages at both ends of a tensor, which may hold elements of others, too.
  enum class SharedPages : std::uint8_t { stay, go };
  /// Gives the memory of elements, or of codes, that come from a file back to the system, until somebody
  /// reads them again.
  void release_pages(SharedPages shared = SharedPages::stay) const;
  /// The same for some bytes, which nobody may read again where they do not come from a file: their elements
  /// are lost.
  void discard_pages(std::size_t byte_offset, std::size_t bytes) const;
  /// Brings the memory of elements that come from a file from there, so that who reads them need not wait.
  void provide_pages() const;

  /// The elements as T, which may be const. Throws Error `IR-tensor-type` when T does not hold this element
  /// type.
  template <class T>
  [[nodiscard]] std::span<T> data() {
    require_type(element_type_for<std::remove_const_t<T>>);
    return {static_cast<T*>(raw()), static_cast<std::size_t>(size_)};
  }
  template <class T>
  [[nodiscard]] std::span<const T> data() const {
    require_type(element_type_for<std::remove_const_t<T>>);
    return {static_cast<const T*>(raw()), static_cast<std::size_t>(size_)};
  }

  /// A copy with every element converted as operation Convert-1 does. Throws Error `IR-unsupported` from or
  /// to strings.
  [[nodiscard]] Tensor converted(ElementType type, Memory memory = Memory::heap) const;
  /// A copy in memory of its own.
  [[nodiscard]] Tensor clone() const;
  /// The memory from `byte_offset` on as another tensor, whose size must fit: shared if is_of_file() or if it
  /// is all of it, else a copy, which does not keep the rest. All elements that codes() are for stay codes.
  [[nodiscard]] Tensor constant_part(ElementType type, Shape shape, std::size_t byte_offset) const;
  /// The same memory under another shape. Throws Error `IR-tensor-size` when that has not as many elements.
  [[nodiscard]] Tensor reshaped(Shape shape) const;

 private:
  void require_type(ElementType type) const;
  [[nodiscard]] void* made_of_codes() const;
  void allocate_strings();
  void allocate_bytes(Memory memory);
  void copy_from(const void* bytes, std::size_t count);
  void copy_from(std::span<const std::string> strings);

  ElementType type_ = ElementType::dynamic;
  Shape shape_;
  std::int64_t size_ = 0;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
  std::shared_ptr<const void> owner_;
  const ScaledCodes* codes_ = nullptr;  ///< which `owner_` keeps
  bool is_of_file_ = false;
};

}  // namespace ir

#endif  // IR_RUNTIME_TENSOR_H_
