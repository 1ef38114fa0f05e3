#include "tests/bench/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/machine_peak.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/threads/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace ir::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `rounds` steps of as many chains as hide the latency of two units; returns the operations done.
double MultiplyAdd(std::size_t rounds, float* sink) {
  constexpr double kChains = 12;
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 0.999999F);
  const auto b = hn::Set(d, 1e-6F);
  auto s0 = hn::Iota(d, 0.0F), s1 = hn::Iota(d, 1.0F), s2 = hn::Iota(d, 2.0F), s3 = hn::Iota(d, 3.0F);
  auto s4 = hn::Iota(d, 4.0F), s5 = hn::Iota(d, 5.0F), s6 = hn::Iota(d, 6.0F), s7 = hn::Iota(d, 7.0F);
  auto s8 = hn::Iota(d, 8.0F), s9 = hn::Iota(d, 9.0F), s10 = hn::Iota(d, 10.0F), s11 = hn::Iota(d, 11.0F);
  for (std::size_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, a, b);
    s1 = hn::MulAdd(s1, a, b);
    s2 = hn::MulAdd(s2, a, b);
    s3 = hn::MulAdd(s3, a, b);
    s4 = hn::MulAdd(s4, a, b);
    s5 = hn::MulAdd(s5, a, b);
    s6 = hn::MulAdd(s6, a, b);
    s7 = hn::MulAdd(s7, a, b);
    s8 = hn::MulAdd(s8, a, b);
    s9 = hn::MulAdd(s9, a, b);
    s10 = hn::MulAdd(s10, a, b);
    s11 = hn::MulAdd(s11, a, b);
  }
  const auto low = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
  const auto high = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(s10, s11));
  *sink = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return 2 * kChains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

void Copy(const float* from, float* to, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
}

}  // namespace ir::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::bench {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(Copy);

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double flops_per_second(std::size_t threads) {
  constexpr std::size_t kRounds = 200'000;
  std::vector<float> sinks(threads * 16);  // a cache line each
  std::vector<double> done(threads);
  const auto start = std::chrono::steady_clock::now();
  kernels::parallel_for(threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      done[i] = HWY_DYNAMIC_DISPATCH(MultiplyAdd)(kRounds, &sinks[i * 16]);
  });
  const double seconds = seconds_since(start);
  double sum = 0;
  for (const double operations : done) sum += operations;
  return sum / seconds;
}

// Of copying the next piece: pieces are small enough for some to run undisturbed.
std::vector<double> piece_rates(const std::vector<float>& from, std::vector<float>& to) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  constexpr std::size_t kGrain = kPiece / 16;
  std::vector<double> rates;
  for (std::size_t piece = 0; piece + kPiece <= from.size(); piece += kPiece) {
    const auto start = std::chrono::steady_clock::now();
    kernels::parallel_for(kPiece, kGrain, [&](std::size_t begin, std::size_t end) {
      HWY_DYNAMIC_DISPATCH(Copy)(from.data() + piece + begin, to.data() + piece + begin, end - begin);
    });
    rates.push_back(2.0 * static_cast<double>(kPiece * sizeof(float)) / seconds_since(start));
  }
  return rates;
}

}  // namespace

MachinePeak measure_peak() {
  constexpr int kTries = 200;
  constexpr int kPasses = 4;
  constexpr std::size_t kFloats = std::size_t{1} << 25;
  const auto threads = static_cast<std::size_t>(std::max(kernels::thread_slots(), 1));
  MachinePeak peak;
  for (int i = 0; i < kTries; ++i) peak.flops = std::max(peak.flops, flops_per_second(threads));
  const std::vector<float> from(kFloats, 1.0F);
  std::vector<float> to(kFloats);
  std::vector<double> rates;
  for (int i = 0; i < kPasses; ++i) std::ranges::copy(piece_rates(from, to), std::back_inserter(rates));
  // Not the best one, which may have been in a cache.
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  peak.bytes = *middle;
  return peak;
}

}  // namespace ir::bench
#endif  // HWY_ONCE
