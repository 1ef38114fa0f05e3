#include "kernels/elementwise/elementwise_chain.h"

#include <algorithm>
#include <cmath>

#include "kernels/threads/parallel.h"
#include "tests/kernels/base/broadcast_reference.h"
#include "tests/kernels/support.h"

namespace {

using ir::kernels::BinaryOp;
using ir::kernels::BroadcastPlan;
using ir::kernels::Dims;
using ir::kernels::ElementwiseChain;
using ir::kernels::ElementwiseStage;
using ir::kernels::Quantization;
using ir::kernels::UnaryOp;
using ir::kernels::UnaryParams;
using ir::kernels::UnarySpec;
using ir::test::GuardedBuffer;
using ir::test::Shape;
using Stages = std::vector<ElementwiseStage>;

ElementwiseStage unary(UnaryOp op, std::size_t operand, UnaryParams params = {}) {
  return {UnarySpec{op, params}, {operand, 0}};
}
ElementwiseStage binary(BinaryOp op, std::size_t a, std::size_t b) { return {op, {a, b}}; }

/// Functions of three inputs, the last one of which is a number.
struct Chain {
  const char* name;
  Stages stages;
  double (*exact)(double x, double y, double number);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<Chain>& chains() {
  static const std::vector<Chain> kChains = {
      {"scale, shift, cut off",
       {binary(BinaryOp::multiply, 0, 1), binary(BinaryOp::add, 3, 2), unary(UnaryOp::relu, 4)},
       [](double x, double y, double number) { return std::max(x * y + number, 0.0); }},
      {"scale and shift",
       {binary(BinaryOp::multiply, 2, 0), binary(BinaryOp::add, 1, 3)},
       [](double x, double y, double number) { return number * x + y; }},
      {"a factor that is a summand, too, cut off",
       {binary(BinaryOp::multiply, 1, 0), binary(BinaryOp::add, 3, 1), unary(UnaryOp::relu, 4)},
       [](double x, double y, double) { return std::max(x * y + y, 0.0); }},
      {"scaled, shifted and cut off on the way",
       {unary(UnaryOp::square, 0), binary(BinaryOp::multiply, 3, 1), binary(BinaryOp::add, 2, 4),
        unary(UnaryOp::relu, 5), binary(BinaryOp::subtract, 0, 6)},
       [](double x, double y, double number) { return x - std::max(x * x * y + number, 0.0); }},
      {"a shifted value that two stages read",
       {binary(BinaryOp::multiply, 0, 1), binary(BinaryOp::add, 3, 0), unary(UnaryOp::relu, 4),
        binary(BinaryOp::add, 4, 5)},
       [](double x, double y, double) { return x * y + x + std::max(x * y + x, 0.0); }},
      {"a result of the second input alone",
       {unary(UnaryOp::abs, 0), unary(UnaryOp::exp, 1), binary(BinaryOp::add, 4, 2)},
       [](double, double y, double number) { return std::exp(y) + number; }},
      {"a result of the second input alone, scaled and shifted",
       {unary(UnaryOp::exp, 1), binary(BinaryOp::multiply, 3, 0), binary(BinaryOp::add, 4, 1),
        unary(UnaryOp::relu, 5), binary(BinaryOp::multiply, 3, 6)},
       [](double x, double y, double) { return std::exp(y) * std::max(std::exp(y) * x + y, 0.0); }},
      {"a scaled value that two stages read",
       {binary(BinaryOp::multiply, 0, 2), binary(BinaryOp::add, 3, 1), binary(BinaryOp::multiply, 3, 4)},
       [](double x, double y, double number) { return x * number * (x * number + y); }},
      {"gate",
       {unary(UnaryOp::sigmoid, 1), binary(BinaryOp::multiply, 0, 3), binary(BinaryOp::subtract, 2, 4)},
       [](double x, double y, double number) { return number - x * sigmoid(y); }},
      {"a result that two stages read",
       {binary(BinaryOp::add, 0, 1), unary(UnaryOp::clamp, 3, {-1, 2}), binary(BinaryOp::multiply, 3, 4),
        binary(BinaryOp::divide, 5, 2)},
       [](double x, double y, double number) { return (x + y) * std::clamp(x + y, -1.0, 2.0) / number; }},
      {"results that wait",
       {unary(UnaryOp::abs, 0), unary(UnaryOp::tanh, 0), unary(UnaryOp::square, 0), unary(UnaryOp::exp, 1),
        unary(UnaryOp::negative, 1), binary(BinaryOp::maximum, 3, 4), binary(BinaryOp::add, 5, 6),
        binary(BinaryOp::subtract, 8, 9), binary(BinaryOp::squared_difference, 10, 7),
        binary(BinaryOp::minimum, 11, 2)},
       [](double x, double y, double number) {
         const double d = std::max(std::abs(x), std::tanh(x)) - (x * x + std::exp(y)) + y;
         return std::min(d * d, number);
       }},
      {"quantised on the way",
       {binary(BinaryOp::add, 0, 1), {Quantization{-2, 3, -2, 3, 51}, {3, 0}}, binary(BinaryOp::add, 4, 2)},
       [](double x, double y, double number) {
         return std::nearbyint((std::clamp(x + y, -2.0, 3.0) + 2) * 10) / 10 - 2 + number;
       }},
      {"functions without vector code",
       {unary(UnaryOp::cos, 0), unary(UnaryOp::exp, 1), binary(BinaryOp::power, 4, 3),
        binary(BinaryOp::prelu, 5, 2)},
       [](double x, double y, double) { return std::pow(std::exp(y), std::cos(x)); }},
      {"numbers alone at the start",
       {unary(UnaryOp::exp, 2), binary(BinaryOp::add, 3, 2), binary(BinaryOp::multiply, 0, 4),
        binary(BinaryOp::add, 5, 1)},
       [](double x, double y, double number) { return x * (std::exp(number) + number) + y; }},
  };
  return kChains;
}

constexpr float kNumber = 1.375F;

struct Inputs {
  explicit Inputs(const ir::test::BroadcastShapes& shapes)
      : a(ir::test::count_of(shapes.a), 1), b(ir::test::count_of(shapes.b), 3) {
    ir::test::fill_random(a, -3, 3, 1);
    ir::test::fill_random(b, -3, 3, 2);
  }
  GuardedBuffer<float> a;
  GuardedBuffer<float> b;
};

ElementwiseChain make_chain(const Stages& stages, const ir::test::BroadcastShapes& shapes) {
  const Shape one{1};
  const std::vector<Dims> inputs{shapes.a, shapes.b, one};
  return {stages, shapes.output, inputs};
}

/// The functions one after the other, on tensors that have been spread over the output.
std::vector<float> one_by_one(const Stages& stages, const ir::test::BroadcastShapes& shapes,
                              const Inputs& inputs) {
  const std::size_t count = ir::test::count_of(shapes.output);
  std::vector<std::vector<float>> values(3, std::vector<float>(count, kNumber));
  for (std::size_t i = 0; i < count; ++i) {
    values[0][i] = inputs.a[ir::test::operand_index(shapes.output, shapes.a, i)];
    values[1][i] = inputs.b[ir::test::operand_index(shapes.output, shapes.b, i)];
  }
  const Shape flat{count};
  const BroadcastPlan plan(flat, {flat, flat});
  for (const ElementwiseStage& stage : stages) {
    std::vector<float> result(count);
    const float* x = values[stage.operands[0]].data();
    if (const auto* spec = std::get_if<UnarySpec>(&stage.function)) {
      ir::kernels::unary(spec->op, spec->params, x, result.data(), count);
    } else if (const auto* quantization = std::get_if<Quantization>(&stage.function)) {
      ir::kernels::fake_quantize_span(*quantization, x, result.data(), count);
    } else {
      ir::kernels::binary(std::get<BinaryOp>(stage.function), plan, x, values[stage.operands[1]].data(),
                          result.data());
    }
    values.push_back(std::move(result));
  }
  return values.back();
}

bool same_bits(const GuardedBuffer<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (b.empty() || std::memcmp(a.data(), b.data(), b.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("a chain gives the bits of its functions, one after the other, under broadcasting") {
  IR_FOR_EACH_TARGET();
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    const Inputs inputs(shapes);
    for (const Chain& c : chains()) {
      INFO(c.name);
      const ElementwiseChain chain = make_chain(c.stages, shapes);
      GuardedBuffer<float> out(ir::test::count_of(shapes.output), 2);
      chain.run(std::vector<const void*>{inputs.a.data(), inputs.b.data(), &kNumber}, out.data());
      CHECK(same_bits(out, one_by_one(c.stages, shapes, inputs)));
      CHECK(out.guards_intact());
      bool all_close = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double x = inputs.a[ir::test::operand_index(shapes.output, shapes.a, i)];
        const double y = inputs.b[ir::test::operand_index(shapes.output, shapes.b, i)];
        all_close = all_close && ir::test::close(out[i], c.exact(x, y, kNumber), 1e-5, 2e-5);
      }
      CHECK(all_close);
    }
  }
}

TEST_CASE("a chain over runs of any length gives the bits of its functions") {
  IR_FOR_EACH_TARGET();
  for (std::size_t length = 1; length <= 300; ++length) {
    std::size_t number = length;
    for (const auto& shapes : ir::test::shapes_of_runs(length)) {
      // Another chain for each shape: every two of them meet at many lengths.
      const Chain& c = chains()[number++ % chains().size()];
      INFO(c.name << " over runs of " << length);
      const Inputs inputs(shapes);
      const ElementwiseChain chain = make_chain(c.stages, shapes);
      GuardedBuffer<float> out(ir::test::count_of(shapes.output), 2);
      chain.run(std::vector<const void*>{inputs.a.data(), inputs.b.data(), &kNumber}, out.data());
      CHECK(same_bits(out, one_by_one(c.stages, shapes, inputs)));
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("a chain may write its result over a full input") {
  IR_FOR_EACH_TARGET();
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    const Inputs inputs(shapes);
    for (const Chain& c : chains()) {
      INFO(c.name);
      const ElementwiseChain chain = make_chain(c.stages, shapes);
      const bool same_count = ir::test::count_of(shapes.a) == ir::test::count_of(shapes.output);
      CHECK(chain.is_full(0) == same_count);
      if (!same_count) continue;
      Inputs copy(shapes);
      chain.run(std::vector<const void*>{copy.a.data(), copy.b.data(), &kNumber}, copy.a.data());
      CHECK(same_bits(copy.a, one_by_one(c.stages, shapes, inputs)));
      CHECK(copy.a.guards_intact());
    }
  }
}

TEST_CASE("a chain over any number of elements, across the borders of blocks") {
  IR_FOR_EACH_TARGET();
  std::vector<std::size_t> sizes = ir::test::sizes_around_lanes(200);
  for (const std::size_t size : {1365, 2047, 2048, 2049, 4103, 40000}) sizes.push_back(size);
  for (const std::size_t size : sizes) {
    const ir::test::BroadcastShapes shapes{{size}, {size}, {size}};
    const Inputs inputs(shapes);
    for (const Chain& c : chains()) {
      INFO(c.name << " over " << size);
      GuardedBuffer<float> out(size, 1);
      make_chain(c.stages, shapes)
          .run(std::vector<const void*>{inputs.a.data(), inputs.b.data(), &kNumber}, out.data());
      CHECK(same_bits(out, one_by_one(c.stages, shapes, inputs)));
      CHECK(out.guards_intact());
    }
  }
}

TEST_CASE("a chain takes as many stages as it says, all of which wait for the last ones") {
  Stages stages;
  constexpr std::size_t kHalf = ElementwiseChain::kMaxStages / 2;
  for (std::size_t i = 0; i < kHalf; ++i)
    stages.push_back(unary(UnaryOp::affine, 0, {1, static_cast<double>(i)}));
  for (std::size_t i = 0; i < kHalf; ++i)
    stages.push_back(binary(BinaryOp::add, 1 + i, i == 0 ? 0 : kHalf + i));
  const Shape shape{5000};
  const std::vector<Dims> inputs{shape};
  std::vector<float> in(shape[0]);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 64);
  std::vector<float> out(in.size());
  ElementwiseChain(stages, shape, inputs).run(std::vector<const void*>{in.data()}, out.data());
  bool all_equal = true;
  for (std::size_t i = 0; i < in.size(); ++i)
    all_equal = all_equal && out[i] == in[i] * (kHalf + 1) + 0.5F * kHalf * (kHalf - 1);
  CHECK(all_equal);
}

TEST_CASE("a chain of numbers fills its output") {
  const Shape output{5};
  const Shape one{1, 1};
  const std::vector<Dims> inputs{one, one};
  const float a = 3;
  const float b = 4;
  std::vector<float> out(5);
  ElementwiseChain(Stages{binary(BinaryOp::multiply, 0, 1), unary(UnaryOp::negative, 2)}, output, inputs)
      .run(std::vector<const void*>{&a, &b}, out.data());
  CHECK(out == std::vector<float>(5, -12));
}

TEST_CASE("results of a chain do not depend on the number of threads") {
  for (const ir::test::BroadcastShapes& shapes :
       {ir::test::BroadcastShapes{{50, 40, 61}, {50, 40, 61}, {61}},
        ir::test::BroadcastShapes{{3, 70, 500}, {3, 70, 500}, {70, 1}},
        ir::test::BroadcastShapes{{3, 170, 49}, {3, 170, 49}, {170, 1}},
        ir::test::BroadcastShapes{{900, 3, 17}, {900, 3, 17}, {900, 1, 17}}}) {
    const Inputs inputs(shapes);
    for (const Chain& c : chains()) {
      INFO(c.name);
      const ElementwiseChain chain = make_chain(c.stages, shapes);
      const std::vector<float> expected = one_by_one(c.stages, shapes, inputs);
      for (const int threads : {1, 2, 3}) {
        GuardedBuffer<float> out(expected.size());
        ir::kernels::ThreadPool(threads).run([&] {
          chain.run(std::vector<const void*>{inputs.a.data(), inputs.b.data(), &kNumber}, out.data());
        });
        CHECK(same_bits(out, expected));
      }
    }
  }
}

TEST_CASE("inputs and outputs of a chain may be levels of a quantisation") {
  IR_FOR_EACH_TARGET();
  const Quantization of_a{-3, 3, -3, 3, 256};
  const Quantization of_out{-1, 2, -1, 2, 200};
  for (const auto& shapes : ir::test::broadcast_shapes()) {
    const Inputs inputs(shapes);
    GuardedBuffer<std::uint8_t> a(inputs.a.size(), 1);
    GuardedBuffer<float> values(inputs.a.size(), 1);
    ir::kernels::levels_of_span(of_a, inputs.a.data(), a.data(), a.size());
    ir::kernels::values_of_span(of_a, a.data(), values.data(), a.size());
    const Shape one{1};
    const std::vector<Dims> dims{shapes.a, shapes.b, one};
    const std::size_t count = ir::test::count_of(shapes.output);
    // What reads and writes levels is what reads and writes floats, between both halves of quantisations.
    const Stages sum{binary(BinaryOp::multiply, 0, 1), binary(BinaryOp::add, 3, 2)};
    const std::vector<const void*> floats{values.data(), inputs.b.data(), &kNumber};
    const std::vector<const void*> levels{a.data(), inputs.b.data(), &kNumber};
    GuardedBuffer<float> expected(count, 2);
    ElementwiseChain(sum, shapes.output, dims).run(floats, expected.data());
    {
      GuardedBuffer<float> out(count, 2);
      const ElementwiseChain chain(sum, shapes.output, dims, {{of_a, {}, {}}, false});
      chain.run(levels, out.data());
      CHECK(same_bits(out, {expected.begin(), expected.end()}));
      CHECK(out.guards_intact());
      CHECK_FALSE(chain.is_full(0));
    }
    Stages quantised = sum;
    quantised.push_back({of_out, {4, 0}});
    GuardedBuffer<std::uint8_t> wanted(count, 2);
    ir::kernels::levels_of_span(of_out, expected.data(), wanted.data(), count);
    GuardedBuffer<std::uint8_t> out(count, 3);
    const ElementwiseChain chain(quantised, shapes.output, dims, {{of_a, {}, {}}, true});
    chain.run(levels, out.data());
    CHECK(std::equal(out.begin(), out.end(), wanted.begin()));
    CHECK(out.guards_intact());
    CHECK_FALSE(chain.is_full(1));
    if (!chain.is_full(0)) continue;
    // In place.
    chain.run(levels, a.data());
    CHECK(std::equal(a.begin(), a.end(), wanted.begin()));
  }
}

TEST_CASE("levels of what runs repeat") {
  IR_FOR_EACH_TARGET();
  const Quantization of_b{-3, 3, -3, 3, 256};
  const Quantization of_out{0, 2, 0, 2, 200};
  for (const std::size_t length : {3U, 24U, 49U, 200U, 300U}) {
    for (const auto& shapes : ir::test::shapes_of_runs(length)) {
      const Inputs inputs(shapes);
      GuardedBuffer<std::uint8_t> b(inputs.b.size(), 1);
      GuardedBuffer<float> values(inputs.b.size(), 1);
      ir::kernels::levels_of_span(of_b, inputs.b.data(), b.data(), b.size());
      ir::kernels::values_of_span(of_b, b.data(), values.data(), b.size());
      const std::vector<Dims> dims{shapes.a, shapes.b};
      const std::size_t count = ir::test::count_of(shapes.output);
      // Of both inputs, and of the second one alone.
      for (const std::size_t last : {3U, 2U}) {
        Stages stages{unary(UnaryOp::abs, 1), binary(BinaryOp::multiply, 2, 0)};
        if (last == 2) stages.pop_back();
        GuardedBuffer<float> expected(count, 2);
        ElementwiseChain(stages, shapes.output, dims)
            .run(std::vector<const void*>{inputs.a.data(), values.data()}, expected.data());
        GuardedBuffer<std::uint8_t> wanted(count, 2);
        ir::kernels::levels_of_span(of_out, expected.data(), wanted.data(), count);
        stages.push_back({of_out, {last, 0}});
        GuardedBuffer<std::uint8_t> out(count, 3);
        ElementwiseChain(stages, shapes.output, dims, {{{}, of_b}, true})
            .run(std::vector<const void*>{inputs.a.data(), b.data()}, out.data());
        INFO("runs of " << length << ", stage " << last);
        CHECK(std::equal(out.begin(), out.end(), wanted.begin()));
        CHECK(out.guards_intact());
      }
    }
  }
}

TEST_CASE("the levels of sums of levels are those of sums of floats") {
  IR_FOR_EACH_TARGET();
  const Quantization of_a{-3, 3, -3, 3, 256};
  const Quantization of_b{0, 1.7F, 0, 1.7F, 200};
  const UnarySpec relu{ir::kernels::UnaryOp::relu, {}};
  for (const std::size_t size : {1U, 7U, 15U, 16U, 17U, 31U, 33U, 63U, 64U, 65U, 131U, 5000U}) {
    const Shape shape{size};
    const std::vector<Dims> dims{shape, shape};
    GuardedBuffer<std::uint8_t> a(size, 1);
    GuardedBuffer<std::uint8_t> b(size, 2);
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = static_cast<std::uint8_t>(i * 37 % 256);
      b[i] = static_cast<std::uint8_t>(i * 101 % 200);
    }
    GuardedBuffer<float> value_of_a(size, 1);
    GuardedBuffer<float> value_of_b(size, 1);
    ir::kernels::values_of_span(of_a, a.data(), value_of_a.data(), size);
    ir::kernels::values_of_span(of_b, b.data(), value_of_b.data(), size);
    const std::vector<const void*> levels{a.data(), b.data()};
    const std::vector<const void*> floats{value_of_a.data(), value_of_b.data()};
    // Of all bytes, of some, and of so small a step that most sums are far away from the levels.
    for (const Quantization& of_out :
         {Quantization{0, 3, 0, 3, 256}, Quantization{-1.25F, 3, -1.25F, 3, 256},
          Quantization{0, 2.9F, 0, 2.9F, 101}, Quantization{0, 0.0101F, 0, 0.0101F, 256}}) {
      for (const bool positive : {false, true}) {
        for (const std::size_t second : {0U, 1U}) {
          INFO(size << " elements, levels from " << of_out.in_low << " to " << of_out.in_high << ", ReLU "
                    << positive << ", second operand " << second);
          Stages stages{binary(BinaryOp::add, 1, second)};
          if (positive) stages.push_back({relu, {2, 0}});
          GuardedBuffer<float> sums(size, 1);
          ElementwiseChain(stages, shape, dims).run(floats, sums.data());
          GuardedBuffer<std::uint8_t> wanted(size, 1);
          ir::kernels::levels_of_span(of_out, sums.data(), wanted.data(), size);
          stages.push_back({of_out, {positive ? 3U : 2U, 0}});
          const ElementwiseChain chain(stages, shape, dims, {{of_a, of_b}, true});
          for (const int threads : {1, 2}) {
            GuardedBuffer<std::uint8_t> out(size, 3);
            ir::kernels::ThreadPool(threads).run([&] { chain.run(levels, out.data()); });
            CHECK(std::equal(out.begin(), out.end(), wanted.begin()));
            CHECK(out.guards_intact());
          }
          CHECK(chain.is_full(0));
          std::vector<std::uint8_t> in_place(a.begin(), a.end());
          chain.run(std::vector<const void*>{in_place.data(), b.data()}, in_place.data());
          CHECK(std::equal(in_place.begin(), in_place.end(), wanted.begin()));
        }
      }
    }
  }
}

TEST_CASE("a quantisation next to a sum of levels is of what it reads") {
  const Quantization q{0, 255, 0, 255, 256};
  const Shape shape{37};
  const std::vector<std::uint8_t> a(37, 5);
  const std::vector<std::uint8_t> b(37, 7);
  const std::vector<Dims> dims{shape, shape};
  // Nobody reads the sum.
  const ElementwiseChain chain(Stages{binary(BinaryOp::add, 0, 1), {q, {1, 0}}}, shape, dims, {{q, q}, true});
  std::vector<std::uint8_t> out(37);
  chain.run(std::vector<const void*>{a.data(), b.data()}, out.data());
  CHECK(out == b);
}

TEST_CASE("levels of a single number spread over the output") {
  const Quantization q{0, 255, 0, 255, 256};
  const std::uint8_t level = 7;
  const Shape one{1};
  const Shape shape{37};
  std::vector<float> b(37, 2.0F);
  const std::vector<Dims> dims{one, shape};
  const ElementwiseChain chain(Stages{binary(BinaryOp::add, 0, 1), {q, {2, 0}}}, shape, dims,
                               {{q, {}}, true});
  std::vector<std::uint8_t> out(37);
  chain.run(std::vector<const void*>{&level, b.data()}, out.data());
  CHECK(std::ranges::all_of(out, [](std::uint8_t value) { return value == 9; }));
}
