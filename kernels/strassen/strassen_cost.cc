// What products in Strassen's form are expected to take, and how rows are cut for that.
#include "kernels/strassen/strassen_cost.h"

#include <algorithm>

#include "kernels/base/processor.h"
#include "kernels/strassen/gemm_strassen.h"

namespace ir::kernels {
namespace {

// What sums take besides the products: cycles per float that is added up, once for all sums of one level.
// With two levels, there are 11 times as many; and of the sums of columns, most of which come with products,
// 18 times as many.
constexpr double kRowSums = 1;
constexpr double kColumnSums = 0.25;
/// How many times as long Intel's cores take for them, and those with small second-level caches (Zen 3).
double slowness_of_sums(const GemmKernels& kernels) {
  constexpr std::size_t kSmallCache = std::size_t{1} << 19;
  if (!is_of_intel()) return second_level_cache() > kSmallCache ? 1 : 2;
  return kernels.lanes < GemmKernels::kLanesLimit ? 4 : 3;
}

/// Of rows whose terms lie apart: cycles per float that is packed.
constexpr double kPackingApart = 1;

/// Blocks of row panels, each of which meets every panel of columns. The left operands that are made of a
/// block are read again for each group of columns; the larger the block, the fewer sums of columns.
Split smallest_row_blocks(const GemmKernels& kernels, const StrassenShape& shape) {
  constexpr std::size_t kMostOfOneOperand = 96 * StrassenShape::kMostDepth;
  const std::size_t most_rows = kMostOfOneOperand / round_up_to_line(shape.most_depth());
  return {shape.rows.parts, std::max<std::size_t>(most_rows / kernels.max_rows, 1)};
}

double row_sums(const GemmKernels& kernels, const StrassenShape& shape) {
  if (shape.slices == 2) return kRowSums;
  const bool waits = kernels.lanes == GemmKernels::kLanesLimit && !is_of_intel() &&
                     left_operands(shape, smallest_row_blocks(kernels, shape)) > kMostLeftOperands;
  return (waits ? 14 : 11) * kRowSums;
}
/// Of rows, before they are added up, as far as it counts.
double packing(const StrassenShape& shape, const GemmParams& params) {
  if (!params.transpose_a) return 0;
  const auto floats = static_cast<double>(shape.slices * shape.slices);
  return floats * (shape.slices == 2 ? kPackingApart : 1.5 * kPackingApart);
}
/// Of results, which are added to several times: cycles per vector and block of terms.
double of_results(const GemmParams& params, std::size_t slices) {
  if (slices == 2) return 16;
  // Rows that lie whole pages apart meet in the same sets of the first-level cache; not those that are
  // turned.
  constexpr std::size_t kPage = 4096 / sizeof(float);
  return params.n % kPage == 0 && !params.transpose_a ? 280 : 192;
}
double column_sums(const StrassenShape& shape) { return shape.slices == 2 ? kColumnSums : 18 * kColumnSums; }

/// Other roundings for a few percent of the time would be a bad bargain. Sums, which wait for memory, do not
/// become faster with longer vectors, nor with more threads.
double penalty(const GemmKernels& kernels, std::size_t slices) {
  return (kernels.lanes < GemmKernels::kLanesLimit ? 1.04 : 1.07) * (slices == 2 ? 1 : 1.02);
}

}  // namespace

std::size_t left_operands(const StrassenShape& shape, const Split& row_blocks) {
  return products_of(shape.slices) *
         round_up_to_line(row_blocks.largest() * shape.most_rows() * shape.most_depth());
}

Split shared_row_blocks(const GemmKernels& kernels, const StrassenShape& shape, const GemmParams& params,
                        std::size_t workers) {
  const auto lanes = static_cast<double>(kernels.lanes);
  const auto products = static_cast<double>(products_of(shape.slices));
  // What is measured where terms of rows lie apart: workers that make the same left operands read rows that
  // do not stay in their caches, and more blocks are worth it from a few percent on.
  const double of_rows = (row_sums(kernels, shape) + packing(shape, params)) * (params.transpose_a ? 1.5 : 1);
  const double least_gain = params.transpose_a ? 0.03 : 0;
  // Of a block of terms, about the cycles until the last worker is done.
  const auto cost = [&](const Split& blocks) {
    const auto rows = static_cast<double>(blocks.largest() * shape.most_rows());
    const auto vectors = static_cast<double>(kernels.max_vectors);
    const auto groups = static_cast<double>(divide_up(blocks.parts * shape.columns.count(), workers));
    return groups * vectors * (products / 2 * rows + column_sums(shape) * lanes) +
           of_rows * rows * static_cast<double>(divide_up(blocks.parts, workers));
  };
  Split best = smallest_row_blocks(kernels, shape);
  Split more = best;
  while (workers > 1 && ++more.parts <= std::min(shape.rows.parts, best.parts + 2 * workers)) {
    if (cost(more) < (1 - least_gain) * cost(best)) best = more;
  }
  return best;
}

// Fitted to products of 32 to 3136 rows, 64 to 3072 columns and 64 to 3072 terms, with AVX2 and AVX-512,
// whose weights are not in a core's own caches.
double strassen_gemm_cost(const GemmParams& params, std::size_t slices) {
  const GemmKernels& kernels = gemm_kernels();
  const StrassenShape shape(kernels, params, slices);
  const std::size_t columns = shape.columns.vectors * kernels.lanes;
  const std::size_t products = products_of(slices) * kernels.product_cost(shape.rows.total, columns);
  const std::size_t usual =
      slices * (kernels.product_cost(shape.single_rows, slices * columns) +
                (shape.single_columns == 0 ? 0 : kernels.product_cost(params.m, shape.single_columns)));
  const std::size_t summed_columns = columns * smallest_row_blocks(kernels, shape).parts;
  // Where the first panel of rows does not subtract on the way, columns pass by once more.
  const double passes = kernels.subtracts(shape.rows.size(0), kernels.max_vectors) ? 1 : 2;
  const double sums =
      packing(shape, params) * static_cast<double>(shape.rows.total) +
      slowness_of_sums(kernels) * (row_sums(kernels, shape) * static_cast<double>(shape.rows.total) +
                                   passes * column_sums(shape) * static_cast<double>(summed_columns));
  const double results = of_results(params, slices) *
                         static_cast<double>(shape.rows.total * shape.columns.vectors * shape.depths.parts);
  return penalty(kernels, slices) *
         ((static_cast<double>(products + usual) + sums) * static_cast<double>(shape.depths.total) + results);
}

}  // namespace ir::kernels
