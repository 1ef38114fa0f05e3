// Integer tensors that say where to read or write, of any integer element type, and how a bad one is
// reported.
#ifndef KERNELS_BASE_INDICES_H_
#define KERNELS_BASE_INDICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace ir::kernels {

/// Read-only view of indices of any integer type. The switch is the same on every call, so it predicts well,
/// and spares eight copies of every kernel.
class IndexView {
 public:
  IndexView(const std::int8_t* data) : data_(data), type_(Type::i8) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::uint8_t* data)
      : data_(data), type_(Type::u8) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::int16_t* data)
      : data_(data), type_(Type::i16) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::uint16_t* data)
      : data_(data), type_(Type::u16) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::int32_t* data)
      : data_(data), type_(Type::i32) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::uint32_t* data)
      : data_(data), type_(Type::u32) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::int64_t* data)
      : data_(data), type_(Type::i64) {}  // NOLINT(google-explicit-constructor)
  IndexView(const std::uint64_t* data)
      : data_(data), type_(Type::u64) {}  // NOLINT(google-explicit-constructor)

  /// Calls f(elements) once, whose elements[i] are this view's: a plain pointer for the usual types, so that
  /// loops over many of them do not look at the type for each.
  template <class F>
  void with_elements(const F& f) const {
    if (type_ == Type::i64) {
      f(static_cast<const std::int64_t*>(data_));
    } else if (type_ == Type::i32) {
      f(static_cast<const std::int32_t*>(data_));
    } else {
      f(*this);
    }
  }

  std::int64_t operator[](std::size_t i) const {
    switch (type_) {
      case Type::i8:
        return static_cast<const std::int8_t*>(data_)[i];
      case Type::u8:
        return static_cast<const std::uint8_t*>(data_)[i];
      case Type::i16:
        return static_cast<const std::int16_t*>(data_)[i];
      case Type::u16:
        return static_cast<const std::uint16_t*>(data_)[i];
      case Type::i32:
        return static_cast<const std::int32_t*>(data_)[i];
      case Type::u32:
        return static_cast<const std::uint32_t*>(data_)[i];
      case Type::i64:
        return static_cast<const std::int64_t*>(data_)[i];
      case Type::u64: {  // what does not fit must not come out negative, where it would count from the end
        const std::uint64_t value = static_cast<const std::uint64_t*>(data_)[i];
        return static_cast<std::int64_t>(
            std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
      }
    }
    return 0;
  }

 private:
  enum class Type : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64 };
  const void* data_;
  Type type_;
};

/// The first index (in row-major order) that addresses nothing.
struct BadIndex {
  std::size_t position = 0;  ///< in the flattened index tensor
  std::int64_t value = 0;
};

/// Empty: all indices were good. What a kernel that returns a BadIndex has written is unspecified.
using IndexResult = std::optional<BadIndex>;

/// index in [-size, size) -> [0, size); anything else -> size.
inline std::size_t normalize_index(std::int64_t index, std::size_t size) {
  const auto wrapped = static_cast<std::uint64_t>(index) + (index < 0 ? size : 0);
  return std::min<std::uint64_t>(wrapped, size);  // what is still negative is large without a sign
}

/// Whether all of indices [begin, begin + count) are in [-size, size).
bool are_indices(IndexView indices, std::size_t begin, std::size_t count, std::size_t size);
/// The same for tuples, of which the first begins at `begin`: each has an index for each of the dims.
bool are_indices(IndexView indices, std::size_t begin, std::size_t count, std::span<const std::size_t> dims);

/// The first of indices[0, count) that is outside of [-size, size). In parallel.
IndexResult find_bad_index(IndexView indices, std::size_t count, std::size_t size);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_INDICES_H_
