// Which models multiply by gates that errors become large in.
#include "runtime/passes/gates.h"

#include <limits>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

/// The sigmoid of x times a factor, times x, or x times that factor.
bool is_steep(float factor, bool times_own_argument) {
  Model model("gates");
  Node& x = model.add_parameter(ElementType::f32, {1, 8}, "x");
  Node& number = model.add_constant(Tensor::of<float>({1}, {factor}));
  Node& argument = model.add(op::v1::Multiply(), {x, number}, "argument");
  Node& sigmoid = model.add(op::v0::Sigmoid(), {argument}, "sigmoid");
  model.add_result(model.add(op::v1::Multiply(), {times_own_argument ? argument : x, sigmoid}, "scaled"));
  return passes::has_steep_gates(model);
}

TEST_CASE("Sigmoids of large numbers that scale something else than their argument are steep gates") {
  CHECK(is_steep(100, false));
  CHECK_FALSE(is_steep(100, true));
  CHECK_FALSE(is_steep(2, false));
  CHECK(is_steep(std::numeric_limits<float>::quiet_NaN(), false));
  CHECK(is_steep(std::numeric_limits<float>::infinity(), false));
}

}  // namespace
}  // namespace ir::test
