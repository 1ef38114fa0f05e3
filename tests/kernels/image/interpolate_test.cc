#include "kernels/image/interpolate.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::close;
using ir::test::fill_random;
using ir::test::GuardedBuffer;
using Dims = std::vector<std::size_t>;

std::size_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
}

std::size_t at(const Dims& list, std::size_t i) { return i < list.size() ? list[i] : 0; }

/// Fills in out_dims and, where `scales` is empty, the scales of output sizes.
InterpolateParams params(InterpolateMode mode, const Dims& in, const Dims& axes, const Dims& sizes,
                         const std::vector<float>& scales = {}, const Dims& pads_begin = {},
                         const Dims& pads_end = {}) {
  InterpolateParams p;
  p.mode = mode;
  p.in_dims = in;
  p.axes = axes;
  p.pads_begin = pads_begin;
  p.pads_end = pads_end;
  p.scales = scales;
  for (std::size_t a = 0; a < in.size(); ++a)
    p.out_dims.push_back(in[a] + at(pads_begin, a) + at(pads_end, a));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t padded = p.out_dims[axes[i]];
    if (scales.empty()) p.scales.push_back(static_cast<float>(sizes[i]) / static_cast<float>(padded));
    p.out_dims[axes[i]] = scales.empty()
                              ? sizes[i]
                              : static_cast<std::size_t>(std::floor(scales[i] * static_cast<float>(padded)));
  }
  return p;
}

/// Twin: the definition point by point on the padded input, all combinations of axes, sums in double.
class Twin {
 public:
  /// `between` is what the pillow modes do to a value between their two passes.
  Twin(const InterpolateParams& p, const std::vector<double>& in, double (*between)(double))
      : p_(p), between_(between) {
    for (std::size_t a = 0; a < p.in_dims.size(); ++a) {
      padded_.push_back(p.in_dims[a] + at(p.pads_begin, a) + at(p.pads_end, a));
    }
    data_.assign(product(padded_), 0.0);
    for (std::size_t n = 0; n < in.size(); ++n) {
      Dims index = unravel(n, p.in_dims);
      for (std::size_t a = 0; a < index.size(); ++a) index[a] += at(p.pads_begin, a);
      data_[ravel(index, padded_)] = in[n];
    }
  }

  double value(std::size_t n) const {
    const Dims out = unravel(n, p_.out_dims);
    if (p_.mode == InterpolateMode::bilinear_pillow || p_.mode == InterpolateMode::bicubic_pillow)
      return pillow(out);
    std::vector<std::vector<std::pair<long, double>>> taps;  // per entry of axes
    double factor = 1.0;
    const bool down = std::any_of(p_.scales.begin(), p_.scales.end(), [](float s) { return s < 1.0F; });
    for (std::size_t i = 0; i < p_.axes.size(); ++i) {
      const std::size_t axis = p_.axes[i];
      const auto size = static_cast<long>(padded_[axis]);
      const float x = coordinate(out[axis], p_.scales[i], p_.out_dims[axis], padded_[axis]);
      taps.emplace_back();
      switch (p_.mode) {
        case InterpolateMode::nearest:
          taps[i].push_back({std::clamp(nearest(x, p_.scales[i]), 0L, size - 1), 1.0});
          break;
        case InterpolateMode::linear_onnx: {
          const double c = std::clamp(static_cast<double>(x), 0.0, static_cast<double>(size - 1));
          const long low = static_cast<long>(c);
          taps[i].push_back({low, 1.0 - (c - static_cast<double>(low))});
          taps[i].push_back({std::min(low + 1, size - 1), c - static_cast<double>(low)});
          break;
        }
        case InterpolateMode::cubic: {
          const long base = static_cast<long>(std::floor(x));
          const double s = static_cast<double>(x) - static_cast<double>(base);
          const double a = p_.cube_coeff;
          const double w[4] = {a * s * (s - 1) * (s - 1), ((a + 2) * s - (a + 3)) * s * s + 1,
                               ((-(a + 2)) * s + 2 * a + 3) * s * s - a * s, -a * s * s * (s - 1)};
          for (long k = 0; k < 4; ++k) taps[i].push_back({std::clamp(base + k - 1, 0L, size - 1), w[k]});
          break;
        }
        default: {
          const double a = down && p_.antialias ? static_cast<double>(p_.scales[i]) : 1.0;
          factor *= a;
          for (long k = 0; k < size; ++k) {
            taps[i].push_back(
                {k, std::max(0.0, 1.0 - std::abs(a * (static_cast<double>(x) - static_cast<double>(k))))});
          }
        }
      }
    }
    double sum = 0;
    double weights = 0;
    std::vector<std::size_t> tap(p_.axes.size());
    while (true) {
      Dims index = out;
      double weight = factor;
      for (std::size_t i = 0; i < p_.axes.size(); ++i) {
        index[p_.axes[i]] = static_cast<std::size_t>(taps[i][tap[i]].first);
        weight *= taps[i][tap[i]].second;
      }
      weights += weight;
      sum += weight * data_[ravel(index, padded_)];
      std::size_t i = tap.size();
      while (i > 0 && ++tap[i - 1] == taps[i - 1].size()) tap[--i] = 0;
      if (i == 0) break;
    }
    if (p_.mode == InterpolateMode::linear) return weights == 0.0 ? 0.0 : sum / weights;
    return sum;
  }

