#include "kernels/matmul/gemm_narrow.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/narrow_weights.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {
namespace {

// Sums of squares of what weights lose, of which as much is near enough: 2^-15 of their size.
constexpr double kMostLoss = 0x1p-30;

class NarrowGemm final : public Gemm {
 public:
  NarrowGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue)
      : kernels_(narrow_kernels()),
        params_(params),
        epilogue_(epilogue, params),
        panels_(divide_up(params.n, kernels_.columns())) {
    for (const NarrowForm* const form : {&kernels_.integers, &kernels_.floats}) {
      form_ = form;
      weights_.reset();
      weights_ = packed_once({constant, params.k * params.n},
                             {form->name, {&kernels_}, {params.k, params.n, params.transpose_b ? 1U : 0U}},
                             kFloatsPerLine + panels_ * form->floats(params.k),
                             [&](float* to) { *to = pack(constant, to + kFloatsPerLine) ? 1.0F : 0.0F; });
      if (*weights_ != 0) break;
    }
  }

  std::string_view algorithm() const override { return kNarrow; }
  std::size_t scratch_bytes() const override { return 0; }

  void run(const float* a, const float*, const float* residual, float* out, std::byte*) const override {
    const std::size_t terms = params_.k;
    const float* const panels = weights_.get() + kFloatsPerLine;
    parallel_for(panels_, grain_for_cost(kernels_.columns() * terms),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t panel = begin; panel < end; ++panel) {
                     const std::size_t column = panel * kernels_.columns();
                     const Tile tile =
                         epilogue_.row_tile(params_.bias_axis, column, columns_of(panel),
                                            epilogue_.residual() ? residual + column : nullptr, out + column);
                     form_->multiply(a, panels + panel * form_->floats(terms), terms, tile);
                     epilogue_.post_rows(tile.out, tile.columns, 1, tile.columns, 0);
                   }
                 });
  }

 private:
  [[nodiscard]] std::size_t columns_of(std::size_t panel) const {
    return std::min(kernels_.columns(), params_.n - panel * kernels_.columns());
  }

  /// Whether the form is near enough to the weights.
  bool pack(const float* from, float* to) const {
    const std::size_t blocks = divide_up(params_.k, kBlockTerms);
    std::vector<NarrowLoss> losses(panels_ * blocks);
    const auto pack_blocks = [&](const PartRange& panels, const PartRange& terms) {
      const std::size_t depth = terms.last - terms.first;
      parallel_for((panels.last - panels.first) * depth, 1, [&](std::size_t begin, std::size_t end) {
        AlignedFloats block(kBlockTerms * kernels_.columns());
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t panel = panels.first + i / depth;
          const std::size_t index = terms.first + i % depth;
          losses[panel * blocks + index] = pack_block(from, panel, index * kBlockTerms, block.data(), to);
        }
      });
    };
    const auto column = [&](std::size_t panel) { return panel * kernels_.columns(); };
    const auto term = [](std::size_t block) { return block * kBlockTerms; };
    pack_operand_in_pieces(from, params_.transpose_b, {panels_, params_.n, column}, {blocks, params_.k, term},
                           pack_blocks);
    NarrowLoss sum;
    for (const NarrowLoss& loss : losses) {
      sum.errors += loss.errors;
      sum.weights += loss.weights;
    }
    // Of 0: all are 0, or too small for their squares.
    return sum.errors <= kMostLoss * sum.weights && std::isnormal(sum.weights);
  }

  NarrowLoss pack_block(const float* from, std::size_t panel, std::size_t term, float* block,
                        float* to) const {
    const std::size_t depth = std::min(kBlockTerms, params_.k - term);
    gather(from, panel, term, depth, block);
    return form_->narrow(block, depth, to + panel * form_->floats(params_.k) + form_->floats(term));
  }

  /// Terms of the vectors of a panel, vector by vector; zeros in those that no column has.
  void gather(const float* from, std::size_t panel, std::size_t term, std::size_t depth, float* to) const {
    const GemmKernels& packing = gemm_kernels();
    const std::size_t vector = depth * kernels_.lanes;
    for (std::size_t done = 0; done < kernels_.columns(); done += kernels_.lanes, to += vector) {
      if (done >= columns_of(panel)) {
        std::fill_n(to, vector, 0.0F);
        continue;
      }
      const std::size_t count = std::min(kernels_.lanes, columns_of(panel) - done);
      const std::size_t column = panel * kernels_.columns() + done;
      if (params_.transpose_b) {
        packing.pack_columns_transposed(from + column * params_.k + term, params_.k, depth, count, to);
      } else {
        packing.pack_columns(from + term * params_.n + column, params_.n, depth, count, to);
      }
    }
  }

  /// That are gathered at a time: they stay in the cache.
  static constexpr std::size_t kBlockTerms = 8 * NarrowKernels::kGroupTerms;

  const NarrowKernels& kernels_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  std::size_t panels_;
  const NarrowForm* form_ = nullptr;
  PackedFloats weights_;  ///< a line that begins with whether the form is near enough, then panels
};

}  // namespace

bool takes_narrow(const GemmParams& params) {
  // 1 MiB of floats: what a second-level cache may hold of them after other layers. Fewer gain by less.
  constexpr std::size_t kLeastWeights = std::size_t{1} << 18;
  // They would lie beside the panels, where else the weights themselves do.
  if (params.shares_packing && !params.transpose_b) return false;
  return params.m == 1 && params.batch.empty() && params.constant == GemmConstant::b && params.n != 0 &&
         params.k >= kLeastWeights / params.n;
}

double row_cost(const GemmParams& params, std::size_t bits) {
  constexpr double kBitsPerCycle = 64;
  return static_cast<double>(params.k) * static_cast<double>(params.n * bits) / kBitsPerCycle;
}

std::unique_ptr<Gemm> create_narrow_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue) {
  return std::make_unique<NarrowGemm>(params, constant, epilogue);
}

}  // namespace ir::kernels
