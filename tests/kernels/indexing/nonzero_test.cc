#include "kernels/indexing/nonzero.h"

#include <limits>
#include <numeric>

#include "kernels/base/scalar_type.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::test {
namespace {

struct Found {
  std::size_t count = 0;
  std::vector<std::int64_t> positions;  // [rank][count]
};

// The definition, one element at a time.
template <class T>
Found expected(const T* in, const std::vector<std::size_t>& dims) {
  const std::size_t total = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < total; ++i) {
    if (in[i] != T{0}) found.push_back(i);
  }
  Found result{found.size(), {}};
  std::size_t stride = total;
  for (const std::size_t dim : dims) {
    stride /= std::max<std::size_t>(dim, 1);
    for (const std::size_t i : found) result.positions.push_back(static_cast<std::int64_t>(i / stride % dim));
  }
  return result;
}

template <class T, class Index>
void check_positions(const std::vector<std::size_t>& dims, double density) {
  const std::size_t total = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  GuardedBuffer<T> in(total, 1);
  for (std::size_t i = 0; i < total; ++i) {
    in[i] = static_cast<double>((i * 2654435761U) % 1000) < density * 1000 ? T{1} : T{0};
  }
  const Found want = expected(in.data(), dims);
  GuardedBuffer<Index> out(want.positions.size(), 3);
  const auto counts = kernels::count_nonzero(in.data(), total);
  CHECK(std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == want.count);
  kernels::nonzero_positions(in.data(), dims, counts, out.data());
  CHECK(out.guards_intact());
  CHECK(std::equal(out.begin(), out.end(), want.positions.begin(), want.positions.end()));
}

}  // namespace

TEST_CASE("nonzero positions are in row-major order, whatever the rank") {
  for (const double density : {0.0, 0.03, 0.5, 1.0}) {
    check_positions<float, std::int64_t>({7}, density);
    check_positions<std::int8_t, std::int32_t>({3, 1, 5}, density);
    check_positions<std::uint64_t, std::int64_t>({2, 3, 4, 5, 2}, density);
    check_positions<double, std::int32_t>({129, 97}, density);  // several blocks
    check_positions<std::uint16_t, std::int32_t>({0, 4}, density);
  }
}

TEST_CASE("NaN is not zero, minus zero is") {
  const std::vector<float> in{-0.0F, std::numeric_limits<float>::quiet_NaN(), 0.0F,
                              std::numeric_limits<float>::denorm_min()};
  CHECK(kernels::count_nonzero(in.data(), in.size()) == std::vector<std::size_t>{2});
}

TEST_CASE("nonzero positions do not depend on the number of threads") {
  const std::vector<std::size_t> dims{300, 211};
  std::vector<std::int32_t> in(dims[0] * dims[1]);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = i % 7 == 0 || i % 11 == 0 ? 1 : 0;
  const auto positions = [&](int threads) {
    std::vector<std::int64_t> out;
    kernels::ThreadPool(threads).run([&] {
      const auto counts = kernels::count_nonzero(in.data(), in.size());
      out.resize(2 * std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
      kernels::nonzero_positions(in.data(), dims, counts, out.data());
    });
    return out;
  };
  CHECK(positions(1) == positions(2));
  CHECK(positions(1) == expected(in.data(), dims).positions);
}

}  // namespace ir::test
