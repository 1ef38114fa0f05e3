#include "kernels/matmul/post_functions.h"

#include "tests/kernels/support.h"

namespace {

using ir::kernels::PostFunctions;
using ir::kernels::Quantization;
using ir::kernels::UnaryOp;
using ir::kernels::UnarySpec;

}  // namespace

TEST_CASE("Post functions apply what there is, in place and in order") {
  const UnarySpec negative{UnaryOp::negative, {}};
  const Quantization quantization{-2, 2, -20, 20, 5};
  const auto results = [](const PostFunctions& functions) {
    std::vector<float> data{-1.2F, 0.4F, 7};
    ir::kernels::apply_post_functions(data.data(), data.size(), 0, &functions);
    return data;
  };
  using Floats = std::vector<float>;
  CHECK(results({}) == Floats{-1.2F, 0.4F, 7});
  CHECK(results({{negative}, {}}) == Floats{1.2F, -0.4F, -7});
  CHECK(results({{}, {quantization}}) == Floats{-10, 0, 20});
  CHECK(results({{negative}, {quantization}}) == Floats{10, 0, -20});
}

TEST_CASE("Post functions of channels are those of the span's") {
  const PostFunctions functions{{{UnaryOp::leaky_relu, {0.5, 0}}, {UnaryOp::leaky_relu, {-2, 0}}},
                                {{-2, 2, -2, 2, 5}, {0, 8, 0, 8, 3}}};
  CHECK(functions.by_channel());
  const auto results = [&](std::size_t channel) {
    std::vector<float> data{-3, 0.8F, 7};
    ir::kernels::apply_post_functions(data.data(), data.size(), channel, &functions);
    return data;
  };
  CHECK(results(0) == std::vector<float>{-2, 1, 2});
  CHECK(results(1) == std::vector<float>{8, 0, 8});
}

TEST_CASE("Post functions on long spans give the bits of whole passes") {
  IR_FOR_EACH_TARGET();
  const PostFunctions functions{{{UnaryOp::swish, {1, 0}}}, {{-0.3F, 5, -0.3F, 5, 256}}};
  for (const std::size_t count : {1U, 2047U, 2048U, 2049U, 5003U}) {
    ir::test::GuardedBuffer<float> data(count, 1);
    ir::test::fill_random(data, -6, 6, 1);
    std::vector<float> expected(data.begin(), data.end());
    ir::kernels::unary_span(functions.activation[0], expected.data(), expected.data(), count);
    ir::kernels::fake_quantize_span(functions.quantization[0], expected.data(), expected.data(), count);
    ir::kernels::apply_post_functions(data.data(), count, 0, &functions);
    CHECK(std::equal(data.begin(), data.end(), expected.begin()));
    CHECK(data.guards_intact());
  }
}
