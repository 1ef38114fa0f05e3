// What the machine can do at most, measured.
#ifndef TESTS_BENCH_MACHINE_PEAK_H_
#define TESTS_BENCH_MACHINE_PEAK_H_

namespace ir::bench {

struct MachinePeak {
  /// f32 multiplications and additions per second, from chains of fused multiply-adds in registers.
  double flops = 0;
  /// Bytes read plus bytes written per second, from copying more than caches of a core hold.
  double bytes = 0;
};

/// Measured with the threads of the pool that the caller is in and with the SIMD target of the moment, in
/// short tries, as other programs may run at the same time: the best one counts for arithmetic, the median
/// for memory. Takes about a second.
MachinePeak measure_peak();

}  // namespace ir::bench

#endif  // TESTS_BENCH_MACHINE_PEAK_H_
