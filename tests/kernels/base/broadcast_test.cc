#include "kernels/base/broadcast.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "kernels/base/fill.h"
#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::BroadcastPlan;
using ir::kernels::SpanOperand;
using ir::test::Shape;

std::vector<std::size_t> dims_of(const BroadcastPlan& plan) {
  return {plan.dims().begin(), plan.dims().end()};
}

/// Elements are their own indices; every output element must be covered once with the right ones.
template <class A, class B>
void check_spans(const ir::test::BroadcastShapes& shapes) {
  const BroadcastPlan plan(shapes.output, {shapes.a, shapes.b});
  const std::size_t count = ir::test::count_of(shapes.output);
  REQUIRE(plan.output_count() == count);
  std::vector<A> a(ir::test::count_of(shapes.a));
  std::vector<B> b(ir::test::count_of(shapes.b));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<A>(i);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<B>(i);
  std::vector<std::atomic<int>> covered(count);
  std::vector<std::atomic<int>> right(count);
  const std::array<ir::kernels::BroadcastSource, 2> sources{{{a.data(), sizeof(A)}, {b.data(), sizeof(B)}}};
  ir::kernels::for_each_span(
      plan, sources, 1, [&](const SpanOperand* operands, std::size_t begin, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
          const A x = operands[0].as<A>()[operands[0].scalar ? 0 : i];
          const B y = operands[1].as<B>()[operands[1].scalar ? 0 : i];
          ++covered[begin + i];
          const std::size_t index = begin + i;
          const bool ok = x == static_cast<A>(ir::test::operand_index(shapes.output, shapes.a, index)) &&
                          y == static_cast<B>(ir::test::operand_index(shapes.output, shapes.b, index));
          if (ok) ++right[index];
        }
      });
  const auto is_one = [](const std::atomic<int>& times) { return times == 1; };
  REQUIRE(std::ranges::all_of(covered, is_one));
  REQUIRE(std::ranges::all_of(right, is_one));
}

}  // namespace

TEST_CASE("plans merge what walks alike") {
  const Shape nchw{2, 3, 4, 5};
  CHECK(dims_of(BroadcastPlan(nchw, {nchw, nchw})) == Shape{120});
  CHECK(dims_of(BroadcastPlan(nchw, {nchw, Shape{3, 1, 1}})) == Shape{2, 3, 20});
  CHECK(dims_of(BroadcastPlan(nchw, {nchw, Shape{5}})) == Shape{24, 5});
  CHECK(dims_of(BroadcastPlan(nchw, {nchw, Shape{2, 3, 1, 1}})) == Shape{6, 20});
  CHECK(dims_of(BroadcastPlan(nchw, {nchw, Shape{}})) == Shape{120});
  CHECK(dims_of(BroadcastPlan(Shape{1, 1}, {Shape{1, 1}, Shape{}})) == Shape{1});
}

TEST_CASE("full operands are known") {
  const BroadcastPlan plan(Shape{2, 3}, {Shape{2, 3}, Shape{3}, Shape{1, 2, 1}});
  CHECK(plan.is_full(0));
  CHECK_FALSE(plan.is_full(1));
  CHECK_FALSE(plan.is_full(2));
  CHECK(BroadcastPlan(Shape{1, 1}, {Shape{}}).is_full(0));
}

TEST_CASE("spans cover the output once with the right elements of every operand") {
  IR_FOR_EACH_TARGET();
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    check_spans<std::uint32_t, std::uint32_t>(shapes);
    check_spans<std::uint8_t, std::uint64_t>(shapes);
    check_spans<std::uint16_t, double>(shapes);
  }
  for (std::size_t columns = 2; columns <= 50; ++columns) {
    const ir::test::BroadcastShapes shapes{{70, columns}, {70, 1}, {70, 1}};
    const ir::test::BroadcastShapes crossed{{3, 70, columns}, {3, 70, 1}, {70, columns}};
    check_spans<std::uint8_t, double>(shapes);
    check_spans<std::uint8_t, std::uint32_t>(crossed);
    check_spans<std::uint16_t, std::uint32_t>(crossed);
    check_spans<double, std::uint32_t>(crossed);
  }
}

TEST_CASE("spans over runs of any length have the right elements of every operand") {
  IR_FOR_EACH_TARGET();
  for (std::size_t length = 1; length <= 300; ++length) {
    INFO("runs of " << length);
    for (const auto& shapes : ir::test::shapes_of_runs(length)) {
      check_spans<std::uint32_t, std::uint32_t>(shapes);
      if (length > 40 && length % 25 != 0) continue;
      check_spans<std::uint8_t, std::uint64_t>(shapes);
      check_spans<std::uint16_t, double>(shapes);
    }
  }
}

TEMPLATE_TEST_CASE("repeated elements are followed by no more than the slack", "", std::uint8_t,
                   std::uint16_t, float, double) {
  IR_FOR_EACH_TARGET();
  for (std::size_t times = 1; times <= 70; ++times) {
    for (const std::size_t count : {0U, 1U, 2U, 5U}) {
      INFO(count << " elements, " << times << " times");
      std::vector<TestType> from(count);
      for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<TestType>(i + 1);
      ir::test::GuardedBuffer<TestType> to(count * times + ir::kernels::kRepeatSlack / sizeof(TestType), 1);
      ir::kernels::repeat_elements(sizeof(TestType), from.data(), count, times, to.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < count * times; ++i) all_equal = all_equal && to[i] == from[i / times];
      CHECK(all_equal);
      CHECK(to.guards_intact());
    }
  }
}
