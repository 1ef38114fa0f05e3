#include "kernels/indexing/scatter_loose.h"

#include "tests/kernels/support.h"

namespace ir::test {

TEST_CASE("loose updates are read at their offsets") {
  // data [2][3][2]; two indices whose updates lie 5 apart, each with 3 of the 4 elements of a slice.
  const std::vector<std::int32_t> data(12, -1);
  const std::vector<std::int64_t> indices{2, -3};
  std::vector<std::int32_t> updates(16);
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i] = static_cast<std::int32_t>(i);
  const std::vector<std::size_t> offsets{0, 2, 8};
  GuardedBuffer<std::int32_t> out(12, 1);
  const kernels::ScatterShape shape{2, 3, 2, 2 * sizeof(std::int32_t)};
  CHECK_FALSE(kernels::scatter_update_loose(shape, offsets, 5, sizeof(std::int32_t), data.data(),
                                            indices.data(), updates.data(), out.data()));
  CHECK(out.guards_intact());
  CHECK(std::vector<std::int32_t>(out.begin(), out.end()) ==
        std::vector<std::int32_t>{5, 7, -1, -1, 0, 2, 13, -1, -1, -1, 8, -1});
}

TEST_CASE("of loose updates to one slice the last wins, and a bad index writes nothing") {
  std::vector<std::uint8_t> data{1, 2, 3};
  const std::vector<std::uint8_t> updates{7, 8, 9};
  const std::vector<std::size_t> offsets{0};
  const kernels::ScatterShape shape{1, 3, 2, 1};
  const std::vector<std::int32_t> twice{1, 1};
  CHECK_FALSE(kernels::scatter_update_loose(shape, offsets, 2, 1, data.data(), twice.data(), updates.data(),
                                            data.data()));
  CHECK(data == std::vector<std::uint8_t>{1, 9, 3});
  const std::vector<std::int32_t> bad{0, 3};
  const auto result = kernels::scatter_update_loose(shape, offsets, 1, 1, data.data(), bad.data(),
                                                    updates.data(), data.data());
  REQUIRE(result);
  CHECK(result->position == 1);
  CHECK(result->value == 3);
  CHECK(data == std::vector<std::uint8_t>{1, 9, 3});
}

}  // namespace ir::test