  static Dims unravel(std::size_t n, const Dims& dims) {
    Dims index(dims.size());
    for (std::size_t a = dims.size(); a-- > 0;) {
      index[a] = n % dims[a];
      n /= dims[a];
    }
    return index;
  }
  static std::size_t ravel(const Dims& index, const Dims& dims) {
    std::size_t n = 0;
    for (std::size_t a = 0; a < dims.size(); ++a) n = n * dims[a] + index[a];
    return n;
  }

 private:
  float coordinate(std::size_t o, float scale, std::size_t out, std::size_t in) const {
    const auto x = static_cast<float>(o);
    if (scale == 1.0F || out == in) return x;
    switch (p_.coordinates) {
      case CoordinateMode::half_pixel:
        return (x + 0.5F) / scale - 0.5F;
      case CoordinateMode::pytorch_half_pixel:
        return out > 1 ? (x + 0.5F) / scale - 0.5F : 0.0F;
      case CoordinateMode::asymmetric:
        return x / scale;
      case CoordinateMode::tf_half_pixel_for_nn:
        return (x + 0.5F) / scale;
      case CoordinateMode::align_corners:
        return out == 1 ? 0.0F : x * static_cast<float>(in - 1) / static_cast<float>(out - 1);
    }
    return x;
  }
  long nearest(float x, float scale) const {
    const float whole = std::trunc(x);
    switch (p_.nearest) {
      case NearestMode::round_prefer_floor:
        return static_cast<long>(x - whole == 0.5F ? whole : std::round(x));
      case NearestMode::round_prefer_ceil:
        return static_cast<long>(std::round(x));
      case NearestMode::floor:
        return static_cast<long>(std::floor(x));
      case NearestMode::ceil:
        return static_cast<long>(std::ceil(x));
      case NearestMode::simple:
        return static_cast<long>(scale < 1.0F ? std::ceil(x) : whole);
    }
    return 0;
  }
  double pillow(const Dims& out) const {
    double sum = 0;
    std::vector<std::vector<double>> weights;
    for (const std::size_t axis : p_.axes) {
      const auto size = static_cast<double>(padded_[axis]);
      const double ratio = size / static_cast<double>(p_.out_dims[axis]);
      const double wide = std::max(ratio, 1.0);
      const double centre = (static_cast<double>(out[axis]) + 0.5) * ratio;
      std::vector<double> w;
      for (std::size_t k = 0; k < padded_[axis]; ++k) {
        w.push_back(filter((static_cast<double>(k) + 0.5 - centre) / wide));
      }
      const double total = std::accumulate(w.begin(), w.end(), 0.0);
      for (double& value : w) value /= total;
      weights.push_back(w);
    }
    for (std::size_t y = 0; y < weights[0].size(); ++y) {
      double row = 0;
      for (std::size_t x = 0; x < weights[1].size(); ++x) {
        Dims index = out;
        index[p_.axes[0]] = y;
        index[p_.axes[1]] = x;
        row += weights[1][x] * data_[ravel(index, padded_)];
      }
      sum += weights[0][y] * between_(row);
    }
    return sum;
  }
  double filter(double t) const {
    t = std::abs(t);
    const double a = p_.cube_coeff;
    if (p_.mode == InterpolateMode::bilinear_pillow) return std::max(0.0, 1.0 - t);
    if (t < 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
    return t < 2 ? a * (t * t * t - 5 * t * t + 8 * t - 4) : 0.0;
  }

  const InterpolateParams& p_;
  double (*between_)(double);
  Dims padded_;
  std::vector<double> data_;
};

constexpr CoordinateMode kCoordinates[] = {CoordinateMode::half_pixel, CoordinateMode::pytorch_half_pixel,
                                           CoordinateMode::asymmetric, CoordinateMode::tf_half_pixel_for_nn,
                                           CoordinateMode::align_corners};
constexpr NearestMode kNearest[] = {NearestMode::round_prefer_floor, NearestMode::round_prefer_ceil,
                                    NearestMode::floor, NearestMode::ceil, NearestMode::simple};

std::vector<InterpolateParams> shapes(InterpolateMode mode) {
  std::vector<InterpolateParams> list;
  for (const auto& [in, out] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {1, 5}, {5, 1}, {4, 8}, {8, 4}, {3, 10}, {10, 3}, {7, 9}, {9, 7}, {16, 33}, {33, 16}}) {
    list.push_back(params(mode, {2, 3, in, 6}, {2, 3}, {out, 9}));
    list.push_back(params(mode, {1, 2, 5, in}, {2, 3}, {3, out}));
    list.push_back(params(mode, {1, 1, 6, in}, {2, 3}, {6, out}));
  }
  list.push_back(params(mode, {5, 4}, {0, 1}, {7, 9}));
  list.push_back(params(mode, {1, 2, 5, 7}, {2, 3}, {}, {1.7F, 0.6F}));
  list.push_back(params(mode, {1, 1, 9, 9}, {2, 3}, {}, {1.05F, 0.99F}));
  list.push_back(params(mode, {1, 2, 5, 7}, {2, 3}, {8, 11}, {}, {0, 0, 1, 0}, {0, 0, 2, 0}));
  list.push_back(params(mode, {1, 2, 5, 7}, {2, 3}, {8, 11}, {}, {0, 1, 3, 2}, {1, 0, 2, 3}));
  if (mode == InterpolateMode::bilinear_pillow || mode == InterpolateMode::bicubic_pillow) {
    list.push_back(params(mode, {1, 5, 6, 3}, {1, 2}, {3, 11}));
    return list;
  }
  list.push_back(params(mode, {2, 1, 3, 4, 5}, {2, 3, 4}, {5, 3, 9}));
  if (mode != InterpolateMode::linear_onnx) {
    list.push_back(params(mode, {2, 5, 6, 70}, {1, 2}, {8, 4}));  // channels last
    list.push_back(params(mode, {5, 3, 6}, {2, 0}, {9, 3}));      // axes apart and in any order
    list.push_back(params(mode, {6, 7}, {0}, {4}));
    list.push_back(params(mode, {6}, {0}, {13}));
  }
  return list;
}

