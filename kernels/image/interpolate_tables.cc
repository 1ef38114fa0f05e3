// Coordinates and weights of Interpolate: which input points make up each output coordinate of an axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/image/interpolate.h"

namespace ir::kernels {

/// Builds the table of one axis tap by tap.
struct InterpolateTables {
  /// That of a dim, which is resampled if it has a scale; `factor` is that of make_linear.
  static Interpolate::Axis axis_of(const InterpolateParams& params, std::size_t dim,
                                   std::optional<float> scale, float factor);

  const InterpolateParams& params;
  float scale;
  std::int64_t padded;  // input points with pads
  std::int64_t pad_begin;
  Interpolate::Axis& axis;

  // Arithmetic in float, operation by operation as in the definition's reference: which point is the nearest
  // and on which side of an edge a coordinate falls hangs on the last bit.
  [[nodiscard]] float coordinate(std::size_t o) const {
    const auto x = static_cast<float>(o);
    const auto in = static_cast<float>(padded);
    const auto out = static_cast<float>(axis.out);
    if (scale == 1.0F || in == out) return x;
    switch (params.coordinates) {
      case CoordinateMode::half_pixel:
        return (x + 0.5F) / scale - 0.5F;
      case CoordinateMode::pytorch_half_pixel:
        return axis.out > 1 ? (x + 0.5F) / scale - 0.5F : 0.0F;
      case CoordinateMode::asymmetric:
        return x / scale;
      case CoordinateMode::tf_half_pixel_for_nn:
        return (x + 0.5F) / scale;
      case CoordinateMode::align_corners:
        return axis.out == 1 ? 0.0F : x * (in - 1.0F) / (out - 1.0F);
    }
    return x;
  }

  [[nodiscard]] std::int64_t nearest(float x) const {
    switch (params.nearest) {
      case NearestMode::round_prefer_floor:
        return static_cast<std::int64_t>(x == std::trunc(x) + 0.5F ? std::floor(x) : std::round(x));
      case NearestMode::round_prefer_ceil:
        return static_cast<std::int64_t>(std::round(x));
      case NearestMode::floor:
        return static_cast<std::int64_t>(std::floor(x));
      case NearestMode::ceil:
        return static_cast<std::int64_t>(std::ceil(x));
      case NearestMode::simple:
        return static_cast<std::int64_t>(scale < 1.0F ? std::ceil(x) : std::trunc(x));
    }
    return 0;
  }

  void begin(std::size_t taps) {
    axis.identity = false;
    axis.taps = taps;
    axis.counts.assign(axis.out, 0);
    axis.index.assign(axis.out * taps, -1);
    axis.weight.assign(axis.out * taps, 0.0F);
  }

  /// Adds input point `x`, counted with pads and in [0, padded), to output coordinate o.
  void add(std::size_t o, std::int64_t x, float weight) {
    if (weight == 0.0F) return;
    const std::size_t tap = o * axis.taps + axis.counts[o]++;
    const std::int64_t point = x - pad_begin;
    axis.index[tap] = point >= 0 && point < static_cast<std::int64_t>(axis.in) ? point : -1;
    axis.weight[tap] = weight;
  }

  [[nodiscard]] std::int64_t clamp(std::int64_t x) const {
    return std::clamp<std::int64_t>(x, 0, padded - 1);
  }

  void make_nearest() {
    begin(1);
    axis.doubles = axis.out == 2 * axis.in;
    for (std::size_t o = 0; o < axis.out; ++o) {
      add(o, clamp(nearest(coordinate(o))), 1.0F);
      axis.doubles = axis.doubles && axis.index[o] == static_cast<std::int64_t>(o / 2);
    }
  }

  void make_shifted() {
    begin(1);
    for (std::size_t o = 0; o < axis.out; ++o) add(o, static_cast<std::int64_t>(o), 1.0F);
  }

  void make_linear_onnx() {
    begin(2);
    for (std::size_t o = 0; o < axis.out; ++o) {
      const float x = std::clamp(coordinate(o), 0.0F, static_cast<float>(padded - 1));
      const std::int64_t low = clamp(static_cast<std::int64_t>(x));
      const std::int64_t high = clamp(low + 1);
      const float above = low == high ? 0.5F : std::fabs(x - static_cast<float>(low));
      const float below = low == high ? 0.5F : std::fabs(x - static_cast<float>(high));
      add(o, low, below);
      add(o, high, above);
    }
  }

