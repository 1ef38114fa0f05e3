// Algorithms that keep weights in larger forms (Winograd's filters, up to four times as large) are taken
// where they save the most time per byte, until a model has as much of that as it may.
#ifndef RUNTIME_EXECUTION_WEIGHT_PRICE_H_
#define RUNTIME_EXECUTION_WEIGHT_PRICE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ir_runtime/op.h"
#include "runtime/execution/memory_need.h"
#include "runtime/ops/prepare.h"

namespace ir {

/// What a byte of weights costs.
struct WeightPrice {
  double cycles = 0;  ///< per byte; 0: the algorithm that is expected to be the fastest is taken
  /// For algorithms that are even with smaller ones at this price: the larger ones are taken while these
  /// bytes last.
  std::int64_t spare_bytes = 0;
};

/// Takes the algorithms that are the cheapest at a price.
class PricedChoice final : public KernelChooser {
 public:
  explicit PricedChoice(WeightPrice price = {}) : price_(price) {}
  PreparedKernel choose(const KernelChoice& choice, std::span<const ValueInfo> inputs,
                        std::span<const ValueInfo> outputs) override;

 private:
  WeightPrice price_;
};

/// Collects the choices of a plan's steps before any kernel is prepared.
class WeightSurvey final : public KernelChooser {
 public:
  /// Whether preparing `op` does little but to ask for a choice, and such that weights may grow.
  static bool concerns(const Op& op);

  /// Returns a kernel that must not run.
  PreparedKernel choose(const KernelChoice& choice, std::span<const ValueInfo> inputs,
                        std::span<const ValueInfo> outputs) override;

  /// The values of a step, which are in memory at once.
  void add_step(std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs);

  /// For weights that may take what is left of `extra_weights` (CompileOptions), and 1 MiB in any case.
  [[nodiscard]] WeightPrice price(const MemoryNeed& need, double extra_weights) const;
  /// The lowest price at which all choices together take no more than `bytes` beyond the smallest forms of
  /// their weights. From some price on time is worth more: that one where there is none.
  [[nodiscard]] WeightPrice price_for(std::int64_t bytes) const;

 private:
  [[nodiscard]] std::int64_t extra_bytes(double cycles_per_byte) const;

  std::vector<std::vector<KernelEstimate>> choices_;
  std::int64_t fastest_bytes_ = 0;  ///< that the fastest algorithms take beyond the smallest forms
  std::int64_t activations_ = 0;    ///< bytes of the largest step
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_WEIGHT_PRICE_H_
