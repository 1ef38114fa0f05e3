// Weights of few bits stay as they are where products and lookups read them.
#include <optional>
#include <string>
#include <vector>

#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/ops/compressed.h"
#include "runtime/passes/passes.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using passes::keep_compressed_weights;

op::v0::Convert conversion_to(ElementType type) {
  op::v0::Convert convert;
  convert.destination_type = type;
  return convert;
}

struct CompressedBuilder : Builder {
  using Builder::Builder;

  /// The scales of real exporters are f16, or f32.
  ElementType real = ElementType::f32;

  /// Small integers of any type, which 4 bits hold, too, as numbers.
  Node& codes(ElementType type, Shape shape) {
    Tensor values = random_tensor(std::move(shape), ++seed);
    const bool is_unsigned = type == ElementType::u8 || type == ElementType::u4;
    for (float& value : values.data<float>()) value = std::floor(value * 4) + (is_unsigned ? 8.0F : 0.0F);
    return constant(values.converted(type));
  }
  Node& converted(Output value) { return add(conversion_to(real), {value}); }
  Node& decompressed(ElementType type, const Shape& shape) { return converted(codes(type, shape)); }
  Node& shifted(Output value, Output offset) { return add(op::v1::Subtract(), {value, offset}); }
  Node& scaled(Output value, const Shape& scales) {
    return add(op::v1::Multiply(), {value, constant(random_positive(scales, ++seed).converted(real))});
  }
  Node& joined(Output value, std::vector<std::int64_t> shape) {
    Node& target = model.add_constant(std::move(shape));
    return add(op::v1::Reshape(), {value, target});
  }
  Node& product(Output weights, bool transpose_b = true) {
    return add(op::v0::MatMul(false, transpose_b), {*x, weights});
  }
  Node& lookup(Output table) {
    Node& axis = constant(i64({}, {0}));
    return add(op::v8::Gather(), {table, *x, axis});
  }
};

void check_kept(CompressedBuilder& b, Node& product, const Types& types = {"CompressedMatMul"}) {
  const Shape shape = b.x->output(0).shape.to_shape();
  check_rewrite(keep_compressed_weights, b.result(product), types, {random_tensor(shape, 77)}, 2e-5);
}

void check_left(CompressedBuilder& b, Node& product) {
  check_untouched(keep_compressed_weights, b.result(product));
}

const Shape kRows{2, 3, 12};

}  // namespace

TEST_CASE("Integers with a scale for each row stay compressed in a product", "[passes]") {
  CompressedBuilder b(kRows);
  const ElementType type = GENERATE(ElementType::u8, ElementType::i8, ElementType::u4, ElementType::i4);
  Node& codes = b.decompressed(type, {5, 12});
  SECTION("symmetric") { check_kept(b, b.product(b.scaled(codes, {5, 1}))); }
  SECTION("one scale") { check_kept(b, b.product(b.scaled(codes, {}))); }
  SECTION("an offset for each row") {
    Node& offsets = b.decompressed(type, {5, 1});
    check_kept(b, b.product(b.scaled(b.shifted(codes, offsets), {5, 1})));
  }
  SECTION("one offset") {
    Node& offset = b.constant(number(3));
    check_kept(b, b.product(b.scaled(b.shifted(codes, offset), {5, 1})));
  }
  SECTION("no scale") { check_kept(b, b.product(codes)); }
  SECTION("the scale first") {
    Node& scale = b.constant(random_positive({5, 1}, 6));
    check_kept(b, b.product(b.add(op::v1::Multiply(), {scale, codes})));
  }
}

TEST_CASE("Groups of terms have scales and offsets of their own", "[passes]") {
  CompressedBuilder b(kRows);
  const ElementType type = GENERATE(ElementType::u8, ElementType::i8, ElementType::u4, ElementType::i4);
  Node& codes = b.decompressed(type, {5, 3, 4});
  SECTION("scales") { check_kept(b, b.product(b.joined(b.scaled(codes, {5, 3, 1}), {5, 12}))); }
  SECTION("both") {
    Node& offsets = b.decompressed(type, {5, 3, 1});
    check_kept(b, b.product(b.joined(b.scaled(b.shifted(codes, offsets), {5, 3, 1}), {5, -1})));
  }
  SECTION("some alike") { check_kept(b, b.product(b.joined(b.scaled(codes, {1, 3, 1}), {5, 12}))); }
}

