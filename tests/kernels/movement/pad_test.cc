#include "kernels/movement/pad.h"

#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::GuardedBuffer;
using Dims = std::vector<std::size_t>;
using Pads = std::vector<std::ptrdiff_t>;

/// Twin: walks from the border one step at a time, so that mirrors need no modulo.
std::ptrdiff_t source(std::ptrdiff_t x, std::ptrdiff_t in, PadMode mode) {
  if (x >= 0 && x < in) return x;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return x < 0 ? 0 : in - 1;
  if (in == 1) return 0;
  const bool reflect = mode == PadMode::reflect;
  while (x < 0 || x >= in)
    x = x < 0 ? (reflect ? -x : -x - 1) : (reflect ? 2 * (in - 1) - x : 2 * in - 1 - x);
  return x;
}

void check(const Dims& dims, const Pads& begin, const Pads& end, PadMode mode, std::size_t size) {
  const std::size_t count = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  std::size_t out_count = 1;
  Dims out_dims;
  for (std::size_t a = 0; a < dims.size(); ++a) {
    out_dims.push_back(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(dims[a]) + begin[a] + end[a]));
    out_count *= out_dims.back();
  }
  GuardedBuffer<char> in(count * size, 1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<char>(i * 37 + i / 97);
  GuardedBuffer<char> out(out_count * size, 3);
  std::vector<char> value(size);
  std::iota(value.begin(), value.end(), 90);
  Pad(dims, begin, end, mode, size).run(in.data(), value.data(), out.data());
  CAPTURE(dims, begin, end, static_cast<int>(mode), size);
  REQUIRE(out.guards_intact());
  bool equal = true;
  for (std::size_t n = 0; n < out_count; ++n) {
    std::size_t rest = n;
    std::size_t stride = 1;
    std::size_t from = 0;
    bool outside = false;
    for (std::size_t a = dims.size(); a-- > 0;) {
      const auto x = static_cast<std::ptrdiff_t>(rest % out_dims[a]) - begin[a];
      rest /= out_dims[a];
      const std::ptrdiff_t s = source(x, static_cast<std::ptrdiff_t>(dims[a]), mode);
      outside = outside || s < 0;
      from += static_cast<std::size_t>(s) * stride;
      stride *= dims[a];
    }
    const char* expected = outside ? value.data() : in.data() + from * size;
    equal = equal && std::memcmp(out.data() + n * size, expected, size) == 0;
  }
  REQUIRE(equal);
}

}  // namespace

TEST_CASE("pad and crop in every mode", "[pad]") {
  for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric}) {
    for (const std::size_t size : {1, 2, 3, 4, 8, 16}) {
      check({}, {}, {}, mode, size);
      check({5}, {2}, {3}, mode, size);
      check({5}, {0}, {0}, mode, size);
      check({5}, {-2}, {-1}, mode, size);
      check({5}, {-3}, {4}, mode, size);
      check({5}, {3}, {-4}, mode, size);
      check({5}, {4}, {-7}, mode, size);
      check({5}, {-5}, {0}, mode, size);
      check({1}, {3}, {2}, mode, size);
      check({3, 4}, {1, 0}, {2, 0}, mode, size);
      check({3, 4}, {0, 2}, {0, 1}, mode, size);
      check({2, 3, 4, 5}, {0, 0, 1, 2}, {0, 0, 2, 1}, mode, size);
      check({2, 3, 4, 5}, {1, 0, -1, 0}, {0, 1, 2, 0}, mode, size);
      check({2, 3, 4}, {1, 0, 0}, {1, 0, 0}, mode, size);
      check({4, 3}, {-6, 0}, {9, 0}, mode, size);
      check({3, 2}, {7, 0}, {8, 0}, mode, size);  // longer than a period of the mirror
    }
    check({2, 40, 70}, {0, 3, 5}, {1, 2, 60}, mode, 4);
  }
  check({0, 3}, {2, 0}, {1, 1}, PadMode::constant, 4);
  check({2, 0}, {0, 2}, {0, 1}, PadMode::constant, 4);
}

TEST_CASE("pad examples of Pad-1", "[pad]") {
  const std::vector<std::int32_t> in{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // 3 x 4
  const auto run = [&](PadMode mode) {
    std::vector<std::int32_t> out(5 * 8);
    const std::int32_t value = 0;
    Pad(Dims{3, 4}, Pads{0, 1}, Pads{2, 3}, mode, 4).run(in.data(), &value, out.data());
    return std::vector<std::int32_t>(out.end() - 8, out.end());
  };
  REQUIRE(run(PadMode::constant) == std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 0});
  REQUIRE(run(PadMode::edge) == std::vector<std::int32_t>{9, 9, 10, 11, 12, 12, 12, 12});
  REQUIRE(run(PadMode::reflect) == std::vector<std::int32_t>{2, 1, 2, 3, 4, 3, 2, 1});
  REQUIRE(run(PadMode::symmetric) == std::vector<std::int32_t>{5, 5, 6, 7, 8, 8, 7, 6});
}

TEST_CASE("a pad of a long axis is prepared without a table of it", "[pad]") {
  constexpr std::size_t kLong = std::size_t{1} << 50;
  for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric}) {
    REQUIRE_NOTHROW(Pad(Dims{kLong, 3}, Pads{0, 1}, Pads{0, 2}, mode, 1));
    REQUIRE_NOTHROW(Pad(Dims{3, kLong}, Pads{0, 1}, Pads{0, 2}, mode, 1));
  }
}

TEST_CASE("pad gives the same bits for any number of threads", "[pad]") {
  std::vector<float> in(50 * 100 * 30);
  std::iota(in.begin(), in.end(), 0.0F);
  const Pad pad(Dims{50, 100, 30}, Pads{0, 2, 3}, Pads{1, 0, 4}, PadMode::edge, 4);
  std::vector<float> out[2] = {std::vector<float>(51 * 102 * 37), std::vector<float>(51 * 102 * 37)};
  for (int threads = 1; threads <= 2; ++threads) {
    ThreadPool(threads).run([&] { pad.run(in.data(), nullptr, out[threads - 1].data()); });
  }
  REQUIRE(out[0] == out[1]);
}
