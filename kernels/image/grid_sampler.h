// grid_sample for any types. Included by the files that instantiate it, which are compiled differently.
#ifndef KERNELS_IMAGE_GRID_SAMPLER_H_
#define KERNELS_IMAGE_GRID_SAMPLER_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/base/integer_math.h"
#include "kernels/image/grid_sample.h"
#include "kernels/threads/function_ref.h"
#include "kernels/threads/parallel.h"

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

/// In what samples of T are weighted.
template <class T, class Grid>
using Weighted = std::common_type_t<Grid, std::conditional_t<std::is_integral_v<T>, Grid, T>>;

// A mode knows which pixels around a coordinate count, the first of how many, and what each weighs.

template <class Grid>
struct Nearest {
  using Coordinate = Grid;
  static constexpr std::size_t kTaps = 1;
  static std::int64_t first(Grid coordinate) { return whole(std::nearbyint(coordinate)); }
  static std::array<Grid, 1> weights(Grid /*coordinate*/) { return {}; }
  template <class T, class Pixel>
  static T blend(const std::array<Grid, 1>& /*y*/, const std::array<Grid, 1>& /*x*/, const Pixel& pixel) {
    return pixel(0, 0);
  }
};

template <class Grid>
struct Bilinear {
  using Coordinate = Grid;
  static constexpr std::size_t kTaps = 2;
  static std::int64_t first(Grid coordinate) { return whole(std::floor(coordinate)); }
  static std::array<Grid, 2> weights(Grid coordinate) {
    const Grid step = unit_step(coordinate);
    return {1 - step, step};
  }
  template <class T, class Pixel>
  static T blend(const std::array<Grid, 2>& y, const std::array<Grid, 2>& x, const Pixel& pixel) {
    using Real = Weighted<T, Grid>;
    const auto row = [&](std::size_t j) {
      return x[0] * static_cast<Real>(pixel(j, 0)) + x[1] * static_cast<Real>(pixel(j, 1));
    };
    return to_element<T>(y[1] * row(1) + y[0] * row(0));
  }
};

template <class Grid>
struct Bicubic {
  using Coordinate = Grid;
  static constexpr std::size_t kTaps = 4;
  static std::int64_t first(Grid coordinate) { return whole(std::floor(coordinate)) - 1; }
  static std::array<Grid, 4> weights(Grid coordinate) { return cubic_weights(unit_step(coordinate)); }
  template <class T, class Pixel>
  static T blend(const std::array<Grid, 4>& y, const std::array<Grid, 4>& x, const Pixel& pixel) {
    using Real = Weighted<T, Grid>;
    const auto weighted = [](const std::array<Grid, 4>& weights, const auto& value) {
      T sum = 0;
      for (std::size_t i = 0; i < 4; ++i)
        sum = to_element<T>(static_cast<Real>(sum) + weights[i] * static_cast<Real>(value(i)));
      return sum;
    };
    return weighted(y,
                    [&](std::size_t j) { return weighted(x, [&](std::size_t i) { return pixel(j, i); }); });
  }
};

/// The pixels around some positions of the grid, which are found once for all channels. Positions all of
/// whose pixels lie in the image come first.
template <class Mode>
struct Places {
  using Grid = typename Mode::Coordinate;
  static constexpr std::size_t kMost = 128;
  struct Pixels {
    std::array<std::ptrdiff_t, Mode::kTaps> rows;  ///< where they begin in a plane, or kOutside
    std::array<std::ptrdiff_t, Mode::kTaps> columns;
    std::array<Grid, Mode::kTaps> y;  ///< weights
    std::array<Grid, Mode::kTaps> x;
    std::size_t to;  ///< the position, from the first one on
  };
  std::array<Pixels, kMost> pixels;
  std::size_t inside = 0;
  std::size_t count = 0;

