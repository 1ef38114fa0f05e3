
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/pooling.h"
#include "models/make/reference.h"
#include "models/make/shipped_model.h"

namespace models {
namespace {

constexpr std::int64_t kSize = 32;

// The right ones of the examples of AvgPool-1.
void add_average_pools(ShippedModel& shipped, ir::Node& image) {
  struct Example {
    const char* name;
    ir::op::AutoPad auto_pad;
    bool exclude_pad;
    std::int64_t stride;
    std::int64_t pad;
  };
  constexpr std::int64_t kKernel = 5;
  for (const Example& example : {Example{"padding_excluded", ir::op::AutoPad::explicit_, true, 3, 1},
                                 Example{"padding_included", ir::op::AutoPad::explicit_, false, 2, 1},
                                 Example{"valid", ir::op::AutoPad::valid, true, 2, 0}}) {
    ir::op::v1::AvgPool op;
    op.kernel = {kKernel, kKernel};
    op.strides = {example.stride, example.stride};
    op.pads_begin = {1, 1};
    op.pads_end = {1, 1};
    op.exclude_pad = example.exclude_pad;
    op.auto_pad = example.auto_pad;
    shipped.model.add(op, {image}, std::string("avg_pool/") + example.name);
    const Windows windows = explicit_windows(kSize, kKernel, example.stride, example.pad, example.pad);
    shipped.outputs.push_back(
        f32_tensor(average_pool(values_of(shipped.inputs[0]), windows, windows, example.exclude_pad)));
  }
}

void add_adaptive_average_pool(ShippedModel& shipped, ir::Node& image) {
  ir::Node& size = shipped.model.add_constant(std::vector<std::int64_t>{16, 16}, "adaptive_avg_pool/size");
  shipped.model.add(ir::op::v8::AdaptiveAvgPool{}, {image, size}, "adaptive_avg_pool");
  shipped.outputs.push_back(f32_tensor(adaptive_average_pool(values_of(shipped.inputs[0]), 16, 16)));
}

// nGraph's example: a 2x2 window over a 3x3 image with padding below.
void add_ngraph(ShippedModel& shipped, ir::Node& small) {
  const Windows windows = explicit_windows(3, 2, 1, 1, 0);
  const Values image = values_of(shipped.inputs[1]);
  for (const bool include_padding : {false, true}) {
    const ir::op::ngraph::AvgPool op({2, 2}, {1, 1}, {1, 1}, {0, 0}, include_padding);
    shipped.model.add(
        op, {small},
        include_padding ? "ngraph_avg_pool/padding_included" : "ngraph_avg_pool/padding_excluded");
    shipped.outputs.push_back(f32_tensor(average_pool(image, windows, windows, !include_padding)));
  }
  const ir::Tensor filters = ir::Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const ir::op::ngraph::Convolution op({1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1});
  shipped.model.add(op, {small, shipped.model.add_constant(filters, "ngraph_convolution/filters")},
                    "ngraph_convolution");
  shipped.outputs.push_back(f32_tensor(convolution(image, values_of(filters), 1, windows, windows)));
}

// One for every operation, in their order.
void add_results(ir::Model& model) {
  std::vector<ir::Node*> computed;
  for (const auto& node : model.nodes()) {
    if (!node->inputs().empty()) computed.push_back(node.get());
  }
  for (ir::Node* node : computed) model.add_result(*node, node->name() + "/result");
}

}  // namespace

ShippedModel seed_examples() {
  ShippedModel shipped;
  shipped.model.set_name("seed_examples");
  shipped.inputs.push_back(SeededNumbers(5).tensor({1, 3, kSize, kSize}, -1.0F, 1.0F));
  shipped.inputs.push_back(ir::Tensor::of<float>({1, 1, 3, 3}, {1, 3, 5, 7, 11, 13, 17, 19, 23}));
  ir::Node& image = shipped.model.add_parameter(ir::ElementType::f32, {1, 3, kSize, kSize}, "image");
  ir::Node& small = shipped.model.add_parameter(ir::ElementType::f32, {1, 1, 3, 3}, "small_image");
  add_average_pools(shipped, image);
  add_adaptive_average_pool(shipped, image);
  add_ngraph(shipped, small);
  add_results(shipped.model);
  shipped.metric.absolute = 1e-5;
  shipped.metric.relative = 1e-5;
  return shipped;
}

}  // namespace models
