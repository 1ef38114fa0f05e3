#include "kernels/pooling/pooling.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/pooling/pooling_planes.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::close;
using ir::test::fill_random;
using ir::test::GuardedBuffer;

struct Case {
  std::size_t rows;
  std::vector<WindowParams> axes;
};

std::size_t product_in(const Case& c) {
  std::size_t n = 1;
  for (const WindowParams& p : c.axes) n *= p.in;
  return n;
}
std::size_t product_out(const Case& c) {
  std::size_t n = 1;
  for (const WindowParams& p : c.axes) n *= p.out;
  return n;
}

WindowParams axis(std::size_t in, std::size_t kernel, std::size_t stride, std::size_t dilation = 1,
                  std::size_t pad_begin = 0, std::size_t pad_end = 0, bool ceil = false) {
  const std::size_t extent = (kernel - 1) * dilation + 1;
  const std::size_t room = in + pad_begin + pad_end - extent;
  return {
      in,     (ceil ? (room + stride - 1) / stride : room / stride) + 1, kernel, stride, dilation, pad_begin,
      pad_end};
}

std::vector<WindowAxis> tables(const Case& c, Divisor divisor) {
  std::vector<WindowAxis> axes;
  for (const WindowParams& p : c.axes) axes.push_back(sliding_windows(p, divisor));
  return axes;
}

// Twin: visits every tap of every window in padded coordinates, as the definition reads.
struct Pooled {
  double sum = 0;
  std::size_t in_image = 0;
  std::size_t in_padded = 0;
  std::size_t in_kernel = 0;
  double best = 0;
  std::optional<std::size_t> where;  // in the image
};

template <class T>
Pooled pool_at(const Case& c, const T* image, std::size_t out_position) {
  std::vector<std::size_t> o(c.axes.size());
  for (std::size_t a = c.axes.size(); a-- > 0;) {
    o[a] = out_position % c.axes[a].out;
    out_position /= c.axes[a].out;
  }
  Pooled result;
  std::size_t taps = 1;
  for (const WindowParams& p : c.axes) taps *= p.kernel;
  for (std::size_t t = 0; t < taps; ++t) {
    std::size_t rest = t;
    std::vector<std::size_t> k(c.axes.size());
    for (std::size_t a = c.axes.size(); a-- > 0;) {
      k[a] = rest % c.axes[a].kernel;
      rest /= c.axes[a].kernel;
    }
    bool inside = true;
    bool padded = true;
    std::size_t position = 0;
    for (std::size_t a = 0; a < c.axes.size(); ++a) {
      const WindowParams& p = c.axes[a];
      const auto x = static_cast<long>(o[a] * p.stride + k[a] * p.dilation) - static_cast<long>(p.pad_begin);
      inside = inside && x >= 0 && x < static_cast<long>(p.in);
      padded = padded && x < static_cast<long>(p.in + p.pad_end);
      position = position * p.in + static_cast<std::size_t>(x);
    }
    ++result.in_kernel;
    if (padded) ++result.in_padded;
    if (!inside) continue;
    ++result.in_image;
    const auto value = static_cast<double>(image[position]);
    result.sum += value;
    if (!result.where || value > result.best) {
      result.best = value;
      result.where = position;
    }
  }
  return result;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const std::size_t width : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 33}) {
    for (const std::size_t stride : {1, 2, 3, 4}) {
      list.push_back({3, {axis(width, 1, stride)}});
      if (width >= 2) list.push_back({2, {axis(5, 2, 2), axis(width, 2, stride)}});
      if (width >= 3) {
        list.push_back({2, {axis(5, 3, stride, 1, 1, 1), axis(width, 3, stride, 1, 1, 1)}});
        list.push_back({1, {axis(6, 3, 2, 1, 1, 1, true), axis(width, 3, stride, 1, 1, 0, true)}});
        list.push_back({1, {axis(4, 3, 1, 1, 2, 2), axis(width, 3, stride, 1, 2, 2)}});
      }
      if (width >= 5) {
        list.push_back({1, {axis(7, 3, 1, 2, 1, 2), axis(width, 3, stride, 2, 2, 1)}});
        list.push_back({1, {axis(7, 2, 2, 3, 0, 2, true), axis(width, 5, stride)}});
        list.push_back({2, {axis(3, 2, 1), axis(4, 3, 2, 1, 1, 1), axis(width, 4, stride, 1, 1, 1)}});
      }
    }
    list.push_back({3, {axis(width, width, 1), axis(4, 4, 1)}});
  }
  list.push_back({1, {axis(2, 2, 1), axis(3, 2, 1), axis(2, 2, 1, 1, 1, 1), axis(5, 3, 1, 1, 1, 1)}});
  list.push_back({1, {axis(3, 2, 2), axis(2500, 3, 2, 1, 1, 1)}});   // several line buffers
  list.push_back({1, {axis(2, 2, 1), axis(1500, 1300, 1)}});         // a window wider than the line buffer
  list.push_back({1, {axis(70, 50, 3, 1, 10, 10), axis(9, 3, 1)}});  // many lines under a window
  list.push_back({1, {axis(3, 3, 1), axis(5000, 3, 2, 1, 1, 1)}});   // wider than the planes' buffer
  list.push_back({7, {axis(30, 3, 2, 1, 1, 1), axis(14, 3, 2, 1, 0, 1)}});  // strips over several planes
  list.push_back({40, {axis(7, 3, 1, 1, 1, 1), axis(7, 3, 1, 1, 1, 1)}});
  list.push_back({2, {axis(9, 5, 1, 1, 2, 2), axis(20, 5, 1, 1, 2, 2)}});
  list.push_back({2, {axis(90, 90, 1), axis(101, 101, 1)}});            // global, several blocks
  list.push_back({1, {{3, 4, 2, 3, 1, 4, 4}, {3, 4, 2, 3, 1, 4, 4}}});  // windows of only padding
  return list;
}

