#include "kernels/elementwise/select.h"

#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

using ir::kernels::BroadcastPlan;
using ir::test::GuardedBuffer;
using ir::test::Shape;

TEMPLATE_TEST_CASE("select chooses element by element under broadcasting", "", std::uint8_t, std::int16_t,
                   float, std::int64_t) {
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    for (const Shape& condition_shape : {shapes.output, shapes.b, Shape{}}) {
      const BroadcastPlan plan(shapes.output, {condition_shape, shapes.a, shapes.b});
      GuardedBuffer<std::uint8_t> condition(ir::test::count_of(condition_shape), 1);
      GuardedBuffer<TestType> a(ir::test::count_of(shapes.a), 1);
      GuardedBuffer<TestType> b(ir::test::count_of(shapes.b), 3);
      GuardedBuffer<TestType> out(ir::test::count_of(shapes.output), 2);
      ir::test::fill_random(condition, 0, 2.99, 1);
      ir::test::fill_random(a, 0, 100, 2);
      ir::test::fill_random(b, 0, 100, 3);
      ir::kernels::select(plan, sizeof(TestType), condition.data(), a.data(), b.data(), out.data());
      bool all_equal = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool first = condition[ir::test::operand_index(shapes.output, condition_shape, i)] != 0;
        all_equal = all_equal && out[i] == (first ? a[ir::test::operand_index(shapes.output, shapes.a, i)]
                                                  : b[ir::test::operand_index(shapes.output, shapes.b, i)]);
      }
      CHECK(all_equal);
      CHECK(out.guards_intact());
      if (plan.is_full(1)) {
        ir::kernels::select(plan, sizeof(TestType), condition.data(), a.data(), b.data(), a.data());
        CHECK(std::equal(a.begin(), a.end(), out.begin()));
      }
    }
  }
}
