#include "kernels/gemm_narrow.h"

#include <algorithm>

#include "kernels/aligned_floats.h"
#include "kernels/gemm_block.h"
#include "kernels/gemm_kernels.h"
#include "kernels/narrow_weights.h"
#include "kernels/packing_pieces.h"
#include "kernels/parallel.h"
#include "kernels/shared_packing.h"

namespace ir::kernels {
namespace {

class NarrowGemm final : public Gemm {
 public:
  NarrowGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue)
      : kernels_(narrow_kernels()),
        params_(params),
        epilogue_(epilogue, params),
        panels_(divide_up(params.n, kernels_.columns())) {
    const PackedForm form{"narrow", {&kernels_}, {params.k, params.n, params.transpose_b ? 1U : 0U}};
    weights_ = packed_once({constant, params.k * params.n}, form, panels_ * kernels_.floats(params.k),
                           [&](float* to) { pack(constant, to); });
  }

  std::string_view algorithm() const override { return kNarrow; }
  std::size_t scratch_bytes() const override { return 0; }

  void run(const float* a, const float*, const float* residual, float* out, std::byte*) const override {
    const std::size_t terms = params_.k;
    parallel_for(panels_, grain_for_cost(kernels_.columns() * terms),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t panel = begin; panel < end; ++panel) {
                     const std::size_t column = panel * kernels_.columns();
                     const Tile tile =
                         epilogue_.row_tile(params_.bias_axis, column, columns_of(panel),
                                            epilogue_.residual() ? residual + column : nullptr, out + column);
                     kernels_.multiply(a, weights_.get() + panel * kernels_.floats(terms), terms, tile);
                     epilogue_.post_rows(tile.out, tile.columns, 1, tile.columns, 0);
                   }
                 });
  }

 private:
  [[nodiscard]] std::size_t columns_of(std::size_t panel) const {
    return std::min(kernels_.columns(), params_.n - panel * kernels_.columns());
  }

  /// What lies together is packed together: columns where B is transposed, else rows.
  void pack(const float* from, float* to) const {
    if (params_.transpose_b) {
      const auto source = [&](std::size_t panel) {
        return from + std::min(panel * kernels_.columns(), params_.n) * params_.k;
      };
      pack_in_pieces(panels_, source, [&](std::size_t first, std::size_t last) {
        pack_panels(from, {first, last}, {0, params_.k}, to);
      });
    } else {
      const auto source = [&](std::size_t term) { return from + term * params_.n; };
      pack_in_pieces(params_.k, source, [&](std::size_t first, std::size_t last) {
        pack_panels(from, {0, panels_}, {first, last}, to);
      });
    }
  }

  /// From `first` up to, not with, `last`.
  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  void pack_panels(const float* from, const Range& panels, const Range& terms, float* to) const {
    const std::size_t blocks = divide_up(terms.last - terms.first, kBlockTerms);
    parallel_for((panels.last - panels.first) * blocks, 1, [&](std::size_t begin, std::size_t end) {
      AlignedFloats block(kBlockTerms * kernels_.columns());
      for (std::size_t index = begin; index < end; ++index) {
        const std::size_t panel = panels.first + index / blocks;
        const std::size_t term = terms.first + index % blocks * kBlockTerms;
        const std::size_t depth = std::min(kBlockTerms, terms.last - term);
        gather(from, panel, term, depth, block.data());
        kernels_.narrow(block.data(), depth, to + panel * kernels_.floats(params_.k) + kernels_.floats(term));
      }
    });
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

  static constexpr std::size_t kBlockTerms = 256;  ///< that are gathered at a time: they stay in the cache

  const NarrowKernels& kernels_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  std::size_t panels_;
  PackedFloats weights_;
};

}  // namespace

bool takes_narrow(const GemmParams& params) {
  // What the second-level caches of two cores hold, and a bit.
  constexpr std::size_t kLeastWeights = std::size_t{9} << 17;
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
