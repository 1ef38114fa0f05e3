#include "kernels/indexing/gather.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::GuardedBuffer;
using Dims = std::vector<std::size_t>;

/// Fills indices: at random where `run` is 0, else in runs of so many slices that follow each other. What is
/// not an index of `axis` (one of two past the end, and one before the beginning) is to be found as zeros.
template <class Index>
void fill_indices(GuardedBuffer<Index>& indices, std::size_t axis, std::size_t run, bool missing) {
  const double low = std::is_signed_v<Index> ? -static_cast<double>(axis) : 0.0;
  ir::test::fill_random(indices, low - (missing && low < 0 ? 1 : 0),
                        static_cast<double>(axis) + (missing ? 2 : 0), 5);
  for (std::size_t i = 0; run > 0 && i < indices.size(); ++i) {
    const std::size_t start = i / run * 3;
    indices[i] = static_cast<Index>((start + i % run) % (axis + (missing ? 2 : 0)));
  }
}

template <class Index>
void check_gather(const GatherShape& shape, std::size_t run = 0, OutOfRange policy = OutOfRange::report) {
  const bool missing = policy == OutOfRange::zero;
  GuardedBuffer<char> data(shape.batch * shape.outer * shape.axis * shape.inner_bytes, 1);
  GuardedBuffer<Index> indices(shape.batch * shape.indices, 1);
  GuardedBuffer<char> out(shape.batch * shape.outer * shape.indices * shape.inner_bytes, 3);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 37 + i / 97);
  fill_indices(indices, shape.axis, run, missing);
  REQUIRE_FALSE(gather(shape, data.data(), indices.data(), out.data(), policy));
  REQUIRE(out.guards_intact());
  bool equal = true;
  for (std::size_t b = 0; b < shape.batch; ++b) {
    for (std::size_t o = 0; o < shape.outer; ++o) {
      for (std::size_t i = 0; i < shape.indices; ++i) {
        const std::size_t line = b * shape.outer + o;
        const std::size_t index =
            normalize_index(static_cast<std::int64_t>(indices[b * shape.indices + i]), shape.axis);
        const char* got = out.data() + (line * shape.indices + i) * shape.inner_bytes;
        equal =
            equal && (index == shape.axis
                          ? std::all_of(got, got + shape.inner_bytes, [](char c) { return c == 0; })
                          : std::memcmp(got, data.data() + (line * shape.axis + index) * shape.inner_bytes,
                                        shape.inner_bytes) == 0);
      }
    }
  }
  REQUIRE(equal);
}

}  // namespace

TEMPLATE_TEST_CASE("gather reads slices by any type of index", "[gather]", std::int8_t, std::uint8_t,
                   std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  for (const std::size_t bytes : {1, 2, 3, 4, 8, 12, 16, 100}) {
    check_gather<TestType>({1, 1, 5, 7, bytes});
    check_gather<TestType>({1, 3, 4, 2, bytes});
    check_gather<TestType>({2, 3, 4, 5, bytes});
    check_gather<TestType>({3, 1, 1, 1, bytes});
    check_gather<TestType>({2, 2, 3, 0, bytes});
  }
}

TEMPLATE_TEST_CASE("gather copies runs of indices that several lines share", "[gather]", std::int8_t,
                   std::uint16_t, std::int64_t) {
  for (const OutOfRange policy : {OutOfRange::report, OutOfRange::zero}) {
    for (const std::size_t run : {0, 1, 2, 3, 4, 5, 9, 17, 33, 40}) {
      for (const std::size_t bytes : {1, 2, 4, 5, 8, 12, 16, 28, 130}) {
        CAPTURE(run, bytes);
        check_gather<TestType>({1, 5, 40, 83, bytes}, run, policy);
        check_gather<TestType>({2, 3, 37, 600, bytes}, run, policy);
        check_gather<TestType>({2, 2, 37, 40, bytes}, run, policy);
        check_gather<TestType>({1, 4, 1, 7, bytes}, run, policy);
      }
    }
  }
  check_gather<TestType>({2, 3, 0, 7, 4}, 0, OutOfRange::zero);
}

