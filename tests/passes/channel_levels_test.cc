// Levels of each channel go to and between chains around depthwise convolutions.
#include <cmath>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/quantization.h"
#include "kernels/weights/integer_weights.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

const Shape kImage{1, 3, 16, 12};

struct ChainBuilder : Builder {
  using Builder::Builder;

  /// Numbers that are bytes times a step.
  Node& weights(const Shape& shape) {
    Tensor tensor = random_tensor(shape, seed_++);
    for (float& value : tensor.data<float>()) value = std::round(value * 100) / 64;
    return constant(std::move(tensor));
  }
  Node& convolution(Output image, std::int64_t in, std::int64_t out, std::int64_t side) {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {side / 2, side / 2};
    return add(op, {image, weights({out, in, side, side})});
  }
  Node& depthwise(Output image, std::int64_t channels) {
    op::v1::GroupConvolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    return add(op, {image, weights({channels, 1, 1, 3, 3})});
  }
  Node& quantized(Output value, float low, float high) {
    return quantized(value, constant(number(low)), constant(number(high)));
  }
  /// From `low` on, with a step for each channel. Steps are powers of 2: sums are what arithmetic makes of
  /// them, to the last bit.
  Node& quantized_by_channel(Output value, std::int64_t channels, float low) {
    std::vector<float> lows;
    std::vector<float> highs;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float scale = std::ldexp(1.0F, static_cast<int>(channel % 3) - 1);
      lows.push_back(low * scale);
      highs.push_back((low + 255.0F / 32) * scale);
    }
    const Shape shape{1, channels, 1, 1};
    return quantized(value, constant(f32(shape, lows)), constant(f32(shape, highs)));
  }
  /// A chain with levels between its stages.
  Node& chain(Output image, std::int64_t channels, std::int64_t out) {
    Node& filtered = quantized(add(op::v0::ReLU(), {depthwise(image, channels)}), 0, 255.0F / 4);
    return convolution(filtered, channels, out, 1);
  }

 private:
  Node& quantized(Output value, Node& low, Node& high) {
    op::v0::FakeQuantize op;
    op.levels = 256;
    return add(op, {value, low, high, low, high});
  }
  std::uint32_t seed_ = 7;
};

void check_elements(Model model, const std::vector<ElementType>& elements) {
  const std::vector<Tensor> inputs{random_tensor(kImage, 5)};
  const std::vector<Tensor> exact = run_model(model, inputs);
  optimize(model);
  model.remove_unreachable();
  passes::store_levels(model);
  model.remove_unreachable();
  if (kernels::multiplies_bytes()) CHECK(element_types(model) == elements);
  check_consistent(model);
  const auto want = exact[0].data<float>();
  check_close(run_model(model, inputs).at(0), exact[0].shape(), {want.begin(), want.end()}, 1e-5);
}

constexpr ElementType kByte = ElementType::u8;
constexpr ElementType kFloat = ElementType::f32;

}  // namespace

TEST_CASE("Levels of each channel go to chains, and from chain to chain", "[passes]") {
  ChainBuilder b(kImage);
  Node& first = b.convolution(b.quantized(*b.x, -1, 127.0F / 128), 3, 6, 3);
  const float low = GENERATE(0.0F, -1.0F);
  Node& second = b.chain(b.quantized_by_channel(first, 6, low), 6, 5);
  Node& third = b.chain(b.quantized_by_channel(second, 5, low), 5, 8);
  check_elements(b.result(third), {kByte, kByte, kByte, kFloat});
}

TEST_CASE("What is expanded to levels of each channel stays in the chain", "[passes]") {
  ChainBuilder b(kImage);
  Node& image = b.quantized(*b.x, 0, 255.0F / 128);
  Node& expanded = b.quantized_by_channel(b.convolution(image, 3, 6, 1), 6, -1);
  check_elements(b.result(b.chain(expanded, 6, 5)), {kByte, kFloat});
}

TEST_CASE("Levels of each channel are floats for all others", "[passes]") {
  ChainBuilder b(kImage);
  Node& first = b.quantized_by_channel(b.convolution(b.quantized(*b.x, -1, 127.0F / 128), 3, 6, 3), 6, 0);
  SECTION("another convolution") {
    check_elements(b.result(b.convolution(first, 6, 4, 1)), {kByte, kFloat, kFloat});
  }
  SECTION("a chain and something else") {
    Node& chain = b.chain(first, 6, 6);
    check_elements(b.result(b.add(op::v1::Multiply(), {chain, first})), {kByte, kFloat, kFloat, kFloat});
  }
  SECTION("a chain without levels between its stages") {
    Node& filtered = b.add(op::v4::Swish(), {b.depthwise(first, 6)});
    check_elements(b.result(b.convolution(b.quantized(filtered, 0, 255.0F / 16), 6, 5, 1)),
                   {kByte, kFloat, kFloat});
  }
}

}  // namespace ir::test
