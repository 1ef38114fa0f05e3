// What a model may take of memory and time, known before it is taken.
#include <array>
#include <limits>

#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/einsum.h"
#include "ir_runtime/ops/histogram.h"
#include "ir_runtime/ops/indexing.h"
#include "ir_runtime/ops/interpolate.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/random.h"
#include "ir_runtime/ops/state.h"
#include "ir_runtime/ops/type_conversion.h"
#include "ir_runtime/ops/unique.h"
#include "runtime/execution/memory_need.h"
#include "runtime/ops/fused.h"
#include "runtime/types/budget.h"
#include "tests/execution/allocation_counter.h"
#include "tests/execution/bodies.h"
#include "tests/execution/support.h"

namespace ir::test {
namespace {

CompileOptions with_activations(std::int64_t bytes) {
  CompileOptions options;
  options.max_activation_bytes = bytes;
  return options;
}

CompileOptions with_memory(std::int64_t bytes) {
  CompileOptions options;
  options.max_memory_bytes = bytes;
  return options;
}

TEST_CASE("A model is refused before its constants, packed weights and activations are in memory") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {4, 8}, "x");
  op::v0::MatMul product;
  Node& weights = model.add_constant(noise({8, 16}, 1), "weights");
  Node& y = model.add(product, {x, weights}, "y");
  model.add_result(model.add(op::v1::Add(), {y, model.add_constant(noise({16}, 2), "offset")}, "z"));
  const MemoryNeed need = memory_need_of(model);
  CHECK(need.constants == 16 * 4);
  CHECK(need.packed == 8 * 16 * 4);
  CHECK(error_of([&] { (void)compile_model(model, with_memory(500)); }) ==
        "IR-limit: the model takes 576 bytes of memory: constants 64, packed weights about 512, activations "
        "not "
        "counted yet; the limit max_memory_bytes is 500");
  const std::string message = error_of([&] { (void)compile_model(model, with_memory(600)); });
  CHECK(message.starts_with("IR-limit: the model takes "));
  // The offset has become a part of the product.
  CHECK(message.find(": constants 0, packed weights about 576, activations ") != std::string::npos);
  CHECK(message.ends_with("; the limit max_memory_bytes is 600"));
  CHECK(results_of(model, {noise({4, 8}, 3)}, with_memory(1 << 20)).size() == 1);
}

TEST_CASE("Weights of a product count as packed with what follows it, too; codes do not") {
  const auto packed_by = [](const Op& op) {
    Model model;
    Node& x = model.add_parameter(ElementType::f32, {4, 8}, "x");
    model.add_result(model.add(op, {x, model.add_constant(noise({8, 16}, 1), "weights")}, "y"));
    return memory_need_of(model).packed;
  };
  CHECK(packed_by(op::v0::MatMul()) == 8 * 16 * 4);
  CHECK(packed_by(op::FusedMatMul()) == 8 * 16 * 4);
  CHECK_FALSE(op::FusedCompressedMatMul::info.packs_weights);
}

TEST_CASE("Constants of an Einsum count as packed") {
  Model model;
  op::v7::Einsum product;
  product.equation = "ij,jk->ki";
  Node& x = model.add_parameter(ElementType::f32, {4, 8}, "x");
  model.add_result(model.add(product, {x, model.add_constant(noise({8, 16}, 1), "weights")}, "y"));
  CHECK(memory_need_of(model).packed == 8 * 16 * 4);
}

TEST_CASE("Memory is counted for every shape of a dynamic model") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {Dimension(), 8}, "x");
  model.add_result(model.add(op::v0::ReLU(), {x}, "y"));
  const CompiledModel compiled = compile_model(model, with_memory(1000));
  InferRequest request = compiled.create_infer_request();
  CHECK(infer(request, compiled, {noise({4, 8}, 1)}).size() == 1);
  CHECK(error_of([&] {
          (void)infer(request, compiled, {noise({20, 8}, 1)});
        }) ==
        "IR-limit: the model takes 1280 bytes of memory: constants 0, packed weights about 0, activations "
        "1280; the "
        "limit max_memory_bytes is 1000");
  CHECK(error_of([&] {
          (void)infer(request, compiled, {noise({40, 8}, 1)});
        }) ==
        "x: IR-limit: the output is f32 of shape [40,8], which takes 1280 bytes; the limit max_memory_bytes "
        "is 1000");
  CHECK(infer(request, compiled, {noise({4, 8}, 1)}).size() == 1);
}