TEST_CASE("Numbers of half precision are taken as they are", "[passes]") {
  CompressedBuilder b(kRows);
  b.real = ElementType::f16;
  Node& codes = b.decompressed(ElementType::u4, {5, 3, 4});
  Node& offsets = b.decompressed(ElementType::u4, {5, 3, 1});
  Node& halves = b.joined(b.scaled(b.shifted(codes, offsets), {5, 3, 1}), {5, 12});
  Node& weights = b.add(conversion_to(ElementType::f32), {halves});
  check_rewrite(keep_compressed_weights, b.result(b.product(weights)), {"CompressedMatMul"},
                {random_tensor(kRows, 77)}, 2e-2);
}

TEST_CASE("Weights whose columns are rows of the product are turned", "[passes]") {
  CompressedBuilder b(kRows);
  const ElementType type = GENERATE(ElementType::u8, ElementType::i8, ElementType::u4, ElementType::i4);
  SECTION("with scales of columns") {
    Node& codes = b.decompressed(type, {12, 6});
    Node& offsets = b.decompressed(type, {1, 6});
    check_kept(b, b.product(b.scaled(b.shifted(codes, offsets), {1, 6}), false));
  }
  SECTION("in groups") {
    Node& codes = b.decompressed(type, {3, 4, 6});
    check_kept(b, b.product(b.joined(b.scaled(codes, {3, 1, 6}), {12, 6}), false));
  }
}

TEST_CASE("Halves stay compressed for a single row, and for as many as nobody knows", "[passes]") {
  const ElementType type = GENERATE(ElementType::f16, ElementType::bf16);
  const bool transpose_b = GENERATE(false, true);
  const Shape weights = transpose_b ? Shape{5, 12} : Shape{12, 5};
  const auto with_rows = [&](PartialShape rows) {
    CompressedBuilder b(std::move(rows));
    Node& halves = b.constant(random_tensor(weights, 5).converted(type));
    return b.result(b.product(b.converted(halves), transpose_b));
  };
  check_rewrite(keep_compressed_weights, with_rows({1, 1, 12}), {"CompressedMatMul"},
                {random_tensor({1, 1, 12}, 77)}, 2e-5);
  check_rewrite(keep_compressed_weights, with_rows({1, Dimension(), 12}), {"CompressedMatMul"},
                {random_tensor({1, 7, 12}, 77)}, 2e-5);
  check_untouched(keep_compressed_weights, with_rows({1, 2, 12}));
}

TEST_CASE("A model in half precision keeps its type", "[passes]") {
  CompressedBuilder b({1, 12}, ElementType::f16);
  Node& halves = b.constant(random_tensor({5, 12}, 5).converted(ElementType::f16));
  Model model = b.result(b.product(halves));
  CHECK(keep_compressed_weights(model));
  model.remove_unreachable();
  CHECK(types_of(model) == Types{"CompressedMatMul"});
  check_consistent(model);
  CHECK(model.results()[0]->output(0).type == ElementType::f16);
}

TEST_CASE("Rows that are looked up are decompressed alone", "[passes]") {
  CompressedBuilder b({2, 3}, ElementType::i64);
  const std::vector<Tensor> indices{i64({2, 3}, {0, 4, 2, 2, 1, 3})};
  SECTION("halves") {
    Node& halves = b.constant(random_tensor({5, 12}, 5).converted(ElementType::f16));
    check_rewrite(keep_compressed_weights, b.result(b.lookup(b.converted(halves))), {"Gather", "Decompress"},
                  indices);
  }
  SECTION("integers with one offset") {
    Node& codes = b.decompressed(ElementType::u8, {5, 12});
    Node& offset = b.constant(number(3));
    Node& table = b.scaled(b.shifted(codes, offset), {5, 1});
    check_rewrite(keep_compressed_weights, b.result(b.lookup(table)), {"Gather", "Gather", "Decompress"},
                  indices);
  }
  SECTION("groups") {
    Node& codes = b.decompressed(ElementType::u4, {5, 3, 4});
    Node& offsets = b.decompressed(ElementType::u4, {5, 3, 1});
    Node& table = b.joined(b.scaled(b.shifted(codes, offsets), {5, 3, 1}), {5, 12});
    check_rewrite(keep_compressed_weights, b.result(b.lookup(table)),
                  {"Gather", "Gather", "Gather", "Decompress"}, indices);
  }
  SECTION("in half precision") {
    b.real = ElementType::f16;
    Node& table = b.scaled(b.decompressed(ElementType::i8, {5, 12}), {5, 1});
    check_rewrite(keep_compressed_weights, b.result(b.lookup(table)),
                  {"Gather", "Gather", "Decompress", "Convert"}, indices, 1e-2);
  }
  SECTION("not along another axis") {
    Node& halves = b.constant(random_tensor({5, 12}, 5).converted(ElementType::f16));
    Node& axis = b.constant(i64({}, {1}));
    check_left(b, b.add(op::v8::Gather(), {b.converted(halves), *b.x, axis}));
  }
}

