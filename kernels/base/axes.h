// A tensor seen as rows to be reduced: how Reduce*, MVN and NormalizeL2 walk over any set of axes.
#ifndef KERNELS_BASE_AXES_H_
#define KERNELS_BASE_AXES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/broadcast.h"

namespace ir::kernels {

/// Splits the dims of a dense row-major tensor into kept and reduced ones; adjacent dims of a kind are
/// merged.
///
/// The kept dims give `outer` groups of `inner` adjacent elements; each of these is the end of a column of
/// reduced elements: `blocks` times `length` of them, at block_offset(b) + i * step from the group's start.
/// Results are in row-major order of the kept dims: index group * inner + j. Usual axes have one block. With
/// inner == 1 the columns run along memory (step 1), otherwise across rows of `inner` elements.
class AxesPlan {
 public:
  /// `axes` are distinct indices below dims.size(), in any order. No axes: every element is a group of its
  /// own.
  AxesPlan(Dims dims, std::span<const std::size_t> axes);

  [[nodiscard]] std::size_t outer() const { return outer_; }
  [[nodiscard]] std::size_t inner() const { return inner_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] std::size_t step() const { return step_; }

  [[nodiscard]] std::size_t input_count() const { return outer_ * inner_ * blocks_ * length_; }
  [[nodiscard]] std::size_t output_count() const { return outer_ * inner_; }
  [[nodiscard]] std::size_t reduced_count() const { return blocks_ * length_; }

  /// First element of a group, `group` < outer().
  [[nodiscard]] std::size_t group_offset(std::size_t group) const { return offset(outer_dims_, group); }
  /// First reduced element of a block relative to its group, `block` < blocks().
  [[nodiscard]] std::size_t block_offset(std::size_t block) const { return offset(block_dims_, block); }

 private:
  struct Dim {
    std::size_t size;
    std::size_t stride;
  };
  static std::size_t offset(const std::vector<Dim>& dims, std::size_t index);

  std::size_t outer_ = 1;
  std::size_t inner_ = 1;
  std::size_t blocks_ = 1;
  std::size_t length_ = 1;
  std::size_t step_ = 1;
  std::vector<Dim> outer_dims_;
  std::vector<Dim> block_dims_;
};

}  // namespace ir::kernels

#endif  // KERNELS_BASE_AXES_H_
