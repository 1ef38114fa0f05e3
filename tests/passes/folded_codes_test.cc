// Weights that stay codes until somebody reads them.
#include <utility>
#include <vector>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/passes/rewrites.h"
#include "runtime/passes/widen_halves.h"
#include "runtime/types/scaled_codes.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

/// x + codes * scales, or scales * codes. Few elements would be known by inference already.
Model scaled_model(const Tensor& codes, const Tensor& scales, bool codes_first = true) {
  Builder b(codes.shape());
  Node& wide = b.add(op::v0::Convert(ElementType::f32), {b.constant(codes)});
  Node& factors = b.constant(scales);
  Node& scaled =
      codes_first ? b.add(op::v1::Multiply(), {wide, factors}) : b.add(op::v1::Multiply(), {factors, wide});
  return b.result(b.add(op::v1::Add(), {*b.x, scaled}));
}

/// What is added to x once constants are folded.
Tensor folded(Model model) {
  CHECK(passes::fold_constants(model));
  const Node& sum = *model.results()[0]->input(0).node;
  REQUIRE(sum.input(1).info().constant != nullptr);
  return *sum.input(1).info().constant;
}

void check_same(const Model& model) {
  check_rewrite(passes::fold_constants, model, {"Add"},
                {random_tensor(model.parameters()[0]->output(0).shape.to_shape(), 5)});
}

}  // namespace

TEST_CASE("Scaled codes are folded without making floats", "[passes]") {
  struct Case {
    Shape scales;
    std::size_t per_scale;
  };
  const auto [scales, per_scale] =
      GENERATE(Case{{}, 9000}, Case{{1}, 9000}, Case{{20, 1, 1}, 450}, Case{{30, 1}, 15},
               Case{{20, 30, 1}, 15}, Case{{15}, 1}, Case{{1, 30, 15}, 1}, Case{{20, 30, 15}, 1});
  const bool codes_first = GENERATE(true, false);
  const Model model = scaled_model(bytes({20, 30, 15}), random_tensor(scales, 2), codes_first);
  INFO("scales " << to_string(scales));
  const Tensor constant = folded(model);
  REQUIRE(constant.codes() != nullptr);
  CHECK(constant.codes()->codes().element_type() == ElementType::i8);
  CHECK(constant.codes()->scales().size() == element_count(scales));
  CHECK(constant.codes()->per_scale() == per_scale);
  check_same(model);
}

TEST_CASE("Other products of codes are folded into floats", "[passes]") {
  Builder b({70, 90});
  const auto floats_of = [&](const Tensor& codes) -> Node& {
    return b.add(op::v0::Convert(ElementType::f32), {b.constant(codes)});
  };
  const auto check_floats = [](const Model& model) {
    CHECK(folded(model).codes() == nullptr);
    check_same(model);
  };
  const auto check_added = [&](Node& value) { check_floats(b.result(b.add(op::v1::Add(), {*b.x, value}))); };
  SECTION("scales along axes that are no neighbours") {
    check_floats(scaled_model(bytes({20, 30, 15}), random_tensor({20, 1, 15}, 2)));
  }
  SECTION("no elements") { check_floats(scaled_model(bytes({0, 3}), random_tensor({3}, 2))); }
  SECTION("more elements than codes") {
    check_added(b.add(op::v1::Multiply(), {floats_of(bytes({70, 1})), b.constant({70, 90})}));
  }
  SECTION("scales of scales, which would round differently") {
    Node& once = b.add(op::v1::Multiply(), {floats_of(bytes({70, 90})), b.constant({70, 1})});
    check_added(b.add(op::v1::Multiply(), {once, b.constant({90})}));
  }
  SECTION("codes to which something is added") {
    check_added(b.add(op::v1::Subtract(), {floats_of(bytes({70, 90})), b.constant(number(3))}));
  }
}

TEST_CASE("Constants of halves become floats when somebody reads them", "[passes]") {
  const ElementType half = GENERATE(ElementType::f16, ElementType::bf16);
  const Shape shape{80, 60};
  const Tensor numbers = random_tensor(shape, 7).converted(half);
  SECTION("which a model widens") {
    Builder b(shape);
    Node& wide = b.add(op::v0::Convert(ElementType::f32), {b.constant(numbers)});
    const Model model = b.result(b.add(op::v1::Add(), {*b.x, wide}));
    CHECK(folded(model).codes() != nullptr);
    check_same(model);
  }
  SECTION("which are computed with in f32") {
    Builder b(shape, half);
    Model model = b.result(b.add(op::v1::Add(), {*b.x, b.constant(numbers)}));
    widen_halves(model);
    for (const auto& node : model.nodes()) {
      const auto* constant = node->op().as<op::v0::Constant>();
      if (constant == nullptr) continue;
      REQUIRE(constant->value->codes() != nullptr);
      CHECK(constant->value->codes()->codes().raw() == numbers.raw());
    }
  }
}

}  // namespace ir::test
