#include "kernels/matmul/gemm_integer.h"

#include <array>
#include <optional>
#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_packed.h"
#include "kernels/matmul/gemm_tiles.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/integer_weights.h"

namespace ir::kernels {
namespace {

/// Whether B is one known matrix and A rows of terms, several of each.
bool has_form(const GemmParams& params) {
  return params.constant == GemmConstant::b && params.batch.empty() && !params.transpose_a && params.m > 1 &&
         params.n > 1 && params.k > 0;
}

/// Scales of the bytes of B where its columns lie one behind the other; nothing where columns have several.
std::optional<ScaledBytes> with_scales_of_columns(const GemmParams& params, ScaledBytes b) {
  if (params.transpose_b) return b;
  if (b.scale_count != 1 && params.n % (b.per_scale * b.scale_count) != 0) return std::nullopt;
  b.per_scale *= params.k;
  return b;
}

/// The columns of B, one behind the other. Bytes have scales of columns.
class Columns {
 public:
  Columns(const GemmParams& params, const ConstantWeights& b) : weights_(b) {
    if (params.transpose_b) return;
    const ScaledBytes* const bytes = b.bytes();
    const std::size_t size = bytes != nullptr ? sizeof(*bytes->codes) : sizeof(float);
    turned_ = AlignedFloats(divide_up(params.k * params.n * size, sizeof(float)));
    const void* const from = bytes != nullptr ? static_cast<const void*>(bytes->codes) : b.floats();
    Transpose(std::array{params.k, params.n}, std::array<std::size_t, 2>{1, 0}, size)
        .run(from, turned_.data());
    if (bytes == nullptr) {
      weights_ = turned_.data();
      return;
    }
    ScaledBytes columns = with_scales_of_columns(params, *bytes).value();
    columns.codes = reinterpret_cast<const std::int8_t*>(turned_.data());
    weights_ = ConstantWeights(columns);
  }

  /// As long as this lives.
  [[nodiscard]] const ConstantWeights& weights() const { return weights_; }

 private:
  ConstantWeights weights_;
  AlignedFloats turned_;
};

/// See IntegerWeights::find.
std::shared_ptr<const IntegerWeights> find_in_columns(const GemmParams& params, const ConstantWeights& b,
                                                      const IntegerGrid& a) {
  const auto find = [&](const ConstantWeights& columns) {
    return IntegerWeights::find(params.n, params.k, columns, a, Around::nothing);
  };
  if (b.bytes() == nullptr) return find(Columns(params, b).weights());
  // Which only reads the scales.
  const auto bytes = with_scales_of_columns(params, *b.bytes());
  return bytes ? find(ConstantWeights(*bytes)) : nullptr;
}

/// The product that lanes of terms make.
GemmParams with_lanes(const GemmParams& params) {
  GemmParams lanes = params;
  lanes.k = divide_up(params.k, lane_terms(params.integers->form()));
  lanes.transpose_b = true;
  lanes.constant_stays = false;
  lanes.integers = nullptr;
  return lanes;
}

/// Rows turned into lanes, in scratch, before the product gets them.
class IntegerGemm final : public Gemm {
 public:
  IntegerGemm(std::string_view algorithm, const GemmParams& params, std::unique_ptr<Gemm> product)
      : algorithm_(algorithm),
        rows_(params.m),
        terms_(params.k),
        map_(params.integers->values()),
        product_(std::move(product)) {}

  std::string_view algorithm() const override { return algorithm_; }
  std::size_t scratch_bytes() const override { return lane_bytes() + product_->scratch_bytes(); }
  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    float* const rows = aligned_scratch(scratch);
    parallel_for(rows_, grain_for_cost(terms_), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        lane_joins().neighbours(map_, a + row * terms_, terms_, rows + row * lanes());
    });
    product_->run(rows, nullptr, residual, out, scratch + lane_bytes());
  }

 private:
  [[nodiscard]] std::size_t lanes() const { return divide_up(terms_, lane_terms(map_.form)); }
  [[nodiscard]] std::size_t lane_bytes() const { return scratch_bytes_for(rows_ * lanes()); }

  std::string_view algorithm_;
  std::size_t rows_;
  std::size_t terms_;
  LaneMap map_;
  std::unique_ptr<Gemm> product_;
};

}  // namespace

std::shared_ptr<const IntegerWeights> integer_columns(const GemmParams& params, const ConstantWeights& b,
                                                      const IntegerGrid& a) {
  const GemmParams folded = folded_batch(params);
  if (!has_form(folded)) return nullptr;
  auto found = find_in_columns(folded, b, a);
  // What an offset adds belongs to the columns.
  const bool shifts = found != nullptr && found->shifts();
  return shifts && params.bias_axis == BiasAxis::row ? nullptr : found;
}

bool takes_integers(const GemmParams& params) { return params.integers != nullptr && has_form(params); }

const MatrixTiles* tiles_of_integers(const GemmParams& params) {
  return takes_integers(params) && params.integers->form() == LaneForm::quads ? byte_tiles() : nullptr;
}

double integer_gemm_cost(const GemmParams& params, const MatrixTiles* tiles) {
  const GemmParams lanes = with_lanes(params);
  const std::size_t vectors = divide_up(lanes.m * lanes.k, gemm_kernels().lanes);
  const double cycles = tiles != nullptr ? tiles_gemm_cost(lanes, *tiles) : packed_gemm_cost(lanes);
  return cost_of_integers(params.integers->form(), cycles, vectors);
}

std::unique_ptr<Gemm> create_integer_gemm(const GemmParams& params, const MatrixTiles* tiles,
                                          const ConstantWeights& constant, const Epilogue& epilogue) {
  const Columns columns(params, constant);
  const AlignedFloats lanes = params.integers->lanes(params.k, 1, columns.weights());
  const IntegerEpilogue of_integers(epilogue, *params.integers, params.k, columns.weights());
  const GemmParams of_lanes = with_lanes(params);
  if (tiles != nullptr) {
    return std::make_unique<IntegerGemm>(
        kIntegerTiles, params, create_tiles_gemm(of_lanes, *tiles, lanes.data(), of_integers.get()));
  }
  return std::make_unique<IntegerGemm>(kInteger, params,
                                       create_packed_gemm(of_lanes, lanes.data(), of_integers.get(),
                                                          gemm_kernels_of(params.integers->form())));
}

}  // namespace ir::kernels
