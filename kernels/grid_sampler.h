// grid_sample for any types. Included by the files that instantiate it, which are compiled differently.
#ifndef KERNELS_GRID_SAMPLER_H_
#define KERNELS_GRID_SAMPLER_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/grid_sample.h"
#include "kernels/integer_math.h"
#include "kernels/parallel.h"

namespace ir::kernels {
namespace grid_sampling {

inline constexpr std::ptrdiff_t kOutside = -1;

/// A whole coordinate. What lies far beyond any image is cut, such that neighbours do not overflow; NaN too.
template <class Grid>
std::int64_t whole(Grid coordinate) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  if (!(coordinate > -static_cast<Grid>(kFar))) return -kFar;
  if (coordinate >= static_cast<Grid>(kFar)) return kFar;
  return static_cast<std::int64_t>(coordinate);
}

/// One axis of the image: where coordinates on it and outside of it lead.
class Axis {
 public:
  Axis(const GridSampleParams& params, std::size_t size)
      : size_(static_cast<std::int64_t>(size)),
        padding_(params.padding),
        align_corners_(params.align_corners) {}

  /// From [-1, 1] to pixels.
  template <class Grid>
  [[nodiscard]] Grid scaled(Grid place) const {
    const auto size = static_cast<Grid>(size_);
    return align_corners_ ? (place + 1) * (size - 1) / 2 : ((place + 1) * size - 1) / 2;
  }

  [[nodiscard]] std::ptrdiff_t index(std::int64_t i) const {
    switch (padding_) {
      case GridSamplePadding::zeros:
        return i < 0 || i >= size_ ? kOutside : i;
      case GridSamplePadding::border:
        return std::clamp<std::int64_t>(i, 0, size_ - 1);
      case GridSamplePadding::reflection:
        break;
    }
    if (align_corners_) {
      // The outer pixels are not repeated.
      const std::int64_t period = std::max<std::int64_t>(2 * (size_ - 1), 1);
      const std::int64_t rest = (i < 0 ? -i : i) % period;
      return rest >= size_ ? period - rest : rest;
    }
    const std::int64_t period = 2 * size_;
    const std::int64_t rest = (i % period + period) % period;
    return rest >= size_ ? period - 1 - rest : rest;
  }

