#include "kernels/matmul/gemm_vector.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/matmul/gemm_batch.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

class VectorGemm final : public Gemm {
 public:
  VectorGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue)
      : kernels_(gemm_kernels()), params_(params), epilogue_(epilogue, params) {
    if (params.constant != GemmConstant::a || batch_count(params.batch) == 0) return;
    std::size_t reach = params.k;
    for (const GemmBatchAxis& axis : params.batch) reach += (axis.count - 1) * axis.a_stride;
    a_.assign(constant, constant + reach);
  }

  std::string_view algorithm() const override { return "gemv"; }
  std::size_t scratch_bytes() const override { return 0; }
  bool reads_constant() const override { return params_.constant == GemmConstant::b; }

  void run(const float* a, const float* b, const float* residual, float* out, std::byte*) const override {
    if (params_.constant == GemmConstant::a) a = a_.data();
    const std::size_t n = params_.n;
    const std::size_t chunks = divide_up(n, kColumns);
    const std::size_t count = batch_count(params_.batch) * chunks;
    parallel_for(count, grain_for_cost(std::min(n, kColumns) * params_.k),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t index = begin; index < end; ++index) {
                     const BatchOffsets offsets = batch_offsets(params_.batch, index / chunks);
                     const std::size_t column = index % chunks * kColumns;
                     const std::size_t first = index / chunks * n + column;
                     const Tile tile =
                         epilogue_.row_tile(params_.bias_axis, column, std::min(kColumns, n - column),
                                            epilogue_.residual() ? residual + first : nullptr, out + first);
                     if (params_.transpose_b) {
                       kernels_.gemv_transposed(a + offsets.a, b + offsets.b + column * params_.k, params_.k,
                                                params_.k, tile);
                     } else {
                       kernels_.gemv(a + offsets.a, b + offsets.b + column, n, params_.k, tile);
                     }
                     epilogue_.post_rows(tile.out, tile.columns, 1, tile.columns, 0);
                   }
                 });
  }

 private:
  static constexpr std::size_t kColumns = 128;  ///< of a task
  const GemmKernels& kernels_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  std::vector<float> a_;
};

}  // namespace

std::unique_ptr<Gemm> create_vector_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue) {
  return std::make_unique<VectorGemm>(params, constant, epilogue);
}

}  // namespace ir::kernels
