// The stages of a fast Fourier transform.
#ifndef KERNELS_SIGNAL_FFT_STAGES_H_
#define KERNELS_SIGNAL_FFT_STAGES_H_

#include <cstddef>

#include "kernels/signal/fft.h"

namespace ir::kernels {

/// One stage of Stockham's algorithm: `columns` * radix sub-sequences of `count` adjacent numbers are
/// combined so that the result ends up in order without a permutation.
template <class T>
struct FftStage {
  std::size_t radix;  // 2, 3, 4 or 5
  std::size_t columns;
  std::size_t count;
  const T* table_re;  // twiddle factors [columns][radix - 1]
  const T* table_im;
  SplitComplex<T> in;
  SplitComplex<T> out;  // apart from `in`
};

/// Results have the same bits on every SIMD target. T: float, double.
template <class T>
void run_fft_stage(const FftStage<T>& stage);

template <>
void run_fft_stage<float>(const FftStage<float>& stage);
template <>
void run_fft_stage<double>(const FftStage<double>& stage);

}  // namespace ir::kernels

#endif  // KERNELS_SIGNAL_FFT_STAGES_H_
