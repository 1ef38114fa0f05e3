#include "kernels/sequence/rnn.h"

#include <algorithm>
#include <cmath>

#include "kernels/matmul/matrix_tiles.h"
#include "kernels/sequence/rnn_gemms.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/narrow_weights.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::kernels {
namespace {

bool has_matrix_tiles() { return matrix_tiles(false) != nullptr; }

using test::GuardedBuffer;
using Vector = std::vector<double>;

/// Inputs of a sequence, and its outputs by the kernel.
struct Case {
  RnnParams params;
  std::vector<float> w, r, b, x, h, c;
  std::vector<std::int64_t> lengths;
  bool with_bias = true;
  bool with_lengths = true;

  Case(const RnnParams& with, std::uint32_t seed) : params(with) {
    const std::size_t directions = params.directions();
    const std::size_t rows = directions * params.gates() * params.hidden_size;
    w.resize(rows * params.input_size);
    r.resize(rows * params.hidden_size);
    b.resize(directions * params.bias_parts() * params.hidden_size);
    x.resize(params.batch * params.steps * params.input_size);
    h.resize(params.batch * directions * params.hidden_size);
    c.resize(h.size());
    for (auto* values : {&w, &r, &b, &x, &h, &c}) test::fill_random(*values, -1, 1, seed++);
    lengths.resize(params.batch);
    for (std::size_t i = 0; i < params.batch; ++i) {
      lengths[i] = static_cast<std::int64_t>((params.steps + 1 + seed + 3 * i) % (params.steps + 1));
    }
  }

  struct Output {
    std::vector<float> y, h, c;
    bool operator==(const Output&) const = default;
  };

  Output run() const {
    const std::size_t states = h.size();
    GuardedBuffer<float> y(states * params.steps, 1);
    GuardedBuffer<float> out_h(states, 1);
    GuardedBuffer<float> out_c(states, 1);
    // What has been packed is not read again.
    std::vector<float> own_w = w;
    std::vector<float> own_r = r;
    const SpoilsPacked spoils({own_w, own_r});
    const auto rnn = create_rnn(params, {own_w.data(), own_r.data(), with_bias ? b.data() : nullptr});
    GuardedBuffer<float> scratch(rnn->scratch_bytes() / sizeof(float), 3);
    std::fill(scratch.begin(), scratch.end(), NAN);
    RnnTensors tensors;
    tensors.x = x.data();
    tensors.initial_h = h.data();
    tensors.initial_c = params.cell == RnnCell::lstm ? c.data() : nullptr;
    tensors.lengths = with_lengths ? lengths.data() : nullptr;
    tensors.y = y.data();
    tensors.h = out_h.data();
    tensors.c = params.cell == RnnCell::lstm ? out_c.data() : nullptr;
    rnn->run(tensors, reinterpret_cast<std::byte*>(scratch.data()));
    REQUIRE(y.guards_intact());
    REQUIRE(out_h.guards_intact());
    REQUIRE(out_c.guards_intact());
    REQUIRE(scratch.guards_intact());
    Output output{{y.begin(), y.end()}, {out_h.begin(), out_h.end()}, {}};
    if (params.cell == RnnCell::lstm) output.c.assign(out_c.begin(), out_c.end());
    return output;
  }
};

double apply(const RnnActivation& activation, double x) {
  switch (activation.function) {
    case RnnFunction::relu:
      return std::max(x, 0.0);
    case RnnFunction::tanh:
      return std::tanh(x);
    case RnnFunction::hard_sigmoid:
      return std::min(1.0, std::max(0.0, activation.alpha * x + activation.beta));
    case RnnFunction::sigmoid:
      break;
  }
  return 1 / (1 + std::exp(-x));
}

/// One direction of one batch element, by the formulas of the operations.
class Twin {
 public:
  Twin(const Case& test, std::size_t direction) : test_(test), direction_(direction) {}