/// Into the range of T, rounded if that is an integer type.
template <class T>
double to_type(double value) {
  if (std::is_floating_point_v<T>) return value;
  return std::clamp(std::round(value), static_cast<double>(std::numeric_limits<T>::min()),
                    static_cast<double>(std::numeric_limits<T>::max()));
}

template <class T>
void check(const InterpolateParams& p, double tolerance, std::size_t misalign = 1) {
  GuardedBuffer<T> in(product(p.in_dims), misalign);
  GuardedBuffer<T> out(product(p.out_dims), misalign);
  fill_random(in, std::is_unsigned_v<T> ? 0 : -50, 100, 17);
  const Interpolate interpolate(p);
  GuardedBuffer<T> scratch(interpolate.scratch_bytes(sizeof(T)) / sizeof(T), misalign);
  interpolate.run(in.data(), out.data(), reinterpret_cast<std::byte*>(scratch.data()));
  REQUIRE(scratch.guards_intact());
  REQUIRE(in.guards_intact());
  REQUIRE(out.guards_intact());
  const Twin twin(p, std::vector<double>(in.begin(), in.end()), &to_type<T>);
  double worst = 0;
  for (std::size_t n = 0; n < out.size(); ++n) {
    double expected = twin.value(n);
    if (std::is_integral_v<T>) {
      expected = std::clamp(expected, static_cast<double>(std::numeric_limits<T>::min()),
                            static_cast<double>(std::numeric_limits<T>::max()));
    }
    worst = std::max(worst, std::abs(static_cast<double>(out[n]) - expected));
  }
  CAPTURE(p.in_dims, p.out_dims, p.axes, p.pads_begin, static_cast<int>(p.mode),
          static_cast<int>(p.coordinates), static_cast<int>(p.nearest), p.antialias);
  REQUIRE(worst <= tolerance);
}

}  // namespace

