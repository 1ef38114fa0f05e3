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
  InterpolateTables(const InterpolateParams& all, std::size_t dim, Interpolate::Axis& to)
      : params(all),
        scale(scale_of(all, dim)),
        is_resampled(std::ranges::find(all.axes, dim) != all.axes.end()),
        factor(smooths(all) ? scale : 1.0F),
        pad_begin(pad_of(all.pads_begin, dim)),
        axis(to) {
    axis.in = params.in_dims[dim];
    axis.out = params.out_dims[dim];
    padded = static_cast<std::int64_t>(axis.in) + pad_begin + pad_of(params.pads_end, dim);
  }

  const InterpolateParams& params;
  float scale;
  bool is_resampled;
  float factor;             // of make_linear
  std::int64_t padded = 0;  // input points with pads
  std::int64_t pad_begin;
  Interpolate::Axis& axis;

  static float scale_of(const InterpolateParams& params, std::size_t dim) {
    const auto found = std::ranges::find(params.axes, dim);
    return found == params.axes.end() ? 1.0F
                                      : params.scales[static_cast<std::size_t>(found - params.axes.begin())];
  }

  /// Whether what shrinks is smoothed.
  static bool smooths(const InterpolateParams& params) {
    return params.mode == InterpolateMode::linear && params.antialias &&
           std::ranges::any_of(params.scales, [](float scale) { return scale < 1.0F; });
  }

  static std::int64_t pad_of(const std::vector<std::size_t>& pads, std::size_t dim) {
    return dim < pads.size() ? static_cast<std::int64_t>(pads[dim]) : 0;
  }

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

  [[nodiscard]] bool is_pillow() const {
    return params.mode == InterpolateMode::bilinear_pillow || params.mode == InterpolateMode::bicubic_pillow;
  }

  /// Whether each output point is an input point, but for pads.
  [[nodiscard]] bool keeps_points() const {
    return !is_resampled ||
           (padded == static_cast<std::int64_t>(axis.out) && (is_pillow() || factor == 1.0F));
  }

  [[nodiscard]] bool is_identity() const {
    return keeps_points() && padded == static_cast<std::int64_t>(axis.in);
  }

  /// Points on each side that the triangle filter reaches.
  [[nodiscard]] std::int64_t linear_radius() const {
    return scale > 1.0F ? 2 : static_cast<std::int64_t>(std::ceil(2.0F / factor));
  }

  /// Of the coarser side, in points of the finer one.
  [[nodiscard]] double pillow_ratio() const {
    return static_cast<double>(padded) / static_cast<double>(axis.out);
  }
  [[nodiscard]] double pillow_support() const {
    return (params.mode == InterpolateMode::bicubic_pillow ? 2.0 : 1.0) * std::max(pillow_ratio(), 1.0);
  }

  /// The most input points that make up an output point.
  [[nodiscard]] std::size_t taps() const {
    const auto window = [this](std::int64_t radius) {
      return static_cast<std::size_t>(std::min(2 * radius + 1, padded));
    };
    if (keeps_points()) return 1;
    switch (params.mode) {
      case InterpolateMode::nearest:
        break;
      case InterpolateMode::linear:
        return window(linear_radius());
      case InterpolateMode::linear_onnx:
        return 2;
      case InterpolateMode::cubic:
        return 4;
      case InterpolateMode::bilinear_pillow:
      case InterpolateMode::bicubic_pillow:
        return window(static_cast<std::int64_t>(std::ceil(pillow_support())));
    }
    return 1;
  }

  void begin() {
    axis.identity = false;
    axis.taps = taps();
    axis.counts.assign(axis.out, 0);
    axis.index.assign(axis.out * axis.taps, -1);
    axis.weight.assign(axis.out * axis.taps, 0.0F);
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
    begin();
    axis.doubles = axis.out == 2 * axis.in;
    for (std::size_t o = 0; o < axis.out; ++o) {
      add(o, clamp(nearest(coordinate(o))), 1.0F);
      axis.doubles = axis.doubles && axis.index[o] == static_cast<std::int64_t>(o / 2);
    }
  }

  void make_shifted() {
    begin();
    for (std::size_t o = 0; o < axis.out; ++o) add(o, static_cast<std::int64_t>(o), 1.0F);
  }

  void make_linear_onnx() {
    begin();
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
    begin();
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
  void make_linear() {
    const std::int64_t radius = linear_radius();
    begin();
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
  void make_pillow() {
    const bool cubic = params.mode == InterpolateMode::bicubic_pillow;
    const double a = params.cube_coeff;
    const auto filter = [a, cubic](double t) {
      t = std::fabs(t);
      if (!cubic) return t < 1.0 ? 1.0 - t : 0.0;
      if (t < 1.0) return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
      return t < 2.0 ? (((t - 5.0) * t + 8.0) * t - 4.0) * a : 0.0;
    };
    const double ratio = pillow_ratio();
    const double widening = std::max(ratio, 1.0);
    const double support = pillow_support();
    begin();
    const std::size_t window = axis.taps;
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

  void make() {
    if (keeps_points()) return make_shifted();
    switch (params.mode) {
      case InterpolateMode::nearest:
        return make_nearest();
      case InterpolateMode::linear:
        return make_linear();
      case InterpolateMode::linear_onnx:
        return make_linear_onnx();
      case InterpolateMode::cubic:
        return make_cubic();
      case InterpolateMode::bilinear_pillow:
      case InterpolateMode::bicubic_pillow:
        return make_pillow();
    }
  }
};

std::vector<InterpolateTableSize> interpolate_tables(const InterpolateParams& params) {
  std::vector<InterpolateTableSize> sizes;
  for (std::size_t dim = 0; dim < params.in_dims.size(); ++dim) {
    Interpolate::Axis axis;
    const InterpolateTables tables(params, dim, axis);
    if (tables.is_identity()) continue;
    // Besides taps of the axis, those that are in rows.
    const std::size_t tap =
        sizeof(axis.index[0]) + sizeof(axis.weight[0]) +
        (tables.is_pillow() ? sizeof(axis.exact[0]) : sizeof(std::int32_t) + 2 * sizeof(float));
    sizes.push_back({axis.out, sizeof(axis.counts[0]) + tables.taps() * tap});
  }
  return sizes;
}

Interpolate::Interpolate(const InterpolateParams& params) : mode_(params.mode) {
  std::vector<std::size_t> places;  // of each dim in axes_
  for (std::size_t dim = 0; dim < params.in_dims.size(); ++dim) {
    Axis axis;
    InterpolateTables tables(params, dim, axis);
    weight_factor_ *= tables.factor;
    if (!tables.is_identity()) tables.make();
    append(std::move(axis));
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
  if (mode_ == InterpolateMode::bilinear_pillow || mode_ == InterpolateMode::bicubic_pillow) make_passes();
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