  void step(const float* x, Vector& h, Vector& c) const {
    const RnnParams& params = test_.params;
    const std::size_t hidden = params.hidden_size;
    if (params.cell == RnnCell::rnn) {
      Vector next(hidden);
      for (std::size_t i = 0; i < hidden; ++i) next[i] = f(bias(0, i) + input(0, i, x) + recurrent(0, i, h));
      h = next;
    } else if (params.cell == RnnCell::lstm) {
      const auto [forget, in, cell, out] = order();
      Vector next(hidden);
      for (std::size_t i = 0; i < hidden; ++i) {
        const auto gate = [&, i](std::size_t g) { return bias(g, i) + input(g, i, x) + recurrent(g, i, h); };
        const double kept = f(gate(forget));
        const double taken = params.input_forget ? 1 - kept : f(gate(in));
        c[i] = kept * c[i] + taken * g(gate(cell));
        next[i] = f(gate(out)) * apply(params.activations[2], c[i]);
      }
      h = next;
    } else {
      Vector z(hidden);
      Vector reset(hidden);
      Vector reset_h(hidden);
      for (std::size_t i = 0; i < hidden; ++i) {
        z[i] = f(bias(0, i) + input(0, i, x) + recurrent(0, i, h));
        reset[i] = f(bias(1, i) + input(1, i, x) + recurrent(1, i, h));
        reset_h[i] = reset[i] * h[i];
      }
      Vector next(hidden);
      for (std::size_t i = 0; i < hidden; ++i) {
        const double product = params.linear_before_reset ? reset[i] * (recurrent(2, i, h) + bias(3, i))
                                                          : recurrent(2, i, reset_h);
        next[i] = (1 - z[i]) * g(input(2, i, x) + bias(2, i) + product) + z[i] * h[i];
      }
      h = next;
    }
  }

 private:
  /// Positions of f, i, c, o in the weights.
  std::array<std::size_t, 4> order() const {
    switch (test_.params.lstm_gates) {
      case LstmGates::icof:
        return {3, 0, 1, 2};
      case LstmGates::ifco:
        return {1, 0, 2, 3};
      case LstmGates::ifoc:
        return {1, 0, 3, 2};
      case LstmGates::iofc:
        return {2, 0, 3, 1};
      case LstmGates::fico:
        break;
    }
    return {0, 1, 2, 3};
  }
  double clip(double x) const {
    const double limit = test_.params.clip;
    return limit > 0 ? std::min(limit, std::max(-limit, x)) : x;
  }
  double f(double x) const { return apply(test_.params.activations[0], clip(x)); }
  double g(double x) const { return apply(test_.params.activations[1], clip(x)); }
  double bias(std::size_t part, std::size_t i) const {
    if (!test_.with_bias) return 0;
    return test_.b[(direction_ * test_.params.bias_parts() + part) * test_.params.hidden_size + i];
  }
  std::size_t row(std::size_t gate, std::size_t i) const {
    return (direction_ * test_.params.gates() + gate) * test_.params.hidden_size + i;
  }
  double input(std::size_t gate, std::size_t i, const float* x) const {
    const std::size_t size = test_.params.input_size;
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += double{x[k]} * test_.w[row(gate, i) * size + k];
    return sum;
  }
  double recurrent(std::size_t gate, std::size_t i, const Vector& h) const {
    double sum = 0;
    for (std::size_t k = 0; k < h.size(); ++k) sum += h[k] * test_.r[row(gate, i) * h.size() + k];
    return sum;
  }

  const Case& test_;
  std::size_t direction_;
};

void require_like_twin(const Case& test, double tolerance = 2e-5) {
  const RnnParams& params = test.params;
  const Case::Output got = test.run();
  const std::size_t hidden = params.hidden_size;
  const auto require_close = [&](float value, double expected) {
    REQUIRE(test::close(value, expected, tolerance, tolerance));
  };
  for (std::size_t batch = 0; batch < params.batch; ++batch) {
    for (std::size_t direction = 0; direction < params.directions(); ++direction) {
      const std::size_t at = (batch * params.directions() + direction) * hidden;
      const auto length = test.with_lengths ? static_cast<std::size_t>(test.lengths[batch]) : params.steps;
      Vector h(test.h.data() + at, test.h.data() + at + hidden);
      Vector c(test.c.data() + at, test.c.data() + at + hidden);
      const bool reverse = params.direction == RnnDirection::reverse || direction == 1;
      std::vector<Vector> y(params.steps, Vector(hidden, 0.0));
      for (std::size_t step = 0; step < length; ++step) {
        const std::size_t time = reverse ? length - 1 - step : step;
        Twin(test, direction).step(test.x.data() + (batch * params.steps + time) * params.input_size, h, c);
        y[time] = h;
      }
      if (length == 0) {
        h.assign(hidden, 0);
        c.assign(hidden, 0);
      }
      for (std::size_t i = 0; i < hidden; ++i) {
        INFO("batch " << batch << " direction " << direction << " length " << length << " unit " << i);
        for (std::size_t time = 0; time < params.steps; ++time) {
          require_close(got.y[at * params.steps + time * hidden + i], y[time][i]);
        }
        require_close(got.h[at + i], h[i]);
        if (params.cell == RnnCell::lstm) require_close(got.c[at + i], c[i]);
      }
    }
  }
}

RnnParams small(RnnCell cell) {
  RnnParams params;
  params.cell = cell;
  params.batch = 4;
  params.steps = 5;
  params.input_size = 3;
  params.hidden_size = 5;
  return params;
}

}  // namespace