template <class T>
double expected_mean(double sum, std::size_t divisor) {
  if (std::is_floating_point_v<T>) return sum / static_cast<double>(divisor);
  const double mean = sum / static_cast<double>(divisor);
  return sizeof(T) == 1 ? std::nearbyint(mean) : std::trunc(mean);
}

template <class T>
void check_average(const Case& c, Divisor divisor, std::size_t misalign) {
  GuardedBuffer<T> in(c.rows * product_in(c), misalign);
  GuardedBuffer<T> out(c.rows * product_out(c), misalign);
  fill_random(in, std::is_unsigned_v<T> ? 0 : -100, 100, 7);
  const AveragePool pool(c.rows, tables(c, divisor), -3.0);
  pool.run(in.data(), out.data());
  REQUIRE(in.guards_intact());
  REQUIRE(out.guards_intact());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / product_out(c);
    const Pooled p = pool_at(c, in.data() + row * product_in(c), i % product_out(c));
    const std::size_t n = divisor == Divisor::image    ? p.in_image
                          : divisor == Divisor::padded ? p.in_padded
                                                       : p.in_kernel;
    const double empty = std::is_unsigned_v<T> ? 0.0 : -3.0;
    const double expected = n == 0 ? empty : expected_mean<T>(p.sum, n);
    if (!close(out[i], expected, 2e-6, std::is_floating_point_v<T> ? 1e-4 : 0)) {
      CAPTURE(i, n, c.axes.back().in, c.axes.back().stride);
      REQUIRE(static_cast<double>(out[i]) == expected);
    }
  }
}

template <class T, class Index>
void check_max(const Case& c, std::size_t period, std::size_t misalign) {
  GuardedBuffer<T> in(c.rows * product_in(c), misalign);
  GuardedBuffer<T> out(c.rows * product_out(c), misalign);
  GuardedBuffer<T> again(c.rows * product_out(c), misalign);
  GuardedBuffer<Index> indices(out.size(), misalign);
  fill_random(in, std::is_unsigned_v<T> ? 0 : -20, 20, 11);
  for (T& value : in) value = static_cast<T>(std::floor(static_cast<double>(value)));  // ties
  const MaxPool pool(c.rows, tables(c, Divisor::image));
  pool.run(in.data(), out.data());
  pool.run(in.data(), again.data(), indices.data(), period);
  REQUIRE(out.guards_intact());
  REQUIRE(again.guards_intact());
  REQUIRE(indices.guards_intact());
  bool equal = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / product_out(c);
    const Pooled p = pool_at(c, in.data() + row * product_in(c), i % product_out(c));
    const T best = p.where ? static_cast<T>(p.best) : std::numeric_limits<T>::lowest();
    const std::size_t where = (row * product_in(c) + p.where.value_or(0)) % period;
    equal = equal && out[i] == best && again[i] == best && static_cast<std::size_t>(indices[i]) == where;
  }
  CAPTURE(c.axes.size(), c.axes.back().in, c.axes.back().stride, period);
  REQUIRE(equal);
}

}  // namespace

