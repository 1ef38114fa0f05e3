#include "runtime/execution/tuner.h"

#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/base/targets.h"
#include "kernels/threads/parallel.h"
#include "runtime/execution/kernel_race.h"

namespace ir {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
// Weights may become so many times larger when they are packed (Winograd's tiles of 4 x 4: 36 / 9).
constexpr std::int64_t kMostPacking = 4;

std::string algorithm_of(const PreparedKernel& kernel) {
  return kernel.name.substr(kernel.name.find('/') + 1);
}

}  // namespace

Tuner::Tuner(const CompileOptions& options, const MemoryNeed& need, KernelChooser& otherwise)
    : tuning_(*options.tuning),
      otherwise_(otherwise),
      measures_(options.tune),
      most_buffers_(activation_limit(options).bytes),
      most_memory_(kMost) {
  if (options.max_memory_bytes > 0)
    most_memory_ = options.max_memory_bytes -
                   std::min(options.max_memory_bytes, saturating_sum(need.constants, need.packed));
}

bool Tuner::has_room(std::int64_t buffers, std::int64_t constants, std::size_t candidates) const {
  std::int64_t packed = 0;
  if (__builtin_mul_overflow(constants, kMostPacking * static_cast<std::int64_t>(candidates), &packed))
    return false;
  return buffers <= most_buffers_ && saturating_sum(buffers, packed) <= most_memory_;
}

PreparedKernel Tuner::choose(const KernelChoice& choice, std::span<const ValueInfo> inputs,
                             std::span<const ValueInfo> outputs) {
  const std::string key =
      fmt::format("{} threads={} {}", kernels::active_target(), kernels::thread_slots(), choice.key());
  if (const auto known = tuning_.choice(key)) {
    if (auto kernel = choice.prepare(*known)) return std::move(*kernel);
  }
  if (measures_) {
    // Two measurements at once would disturb each other.
    static std::mutex measuring;
    const std::unique_lock lock(measuring, std::try_to_lock);
    if (lock.owns_lock()) {
      if (auto fastest = fastest_of(choice, inputs, outputs)) {
        tuning_.set_choice(key, algorithm_of(*fastest));
        return std::move(*fastest);
      }
    }
  }
  return otherwise_.choose(choice, inputs, outputs);
}

std::optional<PreparedKernel> Tuner::fastest_of(const KernelChoice& choice, std::span<const ValueInfo> inputs,
                                                std::span<const ValueInfo> outputs) const {
  const std::vector<KernelEstimate> algorithms = choice.algorithms();
  if (algorithms.size() < 2) return std::nullopt;
  auto buffers = static_cast<std::int64_t>(race_bytes());
  std::int64_t constants = 0;
  for (const ValueInfo& input : inputs) {
    std::int64_t& bytes = input.constant == nullptr ? buffers : constants;
    bytes = saturating_sum(bytes, bytes_of(input));
  }
  for (const ValueInfo& output : outputs) buffers = saturating_sum(buffers, bytes_of(output));
  const auto fits = [&](std::size_t scratch) {
    return has_room(saturating_sum(buffers, static_cast<std::int64_t>(scratch)), constants,
                    algorithms.size());
  };
  if (!fits(0)) return std::nullopt;
  std::vector<PreparedKernel> kernels{choice.prepare("").value()};
  const std::string expected = algorithm_of(kernels.front());
  for (const KernelEstimate& estimate : algorithms) {
    if (estimate.algorithm == expected) continue;
    auto kernel = choice.prepare(estimate.algorithm);
    if (kernel && fits(kernel->scratch_bytes)) kernels.push_back(std::move(*kernel));
  }
  if (kernels.size() < 2 || !fits(kernels.front().scratch_bytes)) return std::nullopt;
  return std::move(kernels[fastest_kernel(kernels, inputs, outputs)]);
}

}  // namespace ir
