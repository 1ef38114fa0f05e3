#include "kernels/convolution/deformable_convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/base/divide.h"
#include "kernels/base/integer_math.h"
#include "kernels/base/scalar_type.h"
#include "kernels/detection/roi_samples.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Elements of the gathered matrix that still lie in the second-level cache when the product reads them.
constexpr std::size_t kColumnElements = std::size_t{1} << 18;
constexpr std::size_t kMinTile = 16;
/// Places of which the samples are found at once; all channels then read at them.
constexpr std::size_t kBlock = 64;
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Where along an axis of `size` elements tap `tap` of window `window` lies without displacement.
std::int64_t position(const WindowParams& axis, std::size_t window, std::size_t tap) {
  return static_cast<std::int64_t>(window * axis.stride + tap * axis.dilation) -
         static_cast<std::int64_t>(axis.pad_begin);
}

/// The two neighbours of a place on one axis, and how much of each it takes.
template <std::floating_point T>
struct Blend {
  std::size_t low = 0;
  std::size_t high = 0;
  T low_weight = 0;
  T high_weight = 0;
};

/// Whether the axis has something to read at `at`. A neighbour outside of it gets weight 0 and the place of
/// the edge, where reading is safe.
template <std::floating_point T>
bool find_blend(T at, std::size_t size, bool blends_with_padding, Blend<T>& blend) {
  const bool inside = blends_with_padding ? at > T{-1} : at >= T{0};
  if (!inside || !(at < static_cast<T>(size))) return false;  // NaN is neither
  const T floor = std::floor(at);
  const T fraction = at - floor;
  const auto last = static_cast<std::int64_t>(size) - 1;
  // T may round a size up.
  const auto low = std::min(static_cast<std::int64_t>(floor), last);
  const std::int64_t high = fraction > 0 ? low + 1 : low;
  blend.low = static_cast<std::size_t>(std::max<std::int64_t>(low, 0));
  blend.high = static_cast<std::size_t>(std::min(high, last));
  blend.low_weight = low < 0 ? T{0} : T{1} - fraction;
  blend.high_weight = blends_with_padding && high > last ? T{0} : fraction;
  return true;
}

/// What one tap at one place reads of each channel.
template <class T>
class Sample;

template <std::floating_point T>
class Sample<T> {
 public:
  Sample() = default;
  Sample(const DeformableConvolutionParams& params, std::int64_t y, T y_offset, std::int64_t x, T x_offset,
         T scale)
      : scale_(scale) {
    inside_ = find_blend(static_cast<T>(y) + y_offset, params.y.in, params.blends_with_padding, y_) &&
              find_blend(static_cast<T>(x) + x_offset, params.x.in, params.blends_with_padding, x_);
    y_.low *= params.x.in;
    y_.high *= params.x.in;
  }

  [[nodiscard]] T read(const T* plane) const {
    if (!inside_) return 0;
    const T top = x_.low_weight * plane[y_.low + x_.low] + x_.high_weight * plane[y_.low + x_.high];
    const T bottom = x_.low_weight * plane[y_.high + x_.low] + x_.high_weight * plane[y_.high + x_.high];
    return (y_.low_weight * top + y_.high_weight * bottom) * scale_;
  }

  [[nodiscard]] bool inside() const { return inside_; }
  [[nodiscard]] BilinearSample bilinear() const requires std::same_as<T, float> {
    const float above = y_.low_weight * scale_;
    const float below = y_.high_weight * scale_;
    return {{y_.low + x_.low, y_.low + x_.high, y_.high + x_.low, y_.high + x_.high},
            {above * x_.low_weight, above * x_.high_weight, below * x_.low_weight, below * x_.high_weight}};
  }

 private:
  Blend<T> y_;  ///< of the starts of rows
  Blend<T> x_;
  T scale_ = 0;
  bool inside_ = false;
};

template <std::integral T>
class Sample<T> {
 public:
  Sample() = default;
  Sample(const DeformableConvolutionParams& params, std::int64_t y, T y_offset, std::int64_t x, T x_offset,
         T scale)
      : scale_(scale) {
    const auto find = [](std::int64_t from, T offset, std::size_t size, std::size_t& at) {
      std::int64_t sum = 0;
      if (__builtin_add_overflow(from, offset, &sum) || sum < 0) return false;
      at = static_cast<std::size_t>(sum);
      return at < size;
    };
    std::size_t row = 0;
    std::size_t column = 0;
    inside_ = find(y, y_offset, params.y.in, row) && find(x, x_offset, params.x.in, column);
    if (inside_) at_ = row * params.x.in + column;
  }