TEST_CASE("nearest picks the pixel that the modes name", "[interpolate]") {
  for (InterpolateParams p : shapes(InterpolateMode::nearest)) {
    for (const CoordinateMode coordinates : kCoordinates) {
      for (const NearestMode nearest : kNearest) {
        p.coordinates = coordinates;
        p.nearest = nearest;
        check<float>(p, 0);
        check<std::uint8_t>(p, 0);
        check<double>(p, 0);
        check<std::int16_t>(p, 0);
      }
    }
  }
}

TEST_CASE("linear, linear_onnx and cubic of floats follow the definition", "[interpolate]") {
  IR_FOR_EACH_TARGET();
  for (const InterpolateMode mode :
       {InterpolateMode::linear, InterpolateMode::linear_onnx, InterpolateMode::cubic}) {
    for (InterpolateParams p : shapes(mode)) {
      for (const CoordinateMode coordinates : kCoordinates) {
        p.coordinates = coordinates;
        check<float>(p, 3e-3);  // the coordinate is a float: its last bit is worth 1e-6 * 150 * taps
        if (mode == InterpolateMode::linear) {
          p.antialias = true;
          check<float>(p, 3e-3, 3);
          p.antialias = false;
        }
      }
      p.cube_coeff = -0.5F;
      if (mode == InterpolateMode::cubic) check<float>(p, 3e-3, 0);
    }
  }
}

TEMPLATE_TEST_CASE("other types interpolate within one unit", "[interpolate]", double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  const double unit = std::is_integral_v<TestType> ? 1.0 + 1e-3 : 3e-3;
  for (InterpolateParams p : shapes(InterpolateMode::linear)) {
    check<TestType>(p, std::is_integral_v<TestType> ? 0.5 + 1e-3 : 3e-3);
    p.antialias = true;
    check<TestType>(p, std::is_integral_v<TestType> ? 0.5 + 1e-3 : 3e-3);
  }
  for (const InterpolateParams& p : shapes(InterpolateMode::linear_onnx)) check<TestType>(p, unit);
  for (const InterpolateParams& p : shapes(InterpolateMode::cubic)) check<TestType>(p, unit);
  // Between the passes a tie may round either way, if the twin's last bit differs; this cube_coeff makes
  // none.
  const double rounded = std::is_integral_v<TestType> ? 0.5 + 1e-6 : 1e-9;
  for (const InterpolateParams& p : shapes(InterpolateMode::bilinear_pillow))
    check<TestType>(p, std::is_integral_v<TestType> ? 1.5 + 1e-6 : rounded);
  for (InterpolateParams p : shapes(InterpolateMode::bicubic_pillow)) {
    p.cube_coeff = -0.53F;
    check<TestType>(p, rounded);
  }
}

TEST_CASE("pillow modes of floats follow Pillow's filters", "[interpolate]") {
  for (const InterpolateMode mode : {InterpolateMode::bilinear_pillow, InterpolateMode::bicubic_pillow}) {
    for (InterpolateParams p : shapes(mode)) {
      p.cube_coeff = -0.5F;
      check<float>(p, 1e-4);
    }
  }
}