TEST_CASE("recurrent sequences agree with their formulas for all sizes and directions") {
  IR_FOR_EACH_TARGET();
  const RnnCell cell = GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm);
  const RnnDirection direction =
      GENERATE(RnnDirection::forward, RnnDirection::reverse, RnnDirection::bidirectional);
  RnnParams params = small(cell);
  params.direction = direction;
  std::uint32_t seed = 1;
  for (const std::size_t hidden : {1, 3, 8, 17, 33}) {
    for (const std::size_t batch : {1, 2, 3, 7}) {
      params.batch = batch;
      params.hidden_size = hidden;
      params.input_size = hidden % 7 + 1;
      params.linear_before_reset = batch % 2 == 0;
      INFO("hidden " << hidden << " batch " << batch);
      Case test(params, seed++);
      require_like_twin(test);
      test.with_lengths = false;
      require_like_twin(test);
    }
  }
}

TEST_CASE("recurrent cells are sequences of one step") {
  // h = tanh(0.5 x + 0.25 h + 0.125) with x = 1, h = 0.5, and the same numbers through the other cells.
  const float x = 1;
  const float h = 0.5F;
  const float c = 0.25F;
  const auto run = [&](RnnParams params, std::vector<float> w, std::vector<float> r, std::vector<float> b) {
    params.batch = params.steps = params.input_size = params.hidden_size = 1;
    const auto rnn = create_rnn(params, {w.data(), r.data(), b.data()});
    std::vector<std::byte> scratch(rnn->scratch_bytes());
    std::array<float, 2> out{h, c};
    RnnTensors tensors;
    tensors.x = &x;
    tensors.initial_h = &out[0];
    tensors.initial_c = &out[1];
    tensors.h = &out[0];  // in place
    tensors.c = &out[1];
    rnn->run(tensors, scratch.data());
    return out;
  };
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };

  RnnParams params;
  params.cell = RnnCell::rnn;
  params.activations[0].function = RnnFunction::tanh;
  CHECK(run(params, {0.5F}, {0.25F}, {0.125F})[0] == Approx(std::tanh(0.75)));

  params = {};
  const auto lstm = run(params, {1, 2, 3, 4}, {0, 0, 0, 2}, {0.5F, 0, 0, 0});
  const double state = sigmoid(1.5) * 0.25 + sigmoid(2) * std::tanh(3);
  CHECK(lstm[1] == Approx(state));
  CHECK(lstm[0] == Approx(sigmoid(5) * std::tanh(state)));

  params.cell = RnnCell::gru;
  const auto gru = run(params, {1, 2, 3}, {0, 0, 2}, {0, 0, 0.5F});
  CHECK(gru[0] == Approx((1 - sigmoid(1)) * std::tanh(3.5 + 2 * sigmoid(2) * 0.5) + sigmoid(1) * 0.5));
  params.linear_before_reset = true;
  const auto linear = run(params, {1, 2, 3}, {0, 0, 2}, {0, 0, 0.5F, 0.25F});
  CHECK(linear[0] == Approx((1 - sigmoid(1)) * std::tanh(3.5 + sigmoid(2) * 1.25) + sigmoid(1) * 0.5));
}

TEST_CASE("recurrent sequences honour activations, clip, gate orders and a missing bias") {
  IR_FOR_EACH_TARGET();
  const RnnCell cell = GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm);
  RnnParams params = small(cell);
  SECTION("clip") {
    params.clip = 0.4F;
    require_like_twin(Case(params, 7));
  }
  SECTION("infinite clip") {
    params.clip = INFINITY;
    require_like_twin(Case(params, 7));
  }
  SECTION("activations") {
    params.activations = {
        {{RnnFunction::hard_sigmoid, 0.3F, 0.4F}, {RnnFunction::relu}, {RnnFunction::sigmoid}}};
    require_like_twin(Case(params, 8));
  }
  SECTION("no bias") {
    Case test(params, 9);
    test.with_bias = false;
    require_like_twin(test);
  }
  SECTION("coupled gates in every order") {
    for (const LstmGates gates :
         {LstmGates::fico, LstmGates::icof, LstmGates::ifco, LstmGates::ifoc, LstmGates::iofc}) {
      params.lstm_gates = gates;
      params.input_forget = gates == LstmGates::ifoc;
      require_like_twin(Case(params, 10));
    }
  }
}

