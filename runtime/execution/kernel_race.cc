#include "runtime/execution/kernel_race.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "kernels/threads/parallel.h"

namespace ir {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLeastRounds = 3;
constexpr std::size_t kMostRounds = 31;
constexpr std::chrono::milliseconds kTimePerKernel{50};
// Kernels so much slower than the best one are not measured further.
constexpr double kHopeless = 1.5;
// What another kernel must gain over the first one: noise is less.
constexpr double kWorthwhile = 0.97;

// So much memory each thread writes between two runs, several times what its second-level cache holds: the
// weights of a step are then as far away as in a model, where other steps ran meanwhile. Algorithms differ in
// the size of their weights.
constexpr std::size_t kSweptBytes = std::size_t{8} << 20;

// Of f32: numbers in [-1, 1).
void fill(Tensor& tensor, std::uint32_t seed) {
  if (tensor.element_type() != ElementType::f32) return;
  for (float& value : tensor.data<float>()) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31F;
  }
}

// The memory that runners run on, all the same.
class Workplace {
 public:
  Workplace(std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs, std::size_t scratch_bytes)
      : scratch_(ElementType::u8, {static_cast<std::int64_t>(scratch_bytes)}),
        swept_(ElementType::u8, {static_cast<std::int64_t>(race_bytes())}) {
    for (const ValueInfo& input : inputs) {
      if (input.constant != nullptr) {
        in_.push_back(input.constant->raw());
        continue;
      }
      tensors_.emplace_back(input.type, input.shape.to_shape());
      fill(tensors_.back(), static_cast<std::uint32_t>(tensors_.size()));
      in_.push_back(tensors_.back().raw());
    }
    images_ = tensors_.size();
    for (const ValueInfo& output : outputs) {
      tensors_.emplace_back(output.type, output.shape.to_shape());
      out_.push_back(tensors_.back().raw());
    }
  }

  /// Milliseconds of one run, as it is behind other steps: its input was just written, its weights were not
  /// used for long.
  double run(const PreparedKernel& kernel) {
    write_lines(swept_);
    for (std::size_t i = 0; i < images_; ++i) write_lines(tensors_[i]);
    const auto start = Clock::now();
    kernel.run({in_, out_, static_cast<std::byte*>(scratch_.raw())});
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

 private:
  // Turns a bit of each line: the sign of floats, which stay plain numbers.
  static void write_lines(Tensor& tensor) {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kLinesPerTask = 256;
    const auto bytes = std::span(static_cast<std::uint8_t*>(tensor.raw()), tensor.byte_size());
    const std::size_t lines = bytes.size() / kLine;
    kernels::parallel_for(lines, kLinesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t line = begin; line < end; ++line) bytes[line * kLine + 3] ^= 0x80U;
    });
  }

  std::vector<Tensor> tensors_;
  std::size_t images_ = 0;
  Tensor scratch_;
  Tensor swept_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

struct Runner {
  std::size_t index = 0;
  const PreparedKernel* kernel = nullptr;
  /// Of each round.
  std::vector<double> milliseconds = {};

  [[nodiscard]] double least() const { return *std::ranges::min_element(milliseconds); }
};

// Runs all in turn, again and again, so that a machine that becomes slower does so for all.
void measure(std::vector<Runner>& runners, Workplace& workplace) {
  for (const Runner& runner : runners) (void)workplace.run(*runner.kernel);
  const auto end = Clock::now() + kTimePerKernel * runners.size();
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    if (round >= kLeastRounds && Clock::now() > end) break;
    double best = std::numeric_limits<double>::infinity();
    for (Runner& runner : runners) {
      runner.milliseconds.push_back(workplace.run(*runner.kernel));
      best = std::min(best, runner.least());
    }
    if (round == 0) continue;
    // The first one stays: the others are compared with it.
    std::erase_if(runners, [&](const Runner& runner) {
      return &runner != &runners.front() && runner.least() > kHopeless * best;
    });
  }
}

// What a run takes compared with `base`: the median over the rounds, unless the fastest runs, which nothing
// disturbed, say that it is more.
double ratio_of(const Runner& runner, const Runner& base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < runner.milliseconds.size(); ++i)
    ratios.push_back(runner.milliseconds[i] / base.milliseconds[i]);
  const auto median = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, median);
  return std::max(*median, runner.least() / base.least());
}

}  // namespace

std::size_t race_bytes() { return kSweptBytes * static_cast<std::size_t>(kernels::thread_slots()); }

std::size_t fastest_kernel(std::span<const PreparedKernel> kernels, std::span<const ValueInfo> inputs,
                           std::span<const ValueInfo> outputs) {
  std::vector<Runner> runners;
  std::size_t scratch = 0;
  for (const PreparedKernel& kernel : kernels) {
    runners.push_back({runners.size(), &kernel});
    scratch = std::max(scratch, kernel.scratch_bytes);
  }
  Workplace workplace(inputs, outputs, scratch);
  measure(runners, workplace);
  std::size_t fastest = 0;
  double least = kWorthwhile;
  for (const Runner& runner : runners) {
    const double ratio = ratio_of(runner, runners.front());
    if (ratio >= least) continue;
    least = ratio;
    fastest = runner.index;
  }
  return fastest;
}

}  // namespace ir
