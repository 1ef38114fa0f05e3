#include "kernels/movement/space.h"

#include <numeric>

#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using ir::test::GuardedBuffer;
using Dims = std::vector<std::size_t>;

std::size_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
}

Dims unravel(std::size_t n, const Dims& dims) {
  Dims index(dims.size());
  for (std::size_t a = dims.size(); a-- > 0;) {
    index[a] = n % dims[a];
    n /= dims[a];
  }
  return index;
}

std::size_t ravel(const Dims& index, const Dims& dims) {
  std::size_t n = 0;
  for (std::size_t a = 0; a < dims.size(); ++a) n = n * dims[a] + index[a];
  return n;
}

std::vector<std::uint16_t> counting(std::size_t count) {
  std::vector<std::uint16_t> values(count);
  std::iota(values.begin(), values.end(), std::uint16_t{1});
  return values;
}

}  // namespace

TEST_CASE("depth to space and back", "[space]") {
  for (const DepthMode mode : {DepthMode::blocks_first, DepthMode::depth_first}) {
    for (const std::size_t block : {1, 2, 3}) {
      for (const Dims& deep : {Dims{2, 3, 4}, Dims{1, 2, 3, 5}, Dims{2, 2, 2, 3, 2}}) {
        const std::size_t spatial = deep.size() - 2;
        std::size_t blocks = 1;
        for (std::size_t i = 0; i < spatial; ++i) blocks *= block;
        Dims dims = deep;
        dims[1] *= blocks;
        Dims space = deep;
        for (std::size_t i = 2; i < space.size(); ++i) space[i] *= block;
        const std::vector<std::uint16_t> in = counting(product(dims));
        GuardedBuffer<std::uint16_t> out(in.size());
        make_depth_to_space(dims, block, mode, 2).run(in.data(), out.data());
        REQUIRE(out.guards_intact());
        for (std::size_t n = 0; n < out.size(); ++n) {
          Dims index = unravel(n, space);
          std::size_t part = 0;
          for (std::size_t i = 2; i < space.size(); ++i) {
            part = part * block + index[i] % block;
            index[i] /= block;
          }
          index[1] = mode == DepthMode::blocks_first ? part * deep[1] + index[1] : index[1] * blocks + part;
          REQUIRE(out[n] == in[ravel(index, dims)]);
        }
        std::vector<std::uint16_t> back(in.size());
        make_space_to_depth(space, block, mode, 2).run(out.data(), back.data());
        REQUIRE(back == in);
      }
    }
  }
}

TEST_CASE("shuffle channels swaps groups and channels", "[space]") {
  const std::vector<std::uint16_t> in = counting(12);
  std::vector<std::uint16_t> out(12);
  make_shuffle_channels(Dims{1, 6, 2}, 1, 3, 2).run(in.data(), out.data());
  REQUIRE(out == std::vector<std::uint16_t>{1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12});
  make_shuffle_channels(Dims{2, 6}, 1, 2, 2).run(in.data(), out.data());
  REQUIRE(out == std::vector<std::uint16_t>{1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12});
}