TEST_CASE("wide rows and many taps take the same values", "[interpolate]") {
  IR_FOR_EACH_TARGET();
  for (const InterpolateMode mode : {InterpolateMode::linear_onnx, InterpolateMode::cubic}) {
    check<float>(params(mode, {1, 1, 4, 1100}, {2, 3}, {5, 700}), 2e-2);
    check<float>(params(mode, {1, 1, 3, 300}, {2, 3}, {5, 1300}), 2e-2);
  }
  InterpolateParams p = params(InterpolateMode::linear, {1, 1, 40, 700}, {2, 3}, {3, 40});
  p.antialias = true;
  check<float>(p, 1e-2);
  p = params(InterpolateMode::linear, {1, 1, 9, 5000}, {2, 3}, {2, 3});  // a span wider than the buffer
  p.antialias = true;
  check<float>(p, 1e-2);
  p = params(InterpolateMode::cubic, {1, 1, 3, 4, 9}, {2, 3, 4}, {5, 7, 20});  // 16 input rows per output row
  check<float>(p, 3e-3);
}

TEST_CASE("rows about as long as vectors are resampled", "[interpolate]") {
  IR_FOR_EACH_TARGET();
  for (const InterpolateMode mode : {InterpolateMode::linear_onnx, InterpolateMode::cubic}) {
    for (std::size_t in = 1; in <= 35; ++in) {
      for (const std::size_t out : {15, 16, 37, 70})
        check<float>(params(mode, {1, 2, 3, in}, {2, 3}, {4, out}), 3e-3);
    }
  }
}

TEST_CASE("nearest doubles rows and columns of any length", "[interpolate]") {
  IR_FOR_EACH_TARGET();
  for (std::size_t in = 1; in <= 35; ++in) {
    InterpolateParams p = params(InterpolateMode::nearest, {2, 2, 3, in}, {2, 3}, {6, 2 * in});
    p.coordinates = CoordinateMode::asymmetric;
    p.nearest = NearestMode::floor;
    check<float>(p, 0);
    check<std::int32_t>(p, 0);
    check<std::int8_t>(p, 0);
  }
}

TEST_CASE("interpolate worked out by hand", "[interpolate]") {
  const std::vector<float> in{1, 2, 3, 4};  // 2 x 2
  std::vector<float> out(16);
  InterpolateParams p = params(InterpolateMode::linear_onnx, {1, 1, 2, 2}, {2, 3}, {}, {2.0F, 2.0F});
  Interpolate(p).run(in.data(), out.data());
  REQUIRE(out ==
          std::vector<float>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  p.coordinates = CoordinateMode::align_corners;
  Interpolate(p).run(in.data(), out.data());
  REQUIRE(close(out[5], 1 + 1.0 / 3 + 2.0 / 3, 1e-6, 0));
  p.mode = InterpolateMode::nearest;
  p.coordinates = CoordinateMode::asymmetric;
  p.nearest = NearestMode::floor;
  Interpolate(p).run(in.data(), out.data());
  REQUIRE(out == std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});

  // Halving by Pillow's bilinear filter: weights 3, 3, 1 (of 7) from the border inwards.
  const std::vector<std::uint8_t> row{0, 80, 160, 240};
  std::vector<std::uint8_t> half(2);
  Interpolate(params(InterpolateMode::bilinear_pillow, {1, 4}, {0, 1}, {1, 2})).run(row.data(), half.data());
  REQUIRE(half == std::vector<std::uint8_t>{57, 183});  // 57.14, 182.86

  // Integers: linear rounds, linear_onnx and cubic truncate.
  const std::vector<std::int32_t> two{0, 3};
  std::vector<std::int32_t> four(4);
  Interpolate(params(InterpolateMode::linear, {2}, {0}, {4})).run(two.data(), four.data());
  REQUIRE(four == std::vector<std::int32_t>{0, 1, 2, 3});  // 0, 0.75, 2.25, 3
  Interpolate(params(InterpolateMode::linear_onnx, {1, 2}, {0, 1}, {1, 4})).run(two.data(), four.data());
  REQUIRE(four == std::vector<std::int32_t>{0, 0, 2, 3});
  // Overshoot of the cubic filter stays in the type.
  const std::vector<std::uint8_t> edge{0, 0, 255, 255};
  std::vector<std::uint8_t> eight(8);
  Interpolate(params(InterpolateMode::cubic, {4}, {0}, {8})).run(edge.data(), eight.data());
  REQUIRE(eight[2] == 0);
  REQUIRE(eight[5] == 255);
}

