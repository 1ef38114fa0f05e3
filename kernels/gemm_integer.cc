#include "kernels/gemm_integer.h"

#include <algorithm>
#include <utility>

#include "kernels/aligned_floats.h"
#include "kernels/gemm_packed.h"
#include "kernels/integer_kernels.h"
#include "kernels/integer_weights.h"
#include "kernels/parallel.h"

namespace ir::kernels {
namespace {

/// Whether B is one known matrix and A rows of terms, several of each.
bool has_form(const GemmParams& params) {
  return params.constant == GemmConstant::b && params.batch.empty() && !params.transpose_a && params.m > 1 &&
         params.n > 1 && params.k > 0;
}

/// [k, n] as [n, k].
AlignedFloats transposed(const float* b, std::size_t k, std::size_t n) {
  constexpr std::size_t kColumns = 16;
  AlignedFloats rows(n * k);
  parallel_for(divide_up(n, kColumns), grain_for_cost(kColumns * k), [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * kColumns;
    const std::size_t last = std::min(end * kColumns, n);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = first; j < last; ++j) rows.data()[j * k + i] = b[i * n + j];
    }
  });
  return rows;
}

/// The columns of B, one behind the other; `turned` holds them if they do not lie so.
const float* columns_of(const GemmParams& params, const float* b, AlignedFloats& turned) {
  if (params.transpose_b) return b;
  turned = transposed(b, params.k, params.n);
  return turned.data();
}

/// The product that pairs of terms make.
GemmParams paired(const GemmParams& params) {
  GemmParams pairs = params;
  pairs.k = divide_up(params.k, 2);
  pairs.transpose_b = true;
  pairs.constant_stays = false;
  pairs.integers = nullptr;
  return pairs;
}

/// Rows turned into pairs, in scratch, before the product gets them.
class IntegerGemm final : public Gemm {
 public:
  IntegerGemm(const GemmParams& params, std::unique_ptr<Gemm> product)
      : rows_(params.m),
        terms_(params.k),
        per_unit_(params.integers->per_unit()),
        product_(std::move(product)) {}

  std::string_view algorithm() const override { return "integer"; }
  std::size_t scratch_bytes() const override { return pair_bytes() + product_->scratch_bytes(); }
  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    float* const rows = aligned_scratch(scratch);
    parallel_for(rows_, grain_for_cost(terms_), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        pair_neighbours(a + row * terms_, per_unit_, terms_, rows + row * pairs());
    });
    product_->run(rows, nullptr, residual, out, scratch + pair_bytes());
  }

 private:
  [[nodiscard]] std::size_t pairs() const { return divide_up(terms_, 2); }
  [[nodiscard]] std::size_t pair_bytes() const { return scratch_bytes_for(rows_ * pairs()); }

  std::size_t rows_;
  std::size_t terms_;
  float per_unit_;
  std::unique_ptr<Gemm> product_;
};

}  // namespace

std::shared_ptr<const IntegerWeights> integer_columns(const GemmParams& params, const float* b,
                                                      const IntegerGrid& a) {
  const GemmParams folded = folded_batch(params, false);
  // What an offset adds belongs to the columns.
  if (!has_form(folded) || (a.offset != 0 && params.bias_axis == BiasAxis::row)) return nullptr;
  AlignedFloats turned;
  return IntegerWeights::find(folded.n, folded.k, columns_of(folded, b, turned), a);
}

bool takes_integers(const GemmParams& params) { return params.integers != nullptr && has_form(params); }

double integer_gemm_cost(const GemmParams& params) {
  const std::size_t vectors = divide_up(params.m * divide_up(params.k, 2), gemm_kernels().lanes);
  return cost_of_pairs(packed_gemm_cost(paired(params)), vectors);
}

std::unique_ptr<Gemm> create_integer_gemm(const GemmParams& params, const float* constant,
                                          const Epilogue& epilogue) {
  AlignedFloats turned;
  const AlignedFloats pairs = params.integers->pairs(params.k, 1, columns_of(params, constant, turned));
  const IntegerEpilogue of_integers(epilogue, *params.integers);
  return std::make_unique<IntegerGemm>(
      params, create_packed_gemm(paired(params), pairs.data(), of_integers.get(), *gemm_pair_kernels()));
}

}  // namespace ir::kernels
