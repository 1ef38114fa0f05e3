#include "kernels/base/indices.h"

#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

/// Every place in turn holds an index just within or just outside of its dim, from either end.
template <class T>
void check_tuples(const std::vector<std::size_t>& dims, std::size_t tuples) {
  CAPTURE(sizeof(T), dims.size(), tuples);
  std::vector<T> indices(1 + tuples * dims.size(), T{0});
  indices[0] = std::numeric_limits<T>::min();  // before what is looked at
  const auto are_good = [&] { return are_indices(indices.data(), 1, indices.size() - 1, dims); };
  CHECK(are_good());
  for (std::size_t i = 1; i < indices.size(); ++i) {
    const auto dim = static_cast<T>(dims[(i - 1) % dims.size()]);
    for (const T good : {static_cast<T>(dim - 1), static_cast<T>(-dim)}) {
      indices[i] = good;
      REQUIRE(are_good());
    }
    for (const T bad :
         {dim, static_cast<T>(-dim - 1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
      indices[i] = bad;
      REQUIRE_FALSE(are_good());
    }
    indices[i] = 0;
  }
}

}  // namespace

TEST_CASE("indices of tuples are held to the dim of each") {
  IR_FOR_EACH_TARGET();
  const std::vector<std::vector<std::size_t>> all_dims{
      {5}, {3, 70}, {9, 1, 4}, {2, 3, 4, 5, 6, 7, 8}, {2, 3, 4, 5, 6, 7, 8, 9}, {2, 3, 4, 5, 6, 7, 8, 9, 10}};
  for (const auto& dims : all_dims) {
    for (const std::size_t tuples : {1, 2, 7, 16, 33}) {
      check_tuples<std::int8_t>(dims, tuples);
      check_tuples<std::int32_t>(dims, tuples);
      check_tuples<std::int64_t>(dims, tuples);
    }
  }
}

TEST_CASE("a dim of nothing has no indices, and one beyond 2^31 all of 32 bits") {
  IR_FOR_EACH_TARGET();
  const std::vector<std::int32_t> ends(40, std::numeric_limits<std::int32_t>::min());
  std::vector<std::int32_t> indices = ends;
  indices[20] = std::numeric_limits<std::int32_t>::max();
  constexpr std::size_t kAll = std::size_t{1} << 31;
  CHECK(are_indices(indices.data(), 0, indices.size(), kAll));
  CHECK(are_indices(indices.data(), 0, indices.size(), kAll + 1));
  CHECK_FALSE(are_indices(indices.data(), 0, indices.size(), kAll - 1));
  const std::vector<std::int64_t> zeros(40);
  CHECK_FALSE(are_indices(zeros.data(), 0, zeros.size(), 0));
  CHECK(are_indices(zeros.data(), 0, 0, 0));
}

}  // namespace ir::kernels
