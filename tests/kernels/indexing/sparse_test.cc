#include "kernels/indexing/sparse.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {

TEMPLATE_TEST_CASE("fill_empty_rows sorts entries and gives each empty row one", "", std::int32_t,
                   std::int64_t) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const std::size_t rows = random() % 9;
    const std::size_t entries = rows == 0 ? 0 : random() % 12;
    std::vector<TestType> indices;
    std::set<TestType> filled;
    for (std::size_t i = 0; i < entries; ++i) {
      indices.push_back(static_cast<TestType>(random() % rows));
      filled.insert(indices.back());
      indices.push_back(static_cast<TestType>(random() % 5));
    }
    const auto empty = std::make_unique<bool[]>(rows + 1);
    REQUIRE_FALSE(find_empty_rows(indices.data(), entries, static_cast<std::int64_t>(rows), 5, empty.get()));
    for (std::size_t row = 0; row < rows; ++row)
      REQUIRE(empty[row] == !filled.contains(static_cast<TestType>(row)));

    // Row, column, where it came from: new entries have no other entry in their row.
    std::vector<std::array<std::size_t, 3>> expected;
    for (std::size_t i = 0; i < entries; ++i) {
      expected.push_back(
          {static_cast<std::size_t>(indices[2 * i]), static_cast<std::size_t>(indices[2 * i + 1]), i});
    }
    for (std::size_t row = 0; row < rows; ++row) {
      if (empty[row]) expected.push_back({row, 0, kNewEntry});
    }
    std::sort(expected.begin(), expected.end());
    test::GuardedBuffer<TestType> out(2 * expected.size(), 1);
    test::GuardedBuffer<std::size_t> sources(expected.size(), 1);
    fill_empty_rows(indices.data(), entries, empty.get(), rows, out.data(), sources.data());
    REQUIRE(out.guards_intact());
    REQUIRE(sources.guards_intact());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(static_cast<std::size_t>(out[2 * i]) == expected[i][0]);
      REQUIRE(static_cast<std::size_t>(out[2 * i + 1]) == expected[i][1]);
      REQUIRE(sources[i] == expected[i][2]);
    }
  }
}

TEST_CASE("find_empty_rows reports places outside of the matrix") {
  std::array<bool, 3> empty{};
  const std::vector<std::int32_t> row{0, 0, 3, 1};
  CHECK(find_empty_rows(row.data(), 2, 3, 4, empty.data()).value().position == 2);
  const std::vector<std::int32_t> column{0, 4};
  CHECK(find_empty_rows(column.data(), 1, 3, 4, empty.data()).value().value == 4);
  const std::vector<std::int32_t> negative{-1, 0};
  CHECK(find_empty_rows(negative.data(), 1, 3, 4, empty.data()).value().value == -1);
}

TEST_CASE("take_entries moves elements of any size, and strings") {
  const std::vector<std::size_t> sources{1, kNewEntry, 0};
  const std::vector<std::uint16_t> shorts{5, 6};
  const std::uint16_t fill = 9;
  std::vector<std::uint16_t> out(3);
  take_entries(sources.data(), 3, 2, shorts.data(), &fill, out.data());
  CHECK(out == std::vector<std::uint16_t>{6, 9, 5});
  const std::vector<std::string> texts{"a string that is too long to be kept in place", "b"};
  std::vector<std::string> copies(3);
  take_entries(sources.data(), 3, texts.data(), "new", copies.data());
  CHECK(copies == std::vector<std::string>{"b", "new", texts[0]});
}

}  // namespace ir::kernels
