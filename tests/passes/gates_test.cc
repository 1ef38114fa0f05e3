// Which models multiply by gates.
#include "runtime/passes/gates.h"

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

TEST_CASE("A sigmoid that scales something else than its argument is a gate") {
  Model model("gates");
  Node& x = model.add_parameter(ElementType::f32, {1, 8}, "x");
  Node& y = model.add_parameter(ElementType::f32, {1, 8}, "y");
  Node& sigmoid = model.add(op::v0::Sigmoid(), {x}, "sigmoid");
  model.add_result(model.add(op::v1::Multiply(), {x, sigmoid}, "swish"));
  CHECK_FALSE(passes::has_gates(model));
  model.add_result(model.add(op::v1::Multiply(), {sigmoid, y}, "gated"));
  CHECK(passes::has_gates(model));
}

}  // namespace
}  // namespace ir::test