  /// Of `count` positions from `grid` on.
  Places(const GridSampleParams& params, const Grid* grid, std::size_t position_count)
      : count(position_count) {
    const Axis rows(params, params.height);
    const Axis columns(params, params.width);
    std::size_t outside = count;
    for (std::size_t i = 0; i < count; ++i) {
      const Grid y = rows.scaled(grid[2 * i + 1]);
      const Grid x = columns.scaled(grid[2 * i]);
      Pixels found{{}, {}, Mode::weights(y), Mode::weights(x), i};
      bool is_inside = true;
      for (std::size_t tap = 0; tap < Mode::kTaps; ++tap) {
        const std::ptrdiff_t row = rows.index(Mode::first(y) + static_cast<std::int64_t>(tap));
        const std::ptrdiff_t column = columns.index(Mode::first(x) + static_cast<std::int64_t>(tap));
        is_inside &= row != kOutside && column != kOutside;
        found.rows[tap] = row == kOutside ? kOutside : row * static_cast<std::ptrdiff_t>(params.width);
        found.columns[tap] = column;
      }
      pixels[is_inside ? inside++ : --outside] = found;
    }
  }

  template <class T>
  void blend(const T* plane, T* out) const {
    // Types that models hardly sample need no loop of their own for that.
    const std::size_t unchecked = std::is_same_v<T, float> ? inside : 0;
    for (std::size_t i = 0; i < unchecked; ++i) {
      const Pixels& at = pixels[i];
      out[at.to] = Mode::template blend<T>(
          at.y, at.x, [&](std::size_t j, std::size_t k) { return plane[at.rows[j] + at.columns[k]]; });
    }
    for (std::size_t i = unchecked; i < count; ++i) {
      const Pixels& at = pixels[i];
      out[at.to] = Mode::template blend<T>(at.y, at.x, [&](std::size_t j, std::size_t k) {
        const bool outside = at.rows[j] == kOutside || at.columns[k] == kOutside;
        return outside ? T{0} : plane[at.rows[j] + at.columns[k]];
      });
    }
  }
};

/// Calls f for places that make up all positions: of batch element `n`, from `position` on. In parallel.
template <class Mode>
void for_each_places(const GridSampleParams& params, const typename Mode::Coordinate* grid,
                     FunctionRef<void(const Places<Mode>& places, std::size_t n, std::size_t position)> f) {
  const std::size_t cost = 16 + params.channels * Mode::kTaps * Mode::kTaps * 3;
  parallel_for(
      params.batch * params.positions, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
        for (std::size_t index = begin; index < end;) {
          const std::size_t position = index % params.positions;
          const std::size_t count = std::min({Places<Mode>::kMost, end - index, params.positions - position});
          f(Places<Mode>(params, grid + 2 * index, count), index / params.positions, position);
          index += count;
        }
      });
}

template <class Mode, class T>
void sample_with(const GridSampleParams& params, const T* data, const typename Mode::Coordinate* grid,
                 T* out) {
  for_each_places<Mode>(params, grid, [&](const Places<Mode>& places, std::size_t n, std::size_t position) {
    for (std::size_t channel = n * params.channels; channel < (n + 1) * params.channels; ++channel) {
      places.blend(data + channel * params.height * params.width,
                   out + channel * params.positions + position);
    }
  });
}

}  // namespace grid_sampling

template <class T, class Grid>
void grid_sample(const GridSampleParams& params, const T* data, const Grid* grid, T* out) {
  switch (params.mode) {
    case GridSampleMode::bilinear:
      return grid_sampling::sample_with<grid_sampling::Bilinear<Grid>>(params, data, grid, out);
    case GridSampleMode::bicubic:
      return grid_sampling::sample_with<grid_sampling::Bicubic<Grid>>(params, data, grid, out);
    case GridSampleMode::nearest:
      return grid_sampling::sample_with<grid_sampling::Nearest<Grid>>(params, without_sign(data), grid,
                                                                      without_sign(out));
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_GRID_SAMPLER_H_