TEST_CASE("average pooling of floats follows the definition for every window", "[pooling]") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    for (const Divisor divisor : {Divisor::image, Divisor::padded, Divisor::kernel})
      check_average<float>(c, divisor, 1);
  }
}

TEMPLATE_TEST_CASE("average pooling of other types is exact", "[pooling]", double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const Case& c : cases()) {
    check_average<TestType>(c, Divisor::image, 1);
    check_average<TestType>(c, Divisor::kernel, 0);
  }
}

TEST_CASE("max pooling of floats gives the first maximum", "[pooling]") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    check_max<float, std::int32_t>(c, c.rows * product_in(c), 1);
    check_max<float, std::int64_t>(c, product_in(c), 3);
    check_max<float, std::int64_t>(c, c.axes.back().in, 0);
  }
}

TEMPLATE_TEST_CASE("max pooling of other types gives the first maximum", "[pooling]", double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  for (const Case& c : cases()) check_max<TestType, std::int64_t>(c, product_in(c), 1);
}

TEST_CASE("max pooling of bytes gives the maxima on every target", "[pooling]") {
  IR_FOR_EACH_TARGET();
  std::vector<Case> list = cases();
  // Around vectors of bytes.
  for (const std::size_t width : {31, 32, 47, 48, 63, 64, 65, 112, 127, 128, 129, 260}) {
    for (const std::size_t stride : {1, 2}) {
      list.push_back({3, {axis(9, 3, stride, 1, 1, 1), axis(width, 3, stride, 1, 1, 1)}});
      list.push_back({2, {axis(8, 2, 2), axis(width, 2, stride)}});
      list.push_back({1, {axis(3, 2, 1), axis(4, 3, 1), axis(width, 5, stride, 1, 2, 2)}});
    }
  }
  // Windows that leave short planes as large as they are, in strips of many of them or few.
  for (const std::size_t width : {1, 5, 7, 14, 15, 16, 17, 20, 28, 31, 33, 62}) {
    for (const std::size_t height : {1, 7, 13, 32}) {
      const std::size_t most = std::min<std::size_t>(height, 5);
      for (const std::size_t kernel : {1, 2, 3, 5}) {
        if (kernel > width || kernel > most) continue;
        for (const std::size_t before : {std::size_t{0}, kernel / 2, kernel - 1}) {
          const std::size_t after = kernel - 1 - before;
          list.push_back({width * height < 40 ? 150U : 9U,
                          {axis(height, most, 1, 1, most - 1 - before % most, before % most),
                           axis(width, kernel, 1, 1, before, after)}});
        }
      }
    }
  }
  for (const Case& c : list) check_max<std::uint8_t, std::int32_t>(c, product_in(c), 1);
}

TEST_CASE("max pooling of bytes gives the same on any number of threads", "[pooling]") {
  const Case c{300, {axis(28, 3, 1, 1, 1, 1), axis(28, 3, 1, 1, 1, 1)}};
  const MaxPool pool(c.rows, tables(c, Divisor::image));
  std::vector<std::uint8_t> in(c.rows * product_in(c));
  fill_random(in, 0, 255, 3);
  std::vector<std::vector<std::uint8_t>> results;
  for (const int threads : {1, 2, 3}) {
    results.emplace_back(c.rows * product_out(c));
    ThreadPool(threads).run([&] { pool.run(in.data(), results.back().data()); });
  }
  CHECK(results[1] == results[0]);
  CHECK(results[2] == results[0]);
}

TEST_CASE("max pooling skips NaN and keeps infinities", "[pooling]") {
  IR_FOR_EACH_TARGET();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::size_t width : {6, 40}) {
    std::vector<float> in(width, 1.0F);
    in[0] = nan;
    in[1] = nan;
    in[2] = nan;
    in[3] = -inf;
    in[4] = -inf;
    in[5] = 2.0F;
    const MaxPool pool(1, {sliding_windows(axis(width, 2, 1))});
    std::vector<float> out(width - 1);
    std::vector<std::int64_t> indices(width - 1);
    pool.run(in.data(), out.data());
    REQUIRE(std::vector<float>(out.begin(), out.begin() + 5) ==
            std::vector<float>{-inf, -inf, -inf, -inf, 2.0F});
    pool.run(in.data(), out.data(), indices.data(), width);
    REQUIRE(std::vector<float>(out.begin(), out.begin() + 5) ==
            std::vector<float>{-inf, -inf, -inf, -inf, 2.0F});
    REQUIRE(std::vector<std::int64_t>(indices.begin(), indices.begin() + 5) ==
            std::vector<std::int64_t>{0, 1, 2, 3, 5});
  }
  std::vector<float> image(64, nan);
  image[40] = 3.0F;
  float best = 0;
  MaxPool(1, {sliding_windows(axis(8, 8, 1)), sliding_windows(axis(8, 8, 1))}).run(image.data(), &best);
  REQUIRE(best == 3.0F);
}

