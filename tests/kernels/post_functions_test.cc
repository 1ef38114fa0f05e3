#include "kernels/post_functions.h"

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
    ir::kernels::apply_post_functions(data.data(), data.size(), &functions);
    return data;
  };
  using Floats = std::vector<float>;
  CHECK(results({}) == Floats{-1.2F, 0.4F, 7});
  CHECK(results({negative, std::nullopt}) == Floats{1.2F, -0.4F, -7});
  CHECK(results({std::nullopt, quantization}) == Floats{-10, 0, 20});
  CHECK(results({negative, quantization}) == Floats{10, 0, -20});
}

TEST_CASE("Post functions on long spans give the bits of whole passes") {
  IR_FOR_EACH_TARGET();
  const PostFunctions functions{UnarySpec{UnaryOp::swish, {1, 0}}, Quantization{-0.3F, 5, -0.3F, 5, 256}};
  for (const std::size_t count : {1U, 2047U, 2048U, 2049U, 5003U}) {
    ir::test::GuardedBuffer<float> data(count, 1);
    ir::test::fill_random(data, -6, 6, 1);
    std::vector<float> expected(data.begin(), data.end());
    ir::kernels::unary_span(*functions.activation, expected.data(), expected.data(), count);
    ir::kernels::fake_quantize_span(*functions.quantization, expected.data(), expected.data(), count);
    ir::kernels::apply_post_functions(data.data(), count, &functions);
    CHECK(std::equal(data.begin(), data.end(), expected.begin()));
    CHECK(data.guards_intact());
  }
}