TEST_CASE("Halves count as what they become, equal constants once, packed ones not twice") {
  Model model;
  const Tensor half = noise({100}, 1).converted(ElementType::f16);
  const Tensor full = noise({100}, 2);
  model.add_result(model.add_constant(half));
  model.add_result(model.add_constant(half));
  model.add_result(model.add_constant(full));
  model.add_result(model.add_constant(full));
  CHECK(memory_need_of(model).constants == 2 * 400 + 400);
  CHECK(usable_memory() > (1 << 20));
}

TEST_CASE("Inputs and outputs that no step computes count, too") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1'000'000, 1'000'000}, "x");
  model.add_result(x, "y");
  CompileOptions options;
  options.max_activation_bytes = 1000;
  options.max_memory_bytes = 2000;
  CHECK(
      error_of([&] { (void)compile_model(model, options); }) ==
      "x: IR-limit: the output is f32 of shape [1000000,1000000], which takes 4000000000000 bytes; the limit "
      "max_activation_bytes is 1000");
}

TEST_CASE("What kernels need beside inputs and outputs is held to the limit, too") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1, 64, 24, 24}, "x");
  op::v1::Convolution convolution;
  convolution.strides = convolution.dilations = convolution.pads_begin = convolution.pads_end = {1, 1};
  model.add_result(model.add(convolution, {x, model.add_constant(noise({64, 64, 3, 3}, 1))}, "y"));
  constexpr std::int64_t kImage = 64 * 24 * 24 * 4;
  const std::string message = error_of([&] { (void)compile_model(model, with_activations(kImage + 1024)); });
  CHECK(message.starts_with("IR-limit: the activations take "));
  CHECK(message.ends_with(fmt::format(" bytes, the limit max_activation_bytes is {}", kImage + 1024)));
  CHECK(results_of(model, {noise({1, 64, 24, 24}, 3)}, with_activations(1 << 24)).size() == 1);
}

TEST_CASE("What kernels need may be more than a signed number counts") {
  Model model;
  Node& x = model.add_parameter(ElementType::u8, {1, 1 << 20, 1, 1}, "x");
  op::v3::ExtractImagePatches patches;
  patches.sizes = {2, 2};
  patches.strides = {1, 1};
  // A padded image of 2^63 - 2^20 bytes, and an output of 2^22.
  patches.rates = {431 * 9719 - 1, 2099863 - 1};
  patches.auto_pad = op::AutoPad::same_upper;
  model.add_result(model.add(patches, {x}, "patches"));
  CompileOptions options = with_activations(std::numeric_limits<std::int64_t>::max() - 1);
  options.max_memory_bytes = std::numeric_limits<std::int64_t>::max();
  CHECK(error_of([&] { (void)compile_model(model, options); }) ==
        "IR-limit: the activations take 9223372036854775807 bytes, the limit max_activation_bytes is "
        "9223372036854775806");
}

TEST_CASE("An input is held to the limit before kernels are prepared for it") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {std::numeric_limits<std::int64_t>::max()}, "x");
  Node& pads = model.add_constant(std::vector<std::int64_t>{5});
  model.add_result(model.add(op::v1::Pad(), {x, pads, pads}, "pad"));
  CHECK(
      error_of([&] { (void)compile_model(model, with_activations(1000)); }) ==
      "x: IR-limit: the output is f32 of shape [9223372036854775807], which takes more than 2^63 bytes; the "
      "limit max_activation_bytes is 1000");
}

// The first error of a model with one operation on u8 of shape [1,1,N], if its kernel may have some tables.
std::string tables_of(const Op& op, std::int64_t in, const std::vector<Tensor>& constants,
                      std::int64_t limit) {
  Model model;
  std::vector<Output> inputs{model.add_parameter(ElementType::u8, {1, 1, in}, "x")};
  for (const Tensor& constant : constants) inputs.emplace_back(model.add_constant(constant));
  model.add_result(model.add(op, inputs, "op"), "y");
  CompileOptions options = with_activations(limit);
  options.max_memory_bytes = std::numeric_limits<std::int64_t>::max();
  return error_of([&] { (void)compile_model(model, options); });
}

