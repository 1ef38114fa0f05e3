#include "kernels/movement/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::GuardedBuffer;
using Dims = std::vector<std::size_t>;
using Strides = std::vector<std::ptrdiff_t>;

std::size_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
}

/// Reads out.dims coordinates one by one; f maps them to an element of the input.
template <class F>
void for_each_index(const Dims& dims, const F& f) {
  Dims index(dims.size());
  for (std::size_t n = 0; n < product(dims); ++n) {
    std::size_t rest = n;
    for (std::size_t a = dims.size(); a-- > 0;) {
      index[a] = rest % dims[a];
      rest /= dims[a];
    }
    f(n, index);
  }
}

std::vector<char> counting_bytes(std::size_t count) {
  std::vector<char> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 131 + i / 251);
  return bytes;
}

void check_copy(const Dims& dims, const Strides& in_strides, const Strides& out_strides, std::size_t size) {
  // Room for every element that the strides reach, on both sides of the origin.
  std::ptrdiff_t in_low = 0, in_high = 0, out_low = 0, out_high = 0;
  for (std::size_t a = 0; a < dims.size(); ++a) {
    const auto last = static_cast<std::ptrdiff_t>(dims[a]) - 1;
    (in_strides[a] < 0 ? in_low : in_high) += last * in_strides[a];
    (out_strides[a] < 0 ? out_low : out_high) += last * out_strides[a];
  }
  const std::vector<char> in = counting_bytes(static_cast<std::size_t>(in_high - in_low + 1) * size);
  GuardedBuffer<char> out(static_cast<std::size_t>(out_high - out_low + 1) * size, 1);
  std::fill(out.begin(), out.end(), '\x77');
  std::vector<char> expected(out.begin(), out.end());
  const auto bytes = static_cast<std::ptrdiff_t>(size);
  const char* in_origin = in.data() - in_low * bytes;
  const std::ptrdiff_t out_origin = -out_low * bytes;
  for_each_index(dims, [&](std::size_t, const Dims& index) {
    std::ptrdiff_t from = 0, to = 0;
    for (std::size_t a = 0; a < dims.size(); ++a) {
      from += static_cast<std::ptrdiff_t>(index[a]) * in_strides[a];
      to += static_cast<std::ptrdiff_t>(index[a]) * out_strides[a];
    }
    std::memcpy(expected.data() + out_origin + to * bytes, in_origin + from * bytes, size);
  });
  const StridedCopy copy(dims, in_strides, out_strides, size);
  REQUIRE(copy.bytes() == product(dims) * size);
  copy.run(in_origin, out.data() + out_origin);
  CAPTURE(dims, in_strides, out_strides, size);
  REQUIRE(out.guards_intact());
  REQUIRE(std::equal(out.begin(), out.end(), expected.begin()));
}

constexpr std::array<std::size_t, 9> kSizes{1, 2, 3, 4, 8, 12, 16, 20, 32};

}  // namespace

TEST_CASE("strided copy moves every element for any strides and element size", "[strided_copy]") {
  for (const std::size_t size : kSizes) {
    check_copy({}, {}, {}, size);
    check_copy({5}, {1}, {1}, size);
    check_copy({5}, {-1}, {1}, size);
    check_copy({37}, {2}, {1}, size);
    check_copy({5}, {3}, {-2}, size);
    check_copy({9}, {0}, {1}, size);
    check_copy({4, 3}, {0, 1}, {3, 1}, size);
    check_copy({4, 3}, {3, 1}, {3, 1}, size);
    check_copy({4, 3}, {3, 1}, {7, 2}, size);
    check_copy({4, 3}, {1, 4}, {3, 1}, size);
    check_copy({4, 3}, {3, 1}, {1, 4}, size);
    check_copy({2, 3, 4}, {12, -4, -1}, {12, 4, 1}, size);
    check_copy({2, 1, 3, 1, 5}, {20, 1, 6, 99, 1}, {15, 7, 5, 3, 1}, size);
    check_copy({3, 2, 2, 2, 3}, {1, 3, 6, 12, 24}, {24, 12, 6, 3, 1}, size);
    check_copy({2, 3}, {-3, 1}, {-5, -1}, size);
  }
  for (const std::size_t count : ir::test::sizes_around_lanes(140)) {
    if (count > 0)
      check_copy({3, count}, {static_cast<std::ptrdiff_t>(count) + 2, 1},
                 {static_cast<std::ptrdiff_t>(count), 1}, 4);
    if (count > 0) check_copy({count}, {-1}, {1}, 1);
    for (const std::size_t size : kSizes) {
      check_copy({3, count}, {1, 0}, {static_cast<std::ptrdiff_t>(count), 1}, size);
      check_copy({2, count}, {2, 0}, {static_cast<std::ptrdiff_t>(count) + 1, 1}, size);
    }
  }
}

