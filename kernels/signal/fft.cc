#include "kernels/signal/fft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include "kernels/signal/fft_stages.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

// Above this length one line fills the caches by itself.
constexpr std::size_t kMaxLengthForLanes = 8192;
constexpr std::size_t kMaxFftChunks = 16;

template <class T>
struct Number {
  T re;
  T im;
  friend Number operator*(Number a, Number b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// The radices of a length, or nothing when it has other prime factors.
std::vector<std::size_t> radices_of(std::size_t length) {
  std::vector<std::size_t> radices;
  for (const std::size_t radix : {4, 2, 3, 5}) {
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  }
  if (length != 1) radices.clear();
  return radices;
}

bool is_smooth(std::size_t length) { return length == 1 || !radices_of(length).empty(); }

// A length of at least `least` that runs fast.
std::size_t smooth_length(std::size_t least) {
  std::size_t best = std::numeric_limits<std::size_t>::max();
  for (const std::size_t factor : {1, 3, 5, 9, 15}) {
    std::size_t length = factor;
    while (length < least) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

// exp(-2 pi i k / length) for 0 <= k < length, from an angle of at most pi / 4, where sine and cosine lose
// nothing.
Number<double> root_of_unity(std::size_t k, std::size_t length) {
  const std::size_t octant = 8 * k / length;
  const std::size_t quarter = (octant + 1) / 2;  // the nearest multiple of a right angle
  const auto distance =
      static_cast<double>(static_cast<std::int64_t>(4 * k) - static_cast<std::int64_t>(quarter * length)) /
      static_cast<double>(4 * length);
  const double angle = 2 * std::numbers::pi * distance;
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  switch (quarter % 4) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

/// Each of `count` elements of all lanes by the number of that index. Never inline: a transform does it three
/// times.
template <std::size_t lanes, class T>
[[gnu::noinline]] void multiply(SplitComplex<T> lines, const T* re, const T* im, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      T& to_re = lines.re[j * lanes + lane];
      T& to_im = lines.im[j * lanes + lane];
      const Number<T> product = Number<T>{to_re, to_im} * Number<T>{re[j], im[j]};
      to_re = product.re;
      to_im = product.im;
    }
  }
}

}  // namespace

template <class T>
Fft<T>::Fft(std::size_t length, FftDirection direction, std::size_t lines)
    : length_(length),
      capacity_(length),
      inverse_(direction == FftDirection::inverse),
      bluestein_(!is_smooth(length)),
      lanes_(lines >= kMaxLanes / 2 && length <= kMaxLengthForLanes ? kMaxLanes : 1) {
  if (bluestein_) capacity_ = smooth_length(2 * length - 1);
  make_stages(capacity_);
  if (bluestein_) make_bluestein();
  for (const Stage& stage : stages_) cost_ += capacity_ * (2 + stage.radix);
  cost_ = (bluestein_ ? 2 : 1) * cost_ + 8 * capacity_;
}

template <class T>
void Fft<T>::make_stages(std::size_t length) {
  for (const std::size_t radix : radices_of(length)) {
    Stage stage{radix, length / radix, {}, {}};
    stage.re.reserve(stage.columns * (radix - 1));
    stage.im.reserve(stage.columns * (radix - 1));
    for (std::size_t p = 0; p < stage.columns; ++p) {
      for (std::size_t k = 1; k < radix; ++k) {
        const Number<double> twiddle = root_of_unity(p * k, length);
        stage.re.push_back(static_cast<T>(twiddle.re));
        stage.im.push_back(static_cast<T>(twiddle.im));
      }
    }
    length = stage.columns;
    stages_.push_back(std::move(stage));
  }
}

template <class T>
void Fft<T>::make_bluestein() {
  const std::size_t n = length_;
  const std::size_t m = capacity_;
  chirp_re_.resize(n);
  chirp_im_.resize(n);
  // The filter in double, transformed in double: its errors would be in every result.
  const Fft<double> transform(m, FftDirection::forward, 1);
  std::vector<double> work(transform.work_size(), 0.0);
  const SplitComplex<double> filter = transform.input(work.data());
  for (std::size_t j = 0; j < n; ++j) {
    const Number<double> chirp = root_of_unity(j * j % (2 * n), 2 * n);
    chirp_re_[j] = static_cast<T>(chirp.re);
    chirp_im_[j] = static_cast<T>(chirp.im);
    for (const std::size_t at : {j, (m - j) % m}) {
      filter.re[at] = chirp.re;
      filter.im[at] = -chirp.im;
    }
  }
  const SplitComplex<double> result = transform.run(work.data());
  filter_re_.resize(m);
  filter_im_.resize(m);
  for (std::size_t j = 0; j < m; ++j) {
    filter_re_[j] = static_cast<T>(result.re[j] / static_cast<double>(m));
    filter_im_[j] = static_cast<T>(result.im[j] / static_cast<double>(m));
  }
}

// With real and imaginary parts exchanged on both ends, the forward transform is the inverse one.
template <class T>
SplitComplex<T> Fft<T>::input(T* work) const {
  const SplitComplex<T> first{work, work + capacity_ * lanes_};
  return inverse_ ? SplitComplex<T>{first.im, first.re} : first;
}

template <class T>
template <std::size_t lanes>
SplitComplex<T> Fft<T>::run_stages(SplitComplex<T> data, SplitComplex<T> spare) const {
  std::size_t count = lanes;
  for (const Stage& stage : stages_) {
    run_fft_stage<T>({stage.radix, stage.columns, count, stage.re.data(), stage.im.data(), data, spare});
    std::swap(data, spare);
    count *= stage.radix;
  }
  return data;
}

template <class T>
template <std::size_t lanes>
SplitComplex<T> Fft<T>::run_bluestein(T* work) const {
  const std::size_t size = capacity_ * lanes;
  SplitComplex<T> data{work, work + size};
  SplitComplex<T> spare{work + 2 * size, work + 3 * size};
  multiply<lanes>(data, chirp_re_.data(), chirp_im_.data(), length_);
  std::fill(data.re + length_ * lanes, data.re + size, T{0});
  std::fill(data.im + length_ * lanes, data.im + size, T{0});
  SplitComplex<T> spectrum = run_stages<lanes>(data, spare);
  if (spectrum.re != data.re) std::swap(data, spare);
  multiply<lanes>(spectrum, filter_re_.data(), filter_im_.data(), capacity_);
  const SplitComplex<T> exchanged = run_stages<lanes>({spectrum.im, spectrum.re}, {spare.im, spare.re});
  const SplitComplex<T> result{exchanged.im, exchanged.re};
  multiply<lanes>(result, chirp_re_.data(), chirp_im_.data(), length_);
  return result;
}

template <class T>
SplitComplex<T> Fft<T>::run(T* work) const {
  const std::size_t size = capacity_ * lanes_;
  const SplitComplex<T> data{work, work + size};
  const SplitComplex<T> spare{work + 2 * size, work + 3 * size};
  SplitComplex<T> result{};
  if (bluestein_) {
    result = lanes_ == 1 ? run_bluestein<1>(work) : run_bluestein<kMaxLanes>(work);
  } else {
    result = lanes_ == 1 ? run_stages<1>(data, spare) : run_stages<kMaxLanes>(data, spare);
  }
  return inverse_ ? SplitComplex<T>{result.im, result.re} : result;
}

template class Fft<float>;
template class Fft<double>;

FftChunks fft_chunks(std::size_t lines, std::size_t lanes, std::size_t cost) {
  const std::size_t blocks = (lines + lanes - 1) / lanes;
  const std::size_t grain =
      std::max(grain_for_cost(cost * lanes), (blocks + kMaxFftChunks - 1) / kMaxFftChunks);
  return {grain, blocks, (blocks + grain - 1) / grain};
}

}  // namespace ir::kernels