 private:
  std::int64_t size_;
  GridSamplePadding padding_;
  bool align_corners_;
};

template <class Real>
Real unit_step(Real coordinate) {
  return coordinate - std::floor(coordinate);
}

/// Keys' kernel with a = -0.75, at the four pixels around a point `r` after the second one.
template <class Real>
std::array<Real, 4> cubic_weights(Real r) {
  constexpr Real a = static_cast<Real>(-0.75);
  const auto outer = [](Real x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const auto inner = [](Real x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  return {outer(r + 1), inner(r), inner(1 - r), outer(2 - r)};
}

template <class T, class Real>
T to_element(Real value) {
  if constexpr (std::is_integral_v<T>) {
    return saturating_truncate<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// A sampler finds the pixels around a place once, for all channels: `kTaps` rows and columns of them.

template <class T, class Grid>
struct Nearest {
  static constexpr std::size_t kTaps = 1;
  static std::int64_t first(Grid coordinate) { return whole(std::nearbyint(coordinate)); }
  struct Weights {
    Weights(Grid /*y*/, Grid /*x*/) {}
  };
  static T blend(const Weights&, const std::array<std::array<T, 1>, 1>& pixels) { return pixels[0][0]; }
};

template <class T, class Grid>
struct Bilinear {
  static constexpr std::size_t kTaps = 2;
  static std::int64_t first(Grid coordinate) { return whole(std::floor(coordinate)); }
  struct Weights {
    Weights(Grid y_at, Grid x_at) : y(unit_step(y_at)), x(unit_step(x_at)) {}
    Grid y;
    Grid x;
  };
  static T blend(const Weights& weights, const std::array<std::array<T, 2>, 2>& pixels) {
    using Real = std::common_type_t<Grid, std::conditional_t<std::is_integral_v<T>, Grid, T>>;
    const auto row = [&](const std::array<T, 2>& p) {
      return (1 - weights.x) * static_cast<Real>(p[0]) + weights.x * static_cast<Real>(p[1]);
    };
    return to_element<T>(weights.y * row(pixels[1]) + (1 - weights.y) * row(pixels[0]));
  }
};

template <class T, class Grid>
struct Bicubic {
  static constexpr std::size_t kTaps = 4;
  static std::int64_t first(Grid coordinate) { return whole(std::floor(coordinate)) - 1; }
  struct Weights {
    Weights(Grid y_at, Grid x_at) : y(cubic_weights(unit_step(y_at))), x(cubic_weights(unit_step(x_at))) {}
    std::array<Grid, 4> y;
    std::array<Grid, 4> x;
  };
  static T weighted(const std::array<Grid, 4>& weights, const std::array<T, 4>& values) {
    using Real = std::common_type_t<Grid, std::conditional_t<std::is_integral_v<T>, Grid, T>>;
    T sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      sum = to_element<T>(static_cast<Real>(sum) + weights[i] * static_cast<Real>(values[i]));
    }
    return sum;
  }
  static T blend(const Weights& weights, const std::array<std::array<T, 4>, 4>& pixels) {
    std::array<T, 4> rows;
    for (std::size_t i = 0; i < 4; ++i) rows[i] = weighted(weights.x, pixels[i]);
    return weighted(weights.y, rows);
  }
};

template <template <class, class> class Sampler, class T, class Grid>
void sample_with(const GridSampleParams& params, const T* data, const Grid* grid, T* out) {
  using Sample = Sampler<T, Grid>;
  constexpr std::size_t kTaps = Sample::kTaps;
  const Axis rows(params, params.height);
  const Axis columns(params, params.width);
  const std::size_t plane = params.height * params.width;
  const auto width = static_cast<std::ptrdiff_t>(params.width);
  const auto sample = [&](std::size_t index) {
    const std::size_t n = index / params.positions;
    const Grid y = rows.scaled(grid[2 * index + 1]);
    const Grid x = columns.scaled(grid[2 * index]);
    const typename Sample::Weights weights(y, x);
    std::array<std::ptrdiff_t, kTaps> row_at;
    std::array<std::ptrdiff_t, kTaps> column_at;
    for (std::size_t i = 0; i < kTaps; ++i) {
      row_at[i] = rows.index(Sample::first(y) + static_cast<std::int64_t>(i));
      column_at[i] = columns.index(Sample::first(x) + static_cast<std::int64_t>(i));
    }
    const T* from = data + n * params.channels * plane;
    T* to = out + n * params.channels * params.positions + index % params.positions;
    for (std::size_t c = 0; c < params.channels; ++c, from += plane, to += params.positions) {
      std::array<std::array<T, kTaps>, kTaps> pixels;
      for (std::size_t j = 0; j < kTaps; ++j) {
        for (std::size_t i = 0; i < kTaps; ++i) {
          const bool outside = row_at[j] == kOutside || column_at[i] == kOutside;
          pixels[j][i] = outside ? T{0} : from[row_at[j] * width + column_at[i]];
        }
      }
      *to = Sample::blend(weights, pixels);
    }
  };
  const std::size_t cost = 16 + params.channels * kTaps * kTaps * 3;
  parallel_for(params.batch * params.positions, grain_for_cost(cost),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t index = begin; index < end; ++index) sample(index);
               });
}

}  // namespace grid_sampling

template <class T, class Grid>
void grid_sample(const GridSampleParams& params, const T* data, const Grid* grid, T* out) {
  switch (params.mode) {
    case GridSampleMode::bilinear:
      return grid_sampling::sample_with<grid_sampling::Bilinear>(params, data, grid, out);
    case GridSampleMode::bicubic:
      return grid_sampling::sample_with<grid_sampling::Bicubic>(params, data, grid, out);
    case GridSampleMode::nearest:
      return grid_sampling::sample_with<grid_sampling::Nearest>(params, data, grid, out);
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_GRID_SAMPLER_H_