  void make_cubic() {
    begin(4);
    const float a = params.cube_coeff;
    const auto near_weight = [a](float t) { return ((a + 2.0F) * t - (a + 3.0F)) * t * t + 1.0F; };
    const auto far_weight = [a](float t) { return ((a * t - 5.0F * a) * t + 8.0F * a) * t - 4.0F * a; };
    for (std::size_t o = 0; o < axis.out; ++o) {
      const float x = coordinate(o);
      const float floor = std::floor(x);
      const auto base = static_cast<std::int64_t>(floor);
      const float s = x - floor;
      add(o, clamp(base - 1), far_weight(s + 1.0F));
      add(o, clamp(base), near_weight(s));
      add(o, clamp(base + 1), near_weight(1.0F - s));
      add(o, clamp(base + 2), far_weight(2.0F - s));
    }
  }

  /// Triangle filter, widened by 1 / factor; points outside of the padded image do not count at all.
  void make_linear(float factor) {
    const std::int64_t radius = scale > 1.0F ? 2 : static_cast<std::int64_t>(std::ceil(2.0F / factor));
    const auto window = static_cast<std::size_t>(std::min(2 * radius + 1, padded));
    begin(window);
    for (std::size_t o = 0; o < axis.out; ++o) {
      const float x = coordinate(o);
      const auto centre = static_cast<std::int64_t>(std::round(x));
      const std::int64_t last = std::min(centre + radius, padded - 1);
      for (std::int64_t i = std::max<std::int64_t>(centre - radius, 0); i <= last; ++i) {
        add(o, i, std::max(0.0F, 1.0F - std::fabs(factor * (x - static_cast<float>(i)))));
      }
    }
  }

  /// Pillow's resampling: the filter covers `support` points of the coarser side.
  void make_pillow(bool cubic) {
    const double a = params.cube_coeff;
    const auto filter = [a, cubic](double t) {
      t = std::fabs(t);
      if (!cubic) return t < 1.0 ? 1.0 - t : 0.0;
      if (t < 1.0) return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
      return t < 2.0 ? (((t - 5.0) * t + 8.0) * t - 4.0) * a : 0.0;
    };
    const double ratio = static_cast<double>(padded) / static_cast<double>(axis.out);
    const double widening = std::max(ratio, 1.0);
    const double support = (cubic ? 2.0 : 1.0) * widening;
    const auto window =
        static_cast<std::size_t>(std::min(2 * static_cast<std::int64_t>(std::ceil(support)) + 1, padded));
    begin(window);
    axis.exact.assign(axis.out * window, 0.0);
    for (std::size_t o = 0; o < axis.out; ++o) {
      const double centre = (static_cast<double>(o) + 0.5) * ratio;
      const double from = centre - support + 0.5;
      const double to = centre + support + 0.5;
      const std::int64_t first = std::max<std::int64_t>(static_cast<std::int64_t>(from), 0);
      const std::int64_t end = std::min(static_cast<std::int64_t>(to), padded);
      double sum = 0.0;
      for (std::int64_t i = first; i < end; ++i) {
        const double weight = filter((static_cast<double>(i) - centre + 0.5) / widening);
        axis.exact[o * window + static_cast<std::size_t>(i - first)] = weight;
        sum += weight;
      }
      for (std::int64_t i = first; i < end; ++i) {
        const std::size_t tap = o * window + axis.counts[o]++;
        const std::int64_t point = i - pad_begin;
        axis.index[tap] = point >= 0 && point < static_cast<std::int64_t>(axis.in) ? point : -1;
        if (sum != 0.0) axis.exact[tap] /= sum;
      }
    }
  }