  [[nodiscard]] T read(const T* plane) const {
    return inside_ ? wrapping_multiply(plane[at_], scale_) : T{0};
  }

 private:
  std::size_t at_ = 0;
  T scale_ = 0;
  bool inside_ = false;
};

/// What places of a block read of channels that lie side by side.
class TurnedReads {
 public:
  TurnedReads(const std::array<Sample<float>, kBlock>& samples, std::size_t places) : places_(places) {
    for (std::size_t i = 0; i < places; ++i) {
      if (samples[i].inside()) reads_[count_++] = {samples[i].bilinear(), i};
    }
  }

  /// to[c * pitch + i] becomes what place i reads of channel c of `channels`, at most kSampledChannels.
  void read(const float* turned, std::size_t channels, float* to, std::size_t pitch) const {
    std::array<float, kBlock * kSampledChannels> by_place{};
    std::array<float, kBlock * kSampledChannels> by_channel;
    add_samples(std::span(reads_).first(count_), turned, channels, by_place.data());
    interleave_rows(by_place.data(), kSampledChannels, places_, channels, by_channel.data());
    for (std::size_t c = 0; c < channels; ++c)
      std::copy_n(by_channel.data() + c * places_, places_, to + c * pitch);
  }

 private:
  std::size_t places_;
  std::size_t count_ = 0;
  std::array<RoiSample, kBlock> reads_;
};

}  // namespace

template <class T>
DeformableConvolution<T>::DeformableConvolution(const DeformableConvolutionParams& params, const T* weights)
    : params_(params), taps_(params.y.kernel * params.x.kernel), places_(params.y.out * params.x.out) {
  const std::size_t rows = params_.in_channels * taps_;
  const std::size_t most = std::max(kMinTile, kColumnElements / std::max<std::size_t>(rows, 1));
  // Tiles of one size, of which the last may overlap the one before it: one product serves all.
  tiles_ = (places_ + most - 1) / most;
  tile_ = tiles_ == 0 ? 0 : (places_ + tiles_ - 1) / tiles_;
  product_.m = params_.out_channels / params_.groups;
  product_.n = tile_;
  product_.k = rows / params_.groups;
  product_.batch = {{params_.groups, product_.m * product_.k, product_.k * product_.n}};
  if constexpr (std::is_same_v<T, float>) {
    product_.accurate = params_.accurate;
    product_.whole_floats = params_.whole_floats;
    product_.constant = weights != nullptr ? GemmConstant::a : GemmConstant::none;
    gemm_ = create_gemm(product_, weights, {});
    const std::size_t channels = params_.in_channels / params_.deformable_groups;
    turns_ = channels >= kFewestTurnedChannels && taps_ * places_ >= params_.y.in * params_.x.in;
  }
}

template <class T>
std::size_t DeformableConvolution<T>::turned_bytes() const {
  if (!turns_) return 0;
  return aligned((params_.in_channels * params_.y.in * params_.x.in + kSampledChannels) * sizeof(T));
}

template <class T>
std::size_t DeformableConvolution<T>::scratch_bytes() const {
  std::size_t bytes = turned_bytes() + aligned(params_.in_channels * taps_ * tile_ * sizeof(T));
  if (tiles_ > 1) bytes += aligned(params_.out_channels * tile_ * sizeof(T));
  return bytes + (gemm_ ? gemm_->scratch_bytes() : 0);
}

template <class T>
void DeformableConvolution<T>::turn(const T* image, T* turned) const {
  if constexpr (std::is_same_v<T, float>) {
    const std::size_t channels = params_.in_channels / params_.deformable_groups;
    const std::size_t plane = params_.y.in * params_.x.in;
    const std::size_t blocks = divide_up(channels, kSampledChannels);
    parallel_for(params_.deformable_groups * blocks, grain_for_cost(2 * plane * kSampledChannels),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     const std::size_t in_group = i % blocks * kSampledChannels;
                     const std::size_t first = (i / blocks * channels + in_group) * plane;
                     interleave_rows(image + first, plane, std::min(kSampledChannels, channels - in_group),
                                     plane, turned + first);
                   }
                 });
    std::fill_n(turned + params_.in_channels * plane, kSampledChannels, T{0});
  }
}