TEST_CASE("gather examples 2, 4 and 6 of Gather-8", "[gather]") {
  const std::vector<std::int32_t> data{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<std::int32_t> out(6);
  const std::vector<std::int64_t> indices{0, 0, 4, 4, 0, 0};
  REQUIRE_FALSE(gather({2, 1, 5, 3, 4}, data.data(), indices.data(), out.data()));
  REQUIRE(out == std::vector<std::int32_t>{1, 1, 5, 10, 6, 6});

  std::vector<std::int32_t> planes(40);
  std::iota(planes.begin(), planes.end(), 1);
  out.resize(24);
  REQUIRE_FALSE(gather({2, 1, 5, 3, 16}, planes.data(), std::vector<std::int32_t>{1, 2, 4, 4, 3, 2}.data(),
                       out.data()));
  REQUIRE(out == std::vector<std::int32_t>{5,  6,  7,  8,  9,  10, 11, 12, 17, 18, 19, 20,
                                           37, 38, 39, 40, 33, 34, 35, 36, 29, 30, 31, 32});

  out.resize(3);
  REQUIRE_FALSE(
      gather({1, 1, 5, 3, 4}, data.data(), std::vector<std::int32_t>{0, -2, -1}.data(), out.data()));
  REQUIRE(out == std::vector<std::int32_t>{1, 4, 5});
}

TEST_CASE("gather reports the first bad index or gives zeros", "[gather]") {
  const std::vector<std::int32_t> data{1, 2, 3, 4, 5};
  const std::vector<std::int64_t> indices{3, 10, -20};
  std::vector<std::int32_t> out{7, 7, 7};
  const IndexResult bad = gather({1, 1, 5, 3, 4}, data.data(), indices.data(), out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 1);
  REQUIRE(bad->value == 10);
  REQUIRE(out == std::vector<std::int32_t>{7, 7, 7});
  REQUIRE_FALSE(gather({1, 1, 5, 3, 4}, data.data(), indices.data(), out.data(), OutOfRange::zero));
  REQUIRE(out == std::vector<std::int32_t>{4, 0, 0});

  const std::vector<std::uint64_t> huge{std::numeric_limits<std::uint64_t>::max()};  // is not -1
  REQUIRE(gather({1, 1, 5, 1, 4}, data.data(), huge.data(), out.data()));
  const std::vector<std::int64_t> lowest{std::numeric_limits<std::int64_t>::min()};
  REQUIRE(gather({1, 1, 5, 1, 4}, data.data(), lowest.data(), out.data())->value == lowest[0]);
  REQUIRE(gather({1, 1, 0, 1, 4}, data.data(), huge.data(), out.data()));  // an empty axis has no good index
}

TEMPLATE_TEST_CASE("are_indices knows both ends of a range", "[gather]", std::int8_t, std::uint8_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  IR_FOR_EACH_TARGET();
  using Limits = std::numeric_limits<TestType>;
  const auto good = [](std::int64_t value, std::size_t size) {
    return value < 0 ? static_cast<std::uint64_t>(-(value + 1)) < size
                     : static_cast<std::uint64_t>(value) < size;
  };
  for (const std::size_t count : ir::test::sizes_around_lanes(40)) {
    if (count == 0) continue;
    GuardedBuffer<TestType> indices(count, 1);
    for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{128},
                                   std::size_t{0x7FFFFFFF}, std::size_t{0x80000000}, std::size_t{1} << 40U}) {
      std::fill(indices.begin(), indices.end(), TestType{0});
      CHECK(are_indices(indices.data(), 0, count, size));
      for (const std::int64_t value :
           {std::int64_t{-129}, std::int64_t{-128}, std::int64_t{-101}, std::int64_t{-100}, std::int64_t{-2},
            std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{99}, std::int64_t{100},
            std::int64_t{127}, std::int64_t{128}, std::int64_t{0x7FFFFFFE}, std::int64_t{0x7FFFFFFF},
            -std::int64_t{0x80000000}, -std::int64_t{0x7FFFFFFF}, std::int64_t{1} << 39U,
            std::int64_t{1} << 40U}) {
        if (std::in_range<TestType>(value)) {
          for (const std::size_t position : {std::size_t{0}, count / 2, count - 1}) {
            std::fill(indices.begin(), indices.end(), TestType{0});
            indices[position] = static_cast<TestType>(value);
            CHECK(are_indices(indices.data(), 0, count, size) == good(value, size));
          }
        }
      }
      indices[0] = Limits::max();
      CHECK(are_indices(indices.data(), 1, count - 1, size) ==
            (count == 1 || good(indices[count - 1], size)));
    }
    CHECK_FALSE(are_indices(indices.data(), 0, count, 0));
    CHECK(are_indices(indices.data(), 0, 0, 0));
  }
}

TEMPLATE_TEST_CASE("the first bad index of many is found wherever it is", "[gather]", std::int16_t,
                   std::int32_t, std::int64_t) {
  constexpr std::size_t kCount = 50000;
  std::vector<TestType> indices(kCount, TestType{-3});
  CHECK_FALSE(find_bad_index(indices.data(), kCount, 3));
  for (const std::size_t position : {0, 1, 63, 64, 129, 32767, 49999}) {
    indices[position] = 3;
    indices.back() = -4;
    const IndexResult bad = find_bad_index(indices.data(), kCount, 3);
    REQUIRE(bad);
    CHECK(bad->position == position);
    CHECK(bad->value == (position == kCount - 1 ? -4 : 3));
    indices[position] = indices.back() = 0;
  }
}