TEST_CASE("max pooling of a 3x3 image with dilation matches MaxPool-8", "[pooling]") {
  const std::vector<float> in{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const WindowParams window = axis(3, 2, 1, 2, 1, 1);
  const MaxPool pool(1, {sliding_windows(window), sliding_windows(window)});
  std::vector<float> out(9);
  std::vector<std::int32_t> indices(9);
  pool.run(in.data(), out.data(), indices.data(), 9);
  REQUIRE(out == std::vector<float>{5, 6, 5, 8, 9, 8, 5, 6, 5});
  REQUIRE(indices == std::vector<std::int32_t>{4, 5, 4, 7, 8, 7, 4, 5, 4});
}

TEST_CASE("the divisor of a ceil window stops where it is told to", "[pooling]") {
  // 4 points, kernel 3, stride 2, one point of padding at the end, ceil: windows [0,3) and [2,5).
  const std::vector<double> in{3, 3, 6, 9};
  const WindowParams window{4, 3, 3, 2, 1, 0, 1};  // the third window [4,7) has one padding point, two beyond
  std::vector<double> out(3);
  AveragePool(1, {sliding_windows(window, Divisor::image)}, 0.5).run(in.data(), out.data());
  REQUIRE(out == std::vector<double>{4, 7.5, 0.5});
  AveragePool(1, {sliding_windows(window, Divisor::padded)}).run(in.data(), out.data());
  REQUIRE(out == std::vector<double>{4, 5, 0});
  REQUIRE(sliding_windows(window, Divisor::padded).windows[2].divisor == 1);
  REQUIRE(sliding_windows(window, Divisor::kernel).windows[2].divisor == 3);
}

TEST_CASE("adaptive windows cover the axis without overflow", "[pooling]") {
  for (std::size_t in = 1; in < 40; ++in) {
    for (std::size_t out = 1; out < 50; ++out) {
      const WindowAxis axis = adaptive_windows(in, out);
      REQUIRE(axis.out() == out);
      for (std::size_t o = 0; o < out; ++o) {
        const std::size_t begin = o * in / out;
        const std::size_t end = ((o + 1) * in + out - 1) / out;
        REQUIRE(axis.windows[o].first == begin);
        REQUIRE(axis.windows[o].count == end - begin);
      }
    }
  }
  const std::size_t huge = std::numeric_limits<std::size_t>::max() / 2;
  REQUIRE(adaptive_windows(huge, 3).windows[2].first + adaptive_windows(huge, 3).windows[2].count == huge);
}

TEST_CASE("adaptive pooling averages and finds maxima of floor/ceil windows", "[pooling]") {
  IR_FOR_EACH_TARGET();
  for (const auto& dims : {std::vector<std::size_t>{7, 3},
                           {20, 6, 33, 10},
                           {5, 2, 9, 4, 17, 5},
                           {3, 7, 4, 9},
                           {5, 1, 6, 1},
                           {1, 1, 3000, 2}}) {
    constexpr std::size_t kRows = 3;
    std::vector<WindowAxis> axes;
    std::size_t in_count = 1;
    std::size_t out_count = 1;
    for (std::size_t a = 0; a < dims.size(); a += 2) {
      axes.push_back(adaptive_windows(dims[a], dims[a + 1]));
      in_count *= dims[a];
      out_count *= dims[a + 1];
    }
    GuardedBuffer<float> in(kRows * in_count, 1);
    GuardedBuffer<float> mean(kRows * out_count, 1);
    GuardedBuffer<float> best(kRows * out_count, 2);
    GuardedBuffer<float> best_again(kRows * out_count, 2);
    GuardedBuffer<std::int32_t> indices(kRows * out_count, 1);
    fill_random(in, -1, 1, 3);
    AveragePool(kRows, axes).run(in.data(), mean.data());
    MaxPool(kRows, axes).run(in.data(), best.data());
    MaxPool(kRows, axes).run(in.data(), best_again.data(), indices.data(), in_count);
    REQUIRE(mean.guards_intact());
    REQUIRE(best.guards_intact());
    for (std::size_t i = 0; i < kRows * out_count; ++i) {
      double sum = 0;
      double largest = -2;
      std::size_t count = 0;
      std::size_t where = 0;
      for (std::size_t p = 0; p < in_count; ++p) {
        bool inside = true;
        std::size_t rest_in = p;
        std::size_t rest_out = i % out_count;
        for (std::size_t a = dims.size(); a > 0; a -= 2) {
          const std::size_t x = rest_in % dims[a - 2];
          const std::size_t o = rest_out % dims[a - 1];
          rest_in /= dims[a - 2];
          rest_out /= dims[a - 1];
          inside = inside && x >= o * dims[a - 2] / dims[a - 1] &&
                   x < ((o + 1) * dims[a - 2] + dims[a - 1] - 1) / dims[a - 1];
        }
        if (!inside) continue;
        const double value = in[i / out_count * in_count + p];
        sum += value;
        ++count;
        if (value > largest) {
          largest = value;
          where = p;
        }
      }
      REQUIRE(close(mean[i], sum / static_cast<double>(count), 2e-6, 2e-6));
      REQUIRE(best[i] == static_cast<float>(largest));
      REQUIRE(best_again[i] == static_cast<float>(largest));
      REQUIRE(static_cast<std::size_t>(indices[i]) == where);
    }
  }
}

TEST_CASE("lines of planes are independent of the others and of their order", "[pooling]") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t width : {3, 7, 9, 20}) {
    for (const std::size_t stride : {1, 2}) {
      const WindowAxis columns = sliding_windows(axis(width, 3, stride, 1, 1, 1));
      const std::vector<WindowAxis> axes{sliding_windows(axis(6, 3, stride, 1, 1, 1)), columns};
      REQUIRE(slides_over_planes(axes));
      constexpr std::size_t kPlanes = 4;
      GuardedBuffer<float> in(kPlanes * 6 * width, 1);
      GuardedBuffer<float> all(kPlanes * axes[0].out() * columns.out(), 2);
      GuardedBuffer<float> pieces(all.size(), 3);
      fill_random(in, -1, 1, 5);
      const std::size_t lines = kPlanes * axes[0].out();
      pool_planes_f32(axes, nullptr, {in.data(), in.data() + in.size(), all.data(), 0, lines});
      for (std::size_t end = lines; end > 0;) {  // as threads may: the last piece first
        const std::size_t begin = end - std::min<std::size_t>(end, 5);
        pool_planes_f32(axes, nullptr, {in.data(), in.data() + in.size(), pieces.data(), begin, end});
        end = begin;
      }
      REQUIRE(all.guards_intact());
      REQUIRE(pieces.guards_intact());
      REQUIRE(std::equal(all.begin(), all.end(), pieces.begin()));
    }
  }
}