TEST_CASE("activations are bounded for large arguments and keep NaN") {
  IR_FOR_EACH_TARGET();
  RnnParams params;
  params.cell = RnnCell::rnn;
  params.steps = 1;
  params.input_size = 1;
  params.hidden_size = 9;
  Case test(params, 1);
  test.with_bias = test.with_lengths = false;
  std::fill(test.h.begin(), test.h.end(), 0.0F);
  test.x = {1};
  test.w = {-1e30F, -200, -89, -20, 0, 20, 200, 1e30F, NAN};
  for (const RnnFunction function :
       {RnnFunction::sigmoid, RnnFunction::tanh, RnnFunction::hard_sigmoid, RnnFunction::relu}) {
    test.params.activations[0].function = function;
    const std::vector<float> got = test.run().h;
    for (std::size_t i = 0; i + 1 < got.size(); ++i) {
      REQUIRE(test::close(got[i], apply(test.params.activations[0], test.w[i]), 1e-6, 1e-37));
    }
    REQUIRE(std::isnan(got.back()));
  }
}

TEST_CASE("long recurrent sequences continue over blocks of steps") {
  RnnParams params = small(RnnCell::gru);
  params.batch = 3;
  params.steps = 700;
  params.hidden_size = 256;  // gates of 3 * 3 * 256 floats a step: two blocks
  params.input_size = 2;
  Case test(params, 5);
  for (float& r : test.r) r *= 0.05F;
  // The first 100 steps, run as sequences of their own, give the same prefix.
  params.steps = 100;
  Case prefix(params, 5);
  prefix.w = test.w;
  prefix.r = test.r;
  prefix.b = test.b;
  prefix.h = test.h;
  for (std::size_t i = 0; i < 3; ++i)
    std::copy_n(test.x.data() + i * 700 * 2, 200, prefix.x.data() + i * 200);
  test.with_lengths = prefix.with_lengths = false;
  const Case::Output all = test.run();
  const Case::Output first = prefix.run();
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(std::equal(first.y.data() + i * 100 * 256, first.y.data() + (i + 1) * 100 * 256,
                       all.y.data() + i * 700 * 256));
    // The last steps by the formulas, from the state before them.
    Vector h(all.y.data() + (i * 700 + 689) * 256, all.y.data() + (i * 700 + 690) * 256);
    Vector c(256);
    for (std::size_t step = 690; step < 700; ++step)
      Twin(test, 0).step(test.x.data() + (i * 700 + step) * 2, h, c);
    for (std::size_t k = 0; k < 256; ++k) REQUIRE(all.h[i * 256 + k] == Approx(h[k]).margin(1e-5));
  }
}

TEST_CASE("recurrent sequences accept empty tensors") {
  RnnParams params = small(RnnCell::lstm);
  SECTION("no batch") { params.batch = 0; }
  SECTION("no input") { params.input_size = 0; }
  SECTION("no steps") { params.steps = 0; }
  require_like_twin(Case(params, 3));
}

/// With one thread, as with two and three.
void require_same_bits_on_threads(const Case& test) {
  Case::Output one;
  ThreadPool(1).run([&] { one = test.run(); });
  for (const int threads : {2, 3}) {
    Case::Output many;
    ThreadPool(threads).run([&] { many = test.run(); });
    REQUIRE(one == many);
  }
}

TEST_CASE("recurrent sequences have the same bits for any number of threads") {
  const RnnCell cell = GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm);
  RnnParams params = small(cell);
  params.direction = RnnDirection::bidirectional;
  params.batch = 13;
  params.steps = 12;
  params.input_size = 40;
  params.hidden_size = 70;
  require_same_bits_on_threads(Case(params, 6));
}