TEST_CASE("gather elements along each axis", "[gather]") {
  std::vector<std::int32_t> data(2 * 3 * 4);
  std::iota(data.begin(), data.end(), 0);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Dims dims{2, 3, 4};
    Dims index_dims = dims;
    index_dims[axis] = 5;
    const std::size_t count = index_dims[0] * index_dims[1] * index_dims[2];
    GuardedBuffer<std::int32_t> indices(count);
    GuardedBuffer<std::int32_t> out(count, 1);
    ir::test::fill_random(indices, -static_cast<double>(dims[axis]), static_cast<double>(dims[axis]), 9);
    REQUIRE_FALSE(gather_elements(dims, index_dims, axis, 4, data.data(), indices.data(), out.data()));
    REQUIRE(out.guards_intact());
    for (std::size_t n = 0; n < count; ++n) {
      Dims index{n / (index_dims[1] * index_dims[2]), n / index_dims[2] % index_dims[1], n % index_dims[2]};
      index[axis] =
          static_cast<std::size_t>(indices[n] < 0 ? indices[n] + static_cast<int>(dims[axis]) : indices[n]);
      REQUIRE(out[n] == static_cast<std::int32_t>((index[0] * 3 + index[1]) * 4 + index[2]));
    }
  }
  std::vector<std::int32_t> out(3);
  const IndexResult bad = gather_elements(Dims{3}, Dims{3}, 0, 4, data.data(),
                                          std::vector<std::int32_t>{0, -4, 3}.data(), out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 1);
}

TEST_CASE("gather nd reads elements, slices and batches", "[gather]") {
  const std::vector<std::int32_t> data{1, 2, 3, 4, 5, 6, 7, 8};  // 2 x 2 x 2
  std::vector<std::int32_t> out(4);
  const Dims plane{2, 2};
  REQUIRE_FALSE(
      gather_nd({1, 2, plane, 8}, data.data(), std::vector<std::int32_t>{0, 1, -1, 0}.data(), out.data()));
  REQUIRE(out == std::vector<std::int32_t>{3, 4, 5, 6});
  const Dims line{2};
  REQUIRE_FALSE(gather_nd({2, 1, line, 8}, data.data(), std::vector<std::int64_t>{1, 0}.data(), out.data()));
  REQUIRE(out == std::vector<std::int32_t>{3, 4, 5, 6});
  const Dims none;
  out.resize(16);
  REQUIRE_FALSE(
      gather_nd({1, 2, none, 32}, data.data(), static_cast<const std::int64_t*>(nullptr), out.data()));
  REQUIRE(std::equal(data.begin(), data.end(), out.begin() + 8));
  const IndexResult bad =
      gather_nd({1, 2, plane, 8}, data.data(), std::vector<std::int32_t>{0, 1, 0, 2}.data(), out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 3);
  REQUIRE(bad->value == 2);
}

TEMPLATE_TEST_CASE("gather tree follows the beams", "[gather]", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  // TensorFlow's own example: one batch, three beams, the parents of each step.
  const std::vector<T> ids{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<T> parents{0, 0, 0, 0, 1, 1, 2, 1, 2};
  std::vector<T> out(9);
  const std::vector<T> length{3};
  REQUIRE_FALSE(gather_tree<T>(3, 1, 3, ids.data(), parents.data(), length.data(), T{10}, out.data()));
  REQUIRE(out == std::vector<T>{2, 2, 2, 6, 5, 6, 7, 8, 9});
  // An end token in the middle stays to the end; steps after the length hold it too.
  REQUIRE_FALSE(gather_tree<T>(3, 1, 3, ids.data(), parents.data(), length.data(), T{6}, out.data()));
  REQUIRE(out == std::vector<T>{2, 2, 2, 6, 5, 6, 6, 8, 6});
  const std::vector<T> shorter{2};
  REQUIRE_FALSE(gather_tree<T>(3, 1, 3, ids.data(), parents.data(), shorter.data(), T{10}, out.data()));
  REQUIRE(out == std::vector<T>{1, 2, 2, 4, 5, 6, 10, 10, 10});
  const std::vector<T> wrong{0, 0, 0, 0, 3, 1, 2, 1, 2};
  const IndexResult bad = gather_tree<T>(3, 1, 3, ids.data(), wrong.data(), length.data(), T{10}, out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 4);
  REQUIRE(bad->value == 3);
}

TEST_CASE("gather gives the same bits for any number of threads", "[gather]") {
  const GatherShape shape{2, 3, 50, 4000, 40};
  std::vector<char> data(2 * 3 * 50 * 40);
  std::iota(data.begin(), data.end(), 0);
  std::vector<std::int32_t> indices(8000);
  ir::test::fill_random(indices, 0, 50, 1);
  std::vector<char> out[2] = {std::vector<char>(2 * 3 * 4000 * 40), std::vector<char>(2 * 3 * 4000 * 40)};
  for (int threads = 1; threads <= 2; ++threads) {
    ThreadPool(threads).run([&] { gather(shape, data.data(), indices.data(), out[threads - 1].data()); });
  }
  REQUIRE(out[0] == out[1]);
}