TEST_CASE("pooling gives the same bits for any number of threads", "[pooling]") {
  const Case c{40, {axis(57, 3, 2, 1, 1, 1), axis(61, 3, 2, 1, 1, 1)}};
  std::vector<float> in(c.rows * product_in(c));
  fill_random(in, -1, 1, 5);
  std::vector<float> out[2];
  std::vector<float> best[2];
  for (int threads = 1; threads <= 2; ++threads) {
    out[threads - 1].resize(c.rows * product_out(c));
    best[threads - 1].resize(c.rows * product_out(c));
    ThreadPool(threads).run([&] {
      AveragePool(c.rows, tables(c, Divisor::image)).run(in.data(), out[threads - 1].data());
      MaxPool(c.rows, tables(c, Divisor::image)).run(in.data(), best[threads - 1].data());
    });
  }
  REQUIRE(std::memcmp(out[0].data(), out[1].data(), out[0].size() * sizeof(float)) == 0);
  REQUIRE(best[0] == best[1]);
}

TEST_CASE("pooling of nothing writes nothing", "[pooling]") {
  const std::vector<WindowAxis> axes{sliding_windows(axis(4, 2, 2)), sliding_windows(axis(4, 2, 2))};
  AveragePool(0, axes).run<float>(nullptr, nullptr);
  MaxPool(0, axes).run<float>(nullptr, nullptr);
  MaxPool(0, axes).run<float, std::int64_t>(nullptr, nullptr, nullptr, 1);
}
