#include "kernels/signal/stft.h"

#include <algorithm>
#include <cmath>

#include "kernels/threads/parallel.h"

namespace ir::kernels {

template <class T>
Stft<T>::Stft(const FrameParams& params, std::size_t signal_length, bool transpose_frames)
    : params_(params),
      signal_length_(signal_length),
      transpose_frames_(transpose_frames),
      fft_(params.frame_size, FftDirection::forward, params.batch * params.frames),
      chunks_(fft_chunks(params.batch * params.frames, fft_.lanes(), fft_.cost())) {}

template <class T>
std::size_t Stft<T>::scratch_bytes() const {
  return chunks_.count * fft_.work_size() * sizeof(T);
}

template <class T>
void Stft<T>::run(const T* signal, const T* window, T* out, std::byte* scratch) const {
  parallel_for(chunks_.blocks, chunks_.grain, [&](std::size_t begin, std::size_t end) {
    T* work = reinterpret_cast<T*>(scratch) + begin / chunks_.grain * fft_.work_size();
    for (std::size_t block = begin; block < end; ++block) run_block(block, signal, window, out, work);
  });
}

template <class T>
void Stft<T>::run_block(std::size_t block, const T* signal, const T* window, T* out, T* work) const {
  const std::size_t lanes = fft_.lanes();
  const std::size_t first = block * lanes;
  const std::size_t used = std::min(lanes, params_.batch * params_.frames - first);
  const SplitComplex<T> lines = fft_.input(work);
  std::fill_n(lines.re, params_.frame_size * lanes, T(0));
  std::fill_n(lines.im, params_.frame_size * lanes, T(0));
  const std::size_t start = params_.window_start();
  for (std::size_t lane = 0; lane < used; ++lane) {
    const std::size_t batch = (first + lane) / params_.frames;
    const std::size_t frame = (first + lane) % params_.frames;
    const T* from = signal + batch * signal_length_ + frame * params_.frame_step + start;
    T* to = lines.re + start * lanes + lane;
    for (std::size_t i = 0; i < params_.window_length; ++i) to[i * lanes] = from[i] * window[i];
  }
  const SplitComplex<T> result = fft_.run(work);
  const std::size_t bins = params_.bins();
  const std::size_t bin_stride = transpose_frames_ ? params_.frames : 1;
  const std::size_t frame_stride = transpose_frames_ ? 1 : bins;
  for (std::size_t lane = 0; lane < used; ++lane) {
    const std::size_t batch = (first + lane) / params_.frames;
    const std::size_t frame = (first + lane) % params_.frames;
    T* to = out + 2 * (batch * params_.frames * bins + frame * frame_stride);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      to[2 * bin * bin_stride] = result.re[bin * lanes + lane];
      to[2 * bin * bin_stride + 1] = result.im[bin * lanes + lane];
    }
  }
}

template <class T>
InverseStft<T>::InverseStft(const FrameParams& params, std::size_t signal_length, bool center,
                            bool normalized)
    : params_(params),
      signal_length_(signal_length),
      margin_(center ? params.frame_size / 2 : 0),
      scale_(normalized ? std::sqrt(static_cast<T>(params.frame_size)) : T(1)),
      fft_(params.frame_size, FftDirection::inverse, params.batch * params.frames),
      chunks_(fft_chunks(params.batch * params.frames, fft_.lanes(), fft_.cost())) {}

template <class T>
std::size_t InverseStft<T>::scratch_bytes() const {
  return (params_.batch * params_.frames * params_.frame_size + chunks_.count * fft_.work_size()) * sizeof(T);
}

template <class T>
void InverseStft<T>::run(const T* in, const T* window, T* out, std::byte* scratch) const {
  auto* frames = reinterpret_cast<T*>(scratch);
  T* work = frames + params_.batch * params_.frames * params_.frame_size;
  parallel_for(chunks_.blocks, chunks_.grain, [&](std::size_t begin, std::size_t end) {
    T* own = work + begin / chunks_.grain * fft_.work_size();
    for (std::size_t block = begin; block < end; ++block) run_block(block, in, frames, own);
  });
  add_frames(frames, window, out);
}

template <class T>
void InverseStft<T>::run_block(std::size_t block, const T* in, T* frames, T* work) const {
  const std::size_t lanes = fft_.lanes();
  const std::size_t first = block * lanes;
  const std::size_t used = std::min(lanes, params_.batch * params_.frames - first);
  const std::size_t length = params_.frame_size;
  const std::size_t bins = params_.bins();
  const SplitComplex<T> lines = fft_.input(work);
  std::fill_n(lines.re, length * lanes, T(0));
  std::fill_n(lines.im, length * lanes, T(0));
  for (std::size_t lane = 0; lane < used; ++lane) {
    const std::size_t batch = (first + lane) / params_.frames;
    const std::size_t frame = (first + lane) % params_.frames;
    const T* from = in + 2 * (batch * bins * params_.frames + frame);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const T re = from[2 * bin * params_.frames];
      const T im = from[2 * bin * params_.frames + 1];
      lines.re[bin * lanes + lane] = re;
      lines.im[bin * lanes + lane] = im;
      if (bin > 0 && bin < (length + 1) / 2) {
        lines.re[(length - bin) * lanes + lane] = re;
        lines.im[(length - bin) * lanes + lane] = -im;
      }
    }
  }
  const SplitComplex<T> result = fft_.run(work);
  const T scale = T(1) / static_cast<T>(length);
  for (std::size_t lane = 0; lane < used; ++lane) {
    T* to = frames + (first + lane) * length;
    for (std::size_t i = 0; i < length; ++i) to[i] = scale * result.re[i * lanes + lane];
  }
}

template <class T>
void InverseStft<T>::add_frames(const T* frames, const T* window, T* out) const {
  const std::size_t size = params_.frame_size;
  const std::size_t step = params_.frame_step;
  const std::size_t window_start = params_.window_start();
  const std::size_t overlap = std::min(params_.frames, size / step + 1);
  parallel_for(params_.batch * signal_length_, grain_for_cost(8 + 4 * overlap),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const T* own = frames + i / signal_length_ * params_.frames * size;
                   const std::size_t sample = i % signal_length_ + margin_;
                   // Frames that reach the sample; none after the last one's end.
                   const std::size_t first = sample < size ? 0 : (sample - size) / step + 1;
                   const std::size_t last = std::min(params_.frames, sample / step + 1);
                   T sum = 0;
                   T weight = 0;
                   for (std::size_t frame = first; frame < last; ++frame) {
                     const std::size_t at = sample - frame * step;
                     const std::size_t in_window =
                         at - window_start;  // wraps to a large number before the window
                     if (in_window >= params_.window_length) continue;
                     sum += own[frame * size + at] * window[in_window];
                     weight += window[in_window] * window[in_window];
                   }
                   out[i] = weight == T(0) ? T(0) : sum * scale_ / weight;
                 }
               });
}

template class Stft<float>;
template class Stft<double>;
template class InverseStft<float>;
template class InverseStft<double>;

}  // namespace ir::kernels
