// Chooses algorithms by what was measured, or measures them.
#ifndef RUNTIME_EXECUTION_TUNER_H_
#define RUNTIME_EXECUTION_TUNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/tuning.h"
#include "runtime/execution/memory_need.h"
#include "runtime/ops/prepare.h"

namespace ir {

/// For the steps of one plan. Takes the choices of `CompileOptions::tuning`; with `CompileOptions::tune`,
/// what is not known there is measured in the threads of the caller and then kept. Where measuring would take
/// more memory than the limits allow, or another thread is measuring, another chooser's choice is taken.
class Tuner final : public KernelChooser {
 public:
  /// `options.tuning` is not null and outlives the tuner, as `otherwise` does. `need` is that of the model
  /// that is planned.
  Tuner(const CompileOptions& options, const MemoryNeed& need, KernelChooser& otherwise);

  PreparedKernel choose(const KernelChoice& choice, std::span<const ValueInfo> inputs,
                        std::span<const ValueInfo> outputs) override;

 private:
  /// Nothing when it cannot be measured.
  [[nodiscard]] std::optional<PreparedKernel> fastest_of(const KernelChoice& choice,
                                                         std::span<const ValueInfo> inputs,
                                                         std::span<const ValueInfo> outputs) const;
  /// Whether there may be so many bytes, and so many kernels of which each packs all constants.
  [[nodiscard]] bool has_room(std::int64_t buffers, std::int64_t constants, std::size_t candidates) const;

  Tuning& tuning_;
  KernelChooser& otherwise_;
  bool measures_;
  std::int64_t most_buffers_;
  std::int64_t most_memory_;
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_TUNER_H_