TEST_CASE("batch to space crops, space to batch pads", "[space]") {
  struct Case {
    Dims dims, block, begin, end;  // of the batches
  };
  for (const Case& c : {Case{{4, 2, 3}, {1, 1, 2}, {0, 0, 1}, {0, 0, 2}},
                        Case{{12, 2, 3, 2}, {1, 1, 2, 3}, {0, 0, 1, 4}, {0, 0, 0, 1}},
                        Case{{24, 1, 2, 2, 2}, {1, 1, 2, 2, 3}, {0, 0, 0, 3, 0}, {0, 0, 3, 0, 5}},
                        Case{{6, 2}, {1, 3}, {0, 1}, {0, 1}}, Case{{2, 3}, {1, 1}, {0, 0}, {0, 0}}}) {
    Dims space = c.dims;
    std::size_t blocks = 1;
    for (std::size_t a = 1; a < space.size(); ++a) {
      space[a] = space[a] * c.block[a] - c.begin[a] - c.end[a];
      blocks *= c.block[a];
    }
    space[0] /= blocks;
    const auto source = [&](Dims index) {  // where a point of the space lies in the batches
      std::size_t part = 0;
      for (std::size_t a = 1; a < space.size(); ++a) {
        const std::size_t x = index[a] + c.begin[a];
        part = part * c.block[a] + x % c.block[a];
        index[a] = x / c.block[a];
      }
      index[0] += part * space[0];
      return ravel(index, c.dims);
    };
    const std::vector<std::uint16_t> in = counting(product(c.dims));
    GuardedBuffer<std::uint16_t> out(product(space));
    batch_to_space(c.dims, c.block, c.begin, c.end, 2, in.data(), out.data());
    REQUIRE(out.guards_intact());
    std::vector<std::uint16_t> expected(in.size());  // zero where cropped
    for (std::size_t n = 0; n < out.size(); ++n) {
      REQUIRE(out[n] == in[source(unravel(n, space))]);
      expected[source(unravel(n, space))] = out[n];
    }
    GuardedBuffer<std::uint16_t> back(in.size(), 1);
    space_to_batch(space, c.block, c.begin, c.end, 2, out.data(), back.data());
    REQUIRE(back.guards_intact());
    REQUIRE(std::equal(back.begin(), back.end(), expected.begin()));
  }
}

TEST_CASE("reverse sequence turns the head of every sequence", "[space]") {
  const Dims dims{3, 2, 4, 2};
  const std::vector<std::uint16_t> in = counting(product(dims));
  for (std::size_t batch_axis = 0; batch_axis < 4; ++batch_axis) {
    for (std::size_t seq_axis = 0; seq_axis < 4; ++seq_axis) {
      if (batch_axis == seq_axis) continue;
      std::vector<std::int32_t> lengths(dims[batch_axis]);
      for (std::size_t b = 0; b < lengths.size(); ++b)
        lengths[b] = static_cast<std::int32_t>((b + 1) % (dims[seq_axis] + 1));
      GuardedBuffer<std::uint16_t> out(in.size());
      REQUIRE_FALSE(reverse_sequence(dims, batch_axis, seq_axis, 2, in.data(), lengths.data(), out.data()));
      REQUIRE(out.guards_intact());
      for (std::size_t n = 0; n < in.size(); ++n) {
        Dims index = unravel(n, dims);
        const auto length = static_cast<std::size_t>(lengths[index[batch_axis]]);
        if (index[seq_axis] < length) index[seq_axis] = length - 1 - index[seq_axis];
        REQUIRE(out[n] == in[ravel(index, dims)]);
      }
    }
  }
  std::vector<std::uint16_t> out(in.size());
  const IndexResult bad =
      reverse_sequence(dims, 0, 1, 2, in.data(), std::vector<std::int64_t>{0, 3, 1}.data(), out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 1);
  REQUIRE(bad->value == 3);
}

TEST_CASE("roll shifts axes around", "[space]") {
  const Dims dims{3, 4, 5};
  const std::vector<std::uint16_t> in = counting(60);
  const auto check = [&](const Dims& axes, const std::vector<std::int64_t>& shifts) {
    GuardedBuffer<std::uint16_t> out(60);
    Roll(dims, axes, shifts, 2).run(in.data(), out.data());
    REQUIRE(out.guards_intact());
    for (std::size_t n = 0; n < 60; ++n) {
      std::vector<std::int64_t> total(3);
      for (std::size_t i = 0; i < axes.size(); ++i) total[axes[i]] += shifts[i];
      Dims index = unravel(n, dims);
      for (std::size_t a = 0; a < 3; ++a) {
        const auto dim = static_cast<std::int64_t>(dims[a]);
        index[a] =
            static_cast<std::size_t>(((static_cast<std::int64_t>(index[a]) + total[a]) % dim + dim) % dim);
      }
      REQUIRE(out[ravel(index, dims)] == in[n]);
    }
  };
  check({}, {});
  check({0}, {1});
  check({2}, {-7});
  check({0, 1, 2}, {1, 2, 3});
  check({1, 2, 1}, {3, 11, -2});
  check({0, 0}, {1, 2});
  Roll(Dims{2, 0}, Dims{1}, std::vector<std::int64_t>{1}, 2).run(nullptr, nullptr);
}
