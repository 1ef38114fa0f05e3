// Operations on weights that stay compressed, which no IR contains; passes make them where a file's codes are
// converted, shifted and scaled before they are multiplied or looked up.
#ifndef RUNTIME_OPS_COMPRESSED_H_
#define RUNTIME_OPS_COMPRESSED_H_

#include <array>
#include <cstdint>

#include "ir_runtime/op.h"
#include "kernels/weights/compressed_weights.h"
#include "runtime/ops/epilogue.h"
#include "runtime/ops/prepare.h"

namespace ir::op {

/// What a row of codes, bytes whatever they stand for, holds.
struct CodeRows {
  kernels::WeightCode code = kernels::WeightCode::f16;
  std::int64_t terms = 0;
  std::int64_t group = 0;  ///< terms that share a scale and an offset; divides `terms`
};

/// A x transposed weights (code - offset) * scale. Inputs: A [..., terms] of at least two dims; constants:
/// codes [n, bytes of a row] of type u8; f32 scale [n, groups]; f32 offset [n, groups] or [1]. Codes of
/// floats have neither of the last two, offsets may be missing. Output: [..., n] of A's type. Runs on f32.
struct CompressedMatMul {
  static constexpr OpInfo info{.type = "CompressedMatMul",
                               .family = "fused",
                               .summary = "A matrix product with weights in fewer bits than a float."};
  CodeRows rows;

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The floats that rows of codes stand for. Inputs: codes [..., bytes of a row] of type u8; f32 scale [...,
/// groups]; f32 offset [..., groups] or [1]; as above. Output: f32 [..., terms].
struct Decompress {
  static constexpr OpInfo info{
      .type = "Decompress", .family = "fused", .summary = "Weights of fewer bits as floats."};
  CodeRows rows;

  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The kernel of products, plain or fused; the first `inputs` inputs of the context are the product's own.
/// `rectified`: many elements of A are expected to be 0.
PreparedKernel prepare_compressed_matmul(PrepareContext& context, const CompressedMatMul& product,
                                         std::size_t inputs, const EpilogueOfStep& epilogue = {},
                                         bool rectified = false);

}  // namespace ir::op

#endif  // RUNTIME_OPS_COMPRESSED_H_
