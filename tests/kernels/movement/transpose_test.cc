#include "kernels/movement/transpose.h"

#include <algorithm>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::GuardedBuffer;
using Dims = std::vector<std::size_t>;

void check(const Dims& dims, const Dims& order, std::size_t size) {
  const std::size_t count = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  GuardedBuffer<char> in(count * size, 3);
  GuardedBuffer<char> out(count * size, 1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<char>(i * 37 + i / 97);
  Transpose(dims, order, size).run(in.data(), out.data());
  CAPTURE(dims, order, size);
  REQUIRE(in.guards_intact());
  REQUIRE(out.guards_intact());
  Dims out_dims;
  for (const std::size_t axis : order) out_dims.push_back(dims[axis]);
  bool equal = true;
  for (std::size_t n = 0; n < count; ++n) {
    Dims index(dims.size());  // of the input
    std::size_t rest = n;
    for (std::size_t a = dims.size(); a-- > 0;) {
      index[order[a]] = rest % out_dims[a];
      rest /= out_dims[a];
    }
    std::size_t from = 0;
    for (std::size_t a = 0; a < dims.size(); ++a) from = from * dims[a] + index[a];
    equal = equal && std::memcmp(out.data() + n * size, in.data() + from * size, size) == 0;
  }
  REQUIRE(equal);
}

}  // namespace

TEST_CASE("transpose of planes around every block size", "[transpose]") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t size : {1, 2, 3, 4, 8, 12, 16}) {
    for (const std::size_t rows : {1, 2, 3, 7, 8, 9, 16, 17, 31, 130}) {
      for (const std::size_t columns : {1, 2, 3, 5, 8, 15, 16, 33, 67}) {
        check({rows, columns}, {1, 0}, size);
        check({2, rows, columns}, {0, 2, 1}, size);
      }
    }
  }
}

TEST_CASE("transpose of few rows or columns, in several tiles", "[transpose]") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t size : {1, 2, 4, 8}) {
    for (const std::size_t few : {2, 3, 4}) {
      for (const std::size_t many : {63, 64, 65, 4500}) {
        check({2, few, many}, {0, 2, 1}, size);
        check({2, many, few}, {0, 2, 1}, size);
        check({2, many, few}, {2, 0, 1}, size);
        check({few, 2, many}, {1, 2, 0}, size);
      }
    }
  }
}

TEST_CASE("transpose by every permutation", "[transpose]") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t size : {1, 2, 4, 6, 8}) {
    for (const Dims& dims : {Dims{}, Dims{5}, Dims{3, 4}, Dims{2, 3, 5}, Dims{3, 1, 4, 2}, Dims{2, 3, 4, 5},
                             Dims{2, 9, 3, 2, 8}, Dims{3, 0, 2}}) {
      Dims order(dims.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      do check(dims, order, size);
      while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST_CASE("transpose gives the same bits for any number of threads", "[transpose]") {
  const Dims dims{3, 211, 301};
  std::vector<std::int32_t> in(3 * 211 * 301);
  std::iota(in.begin(), in.end(), 0);
  std::vector<std::int32_t> out[2] = {in, in};
  for (int threads = 1; threads <= 2; ++threads) {
    ThreadPool(threads).run([&] {
      Transpose(dims, Dims{2, 0, 1}, 4).run(in.data(), out[threads - 1].data());
    });
  }
  REQUIRE(out[0] == out[1]);
  REQUIRE(out[0][1] == 301);
}