TEST_CASE("Products and lookups of the same weights read the same codes", "[passes]") {
  CompressedBuilder b(kRows);
  const bool transpose_b = GENERATE(false, true);
  Node& weights = b.scaled(b.decompressed(ElementType::i8, {12, 12}), transpose_b ? Shape{12, 1} : Shape{12});
  Node& first = b.product(weights, transpose_b);
  Node& second = b.product(weights, transpose_b);
  b.model.add_result(first);
  Model model = b.result(second);
  CHECK(keep_compressed_weights(model));
  check_consistent(model);
  CHECK(first.op().is<op::CompressedMatMul>());
  for (const std::size_t constant : {1U, 2U}) CHECK(first.input(constant) == second.input(constant));
}

TEST_CASE("What is no matrix of codes is left alone", "[passes]") {
  CompressedBuilder b(kRows);
  SECTION("scales of terms") {
    check_left(b, b.product(b.scaled(b.decompressed(ElementType::u8, {5, 12}), {1, 12})));
  }
  SECTION("an odd number of terms in 4 bits") {
    CompressedBuilder odd({2, 9});
    check_left(odd, odd.product(odd.scaled(odd.decompressed(ElementType::u4, {5, 9}), {5, 1})));
  }
  SECTION("a batch of matrices") { check_left(b, b.product(b.decompressed(ElementType::u8, {2, 5, 12}))); }
  SECTION("columns of A") {
    Node& codes = b.decompressed(ElementType::u8, {5, 3});
    check_left(b, b.add(op::v0::MatMul(true, true), {*b.x, codes}));
  }
  SECTION("a scale that is computed") {
    Node& scale = b.model.add_parameter(ElementType::f32, {5, 1});
    Node& codes = b.decompressed(ElementType::u8, {5, 12});
    check_left(b, b.product(b.add(op::v1::Multiply(), {codes, scale})));
  }
  SECTION("a scale without end") {
    Node& scale = b.constant(number(std::numeric_limits<float>::infinity()));
    Node& codes = b.decompressed(ElementType::u8, {5, 12});
    check_left(b, b.product(b.add(op::v1::Multiply(), {codes, scale})));
  }
  SECTION("two scales") {
    Node& codes = b.decompressed(ElementType::u8, {5, 12});
    check_left(b, b.product(b.scaled(b.scaled(codes, {5, 1}), {5, 1})));
  }
  SECTION("floats") { check_left(b, b.product(b.constant({5, 12}))); }
  SECTION("integers that wrap when they are shifted") {
    Node& offsets = b.constant(random_positive({5, 1}, 7).converted(ElementType::u8));
    check_left(b, b.product(b.converted(b.shifted(b.codes(ElementType::u8, {5, 12}), offsets))));
  }
  SECTION("integers that wrap when they are scaled") {
    Node& factor = b.constant(Tensor::of<std::uint8_t>({1}, {100}));
    Node& codes = b.codes(ElementType::u8, {5, 12});
    check_left(b, b.product(b.converted(b.add(op::v1::Multiply(), {codes, factor}))));
  }
  SECTION("quantised activations") {
    op::v0::FakeQuantize op;
    op.levels = 256;
    Node& low = b.constant(number(-1));
    Node& high = b.constant(number(1));
    Node& codes = b.decompressed(ElementType::i8, {5, 12});
    Node& levels = b.add(op, {*b.x, low, high, low, high});
    check_left(b, b.add(op::v0::MatMul(false, true), {levels, b.scaled(codes, {5, 1})}));
  }
}