  void make_resampled(float factor) {
    switch (params.mode) {
      case InterpolateMode::nearest:
        return make_nearest();
      case InterpolateMode::linear:
        return make_linear(factor);
      case InterpolateMode::linear_onnx:
        return make_linear_onnx();
      case InterpolateMode::cubic:
        return make_cubic();
      case InterpolateMode::bilinear_pillow:
        return make_pillow(false);
      case InterpolateMode::bicubic_pillow:
        return make_pillow(true);
    }
  }
};

Interpolate::Axis InterpolateTables::axis_of(const InterpolateParams& params, std::size_t dim,
                                             std::optional<float> scale, float factor) {
  const std::size_t begin = dim < params.pads_begin.size() ? params.pads_begin[dim] : 0;
  const std::size_t end = dim < params.pads_end.size() ? params.pads_end[dim] : 0;
  Interpolate::Axis axis;
  axis.in = params.in_dims[dim];
  axis.out = params.out_dims[dim];
  const std::size_t padded = axis.in + begin + end;
  InterpolateTables tables{params, scale.value_or(1.0F), static_cast<std::int64_t>(padded),
                           static_cast<std::int64_t>(begin), axis};
  const bool pillow =
      params.mode == InterpolateMode::bilinear_pillow || params.mode == InterpolateMode::bicubic_pillow;
  const bool keeps_points = padded == axis.out && (pillow || factor == 1.0F);
  if (scale && !keeps_points) {
    tables.make_resampled(factor);
  } else if (begin + end > 0) {
    tables.make_shifted();
  }
  return axis;
}

Interpolate::Interpolate(const InterpolateParams& params) : mode_(params.mode) {
  const bool downsample =
      std::any_of(params.scales.begin(), params.scales.end(), [](float scale) { return scale < 1.0F; });
  const bool antialias = mode_ == InterpolateMode::linear && params.antialias && downsample;
  std::vector<std::size_t> places;  // of each dim in axes_
  for (std::size_t dim = 0; dim < params.in_dims.size(); ++dim) {
    const auto found = std::find(params.axes.begin(), params.axes.end(), dim);
    std::optional<float> scale;
    if (found != params.axes.end())
      scale = params.scales[static_cast<std::size_t>(found - params.axes.begin())];
    const float factor = antialias ? scale.value_or(1.0F) : 1.0F;
    weight_factor_ *= factor;
    append(InterpolateTables::axis_of(params, dim, scale, factor));
    places.push_back(axes_.size() - 1);
  }
  for (const std::size_t dim : params.axes) {
    if (!axes_[places[dim]].identity) order_.push_back(places[dim]);
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) {  // only padded
    if (!axes_[a].identity && std::find(order_.begin(), order_.end(), a) == order_.end()) order_.push_back(a);
  }
  is_padded_ = std::any_of(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.sees_padding(); });
  make_columns();
}

bool Interpolate::Axis::sees_padding() const {
  for (std::size_t o = 0; o < counts.size(); ++o) {
    for (std::size_t k = 0; k < counts[o]; ++k) {
      if (index[o * taps + k] < 0) return true;
    }
  }
  return false;
}

void Interpolate::append(Axis axis) {
  if (!axes_.empty() && axes_.back().identity && axis.identity) {
    axes_.back().in *= axis.in;
    axes_.back().out *= axis.out;
  } else {
    axes_.push_back(std::move(axis));
  }
}

void Interpolate::make_columns() {
  if (axes_.empty() || order_.empty() || mode_ == InterpolateMode::nearest) return;
  const Axis& axis = axes_[leading_axes() - 1];
  const std::size_t inner = axes_.back().identity ? axes_.back().out : 1;
  columns_.in = axis.in * inner;
  columns_.out = axis.out * inner;
  if (columns_.in > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) return;
  if (!axis.exact.empty()) return;
  Columns columns = columns_;
  if (axis.sees_padding()) return;  // padding in a row: left to the direct path
  for (std::size_t o = 0; o < axis.out; ++o) {
    if (axis.counts[o] == 0) return;
    columns.taps = std::max<std::size_t>(columns.taps, axis.counts[o]);
  }
  // Where what lies behind the axis is long, the direct path has long loops, too, and smaller tables.
  constexpr std::size_t kMostSpread = std::size_t{1} << 20;
  if (inner > 1 && columns.out > kMostSpread / columns.taps) return;
  for (std::size_t o = 0; o < axis.out; ++o) {
    const auto first = axis.index.begin() + static_cast<std::ptrdiff_t>(o * axis.taps);
    const auto [low, high] = std::minmax_element(first, first + axis.counts[o]);
    columns.span = std::max(columns.span, static_cast<std::size_t>(*high - *low) * inner + 1);
  }
  const bool normalises = mode_ == InterpolateMode::linear;
  columns.index.resize(columns.taps * columns.out);
  columns.weight.resize(columns.taps * columns.out);
  if (normalises) columns.raw.resize(columns.taps * columns.out);
  for (std::size_t o = 0; o < axis.out; ++o) {
    float sum = 0.0F;
    for (std::size_t k = 0; k < axis.counts[o]; ++k) sum += axis.weight[o * axis.taps + k];
    for (std::size_t k = 0; k < columns.taps; ++k) {
      const bool present = k < axis.counts[o];
      const std::size_t tap = o * axis.taps + (present ? k : 0);
      const float weight = present ? axis.weight[tap] : 0.0F;
      const std::size_t to = k * columns.out + o * inner;
      for (std::size_t i = 0; i < inner; ++i) {
        columns.index[to + i] =
            static_cast<std::int32_t>(static_cast<std::size_t>(axis.index[tap]) * inner + i);
        columns.weight[to + i] = normalises ? weight / sum : weight;
        if (normalises) columns.raw[to + i] = weight;
      }
    }
  }
  columns_ = std::move(columns);
}

}  // namespace ir::kernels
