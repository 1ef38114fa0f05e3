// The discrete Fourier transform of lines of one length: the core of every signal kernel.
#ifndef KERNELS_SIGNAL_FFT_H_
#define KERNELS_SIGNAL_FFT_H_

#include <cstddef>
#include <vector>

namespace ir::kernels {

/// forward: exp(-2 pi i jk / n); inverse: exp(+2 pi i jk / n). Neither is scaled.
enum class FftDirection { forward, inverse };

/// Longest line that can be transformed: what bounds tables and work memory.
inline constexpr std::size_t kMaxFftLength = std::size_t{1} << 24;

/// Complex numbers in two arrays.
template <class T>
struct SplitComplex {
  T* re;
  T* im;
};

/// Transforms `lanes` lines at once, element i of lane l at i * lanes + l, so that all work is on adjacent
/// numbers. Lengths with the prime factors 2, 3 and 5 only run Stockham's algorithm in radix 4, 2, 3 and 5;
/// all others Bluestein's, by a convolution of at least twice the length. Tables are computed in double.
///
/// The error is some log2(n) * 2^-24 (f32) of the root mean square of the result, and some five times that
/// for Bluestein's algorithm. A line has the same bits for any number of lanes. T: float, double.
template <class T>
class Fft {
 public:
  /// 1 <= length <= kMaxFftLength. `lines` is the number that there are to transform, from which lanes()
  /// follows.
  Fft(std::size_t length, FftDirection direction, std::size_t lines);

  [[nodiscard]] std::size_t length() const { return length_; }
  /// 1 or kMaxLanes.
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  static constexpr std::size_t kMaxLanes = 8;
  /// Numbers of T that the work memory of one run has.
  [[nodiscard]] std::size_t work_size() const { return 4 * capacity_ * lanes_; }
  /// Elementary operations per line, roughly.
  [[nodiscard]] std::size_t cost() const { return cost_; }

  /// Where in the work memory the lines, length() * lanes() numbers each, are put before `run`.
  [[nodiscard]] SplitComplex<T> input(T* work) const;
  /// Returns where in the work memory the result is.
  SplitComplex<T> run(T* work) const;

 private:
  struct Stage {
    std::size_t radix;
    std::size_t columns;  // length of the sub-transforms / radix
    std::vector<T> re;    // [columns][radix - 1]
    std::vector<T> im;
  };
  // Transforms `data` of the length that the stages were made for, with `spare` as memory; returns which of
  // the two holds the result.
  template <std::size_t lanes>
  SplitComplex<T> run_stages(SplitComplex<T> data, SplitComplex<T> spare) const;
  template <std::size_t lanes>
  SplitComplex<T> run_bluestein(T* work) const;
  void make_stages(std::size_t length);
  void make_bluestein();

  std::size_t length_;
  std::size_t capacity_;  // of each of the four arrays in the work memory, per lane
  bool inverse_;
  bool bluestein_ = false;
  std::size_t lanes_;
  std::size_t cost_ = 0;
  std::vector<Stage> stages_;
  // Bluestein: exp(-pi i j^2 / n), and the transform of its conjugate, periodic and scaled.
  std::vector<T> chirp_re_;
  std::vector<T> chirp_im_;
  std::vector<T> filter_re_;
  std::vector<T> filter_im_;
};

extern template class Fft<float>;
extern template class Fft<double>;

/// How a parallel loop over lines shares work memory: at most kMaxFftChunks chunks, each with its own part.
struct FftChunks {
  std::size_t grain;  // blocks of lanes per chunk
  std::size_t blocks;
  std::size_t count;
};
FftChunks fft_chunks(std::size_t lines, std::size_t lanes, std::size_t cost);

}  // namespace ir::kernels

#endif  // KERNELS_SIGNAL_FFT_H_