TEST_CASE("Conversions are followed as far as exporters write them", "[passes]") {
  CompressedBuilder b(kRows);
  Node* weights = &b.codes(ElementType::i8, {5, 12});
  const auto convert = [&](int times) {
    for (int i = 0; i < times; ++i) weights = &b.converted(*weights);
  };
  SECTION("some") {
    convert(4);
    check_kept(b, b.product(*weights));
  }
  SECTION("many") {
    convert(40);
    check_left(b, b.product(*weights));
  }
}

TEST_CASE("Integers stay as they are for one row of quantised activations", "[passes]") {
  for (const std::int64_t rows : {1, 2}) {
    CompressedBuilder b({rows, 12});
    op::v0::FakeQuantize op;
    op.levels = 256;
    Node& low = b.constant(number(-1));
    Node& high = b.constant(number(1));
    Node& levels = b.add(op, {*b.x, low, high, low, high});
    Node& weights = b.scaled(b.decompressed(ElementType::i8, {5, 12}), {5, 1});
    Model model = b.result(b.add(op::v0::MatMul(false, true), {levels, weights}));
    CHECK(keep_compressed_weights(model) == (rows == 1));
  }
}

TEST_CASE("Products of compressed weights take bias, residual and activation", "[passes]") {
  CompressedBuilder b(kRows);
  Node& product = b.product(b.scaled(b.decompressed(ElementType::i8, {12, 12}), {12, 1}));
  Node& biased = b.add(op::v1::Add(), {product, b.constant({12})});
  Node& sum = b.add(op::v1::Add(), {biased, *b.x});
  Model model = b.result(b.add(op::v0::ReLU(), {sum}));
  const std::vector<Tensor> inputs{random_tensor(kRows, 77)};
  const Tensor expected = run_model(model, inputs).at(0);
  CHECK(keep_compressed_weights(model));
  optimize(model);
  CHECK(types_of(model) == Types{"FusedCompressedMatMul"});
  CHECK(kernel_of(model) == "matmul/compressed+bias+residual+activation");
  const auto data = expected.data<float>();
  check_close(run_model(model, inputs).at(0), kRows, {data.begin(), data.end()}, 2e-5);
}

TEST_CASE("A scale behind a product of compressed weights stays behind it", "[passes]") {
  CompressedBuilder b(kRows);
  Node& product = b.product(b.scaled(b.decompressed(ElementType::i8, {5, 12}), {5, 1}));
  Model model = b.result(b.add(op::v1::Multiply(), {product, b.constant({5})}));
  CHECK(keep_compressed_weights(model));
  model.remove_unreachable();
  check_untouched(passes::fuse_batch_norm_and_scale, model);
}

TEST_CASE("Operations on compressed weights say what is wrong", "[passes]") {
  const op::CompressedMatMul op{{kernels::WeightCode::u4, 12, 4}};
  const auto real = [](PartialShape shape) { return value(ElementType::f32, std::move(shape)); };
  const auto bytes = [](PartialShape shape) { return value(ElementType::u8, std::move(shape)); };
  CHECK(infer_shape(op, {real({2, 3, 12}), bytes({5, 6}), real({5, 3}), real({1})}) ==
        PartialShape({2, 3, 5}));
  CHECK(failure_of(op, {real({2, 12}), bytes({5, 7}), real({5, 3})}) ==
        "IR-shape: input 1 has shape [5,7], its rows have 6 elements");
  CHECK(failure_of(op, {real({2, 12}), bytes({5, 6}), real({5, 4})}) ==
        "IR-shape: input 2 has shape [5,4], its rows have 3 elements");
  CHECK(failure_of(op, {real({2, 11}), bytes({5, 6}), real({5, 3})}) ==
        "IR-shape: input 0 has shape [2,11], its rows have 12 elements");
  CHECK(failure_of(op, {real({2, 12}), real({5, 6}), real({5, 3})}) ==
        "IR-element-type: input 1 is of type f32, CompressedMatMul takes u8");
}

}  // namespace ir::test
