// The constant right operand of a product in Strassen's form. Internal to kernels/.
#ifndef KERNELS_STRASSEN_STRASSEN_COLUMNS_H_
#define KERNELS_STRASSEN_STRASSEN_COLUMNS_H_

#include <cstddef>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/strassen/strassen.h"
#include "kernels/strassen/strassen_shape.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

/// Columns in packed panels: by block of terms, by slice of them, by group of columns, by slice of those;
/// then the panels of columns without a group, with all terms. Of groups whose columns are alike, t1 has the
/// place of b12.
class StrassenColumns {
 public:
  /// `from`: B as GemmParams says.
  StrassenColumns(const GemmKernels& kernels, const StrassenKernels& strassen, const GemmParams& params,
                  const StrassenShape& shape, const float* from);

  [[nodiscard]] const float* group(std::size_t part, std::size_t slice, std::size_t panel) const {
    return packed_.get() + offset(part, slice, panel);
  }
  [[nodiscard]] bool alike(std::size_t part, std::size_t panel) const {
    return packed_.get()[flags() + part * shape_.columns.count() + panel] != 0;
  }
  /// A panel of columns without a group, from a term on.
  [[nodiscard]] const float* single(std::size_t first_vector, std::size_t vectors, std::size_t term) const {
    return packed_.get() + (shape_.grouped_columns + first_vector * shape_.lanes) * k_ +
           term * vectors * shape_.lanes;
  }

 private:
  [[nodiscard]] std::size_t offset(std::size_t part, std::size_t slice, std::size_t panel) const {
    const std::size_t depth = shape_.depths.size(part);
    return shape_.term(part, slice) * padded_columns() + shape_.column(panel) * depth;
  }
  [[nodiscard]] std::size_t padded_columns() const { return shape_.column(shape_.columns.count()); }
  [[nodiscard]] std::size_t flags() const {
    return (padded_columns() + divide_up(shape_.single_columns, shape_.lanes) * shape_.lanes) * k_;
  }

  void pack(const float* from, float* to) const;
  /// Some slices of a part's terms. With the last one, the others have been packed.
  void pack_groups(const float* from, std::size_t part, const PartRange& slices, const PartRange& panels,
                   float* to) const;
  void pack_columns(const float* from, std::size_t term, std::size_t depth, std::size_t first,
                    std::size_t count, float* to) const;
  [[nodiscard]] bool are_alike(std::size_t part, std::size_t panel, const float* packed) const;
  void subtract(std::size_t part, std::size_t panel, float* packed) const;

  const GemmKernels& kernels_;
  const StrassenKernels& strassen_;
  const StrassenShape& shape_;
  std::size_t k_;
  std::size_t n_;
  bool transposed_;
  PackedFloats packed_;
};

}  // namespace ir::kernels

#endif  // KERNELS_STRASSEN_STRASSEN_COLUMNS_H_
