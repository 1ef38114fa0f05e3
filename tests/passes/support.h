// What tests of rewrites use: models to build, their results by the plainest means, and what they consist of.
#ifndef TESTS_PASSES_SUPPORT_H_
#define TESTS_PASSES_SUPPORT_H_

#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/infrastructure.h"
#include "tests/ops/support.h"

namespace ir::test {

/// Runs every node of a model in turn; no plan, no memory that is shared.
inline std::vector<Tensor> run_model(const Model& model, const std::vector<Tensor>& inputs) {
  std::unordered_map<const Node*, std::vector<Tensor>> values;
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    values[model.parameters()[i]] = {inputs.at(i)};
  }
  std::vector<Tensor> results;
  for (const auto& node : model.nodes()) {
    if (values.contains(node.get())) continue;
    if (const auto* constant = node->op().as<op::v0::Constant>()) {
      values[node.get()] = {*constant->value};
      continue;
    }
    std::vector<Tensor> operands;
    for (const Output& input : node->inputs()) operands.push_back(values.at(input.node).at(input.index));
    if (node->op().is<op::v0::Result>()) {
      values[node.get()] = operands;
    } else {
      values[node.get()] = evaluate(node->op(), operands);
    }
  }
  for (const Node* result : model.results()) results.push_back(values.at(result).at(0));
  return results;
}

/// Types of all nodes but Parameter, Const and Result, in order.
inline std::vector<std::string> types_of(const Model& model) {
  std::vector<std::string> types;
  for (const auto& node : model.nodes()) {
    const Op& op = node->op();
    if (op.is<op::v0::Parameter>() || op.is<op::v0::Constant>() || op.is<op::v0::Result>()) continue;
    types.emplace_back(op.type());
  }
  return types;
}

/// The types of what nodes that compute something give.
inline std::vector<ElementType> element_types(const Model& model) {
  std::vector<ElementType> types;
  for (const auto& node : model.nodes()) {
    const bool computes = !node->inputs().empty() && !node->op().is<op::v0::Result>();
    if (computes) types.push_back(node->output(0).type);
  }
  return types;
}

/// Whether every value comes from a node before its readers, and inference agrees with what nodes hold.
inline void check_consistent(const Model& model) {
  std::unordered_map<const Node*, bool> seen;
  for (const auto& node : model.nodes()) {
    for (const Output& input : node->inputs()) CHECK(seen.contains(input.node));
    seen[node.get()] = true;
  }
  Model copy = model;
  copy.infer();
  for (std::size_t i = 0; i < model.nodes().size(); ++i) {
    for (std::size_t output = 0; output < model.nodes()[i]->output_count(); ++output) {
      CHECK(copy.nodes()[i]->output(output).shape == model.nodes()[i]->output(output).shape);
      CHECK(copy.nodes()[i]->output(output).type == model.nodes()[i]->output(output).type);
    }
  }
}

/// The kernel of a model's last operation, as profiles call it.
inline std::string kernel_of(const Model& model) {
  const Node& last = *model.results()[0]->input(0).node;
  std::vector<ValueInfo> inputs;
  for (const Output& input : last.inputs()) inputs.push_back(input.info());
  return prepare_kernel(last.op(), inputs, last.outputs()).name;
}

using Types = std::vector<std::string>;
using Rewrite = bool (*)(Model&);

inline Tensor random_tensor(Shape shape, std::uint32_t seed) {
  Tensor tensor(ElementType::f32, std::move(shape));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-2.0F, 2.0F);
  for (float& number : tensor.data<float>()) number = uniform(generator);
  return tensor;
}

/// Positive numbers around 1.
inline Tensor random_positive(Shape shape, std::uint32_t seed) {
  Tensor tensor = random_tensor(std::move(shape), seed);
  for (float& number : tensor.data<float>()) number = 1.0F + 0.25F * number;
  return tensor;
}

inline Tensor number(float value) { return f32({}, {value}); }

/// A model to be with one input, and what tests put into it.
struct Builder {
  Model model;
  Node* x = nullptr;
  std::uint32_t seed = 1;

  explicit Builder(PartialShape shape, ElementType type = ElementType::f32)
      : x(&model.add_parameter(type, std::move(shape))) {}

  Node& constant(Shape shape) { return model.add_constant(random_tensor(std::move(shape), ++seed)); }
  Node& constant(Tensor tensor) { return model.add_constant(std::move(tensor)); }
  Node& add(Op op, std::vector<Output> inputs) { return model.add(std::move(op), std::move(inputs)); }

  /// [*, 3, ...] -> [*, 4, ...], padded to keep the size of the image.
  Node& convolution(Output image) {
    op::v1::Convolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    return add(op, {image, constant({4, 3, 3, 3})});
  }
  Model result(Output value) {
    model.add_result(value);
    return std::move(model);
  }
};

/// Applies a rewrite until it finds nothing more; the result consists of `types` and computes the same.
inline void check_rewrite(Rewrite rewrite, Model model, const Types& types, const std::vector<Tensor>& inputs,
                          double tolerance = 1e-5) {
  const std::vector<Tensor> expected = run_model(model, inputs);
  bool changed = false;
  for (int round = 0; round < 10 && rewrite(model); ++round) {
    changed = true;
    model.remove_unreachable();
  }
  CHECK(changed);
  CHECK(types_of(model) == types);
  check_consistent(model);
  const std::vector<Tensor> results = run_model(model, inputs);
  REQUIRE(results.size() == expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i].element_type() == expected[i].element_type());
    const Tensor want = expected[i].converted(ElementType::f32);
    const auto data = want.data<float>();
    check_close(results[i].converted(ElementType::f32), expected[i].shape(), {data.begin(), data.end()},
                tolerance);
  }
}

inline void check_untouched(Rewrite rewrite, Model model) {
  const Types types = types_of(model);
  CHECK_FALSE(rewrite(model));
  CHECK(types_of(model) == types);
}

/// What fits Builder::convolution.
inline Tensor random_image() { return random_tensor({2, 3, 5, 6}, 99); }

}  // namespace ir::test

#endif  // TESTS_PASSES_SUPPORT_H_
