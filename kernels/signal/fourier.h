// Fourier transforms of dense tensors along any of their axes.
#ifndef KERNELS_SIGNAL_FOURIER_H_
#define KERNELS_SIGNAL_FOURIER_H_

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/broadcast.h"
#include "kernels/signal/fft.h"

namespace ir::kernels {

/// An axis to transform and the length of its lines: longer than the axis, it is padded with zeros at the
/// end; shorter, the rest of the axis is not used.
struct FourierAxis {
  std::size_t axis = 0;
  std::size_t length = 1;  ///< 1 .. kMaxFftLength
};

enum class FourierKind {
  complex,          ///< complex to complex: DFT-7, IDFT-7
  real_to_complex,  ///< of the last axis listed, the first length / 2 + 1 values are kept: RDFT-9
  /// Of the last axis listed, length / 2 + 1 values are used, the others are their conjugates, and the real
  /// part is kept: IRDFT-9
  complex_to_real,
};

/// A prepared transform of a tensor whose complex numbers are pairs (real, imaginary) in the innermost place.
/// The inverse is divided by the product of all lengths. Errors as in Fft, once per axis. Parallel over
/// lines; the same bits for any number of threads. T: float, double.
template <class T>
class FourierTransform {
 public:
  /// `dims` of the input without the pairs. `axes` are distinct; the last one is what `kind` speaks of.
  /// real_to_complex and complex_to_real need an axis, and no output dim may be 0.
  FourierTransform(Dims dims, std::span<const FourierAxis> axes, FourierKind kind, FftDirection direction);

  [[nodiscard]] std::size_t scratch_bytes() const;
  /// `in` and `out` do not overlap; `scratch` is aligned for T.
  void run(const T* in, T* out, std::byte* scratch) const;
  /// Elementary operations of one run, roughly.
  [[nodiscard]] double cost() const;

 private:
  // One axis of all lines of the tensor. Strides are in numbers, a pair being one.
  struct Dim {
    std::size_t size;
    std::size_t in_stride;
    std::size_t out_stride;
  };
  struct Pass {
    Fft<T> fft;
    FftChunks chunks;
    bool real_in;
    bool real_out;
    bool in_place;
    std::size_t in_count;   // of a line that are read
    std::size_t out_count;  // of a line that are written
    std::size_t in_stride;
    std::size_t out_stride;
    std::vector<Dim> dims;  // of the lines
    std::size_t lines;
    T scale;

    void run(const T* in, T* out, T* work) const;

    /// Where the lines of a block begin, one for each lane.
    struct Lines {
      std::array<const T*, Fft<T>::kMaxLanes> sources{};
      std::array<T*, Fft<T>::kMaxLanes> targets{};
      std::size_t count = 0;  ///< that are there
    };
    void run_block(std::size_t block, const T* in, T* out, T* work) const;
    [[nodiscard]] Lines lines_of(std::size_t block, const T* in, T* out) const;
    void read(const Lines& ends, const SplitComplex<T>& to) const;
    void write(const Lines& ends, const SplitComplex<T>& from) const;
  };
  void add_pass(std::vector<std::size_t>& dims, std::vector<std::size_t>& strides, const FourierAxis& axis,
                FftDirection direction, FourierKind kind);

  std::vector<Pass> passes_;
  std::size_t buffer_size_ = 0;  // numbers of T in each of the two buffers between passes
  std::size_t work_size_ = 0;
};

extern template class FourierTransform<float>;
extern template class FourierTransform<double>;

}  // namespace ir::kernels

#endif  // KERNELS_SIGNAL_FOURIER_H_