TEST_CASE("Tables of a kernel are held to the limit before they are made") {
  // More than the machine has, if they were.
  constexpr std::int64_t kPositions = std::int64_t{1} << 40;
  constexpr std::int64_t kLimit = std::int64_t{1} << 44;
  const std::string limit = " bytes; the limit max_activation_bytes is 17592186044416";
  const auto refused = [&](std::int64_t bytes_each) {
    return fmt::format("op: IR-limit: the tables of the kernel take {}{}", kPositions * bytes_each, limit);
  };
  const Tensor positions = i64({1}, {kPositions});
  CHECK(tables_of(op::v8::AdaptiveAvgPool(), 5, {positions}, kLimit) == refused(24));
  op::v1::MaxPool pool;
  pool.strides = {1};
  pool.kernel = {2};
  pool.pads_begin = pool.pads_end = {0};
  CHECK(tables_of(pool, kPositions + 1, {}, kLimit) == refused(24));
  op::v11::Interpolate interpolate;
  interpolate.mode = op::InterpolateMode::nearest;
  interpolate.shape_calculation_mode = op::ShapeCalculation::sizes;
  CHECK(tables_of(interpolate, 5, {positions, i64({1}, {2})}, kLimit) == refused(28));
  CHECK(tables_of(op::v10::Unique(), kPositions, {}, kLimit) == refused(40));
}

