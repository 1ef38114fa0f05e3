#include "runtime/execution/weight_price.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir_runtime/ops/convolution.h"
#include "runtime/ops/fused.h"

namespace ir {
namespace {

// A byte that saves so many cycles of every inference is well spent: a megabyte that costs a small network a
// few percent of its time is not worth saving. Transformed filters save a fifth of it on small planes, where
// there are many of them, and up to forty times as many on large ones.
constexpr double kMostCyclesPerByte = 0.5;

// Of what weights may grow by: always, and at most.
constexpr double kFreeBytes = 0x1p20;
constexpr double kMostBytes = 0x1p62;

// Algorithms whose estimates lie that close are taken for equally fast, as measurements may say either: where
// memory is short, the smaller one is chosen.
constexpr double kAlike = 1.05;

// What a process takes besides weights and activations: code, libraries, objects, and scratch, which is not
// known before kernels are prepared. It comes off first.
constexpr double kProcessBytes = 12 * 0x1p20;

// Where there is not memory for all; 0 is for where there is.
constexpr double kLeastCyclesPerByte = 1e-9;

// At its price a pair is even; this far from it rounding does not decide.
constexpr double kBeside = 1e-9;

// The fastest one stays the first one, and those that are alike take as long.
std::vector<KernelEstimate> estimates_of(const KernelChoice& choice) {
  std::vector<KernelEstimate> estimates = choice.algorithms();
  if (estimates.empty()) return estimates;
  const double fastest = estimates.front().cycles;
  for (KernelEstimate& estimate : estimates) {
    if (estimate.cycles <= kAlike * fastest) estimate.cycles = fastest;
  }
  return estimates;
}

const KernelEstimate& cheapest(std::span<const KernelEstimate> estimates, double cycles_per_byte) {
  return *std::ranges::min_element(estimates, {}, [&](const KernelEstimate& estimate) {
    return std::pair(estimate.cycles + cycles_per_byte * static_cast<double>(estimate.weight_bytes),
                     estimate.weight_bytes);
  });
}

std::int64_t least_bytes(std::span<const KernelEstimate> estimates) {
  return std::ranges::min(estimates, {}, &KernelEstimate::weight_bytes).weight_bytes;
}

}  // namespace

PreparedKernel PricedChoice::choose(const KernelChoice& choice, std::span<const ValueInfo>,
                                    std::span<const ValueInfo>) {
  const std::vector<KernelEstimate> estimates =
      price_.cycles > 0 ? estimates_of(choice) : std::vector<KernelEstimate>();
  if (estimates.empty()) return choice.prepare("").value();
  const KernelEstimate* taken = &cheapest(estimates, price_.cycles * (1 + kBeside));
  const KernelEstimate& larger = cheapest(estimates, price_.cycles * (1 - kBeside));
  const std::int64_t difference = larger.weight_bytes - taken->weight_bytes;
  if (difference <= price_.spare_bytes) {
    price_.spare_bytes -= difference;
    taken = &larger;
  }
  // What turns out not to take the geometry after all leaves it to the others in turn.
  std::optional<PreparedKernel> kernel;
  if (taken != &estimates.front()) kernel = choice.prepare(taken->algorithm);
  return kernel ? std::move(*kernel) : choice.prepare("").value();
}

bool WeightSurvey::concerns(const Op& op) {
  return op.is<op::v1::Convolution>() || op.is<op::v1::GroupConvolution>() || op.is<op::FusedConvolution>() ||
         op.is<op::FusedGroupConvolution>();
}

PreparedKernel WeightSurvey::choose(const KernelChoice& choice, std::span<const ValueInfo>,
                                    std::span<const ValueInfo>) {
  std::vector<KernelEstimate> estimates = estimates_of(choice);
  if (!estimates.empty() && estimates.front().weight_bytes > least_bytes(estimates)) {
    fastest_bytes_ += estimates.front().weight_bytes - least_bytes(estimates);
    choices_.push_back(std::move(estimates));
  }
  return nothing_to_do("");
}

void WeightSurvey::add_step(std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs) {
  std::int64_t bytes = 0;
  for (const std::span<const ValueInfo> values : {inputs, outputs}) {
    for (const ValueInfo& value : values) {
      if (value.constant == nullptr && value.shape.is_static())
        bytes = saturating_sum(bytes, bytes_of(value));
    }
  }
  activations_ = std::max(activations_, bytes);
}

WeightPrice WeightSurvey::price(const MemoryNeed& need, double extra_weights) const {
  const std::int64_t needed = saturating_sum(saturating_sum(need.constants, need.packed), activations_);
  const double extra =
      std::clamp(extra_weights * static_cast<double>(needed) - kProcessBytes, kFreeBytes, kMostBytes);
  return price_for(static_cast<std::int64_t>(extra));
}

WeightPrice WeightSurvey::price_for(std::int64_t bytes) const {
  if (fastest_bytes_ <= bytes) return {};
  // The prices from which on some choice prefers the smaller one of two algorithms.
  std::vector<double> prices{kLeastCyclesPerByte, kMostCyclesPerByte};
  for (const std::vector<KernelEstimate>& estimates : choices_) {
    for (const KernelEstimate& large : estimates) {
      for (const KernelEstimate& small : estimates) {
        const std::int64_t saved = large.weight_bytes - small.weight_bytes;
        if (saved > 0 && small.cycles > large.cycles)
          prices.push_back((small.cycles - large.cycles) / static_cast<double>(saved));
      }
    }
  }
  std::ranges::sort(prices);
  const double price = *std::ranges::partition_point(prices, [&](double cycles) {
    return cycles < kMostCyclesPerByte && extra_bytes(cycles * (1 + kBeside)) > bytes;
  });
  return {price, std::max<std::int64_t>(bytes - extra_bytes(price * (1 + kBeside)), 0)};
}

std::int64_t WeightSurvey::extra_bytes(double cycles_per_byte) const {
  std::int64_t bytes = 0;
  for (const std::vector<KernelEstimate>& estimates : choices_)
    bytes += cheapest(estimates, cycles_per_byte).weight_bytes - least_bytes(estimates);
  return bytes;
}

}  // namespace ir