template <class T>
void DeformableConvolution<T>::gather(const Sources& sources, std::size_t first_place, T* columns) const {
  const std::size_t channels = params_.in_channels / params_.deformable_groups;
  const std::size_t plane = params_.y.in * params_.x.in;
  const std::size_t blocks = (tile_ + kBlock - 1) / kBlock;
  constexpr std::size_t kReadCost = 8;
  parallel_for(
      params_.deformable_groups * taps_ * blocks, grain_for_cost((channels + 2) * kBlock * kReadCost),
      [&](std::size_t begin, std::size_t end) {
        std::array<Sample<T>, kBlock> samples;
        for (std::size_t index = begin; index < end; ++index) {
          const std::size_t block = index % blocks * kBlock;
          const std::size_t count = std::min(kBlock, tile_ - block);
          const std::size_t group_tap = index / blocks;
          const std::size_t tap = group_tap % taps_;
          const std::size_t place = first_place + block;
          const T* const y_offsets = sources.offsets + 2 * group_tap * places_ + place;
          const T* const x_offsets = y_offsets + places_;
          const T* const mask =
              sources.mask == nullptr ? nullptr : sources.mask + group_tap * places_ + place;
          for (std::size_t i = 0; i < count; ++i) {
            samples[i] = Sample<T>(
                params_, position(params_.y, (place + i) / params_.x.out, tap / params_.x.kernel),
                y_offsets[i], position(params_.x, (place + i) % params_.x.out, tap % params_.x.kernel),
                x_offsets[i], mask == nullptr ? T{1} : mask[i]);
          }
          const std::size_t first = group_tap / taps_ * channels;
          T* const to = columns + (first * taps_ + tap) * tile_ + block;
          if constexpr (std::is_same_v<T, float>) {
            if (sources.turned != nullptr) {
              const TurnedReads reads(samples, count);
              for (std::size_t c = 0; c < channels; c += kSampledChannels) {
                reads.read(sources.turned + (first + c) * plane, std::min(kSampledChannels, channels - c),
                           to + c * taps_ * tile_, taps_ * tile_);
              }
              continue;
            }
          }
          for (std::size_t c = 0; c < channels; ++c) {
            const T* const image = sources.image + (first + c) * plane;
            for (std::size_t i = 0; i < count; ++i) to[c * taps_ * tile_ + i] = samples[i].read(image);
          }
        }
      });
}

template <class T>
void DeformableConvolution<T>::multiply(const T* weights, const T* columns, T* out,
                                        std::byte* scratch) const {
  if constexpr (std::is_same_v<T, float>) {
    gemm_->run(weights, columns, nullptr, out, scratch);
  } else {
    gemm_generic(product_, weights, columns, out);
  }
}

template <class T>
void DeformableConvolution<T>::run(const T* image, const T* offsets, const T* weights, const T* mask, T* out,
                                   std::byte* scratch) const {
  T* const turned = turns_ ? reinterpret_cast<T*>(scratch) : nullptr;
  scratch += turned_bytes();
  auto* const columns = reinterpret_cast<T*>(scratch);
  scratch += aligned(params_.in_channels * taps_ * tile_ * sizeof(T));
  auto* const products = reinterpret_cast<T*>(scratch);
  if (tiles_ > 1) scratch += aligned(params_.out_channels * tile_ * sizeof(T));
  const std::size_t masks = params_.deformable_groups * taps_ * places_;
  for (std::size_t n = 0; n < params_.batch; ++n) {
    const Sources sources{image + n * params_.in_channels * params_.y.in * params_.x.in,
                          offsets + n * 2 * masks, mask == nullptr ? nullptr : mask + n * masks, turned};
    if (turned != nullptr) turn(sources.image, turned);
    T* const to = out + n * params_.out_channels * places_;
    for (std::size_t tile = 0; tile < tiles_; ++tile) {
      const std::size_t first = std::min(tile * tile_, places_ - tile_);
      gather(sources, first, columns);
      multiply(weights, columns, tiles_ > 1 ? products : to, scratch);
      if (tiles_ == 1) continue;
      for (std::size_t channel = 0; channel < params_.out_channels; ++channel) {
        std::copy_n(products + channel * tile_, tile_, to + channel * places_ + first);
      }
    }
  }
}

#define IR_DEFORMABLE_CONVOLUTION(T) template class DeformableConvolution<T>;
IR_KERNELS_FOR_EACH_NUMBER(IR_DEFORMABLE_CONVOLUTION)
#undef IR_DEFORMABLE_CONVOLUTION

}  // namespace ir::kernels