TEST_CASE("Tables of all kernels of a plan are added up") {
  Model model;
  Node* value = &model.add_parameter(ElementType::f32, {1, 1, 1000}, "x");
  for (const std::int64_t size : {999, 998, 997}) {
    Node& sizes = model.add_constant(std::vector<std::int64_t>{size});
    value = &model.add(op::v8::AdaptiveAvgPool(), {*value, sizes}, fmt::format("to_{}", size));
  }
  model.add_result(*value, "y");
  CHECK(error_of([&] { (void)compile_model(model, with_activations(60'000)); }) ==
        "to_997: IR-limit: the tables of the kernels up to this one take 71856 bytes; the limit "
        "max_activation_bytes is 60000");
  const std::string all = error_of([&] { (void)compile_model(model, with_activations(75'000)); });
  CHECK_THAT(all, contains_text("IR-limit: the activations take "));
  CHECK(results_of(model, {noise({1, 1, 1000}, 1)}, with_activations(100'000)).size() == 1);
}

TEST_CASE("What lies between the passes of a resized image counts before it is made") {
  Model model;
  Node& x = model.add_parameter(ElementType::u8, {1 << 20, 1}, "x");
  op::v11::Interpolate interpolate;
  interpolate.mode = op::InterpolateMode::bilinear_pillow;
  interpolate.shape_calculation_mode = op::ShapeCalculation::sizes;
  Node& sizes = model.add_constant(std::vector<std::int64_t>{1, 1 << 20});
  model.add_result(model.add(interpolate, {x, sizes}, "resized"), "y");
  // A square of 2^40, and some 2^26 of tables.
  CHECK_THAT(error_of([&] { (void)compile_model(model, with_activations(std::int64_t{1} << 30)); }),
             contains_text("IR-limit: the activations take 10995"));
}

// A model whose one operation makes as much of its input as another input says.
struct Bomb {
  std::string name;
  Tensor size;
  std::string shape;
  std::string bytes;
};

std::string explode(const Model& model, const std::vector<Tensor>& inputs) {
  return error_of([&] { (void)results_of(model, inputs, with_activations(100'000)); });
}

TEST_CASE("What data asks for is refused before it is allocated") {
  Model model;
  const auto i64_input = [&](const Shape& shape) -> Node& {
    return model.add_parameter(ElementType::i64, shape, "n");
  };
  const std::string limit = " bytes; the limit max_activation_bytes is 100000";
  SECTION("Range") {
    Node& stop = i64_input({});
    op::v4::Range range;
    range.output_type = ElementType::i64;
    model.add_result(model.add(
        range, {model.add_constant(std::int64_t{0}), stop, model.add_constant(std::int64_t{1})}, "bomb"));
    CHECK(explode(model, {i64({}, {std::int64_t{1} << 50})}) ==
          "bomb: IR-limit: the output is i64 of shape [1125899906842624], which takes 9007199254740992" +
              limit);
    CHECK(explode(model, {i64({}, {1000})}) == "no error");
  }
  SECTION("Tile") {
    Node& repeats = i64_input({2});
    model.add_result(model.add(op::v0::Tile(), {model.add_constant(noise({2, 2}, 1)), repeats}, "bomb"));
    CHECK(explode(model, {i64({2}, {1'000'000, 1'000'000})}) ==
          "bomb: IR-limit: the output is f32 of shape [2000000,2000000], which takes 16000000000000" + limit);
    CHECK(explode(model, {i64({2}, {std::int64_t{1} << 40, std::int64_t{1} << 40})}) ==
          "bomb: IR-shape: output 0 of shape [2199023255552,2199023255552] has more elements than can be "
          "counted");
  }
  SECTION("Broadcast") {
    Node& target = i64_input({3});
    model.add_result(model.add(op::v3::Broadcast(), {model.add_constant(noise({1}, 1)), target}, "bomb"));
    CHECK(explode(model, {i64({3}, {10'000, 10'000, 10'000})}) ==
          "bomb: IR-limit: the output is f32 of shape [10000,10000,10000], which takes 4000000000000" +
              limit);
  }
  SECTION("Pad") {
    Node& end = i64_input({1});
    op::v1::Pad pad;
    model.add_result(
        model.add(pad, {model.add_constant(noise({4}, 1)), model.add_constant(i64({1}, {0})), end}, "bomb"));
    CHECK(explode(model, {i64({1}, {1'000'000'000'000})}) ==
          "bomb: IR-limit: the output is f32 of shape [1000000000004], which takes 4000000000016" + limit);
  }
  SECTION("OneHot") {
    Node& depth = i64_input({});
    op::v1::OneHot hot;
    hot.axis = -1;
    model.add_result(model.add(hot,
                               {model.add_constant({1, 2}), depth, model.add_constant(std::int64_t{1}),
                                model.add_constant(std::int64_t{0})},
                               "bomb"));
    CHECK(explode(model, {i64({}, {1'000'000'000'000})}) ==
          "bomb: IR-limit: the output is i64 of shape [2,1000000000000], which takes 16000000000000" + limit);
  }
  SECTION("Eye") {
    Node& rows = i64_input({});
    op::v9::Eye eye;
    eye.output_type = ElementType::f32;
    model.add_result(model.add(eye, {rows, rows, model.add_constant(std::int64_t{0})}, "bomb"));
    CHECK(explode(model, {i64({}, {1'000'000})}) ==
          "bomb: IR-limit: the output is f32 of shape [1000000,1000000], which takes 4000000000000" + limit);
  }
  SECTION("Interpolate") {
    Node& sizes = i64_input({2});
    op::v11::Interpolate resize;
    resize.shape_calculation_mode = op::ShapeCalculation::sizes;
    Node& image = model.add_constant(noise({1, 1, 4, 4}, 1));
    model.add_result(model.add(resize, {image, sizes, model.add_constant({2, 3})}, "bomb"));
    CHECK(explode(model, {i64({2}, {1'000'000, 1'000'000})}) ==
          "bomb: IR-limit: the output is f32 of shape [1,1,1000000,1000000], which takes 4000000000000" +
              limit);
  }
  SECTION("RandomUniform") {
    Node& shape = i64_input({1});
    op::v8::RandomUniform random;
    random.output_type = ElementType::f32;
    Node& low = model.add_constant(f32({}, {0}));
    Node& high = model.add_constant(f32({}, {1}));
    model.add_result(model.add(random, {shape, low, high}, "bomb"));
    CHECK(explode(model, {i64({1}, {1'000'000'000'000})}) ==
          "bomb: IR-limit: a tensor of type f32 and shape [1000000000000] takes 4000000000000" + limit);
  }
  SECTION("Bincount, whose counters depend on the largest value") {
    Node& values = i64_input({2});
    model.add_result(model.add(op::v17::Bincount(), {values}, "bomb"));
    CHECK(explode(model, {i64({2}, {3, 999'999'999'999})}) ==
          "bomb: IR-limit: a tensor of type i64 and shape [1000000000000] takes 8000000000000" + limit);
    CHECK(explode(model, {i64({2}, {3, 999})}) == "no error");
  }
  SECTION("NonZero, whose output depends on more than shapes") {
    Node& x = model.add_parameter(ElementType::f32, {100, 100}, "x");
    op::v3::NonZero places;
    model.add_result(model.add(places, {x}, "bomb"));
    CHECK(explode(model, {noise({100, 100}, 1)})
              .starts_with("bomb: IR-limit: a tensor of type i64 and shape [2,"));
    Tensor zeros(ElementType::f32, {100, 100});
    std::ranges::fill(zeros.data<float>(), 0.0F);
    CHECK(explode(model, {zeros}) == "no error");
  }
}

TEST_CASE("Values that depend on data are held to the limit together, too") {
  Model model;
  Node& target = model.add_parameter(ElementType::i64, {1}, "n");
  Node& one = model.add_constant(f32({}, {1}));
  for (int i = 0; i < 4; ++i) {
    Node& part = model.add(op::v3::Broadcast(), {one, target}, "part" + std::to_string(i));
    model.add_result(part);
  }
  CHECK(explode(model, {i64({1}, {5'000})}) == "no error");
  CHECK(explode(model, {i64({1}, {7'000})}) ==
        "part3: IR-limit: a tensor of type f32 and shape [7000] takes 28000 bytes beside 84000 of other "
        "tensors; "
        "the limit max_activation_bytes is 100000");
}

TEST_CASE("Values of variables are held to the limit together") {
  Model model;
  for (const char* id : {"a", "b"}) {
    Node& read = model.add(op::v6::ReadValue{id, ElementType::f32, {Dimension()}}, {}, id);
    model.add_result(read);
    model.add(op::v6::Assign{id}, {read}, std::string("set_") + id);
  }
  const CompiledModel compiled = compile_model(model, with_activations(100'000));
  InferRequest request = compiled.create_infer_request();
  for (VariableState& state : request.query_state()) state.set_state(Tensor(ElementType::f32, {15'000}));
  CHECK(error_of([&] { request.infer(); }) ==
        "b: IR-limit: the values whose shapes depend on data take 120000 bytes up to this layer; the limit "
        "max_activation_bytes is 100000");
}

TEST_CASE("Folding stops where its constants would take too much; the results are the same") {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1000}, "x");
  Node& sum = model.add(
      op::v1::Add(), {model.add_constant(noise({1000}, 1)), model.add_constant(noise({1000}, 2))}, "known");
  model.add_result(model.add(op::v1::Multiply(), {x, model.add(op::v0::Negative(), {sum}, "negative")}, "y"));
  CompileOptions options;
  const std::vector<Tensor> expected = results_of(model, {noise({1000}, 3)}, options);
  for (const std::int64_t limit : {0, 3999, 4000, 8000}) {
    options.max_folded_bytes = limit;
    CHECK(same_bits(results_of(model, {noise({1000}, 3)}, options), expected));
  }
}

// x goes round `trips` times and is collected.
op::v5::Loop collecting_loop(const PartialShape& shape) {
  Body body = new_body();
  Node& x = body->add_parameter(ElementType::f32, shape, "inner");
  body->add_result(add_condition(*body, true));
  body->add_result(body->add(op::v0::Negative(), {x}));
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, along(0)}}};
  return loop;
}

TEST_CASE("A loop without end is ended, and what it collects is held to the limit") {
  Model model;
  Node& trips = model.add_parameter(ElementType::i64, PartialShape(Shape{}), "trips");
  Node& go = model.add_constant(truth(true));
  Node& x = model.add_constant(f32({1}, {1}));
  model.add_result(model.add(collecting_loop({1}), {trips, go, x}, "loop"));
  CompileOptions options;
  options.max_loop_iterations = 10;
  const auto run = [&](std::int64_t count) {
    return error_of([&] { (void)results_of(model, {i64({}, {count})}, options); });
  };
  CHECK(run(10) == "no error");
  CHECK(run(11) ==
        "loop: IR-limit: the loops of the model go on for more than 10 iterations, the limit "
        "max_loop_iterations");
  CHECK(run(kForever) ==
        "loop: IR-limit: the loops of the model go on for more than 10 iterations, the limit "
        "max_loop_iterations");
  options.max_loop_iterations = 1'000'000;
  options.max_activation_bytes = 10'000;
  CHECK(run(kForever) ==
        "loop: IR-limit: what the loop keeps of its iterations takes 10140 bytes; the limit "
        "max_activation_bytes is "
        "10000");
}

// Goes round so many times, and gives an f32 vector that has twice as many elements each time, 64 at first.
Model doubling_loop(std::int64_t rounds) {
  Body body = doubling_body({Dimension()});
  body->add_result(add_condition(*body, true));
  op::v5::Loop loop;
  loop.body = {body, {going_round(2, 0, 0)}, {{kCondition, 1, {}}, {0, 0, {}}}};
  Model model;
  Node& trips = model.add_constant(rounds);
  Node& go = model.add_constant(truth(true));
  model.add_result(model.add(loop, {trips, go, model.add_parameter(ElementType::f32, {64}, "x")}, "loop"));
  return model;
}

TEST_CASE("Where memory is limited, a loop keeps that of its last iteration only") {
  const Model model = doubling_loop(16);
  // The last value takes 16 MiB, all before it as much.
  const auto kept = [&](const CompileOptions& options) {
    const CompiledModel compiled = compile_model(model, options);
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(0, Tensor(ElementType::f32, {64}));
    const std::size_t before = live_bytes();
    request.infer();
    return static_cast<double>(live_bytes() - before) / (1 << 20);
  };
  constexpr std::int64_t kGibibyte = 1 << 30;
  REQUIRE(is_memory_limited(with_memory(kGibibyte)));
  CHECK(kept(with_memory(kGibibyte)) < 36);
}

TEST_CASE("A loop whose values grow is held to the limit with all that it holds at a time") {
  const Model model = doubling_loop(30);
  constexpr std::int64_t kLimit = 16 << 20;
  const CompiledModel compiled = compile_model(model, with_memory(kLimit));
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(0, Tensor(ElementType::f32, {64}));
  const LivePeak peak;
  const std::string error = error_of([&] { request.infer(); });
  CHECK_THAT(error, contains_text("IR-limit: a tensor of type f32 and shape ["));
  CHECK_THAT(error, contains_text(" of other tensors; the limit max_memory_bytes is 16777216"));
  CHECK(peak.bytes() < kLimit * 17 / 16);
}

TEST_CASE("Iterations of loops in loops count together") {
  Body outer = new_body();
  Node& inner_x = outer->add_parameter(ElementType::f32, {1}, "outer_x");
  Node& inner = outer->add(collecting_loop({1}),
                           {outer->add_constant(std::int64_t{5}), add_condition(*outer, true), inner_x});
  outer->add_result(add_condition(*outer, true));
  outer->add_result(outer->add(op::v0::ReLU(), {inner_x}));
  outer->add_result(inner);
  op::v5::Loop loop;
  loop.body = {outer, {going_round(2, 0, 1)}, {{kCondition, 0, {}}, {0, 1, {}}, {1, 2, {}}}};
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1}, "x");
  Node& node =
      model.add(loop, {model.add_constant(std::int64_t{4}), model.add_constant(truth(true)), x}, "outer");
  model.add_result(Output(&node, 1));
  CompileOptions options;
  options.max_loop_iterations = 24;
  CHECK(error_of([&] { (void)results_of(model, {f32({1}, {1})}, options); }) == "no error");
  options.max_loop_iterations = 23;
  CHECK(error_of([&] {
          (void)results_of(model, {f32({1}, {1})}, options);
        }).find("more than 23 iterations") != std::string::npos);
}

TEST_CASE("A budget holds on its thread as long as it lives") {
  const auto made = [] { return error_of([] { (void)Tensor(ElementType::f32, {10}); }); };
  CHECK(made() == "no error");
  {
    const Budget outer({.tensor = {39, "max_outer_bytes"}});
    CHECK(made() ==
          "IR-limit: a tensor of type f32 and shape [10] takes 40 bytes; the limit max_outer_bytes is 39");
    {
      const Budget inner({.tensor = {40, "max_inner_bytes"}});
      CHECK(made() == "no error");
    }
    CHECK(made() != "no error");
  }
  CHECK(made() == "no error");
}

}  // namespace
}  // namespace ir::test
