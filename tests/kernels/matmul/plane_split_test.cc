// Planes are cut into blocks that cover them, small enough, and for workers that are done at the same time.
#include "kernels/matmul/plane_split.h"

#include <algorithm>
#include <vector>

#include "tests/catch.h"

namespace ir::kernels {
namespace {

TEST_CASE("the blocks of a plane cover it once and are no larger than allowed", "[parallel]") {
  const std::size_t height = GENERATE(1, 2, 7, 14, 61);
  const std::size_t width = GENERATE(1, 5, 14, 100);
  const std::size_t most_vectors = GENERATE(1, 5, 24);
  const std::size_t workers = GENERATE(1, 2, 3, 8);
  const bool by_columns = GENERATE(false, true);
  constexpr std::size_t kLanes = 8;
  const PlaneSplit plane(height, width, kLanes, most_vectors, {1, workers, by_columns});
  std::vector<int> seen(height * width);
  for (std::size_t part = 0; part < plane.parts(); ++part) {
    const PlaneBlock block = plane.block(part);
    CHECK(block.rows <= plane.max_rows());
    CHECK(block.columns <= plane.max_columns());
    CHECK((block.rows == 1 || block.rows * block.columns <= kLanes * most_vectors));
    for (std::size_t y = block.row; y < block.row + block.rows; ++y) {
      for (std::size_t x = block.column; x < block.column + block.columns; ++x) ++seen[y * width + x];
    }
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

TEST_CASE("pieces of several rows cover a plane once", "[parallel]") {
  const std::size_t height = GENERATE(1, 7, 9);
  const std::size_t width = GENERATE(5, 64, 500);
  const PlaneSplit plane = PlaneSplit::of_pieces(height, width, 8, 4, 70);
  CHECK(plane.parts() == (height == 1 ? 1 : height == 7 ? 2 : 3) * (width == 500 ? 7 : 1));
  std::vector<int> seen(height * width);
  for (std::size_t part = 0; part < plane.parts(); ++part) {
    const PlaneBlock block = plane.block(part);
    CHECK((block.rows <= 4 && block.rows <= plane.max_rows()));
    CHECK((block.columns <= 72 && block.columns <= plane.max_columns()));
    for (std::size_t y = block.row; y < block.row + block.rows; ++y) {
      for (std::size_t x = block.column; x < block.column + block.columns; ++x) ++seen[y * width + x];
    }
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

TEST_CASE("two workers get as many rows of a plane, if that can be", "[parallel]") {
  // Seven blocks of two rows would give one of them four.
  const PlaneSplit plane(14, 14, 8, 5, {1, 2});
  REQUIRE(plane.parts() % 2 == 0);
  CHECK(plane.block(plane.parts() / 2).row == 7);
}

TEST_CASE("columns are cut where workers share them more evenly than rows", "[parallel]") {
  const PlaneSplit rows(5, 17, 16, 24, {1, 2});
  REQUIRE(rows.parts() == 2);
  CHECK(rows.block(0).rows == 3);
  CHECK(rows.block(0).columns == 17);
  const PlaneSplit columns(5, 17, 16, 24, {1, 2, true});
  REQUIRE(columns.parts() == 2);
  CHECK(columns.block(0).rows == 5);
  CHECK(columns.block(0).columns == 9);
  CHECK(columns.block(1).column == 9);
  // Not where rows are as good, and lie one behind the other.
  CHECK(PlaneSplit(8, 8, 8, 24, {1, 2, true}).block(0).columns == 8);
}

TEST_CASE("groups are cut until all workers get as many parts, or there are many groups", "[parallel]") {
  CHECK(even_parts(1, 1) == 1);
  CHECK(even_parts(5, 1) == 1);
  CHECK(even_parts(0, 4) == 4);
  CHECK(even_parts(1, 4) == 4);
  CHECK(even_parts(2, 4) == 2);
  CHECK(even_parts(3, 2) == 2);
  CHECK(even_parts(6, 4) == 2);
  CHECK(even_parts(9, 8) == 8);
  CHECK(even_parts(15, 2) == 2);
  CHECK(even_parts(17, 2) == 1);
  CHECK(fewest_parts(12, 3, 2).parts == 2);
  CHECK(fewest_parts(12, 1, 1).parts == 1);
  // Three panels of two vectors become four, which two workers share evenly.
  CHECK(even_panels({6, 2}, 3, 2).parts == 4);
  CHECK(even_panels({1, 2}, 3, 2).parts == 1);
}

TEST_CASE("one worker gets as few blocks of a plane as their size allows", "[parallel]") {
  CHECK(PlaneSplit(14, 14, 8, 5, {1, 1}).parts() == 7);
  CHECK(PlaneSplit(14, 14, 8, 100, {1, 1}).parts() == 1);
  CHECK(PlaneSplit(0, 14, 8, 5, {1, 2}).parts() == 0);
}

}  // namespace
}  // namespace ir::kernels
