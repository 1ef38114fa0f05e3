// Groups of rows, each times a matrix of its own.
#ifndef KERNELS_MATMUL_GEMM_GROUPED_H_
#define KERNELS_MATMUL_GEMM_GROUPED_H_

#include <cstddef>

#include "kernels/base/indices.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/owned_epilogue.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

/// Where the rows of each group begin, and where those of the last one end: groups + 1 numbers of `borders`.
/// Returns the first of the `groups` offsets, where groups end, that lies below the one before it or outside
/// of [0, rows].
IndexResult group_borders(IndexView offsets, std::size_t groups, std::size_t rows, std::size_t* borders);

/// A is [rows, k], B [groups, n, k], out [rows, n]: out = A x B[g]^T for the rows of group g, 0 for rows
/// behind the last group. Any of them may be 0.
struct GroupedGemmParams {
  std::size_t groups = 0;
  std::size_t rows = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  /// Most threads that one `run` uses, which bounds the scratch; 0: thread_slots() of the preparing thread.
  std::size_t max_threads = 0;
};

/// The product in f32, which packs matrices once where they are known. Sums as those of Gemm without its
/// forms that add up operands, with its error; a row that is alone in its group, of matrices that are not
/// known, is summed in as many chains as a vector has lanes. Bits do not depend on the number of threads.
class GroupedGemm {
 public:
  /// `constant`: B, if it is known; else nullptr.
  GroupedGemm(const GroupedGemmParams& params, const float* constant);

  /// Whether `run` reads B from its argument: a single row gains nothing by packed matrices.
  [[nodiscard]] bool reads_matrices() const { return !packs_; }
  /// Bytes that `scratch` must have; any alignment.
  [[nodiscard]] std::size_t scratch_bytes() const;
  /// `borders` as group_borders() makes them. `out` must not overlap anything else.
  void run(const float* a, const float* b, const std::size_t* borders, float* out, std::byte* scratch) const;

 private:
  struct Call {
    const float* a;
    const float* b;
    const std::size_t* borders;
    float* out;
    float* slots;
  };
  /// Blocks of rows of one group that meet one piece of its columns.
  struct Stretch {
    std::size_t group = 0;
    std::size_t piece = 0;
    std::size_t first = 0;
    std::size_t last = 0;
  };

  void pack(const float* constant);
  [[nodiscard]] std::size_t packed_group() const;
  [[nodiscard]] std::size_t slot_floats() const;
  [[nodiscard]] Split row_blocks(std::size_t rows) const;
  void multiply(const Call& call, const Stretch& stretch, float* slot) const;
  void multiply_row(const Call& call, std::size_t group, const Tile& tile, std::size_t column) const;

  const GemmKernels& kernels_;
  GroupedGemmParams params_;
  OwnedEpilogue epilogue_;
  Split depth_blocks_;
  Split columns_;  ///< panels
  Split pieces_;   ///< of panels
  std::size_t workers_;
  bool packs_;
  PackedFloats packed_;
};

/// The same product for any element type, as gemm_generic makes it. T: float, double, (u)int8_t ..
/// (u)int64_t.
template <class T>
void grouped_gemm_generic(const GroupedGemmParams& params, const T* a, const T* b, const std::size_t* borders,
                          T* out);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_GROUPED_H_
