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
        units_(divide_up(params.n, kernels_.columns()), params.zeros_in_a ? kernels_.most_units : 1),
        groups_(divide_up(params.k, NarrowKernels::kGroupTerms), groups_of_part()) {
    for (const NarrowForm* const form : {&kernels_.integers, &kernels_.floats}) {
      form_ = form;
      weights_.reset();
      weights_ = packed_once(
          {constant, params.k * params.n},
          {form->name, {&kernels_}, {params.k, params.n, params.transpose_b ? 1U : 0U, units_.parts}},
          kFloatsPerLine + units_.total * form->floats(params.k), [&](float* to) {
            const NarrowLoss loss = pack(constant, to + kFloatsPerLine);
            // Of 0: all are 0, or too small for their squares.
            to[kIsNear] =
                loss.errors <= kMostLoss * loss.weights && std::isnormal(loss.weights) ? 1.0F : 0.0F;
            to[kIsFinite] = std::isfinite(loss.weights) ? 1.0F : 0.0F;
          });
      if (weights_.get()[kIsNear] != 0) break;
    }
  }

  std::string_view algorithm() const override { return kNarrow; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(groups_.parts * row_floats()); }

  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    float* const sums = aligned_scratch(scratch);
    const std::size_t columns = units_.largest() * kernels_.columns();
    parallel_for(units_.parts * groups_.parts,
                 grain_for_cost(columns * groups_.largest() * NarrowKernels::kGroupTerms),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t task = begin; task < end; ++task)
                     multiply(a, task / groups_.parts, task % groups_.parts, sums);
                 });
    parallel_for(units_.total, grain_for_cost(groups_.parts * NarrowKernels::kVectors),
                 [&](std::size_t begin, std::size_t end) {
                   finish(sums, begin * kernels_.columns(), std::min(params_.n, end * kernels_.columns()),
                          residual, out);
                 });
  }

 private:
  /// Of terms, so many that there is work for many threads, and sums of parts are few beside weights.
  [[nodiscard]] std::size_t groups_of_part() const {
    constexpr std::size_t kTasks = 32;
    const std::size_t groups = divide_up(params_.k, NarrowKernels::kGroupTerms);
    const std::size_t share = divide_up(groups, std::max<std::size_t>(kTasks / units_.parts, 1));
    return units_.largest() == 1 ? share : std::min(share, kMostGroups);
  }

  /// Of a row of sums.
  [[nodiscard]] std::size_t row_floats() const { return units_.total * kernels_.columns(); }

  /// Where the panel of a unit begins.
  [[nodiscard]] std::size_t panel_place(std::size_t unit) const { return unit * form_->floats(params_.k); }

  void multiply(const float* a, std::size_t panel, std::size_t part, float* sums) const {
    const std::size_t unit = units_.begin(panel);
    const std::size_t units = units_.size(panel);
    const std::size_t first = groups_.begin(part) * NarrowKernels::kGroupTerms;
    const std::size_t end = std::min(params_.k, groups_.begin(part + 1) * NarrowKernels::kGroupTerms);
    const float* const weights = weights_.get() + kFloatsPerLine + panel_place(unit);
    form_->multiply({a + first, end - first, weights_.get()[kIsFinite] != 0},
                    weights + units * form_->floats(first), units,
                    sums + part * row_floats() + unit * kernels_.columns());
  }

  /// Results of columns [first, last).
  void finish(const float* sums, std::size_t first, std::size_t last, const float* residual,
              float* out) const {
    const Tile tile = epilogue_.row_tile(params_.bias_axis, first, last - first,
                                         epilogue_.residual() ? residual + first : nullptr, out + first);
    kernels_.finish(sums + first, groups_.parts, row_floats(), tile);
    epilogue_.post_rows(tile.out, tile.columns, 1, tile.columns, 0);
  }

  NarrowLoss pack(const float* from, float* to) const {
    const std::size_t blocks = divide_up(params_.k, kBlockTerms);
    std::vector<NarrowLoss> losses(units_.total * blocks);
    const auto pack_blocks = [&](const PartRange& units, const PartRange& terms) {
      const std::size_t depth = terms.last - terms.first;
      parallel_for((units.last - units.first) * depth, 1, [&](std::size_t begin, std::size_t end) {
        AlignedFloats block(kBlockTerms * kernels_.columns());
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t unit = units.first + i / depth;
          const std::size_t index = terms.first + i % depth;
          losses[unit * blocks + index] = pack_block(from, unit, index * kBlockTerms, block.data(), to);
        }
      });
    };
    const auto column = [&](std::size_t unit) { return unit * kernels_.columns(); };
    const auto term = [](std::size_t block) { return block * kBlockTerms; };
    pack_operand_in_pieces(from, params_.transpose_b, {units_.total, params_.n, column},
                           {blocks, params_.k, term}, pack_blocks);
    NarrowLoss sum;
    for (const NarrowLoss& loss : losses) {
      sum.errors += loss.errors;
      sum.weights += loss.weights;
    }
    return sum;
  }

  NarrowLoss pack_block(const float* from, std::size_t unit, std::size_t term, float* block,
                        float* to) const {
    const std::size_t depth = std::min(kBlockTerms, params_.k - term);
    gather(from, unit, term, depth, block);
    const std::size_t panel = units_.part_of(unit);
    const std::size_t units = units_.size(panel);
    const std::size_t first = units_.begin(panel);
    return form_->narrow(block, depth,
                         {to + panel_place(first) + units * form_->floats(term), units, unit - first});
  }

  /// Terms of the vectors of a unit, vector by vector; zeros in those that no column has.
  void gather(const float* from, std::size_t unit, std::size_t term, std::size_t depth, float* to) const {
    const GemmKernels& packing = gemm_kernels();
    const std::size_t vector = depth * kernels_.lanes;
    const std::size_t first = unit * kernels_.columns();
    const std::size_t columns = std::min(kernels_.columns(), params_.n - first);
    for (std::size_t done = 0; done < kernels_.columns(); done += kernels_.lanes, to += vector) {
      if (done >= columns) {
        std::fill_n(to, vector, 0.0F);
        continue;
      }
      const std::size_t count = std::min(kernels_.lanes, columns - done);
      const std::size_t column = first + done;
      if (params_.transpose_b) {
        packing.pack_columns_transposed(from + column * params_.k + term, params_.k, depth, count, to);
      } else {
        packing.pack_columns(from + term * params_.n + column, params_.n, depth, count, to);
      }
    }
  }

  static constexpr std::size_t kMostGroups = NarrowKernels::kMostTerms / NarrowKernels::kGroupTerms;
  /// That are gathered at a time: they stay in the cache.
  static constexpr std::size_t kBlockTerms = 8 * NarrowKernels::kGroupTerms;
  // What a line in front of the weights says: whether the form is near enough to them, and all are finite.
  static constexpr std::size_t kIsNear = 0;
  static constexpr std::size_t kIsFinite = 1;

  const NarrowKernels& kernels_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  Split units_;   ///< of columns, in panels
  Split groups_;  ///< of terms, in parts
  const NarrowForm* form_ = nullptr;
  PackedFloats weights_;
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
