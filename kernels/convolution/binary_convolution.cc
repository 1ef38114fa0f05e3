#include "kernels/convolution/binary_convolution.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/base/divide.h"
#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kBits = 64;
/// Places of the image that are packed at a time.
constexpr std::size_t kBlock = 64;

/// The place along an axis that tap `tap` of window `window` reads; what lies before the image wraps to a
/// number behind it.
std::size_t place(const WindowParams& axis, std::size_t window, std::size_t tap) {
  return window * axis.stride + tap * axis.dilation - axis.pad_begin;
}

/// Of up to kBits channels at up to kBlock places: which are 1, and which are 0.
struct BlockBits {
  std::array<std::uint64_t, kBlock> ones{};
  std::array<std::uint64_t, kBlock> zeros{};
};

template <class T>
BlockBits bits_of_block(const T* image, std::size_t plane, std::size_t channels, std::size_t places) {
  BlockBits bits;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const T* const from = image + channel * plane;
    for (std::size_t i = 0; i < places; ++i) {
      bits.ones[i] |= std::uint64_t{from[i] == T{1}} << channel;
      bits.zeros[i] |= std::uint64_t{from[i] == T{0}} << channel;
    }
  }
  return bits;
}

}  // namespace

BinaryConvolution::BinaryConvolution(const BinaryConvolutionParams& params, const std::uint8_t* filters)
    : params_(params),
      taps_(params.y.kernel * params.x.kernel),
      words_(divide_up(params.in_channels, kBits)) {
  if (filters == nullptr) return;
  filters_.resize(filter_words());
  pack_filters(filters, filters_.data());
}

std::size_t BinaryConvolution::scratch_bytes() const {
  return (image_words() + (filters_.empty() ? filter_words() : 0)) * sizeof(std::uint64_t);
}

/// From [out_channels, in_channels, taps] to [out_channels, taps, words].
void BinaryConvolution::pack_filters(const std::uint8_t* filters, std::uint64_t* packed) const {
  const std::size_t bits = params_.in_channels * taps_;
  parallel_for(params_.out_channels, grain_for_cost(4 * bits), [&](std::size_t begin, std::size_t end) {
    std::fill(packed + begin * taps_ * words_, packed + end * taps_ * words_, 0);
    for (std::size_t index = begin * bits; index < end * bits; ++index) {
      const std::uint64_t bit = filters[index / 8] >> (7 - index % 8) & 1U;
      const std::size_t tap = index % taps_;
      const std::size_t channel = index / taps_ % params_.in_channels;
      packed[(index / bits * taps_ + tap) * words_ + channel / kBits] |= bit << channel % kBits;
    }
  });
}

/// To [y.in, x.in, 2, words]: which channels are 1, and which are 0.
template <class T>
void BinaryConvolution::pack_image(const T* image, std::uint64_t* packed) const {
  const std::size_t plane = params_.y.in * params_.x.in;
  const auto pack_block = [&](std::size_t word, std::size_t first) {
    const std::size_t channel = word * kBits;
    const std::size_t channels = std::min(params_.in_channels - channel, kBits);
    const std::size_t places = std::min(kBlock, plane - first);
    const BlockBits bits = bits_of_block(image + channel * plane + first, plane, channels, places);
    for (std::size_t i = 0; i < places; ++i) {
      std::uint64_t* const to = packed + (first + i) * 2 * words_ + word;
      to[0] = bits.ones[i];
      to[words_] = bits.zeros[i];
    }
  };
  const std::size_t cost = 2 * kBlock * std::min(params_.in_channels, kBits);
  parallel_for(divide_up(plane, kBlock) * words_, grain_for_cost(cost),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) pack_block(i % words_, i / words_ * kBlock);
               });
}

std::int64_t BinaryConvolution::equal_padding(const std::uint64_t* filter) const {
  if (params_.padding == BinaryPadding::neither) return 0;
  std::int64_t ones = 0;
  for (std::size_t word = 0; word < words_; ++word) ones += std::popcount(filter[word]);
  return params_.padding == BinaryPadding::ones ? ones
                                                : static_cast<std::int64_t>(params_.in_channels) - ones;
}

std::int64_t BinaryConvolution::equal_bits(const std::uint64_t* image, const std::uint64_t* filter,
                                           std::size_t oy, std::size_t ox) const {
  std::int64_t equal = 0;
  for (std::size_t ky = 0; ky < params_.y.kernel; ++ky) {
    const std::size_t y = place(params_.y, oy, ky);
    for (std::size_t kx = 0; kx < params_.x.kernel; ++kx, filter += words_) {
      const std::size_t x = place(params_.x, ox, kx);
      if (y >= params_.y.in || x >= params_.x.in) {
        equal += equal_padding(filter);
        continue;
      }
      const std::uint64_t* const ones = image + (y * params_.x.in + x) * 2 * words_;
      const std::uint64_t* const zeros = ones + words_;
      for (std::size_t word = 0; word < words_; ++word) {
        equal += std::popcount((ones[word] & filter[word]) | (zeros[word] & ~filter[word]));
      }
    }
  }
  return equal;
}

template <class T>
void BinaryConvolution::run(const T* image, const std::uint8_t* filters, T* out, std::byte* scratch) const {
  auto* const packed_image = reinterpret_cast<std::uint64_t*>(scratch);
  const std::uint64_t* packed_filters = filters_.data();
  if (filters_.empty()) {
    auto* const memory = packed_image + image_words();
    pack_filters(filters, memory);
    packed_filters = memory;
  }
  const auto bits = static_cast<std::int64_t>(params_.in_channels * taps_);
  const std::size_t rows = params_.out_channels * params_.y.out;
  for (std::size_t n = 0; n < params_.batch; ++n) {
    pack_image(image + n * params_.in_channels * params_.y.in * params_.x.in, packed_image);
    T* const to = out + n * rows * params_.x.out;
    const auto convolve_row = [&](std::size_t row) {
      const std::uint64_t* const filter = packed_filters + row / params_.y.out * taps_ * words_;
      for (std::size_t x = 0; x < params_.x.out; ++x) {
        const std::int64_t equal = equal_bits(packed_image, filter, row % params_.y.out, x);
        to[row * params_.x.out + x] = static_cast<T>(2 * equal - bits);
      }
    };
    parallel_for(rows, grain_for_cost(params_.x.out * taps_ * (2 + 4 * words_)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row) convolve_row(row);
                 });
  }
}

#define IR_BINARY_CONVOLUTION(T) \
  template void BinaryConvolution::run(const T*, const std::uint8_t*, T*, std::byte*) const;
IR_KERNELS_FOR_EACH_NUMBER(IR_BINARY_CONVOLUTION)
#undef IR_BINARY_CONVOLUTION

}  // namespace ir::kernels
