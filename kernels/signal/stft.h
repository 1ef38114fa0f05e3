// Short-time Fourier transforms: frames of a signal under a window, and back.
#ifndef KERNELS_SIGNAL_STFT_H_
#define KERNELS_SIGNAL_STFT_H_

#include <cstddef>

#include "kernels/signal/fft.h"

namespace ir::kernels {

/// What both directions know of the frames. The window lies in the middle of a frame, from
/// (frame_size - window_length) / 2 on; the rest of the frame is zero.
struct FrameParams {
  std::size_t batch = 1;
  std::size_t frames = 1;
  std::size_t frame_size = 1;     ///< 1 .. kMaxFftLength
  std::size_t frame_step = 1;     ///< at least 1
  std::size_t window_length = 1;  ///< at most frame_size

  [[nodiscard]] std::size_t bins() const { return frame_size / 2 + 1; }
  [[nodiscard]] std::size_t window_start() const { return (frame_size - window_length) / 2; }
};

/// STFT-15, prepared. Parallel over frames. T: float, double.
template <class T>
class Stft {
 public:
  /// Frame f starts at sample f * frame_step and ends within the `signal_length` samples.
  Stft(const FrameParams& params, std::size_t signal_length, bool transpose_frames);

  [[nodiscard]] std::size_t scratch_bytes() const;
  /// Reads `signal` [batch, signal_length] and `window` [window_length]; writes complex pairs
  /// [batch, frames, bins], or with transpose_frames [batch, bins, frames].
  void run(const T* signal, const T* window, T* out, std::byte* scratch) const;

 private:
  void run_block(std::size_t block, const T* signal, const T* window, T* out, T* work) const;

  FrameParams params_;
  std::size_t signal_length_;
  bool transpose_frames_;
  Fft<T> fft_;
  FftChunks chunks_;
};

/// ISTFT-16, prepared. Sample t of the signal is the sum of the frames' values there, each times the window,
/// divided by the sum of the squares of the windows there, or 0 where that is 0. Parallel over frames, then
/// over samples. T: float, double.
template <class T>
class InverseStft {
 public:
  /// `center`: the first frame_size / 2 samples are not part of the output. `normalized`: samples are
  /// multiplied by the root of frame_size. `signal_length` samples are written, zeros after the last frame.
  InverseStft(const FrameParams& params, std::size_t signal_length, bool center, bool normalized);

  [[nodiscard]] std::size_t scratch_bytes() const;
  /// Reads complex pairs `in` [batch, bins, frames] and `window` [window_length]; writes `out`
  /// [batch, signal_length].
  void run(const T* in, const T* window, T* out, std::byte* scratch) const;

 private:
  void run_block(std::size_t block, const T* in, T* frames, T* work) const;
  void add_frames(const T* frames, const T* window, T* out) const;

  FrameParams params_;
  std::size_t signal_length_;
  std::size_t margin_;
  T scale_;
  Fft<T> fft_;
  FftChunks chunks_;
};

extern template class Stft<float>;
extern template class Stft<double>;
extern template class InverseStft<float>;
extern template class InverseStft<double>;

}  // namespace ir::kernels

#endif  // KERNELS_SIGNAL_STFT_H_
