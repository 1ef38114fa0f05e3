#include "kernels/threads/loop_width.h"

#include "kernels/threads/parallel.h"
#include "tests/catch.h"

namespace {

using ir::kernels::parallel_for;
using ir::kernels::take_loop_width;

const auto nothing = [](std::size_t, std::size_t) {};

TEST_CASE("the width of loops is that of the widest since it was asked for", "[parallel]") {
  ir::kernels::ThreadPool(2).run([] {
    (void)take_loop_width();
    CHECK(take_loop_width() == 1);
    parallel_for(10, 1, nothing);
    parallel_for(10, 10, nothing);
    CHECK(take_loop_width() == 2);
    CHECK(take_loop_width() == 1);
    parallel_for(0, 1, nothing);
    CHECK(take_loop_width() == 1);
  });
}

TEST_CASE("loops are no wider than their pool", "[parallel]") {
  ir::kernels::ThreadPool(1).run([] {
    (void)take_loop_width();
    parallel_for(10, 1, nothing);
    CHECK(take_loop_width() == 1);
  });
}

}  // namespace