TEST_CASE("strided copy of an empty box does nothing", "[strided_copy]") {
  const StridedCopy copy(Dims{2, 0, 3}, Strides{0, 3, 1}, Strides{0, 3, 1}, 4);
  REQUIRE(copy.bytes() == 0);
  copy.run(nullptr, nullptr);
  StridedCopy().run(nullptr, nullptr);
}

TEST_CASE("large strided copies are the same on any number of threads", "[strided_copy]") {
  const Dims dims{300, 1000};
  const std::vector<char> in = counting_bytes(product(dims) * 4);
  for (const Strides& strides : {Strides{1000, 1}, Strides{1, 300}, Strides{1000, 0}}) {
    std::vector<char> out[2] = {std::vector<char>(in.size()), std::vector<char>(in.size())};
    for (int threads = 1; threads <= 2; ++threads) {
      ThreadPool(threads).run([&] {
        StridedCopy(dims, strides, dense_strides(dims), 4).run(in.data(), out[threads - 1].data());
      });
    }
    REQUIRE(out[0] == out[1]);
    for (const std::size_t n : {std::size_t{0}, std::size_t{123457}, product(dims) - 1}) {
      const std::size_t from =
          n / 1000 * static_cast<std::size_t>(strides[0]) + n % 1000 * static_cast<std::size_t>(strides[1]);
      REQUIRE(std::memcmp(out[0].data() + n * 4, in.data() + from * 4, 4) == 0);
    }
  }
}

TEST_CASE("tile repeats along every axis", "[strided_copy]") {
  for (const std::size_t size : kSizes) {
    for (const auto& [dims, repeats] : std::vector<std::pair<Dims, Dims>>{{{3}, {4}},
                                                                          {{1}, {100}},
                                                                          {{2, 3}, {2, 1}},
                                                                          {{2, 3}, {1, 5}},
                                                                          {{2, 1, 4}, {3, 2, 2}},
                                                                          {{2, 3}, {0, 2}},
                                                                          {{100}, {90}}}) {
      Dims out_dims;
      for (std::size_t a = 0; a < dims.size(); ++a) out_dims.push_back(dims[a] * repeats[a]);
      const std::vector<char> in = counting_bytes(product(dims) * size);
      GuardedBuffer<char> out(product(out_dims) * size);
      make_tile(dims, repeats, size).run(in.data(), out.data());
      REQUIRE(out.guards_intact());
      bool equal = true;
      for_each_index(out_dims, [&, &dims = dims](std::size_t n, const Dims& index) {
        std::size_t from = 0;
        for (std::size_t a = 0; a < dims.size(); ++a) from = from * dims[a] + index[a] % dims[a];
        equal = equal && std::memcmp(out.data() + n * size, in.data() + from * size, size) == 0;
      });
      REQUIRE(equal);
    }
  }
}

TEST_CASE("broadcast repeats unit dims", "[strided_copy]") {
  const std::vector<std::int32_t> in{1, 2, 3};
  std::vector<std::int32_t> out(12);
  make_broadcast(Dims{1, 3, 1}, Dims{2, 3, 2}, 4).run(in.data(), out.data());
  REQUIRE(out == std::vector<std::int32_t>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
  make_broadcast(Dims{1, 1, 3}, Dims{2, 2, 3}, 4).run(in.data(), out.data());
  REQUIRE(out == std::vector<std::int32_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
}

TEST_CASE("slice takes starts and steps of either sign", "[strided_copy]") {
  std::vector<std::int16_t> in(24);
  std::iota(in.begin(), in.end(), std::int16_t{0});
  std::vector<std::int16_t> out(6);
  SliceCopy(Dims{4, 6}, Dims{3, 5}, Strides{-2, -2}, Dims{2, 3}, 2).run(in.data(), out.data());
  REQUIRE(out == std::vector<std::int16_t>{23, 21, 19, 11, 9, 7});
  SliceCopy(Dims{4, 6}, Dims{1, 0}, Strides{1, 3}, Dims{3, 2}, 2).run(in.data(), out.data());
  REQUIRE(out == std::vector<std::int16_t>{6, 9, 12, 15, 18, 21});
  SliceCopy(Dims{4, 6}, Dims{0, 0}, Strides{1, 1}, Dims{0, 6}, 2).run(nullptr, nullptr);
}
