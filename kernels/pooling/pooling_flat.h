// Internal to pooling: maxima of bytes under windows that leave short planes as large as they are.
#ifndef KERNELS_POOLING_POOLING_FLAT_H_
#define KERNELS_POOLING_POOLING_FLAT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/window.h"

namespace ir::kernels {

/// Windows that slide by one over a plane, seen as one row of its elements: those of a window lie the same
/// distances apart everywhere, but for what is beside the plane.
class FlatWindows {
 public:
  /// None where the axes are not two that stay as long as they are, or the plane or its rows are long.
  explicit FlatWindows(const std::vector<WindowAxis>& axes);

  [[nodiscard]] bool are_none() const { return plane_ == 0; }
  [[nodiscard]] std::size_t plane() const { return plane_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }  ///< of a window
  [[nodiscard]] std::size_t rows_above() const { return rows_above_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }  ///< of a window
  [[nodiscard]] std::size_t columns_before() const { return columns_before_; }
  /// About the elementary operations for a plane.
  [[nodiscard]] std::size_t cost() const;
  /// For each element of the plane 255 where column `column` of its window is inside, else 0.
  [[nodiscard]] const std::uint8_t* inside(std::size_t column) const {
    return inside_.data() + column * plane_;
  }

 private:
  std::size_t plane_ = 0;
  std::size_t width_ = 0;
  std::size_t rows_ = 0;
  std::size_t rows_above_ = 0;
  std::size_t columns_ = 0;
  std::size_t columns_before_ = 0;
  std::vector<std::uint8_t> inside_;
};

/// Planes [begin, end) of all. `in` and `out` are those of plane 0; nothing behind plane `end` is touched.
using FlatPoolOfBytes = void (*)(const FlatWindows& windows, const std::uint8_t* in, std::uint8_t* out,
                                 std::size_t begin, std::size_t end);
/// nullptr where there are no windows, rows fill vectors by themselves, or the target is not worth its size.
FlatPoolOfBytes flat_pool_of_bytes(const FlatWindows& windows);

}  // namespace ir::kernels

#endif  // KERNELS_POOLING_POOLING_FLAT_H_
