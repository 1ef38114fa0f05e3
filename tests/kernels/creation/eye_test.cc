#include "kernels/creation/eye.h"

#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::test {
namespace {

template <class T>
void check_eye(std::size_t batch, std::size_t rows, std::size_t columns, std::int64_t diagonal) {
  INFO(batch << " of " << rows << " x " << columns << ", diagonal " << diagonal);
  GuardedBuffer<T> out(batch * rows * columns, 1);
  const T one = 1;
  kernels::eye(batch, rows, columns, diagonal, &one, sizeof(T), out.data());
  CHECK(out.guards_intact());
  bool right = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / columns % rows);
    const auto column = static_cast<std::int64_t>(i % columns);
    right = right && out[i] == (column - row == diagonal ? T{1} : T{0});
  }
  CHECK(right);
}

}  // namespace

TEST_CASE("eye sets one diagonal of each matrix") {
  for (const std::int64_t diagonal : {-9, -3, -1, 0, 1, 2, 4, 9}) {
    check_eye<float>(1, 3, 5, diagonal);
    check_eye<std::uint8_t>(2, 4, 3, diagonal);
    check_eye<double>(3, 1, 1, diagonal);
    check_eye<std::uint16_t>(1, 70, 65, diagonal);
  }
  check_eye<float>(2, 0, 3, 0);
  check_eye<float>(2, 3, 0, 0);
}

TEST_CASE("a diagonal far outside sets nothing") {
  check_eye<std::int32_t>(1, 4, 4, std::numeric_limits<std::int64_t>::max());
  check_eye<std::int32_t>(1, 4, 4, std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("eye does not depend on the number of threads") {
  const auto matrix = [](int threads) {
    std::vector<float> out(500 * 300, 7.0F);
    const float one = 1.0F;
    kernels::ThreadPool(threads).run([&] { kernels::eye(1, 500, 300, -20, &one, sizeof one, out.data()); });
    return out;
  };
  CHECK(matrix(1) == matrix(2));
}

}  // namespace ir::test