TEST_CASE("axes that keep their size are copied", "[interpolate]") {
  std::vector<float> in(24);
  std::iota(in.begin(), in.end(), 0.0F);
  for (const InterpolateMode mode :
       {InterpolateMode::nearest, InterpolateMode::linear, InterpolateMode::linear_onnx,
        InterpolateMode::cubic, InterpolateMode::bilinear_pillow}) {
    std::vector<float> out(24);
    InterpolateParams p = params(mode, {1, 2, 3, 4}, {2, 3}, {3, 4});
    p.coordinates = CoordinateMode::tf_half_pixel_for_nn;
    Interpolate(p).run(in.data(), out.data());
    REQUIRE(out == in);
  }
}

TEST_CASE("interpolate gives the same bits for any number of threads", "[interpolate]") {
  std::vector<float> in(3 * 61 * 83);
  fill_random(in, -1, 1, 5);
  for (const InterpolateMode mode :
       {InterpolateMode::nearest, InterpolateMode::linear, InterpolateMode::linear_onnx,
        InterpolateMode::cubic, InterpolateMode::bicubic_pillow}) {
    const InterpolateParams p = params(mode, {1, 3, 61, 83}, {2, 3}, {150, 201});
    const Interpolate interpolate(p);
    std::vector<float> out[2];
    for (int threads = 1; threads <= 2; ++threads) {
      out[threads - 1].resize(product(p.out_dims));
      std::vector<std::byte> scratch(interpolate.scratch_bytes(sizeof(float)));
      ThreadPool(threads).run([&] { interpolate.run(in.data(), out[threads - 1].data(), scratch.data()); });
    }
    REQUIRE(std::memcmp(out[0].data(), out[1].data(), out[0].size() * sizeof(float)) == 0);
  }
}

TEST_CASE("what interpolate keeps is known before it is made", "[interpolate]") {
  const auto bytes = [](const InterpolateParams& p) {
    std::size_t sum = 0;
    for (const auto& [positions, each] : interpolate_tables(p)) sum += positions * each;
    return sum;
  };
  const auto sized = [](InterpolateMode mode, std::size_t in, std::size_t out) {
    return params(mode, {2, in, 7}, {1, 2}, {out, 7});
  };
  // A counter of 4 bytes, and for each tap an index of 8 and a weight of 4; what lies in rows has 12 more.
  REQUIRE(bytes(sized(InterpolateMode::nearest, 5, 50)) == 50 * (4 + 24));
  REQUIRE(bytes(sized(InterpolateMode::linear_onnx, 5, 50)) == 50 * (4 + 2 * 24));
  REQUIRE(bytes(sized(InterpolateMode::cubic, 5, 50)) == 50 * (4 + 4 * 24));
  REQUIRE(bytes(sized(InterpolateMode::bicubic_pillow, 50, 5)) == 5 * (4 + 41 * 20));
  REQUIRE(bytes(sized(InterpolateMode::linear, 5, 5)) == 0);
  REQUIRE(bytes(sized(InterpolateMode::nearest, 1, std::size_t{1} << 50)) == (std::size_t{1} << 50) * 28);
}

TEST_CASE("what lies between the passes of a pillow mode is scratch", "[interpolate]") {
  // The width is first: 40 lines of 30 lie between.
  const Interpolate wide(params(InterpolateMode::bilinear_pillow, {40, 2}, {0, 1}, {3, 30}));
  REQUIRE(wide.scratch_bytes(1) == 40 * 30);
  REQUIRE(wide.scratch_bytes(4) == 4 * 40 * 30);
  REQUIRE(Interpolate(params(InterpolateMode::bilinear_pillow, {1, 4}, {0, 1}, {1, 2})).scratch_bytes(4) ==
          0);
  REQUIRE(Interpolate(params(InterpolateMode::cubic, {40, 2}, {0, 1}, {3, 30})).scratch_bytes(4) == 0);
}
