// What products of compressed weights share, whatever their codes. Included inside a foreach_target file,
// after gemm-inl.h.
#if defined(KERNELS_COMPRESSED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_COMPRESSED_ROWS_INL_H_
#undef KERNELS_COMPRESSED_ROWS_INL_H_
#else
#define KERNELS_COMPRESSED_ROWS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/compressed_weights.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

/// Scales and offsets of a row. `bias` is what codes are decoded with besides.
class GroupNumbers {
 public:
  GroupNumbers(const CompressedForm& form, const CompressedRows& weights, std::size_t row, float bias)
      : scale_(weights.scale == nullptr ? nullptr : weights.scale + row * form.groups()),
        offset_(weights.offset == nullptr || weights.one_offset ? nullptr
                                                                : weights.offset + row * form.groups()),
        one_(weights.one_offset && weights.offset != nullptr ? *weights.offset : 0),
        bias_(bias) {}

  /// What the code of a weight of 0 is decoded to.
  [[nodiscard]] float offset(std::size_t group) const {
    return (offset_ == nullptr ? one_ : offset_[group]) + bias_;
  }
  [[nodiscard]] float scale(std::size_t group) const { return scale_ == nullptr ? 1.0F : scale_[group]; }

 private:
  const float* scale_;
  const float* offset_;
  float one_;
  float bias_;
};

/// Neighbouring groups of all rows of weights, or part of one group.
struct TermBlock {
  std::size_t group = 0;
  std::size_t groups = 0;
  std::size_t term = 0;   ///< the first one of each group
  std::size_t terms = 0;  ///< of each group
};

/// Rows of weights.
struct WeightRows {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Rows that are read as a whole lie one behind the other, as a stream. Else what is fetched is the same part
// of the row that comes so many rows later.
inline constexpr std::size_t kRowsOfCodesAhead = 3;
// Rows of terms that meet a row of weights at once.
inline constexpr std::size_t kAtOnce = 4;
// Rows of weights that meet a block of terms.
inline constexpr std::size_t kColumns = 64;

}  // namespace
}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_COMPRESSED_ROWS_INL_H_