TEST_CASE("wide recurrent sequences, whose batch elements walk in step, do too, and agree with formulas") {
  RnnParams params = small(GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm));
  params.direction = GENERATE(RnnDirection::forward, RnnDirection::bidirectional);
  params.batch = GENERATE(std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{20});
  params.steps = 3;
  params.input_size = 5;
  // Recurrent weights of an LSTM and a GRU leave second-level caches.
  params.hidden_size = 427;
  Case test(params, 7);
  for (float& r : test.r) r *= 0.05F;
  // One row, or two where the processor is newer, meets that many weights in fewer bits, unless it has to be
  // accurate.
  const bool is_few = params.batch <= std::min<std::size_t>(narrow_kernels().most_rows, 2);
  const bool is_narrow = is_few && params.cell != RnnCell::rnn;
  const bool is_tall = params.batch >= 8 && has_matrix_tiles();
  RnnParams accurate = params;
  accurate.accurate = true;
  CHECK(RnnGemms(RnnSteps(params), {true, true}).takes_states() == (is_narrow || is_tall));
  if (!is_tall) CHECK_FALSE(RnnGemms(RnnSteps(params), {false, false}).takes_states());
  CHECK_FALSE(RnnGemms(RnnSteps(accurate), {true, true}).takes_states());
  require_like_twin(test);
  require_same_bits_on_threads(test);
  RnnParams more_rows = params;
  more_rows.batch = 3;
  more_rows.hidden_size = 1500;
  if (!has_matrix_tiles()) CHECK_FALSE(RnnGemms(RnnSteps(more_rows), {true, true}).takes_states());
}

/// For products in matrix tiles, where there are any.
RnnParams for_tiles(RnnCell cell, std::size_t batch) {
  RnnParams params = small(cell);
  params.batch = batch;
  params.steps = 3;
  params.input_size = 70;
  params.hidden_size = cell == RnnCell::rnn ? 400 : cell == RnnCell::gru ? 240 : 180;
  return params;
}

/// What results of operands up to 1 may be off by with sums of two parts of floats.
constexpr double kOfTiles = 6e-5;

TEST_CASE("recurrent sequences of many batch elements agree with their formulas, on any number of threads") {
  const RnnCell cell = GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm);
  const std::size_t batch = GENERATE(std::size_t{16}, std::size_t{40});
  RnnParams params = for_tiles(cell, batch);
  params.direction = GENERATE(RnnDirection::forward, RnnDirection::reverse, RnnDirection::bidirectional);
  params.linear_before_reset = cell == RnnCell::gru && batch == 40;
  REQUIRE(RnnGemms(RnnSteps(params), {}).takes_states() == has_matrix_tiles());
  Case test(params, 9);
  for (float& r : test.r) r *= 0.2F;
  test.with_bias = batch == 40;
  require_like_twin(test, kOfTiles);
  require_same_bits_on_threads(test);
  test.with_lengths = false;
  require_like_twin(test, kOfTiles);
  test.params.whole_floats = true;
  require_like_twin(test);
}

TEST_CASE("recurrent sequences of many batch elements continue over blocks of steps") {
  RnnParams params = for_tiles(GENERATE(RnnCell::gru, RnnCell::lstm), 64);
  params.direction = GENERATE(RnnDirection::forward, RnnDirection::reverse);
  params.steps = 60;
  Case test(params, 10);
  for (float& r : test.r) r *= 0.2F;
  require_like_twin(test, kOfTiles);
}

TEST_CASE("recurrent sequences of one batch element multiply inputs of many steps alike") {
  RnnParams params = for_tiles(GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm), 1);
  params.direction = GENERATE(RnnDirection::forward, RnnDirection::bidirectional);
  params.steps = 70;
  REQUIRE(RnnGemms(RnnSteps(params), {}).takes_inputs() == has_matrix_tiles());
  Case test(params, 11);
  for (float& r : test.r) r *= 0.2F;
  require_like_twin(test, kOfTiles);
  require_same_bits_on_threads(test);
}

TEST_CASE("recurrent sequences that have to be accurate take no tiles, and other gate orders agree, too") {
  RnnParams params = for_tiles(RnnCell::lstm, 32);
  params.accurate = true;
  REQUIRE_FALSE(RnnGemms(RnnSteps(params), {}).takes_inputs());
  require_like_twin(Case(params, 12));
  params.accurate = false;
  RnnParams empty = params;
  empty.steps = 0;
  REQUIRE_FALSE(RnnGemms(RnnSteps(empty), {}).takes_inputs());
  params.lstm_gates = LstmGates::icof;
  require_like_twin(Case(params, 13));
}

}  // namespace ir::kernels
