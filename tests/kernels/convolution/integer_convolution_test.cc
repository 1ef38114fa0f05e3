#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/elementwise/fake_quantize.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/weights/integer_weights.h"
#include "tests/kernels/convolution/integer_data.h"
#include "tests/kernels/matmul/integer_grids.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// Layers of every kind, of sizes that leave rests.
std::vector<NamedParams> cases() {
  std::vector<NamedParams> list{
      {"1x1", plane(1, 1, 16, 24, 9, 11, 1)},
      {"1x1, odd channels, batch", plane(2, 1, 7, 5, 6, 7, 1)},
      {"1x1, terms over a block", plane(1, 1, 901, 13, 5, 5, 1)},
      {"one channel", plane(1, 1, 1, 9, 12, 13, 3, 1, 1)},
      {"three channels, stride 2", plane(1, 1, 3, 16, 33, 35, 3, 2, 1)},
      {"3x3", plane(1, 1, 20, 17, 14, 15, 3, 1, 1)},
      {"3x3, stride 2", plane(2, 1, 33, 19, 17, 18, 3, 2, 1)},
      {"3x3, terms over a block", plane(1, 1, 150, 8, 6, 9, 3, 1, 1)},
      {"5x5, dilated", plane(1, 1, 6, 10, 20, 21, 5, 1, 4, 2)},
      {"groups of odd channels", plane(2, 3, 15, 12, 10, 9, 3, 1, 1)},
      {"stride 3", plane(1, 1, 4, 6, 16, 19, 3, 3, 1)},
      {"many blocks of positions, panels of channels", plane(1, 1, 9, 100, 17, 19, 3, 1, 1)},
      {"small planes of many images, stride 2", plane(11, 1, 12, 20, 7, 7, 3, 2, 1)},
      {"1x1, stride 2, groups", plane(3, 2, 22, 60, 15, 14, 1, 2)},
      {"rows longer than a block", plane(1, 1, 5, 10, 3, 300, 3, 1, 1)},
      {"cropped", plane(1, 1, 8, 12, 12, 13, 3, 1, -1)},
      {"rows of taps longer than a block", plane(1, 1, 300, 7, 5, 6, 5, 1, 2)},
      {"volume", volume(1, 5, 6, 4)},
      {"groups in a volume", volume(2, 6, 4, 3)},
  };
  ConvolutionParams line = plane(1, 1, 12, 9, 50, 1, 1);
  line.spatial_rank = 1;
  list.push_back({"one dimension", line});
  ConvolutionParams far = plane(1, 1, 9, 7, 3, 12, 3);
  far.strides[0] = std::size_t{1} << 40;
  list.push_back({"a stride longer than the image", far});
  return list;
}

}  // namespace

TEST_CASE("Convolutions of integers give what the definition does, with all that an epilogue can do",
          "[kernels]") {
  IR_FOR_EACH_TARGET();
  const IntegerGrid grid = GENERATE(from_range(test::integer_grids(0.013F)));
  INFO("integers from " << grid.low << " to " << grid.high);
  for (const NamedParams& c : cases()) {
    INFO(c.name);
    const IntegerData data(c.params, grid);
    const ConvolutionParams params = with_integers(c.params, data);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    const auto names = integer_algorithms(params);
    const std::size_t last = params.spatial_rank - 1;
    const bool has_rows_of_taps =
        params.spatial_rank < 3 && (params.dilations[last] == 1 || params.kernel[last] == 1);
    const bool has_tiles =
        byte_tiles() != nullptr && params.integers != nullptr && params.integers->form() == LaneForm::quads;
    CHECK(names.size() ==
          (params.integers == nullptr ? 0 : (has_rows_of_taps ? 3U : 2U) + (has_tiles ? 1 : 0)));
    for (const std::string_view name : names) {
      INFO(name);
      const auto convolution =
          create_convolution(params, data.weights.data(), whole_epilogue(data), {}, name);
      REQUIRE(convolution != nullptr);
      CHECK(convolution->algorithm() == name);
      check_agrees(*convolution, params, data, expected);
    }
  }
}

TEST_CASE("Convolutions of integers tell a hook by channel which channel it is about", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const ConvolutionParams plain = plane(2, 2, 10, 24, 9, 11, 3, 1, 1);
  IntegerData data(plain, bytes(0.5F));
  const ConvolutionParams params = with_integers(plain, data);
  const Sums expected = twin(params, data.image.data(), data.weights.data());
  const std::size_t size = product(params.out_dims, params.spatial_rank);
  Epilogue epilogue;
  set_hook_by_channel(epilogue);
  for (const std::string_view name : integer_algorithms(params)) {
    INFO(name);
    const auto convolution = create_convolution(params, data.weights.data(), epilogue, {}, name);
    run(*convolution, data, nullptr, data.out.data());
    CHECK(count_wrong(
              *convolution, data.out, expected,
              [&](std::size_t i) {
                return expected.values[i] + 0.125 * static_cast<double>(i / size % params.out_channels);
              },
              12e-6) == 0);
  }
}

TEST_CASE("Sums of integers are exact", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const ConvolutionParams plain = plane(1, 1, 90, 16, 8, 9, 3, 2, 1);
  IntegerData data(plain, bytes(0.25F));
  std::fill(data.weights.begin(), data.weights.end(), 0.0F);
  std::mt19937 random(5);
  for (float& weight : data.weights) weight = 0.5F * static_cast<float>(random() % 255) - 63.5F;
  const ConvolutionParams params = with_integers(plain, data);
  const Sums expected = twin(params, data.image.data(), data.weights.data());
  for (const std::string_view name : integer_algorithms(params)) {
    INFO(name);
    run(*create_convolution(params, data.weights.data(), {}, {}, name), data, nullptr, data.out.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.out.size(); ++i)
      wrong += static_cast<double>(data.out[i]) != expected.values[i];
    CHECK(wrong == 0);
  }
}

TEST_CASE("Convolutions of integers give the same bits on any number of threads", "[kernels]") {
  for (const NamedParams& c : cases()) {
    INFO(c.name);
    const IntegerData data(c.params, bytes(0.013F));
    const ConvolutionParams params = with_integers(c.params, data);
    for (const std::string_view name : integer_algorithms(params)) {
      INFO(name);
      check_same_bits(params, data, [&](const ConvolutionParams& threaded) {
        return create_convolution(threaded, data.weights.data(), whole_epilogue(data), {}, name);
      });
    }
  }
}

/// An image that is levels of a quantisation, and the floats that they stand for.
struct LevelData : IntegerData {
  std::shared_ptr<const Quantization> quantization;
  GuardedBuffer<std::uint8_t> levels;

  LevelData(const ConvolutionParams& params, const Quantization& q)
      : IntegerData(params, integer_grid(q).value()),
        quantization(std::make_shared<const Quantization>(q)),
        levels(image.size(), 3) {
    levels_of_span(q, image.data(), levels.data(), levels.size());
    values_of_span(q, levels.data(), image.data(), levels.size());
  }
};

/// What `convolution` makes of levels, as levels.
std::vector<std::uint8_t> run_on_levels(const Convolution& convolution, const LevelData& data) {
  GuardedBuffer<std::uint8_t> out(data.out.size(), 1);
  GuardedBuffer<std::byte> scratch(convolution.scratch_bytes(), 7);
  convolution.run({reinterpret_cast<const float*>(data.levels.data()), nullptr, data.residual.data()},
                  reinterpret_cast<float*>(out.data()), scratch.data());
  CHECK(scratch.guards_intact());
  CHECK(out.guards_intact());
  return {out.begin(), out.end()};
}

TEST_CASE("Convolutions read levels, and write them, by whatever algorithm", "[kernels]") {
  IR_FOR_EACH_TARGET();
  // What the epilogue leaves.
  const Quantization of_results{9.9F, 12.3F, 9.9F, 12.3F, 256};
  const Quantization of_image =
      GENERATE(Quantization{0, 2.55F, 0, 2.55F, 256}, Quantization{-1.28F, 1.27F, -1.28F, 1.27F, 256},
               Quantization{-0.4F, 1.1F, -0.4F, 1.1F, 16}, Quantization{1, 3.1F, 1, 3.1F, 22},
               Quantization{0, 2.55F, 2.55F, 0, 256});
  INFO("levels of " << of_image.out_low << " to " << of_image.out_low + of_image.out_range);
  for (const NamedParams& c : cases()) {
    INFO(c.name);
    const LevelData data(c.params, of_image);
    ConvolutionParams params = c.params;
    params.integers = integer_filters(params, data.weights.data(), data.grid);
    for (const bool residual : {false, true}) {
      Epilogue epilogue = whole_epilogue(data);
      epilogue.residual = residual;
      for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, true)) {
        INFO(algorithm.name << (residual ? ", residual" : ""));
        params.image_levels = {};
        epilogue.levels = {};
        const auto of_floats = create_convolution(params, data.weights.data(), epilogue, {}, algorithm.name);
        if (of_floats == nullptr) continue;
        GuardedBuffer<float> floats(data.out.size(), 1);
        run(*of_floats, data, nullptr, floats.data());
        std::vector<std::uint8_t> wanted(floats.size());
        levels_of_span(of_results, floats.data(), wanted.data(), wanted.size());
        params.image_levels = {*data.quantization};
        epilogue.levels = {&of_results, 1};
        const auto convolution =
            create_convolution(params, data.weights.data(), epilogue, {}, algorithm.name);
        REQUIRE(convolution != nullptr);
        CHECK(convolution->algorithm() == algorithm.name);
        CHECK(run_on_levels(*convolution, data) == wanted);
      }
    }
  }
}

TEST_CASE("Convolutions of levels give the same ones on any number of threads", "[kernels]") {
  const Quantization of_results{-3, 4.7F, -3, 4.7F, 256};
  for (const NamedParams& c : cases()) {
    INFO(c.name);
    const LevelData data(c.params, {0, 2.55F, 0, 2.55F, 256});
    ConvolutionParams params = c.params;
    params.integers = integer_filters(params, data.weights.data(), data.grid);
    params.image_levels = {*data.quantization};
    Epilogue epilogue;
    epilogue.levels = {&of_results, 1};
    for (const std::string_view name : integer_algorithms(params)) {
      INFO(name);
      std::vector<std::vector<std::uint8_t>> results;
      for (const std::size_t threads : {1U, 2U, 3U}) {
        params.max_threads = threads;
        const auto convolution = create_convolution(params, data.weights.data(), epilogue, {}, name);
        ThreadPool(static_cast<int>(threads)).run([&] {
          results.push_back(run_on_levels(*convolution, data));
        });
      }
      CHECK(results[0] == results[1]);
      CHECK(results[0] == results[2]);
    }
  }
}

TEST_CASE("What is no number is one among integers", "[kernels]") {
  const ConvolutionParams plain = plane(1, 1, 6, 8, 9, 9, 1);
  IntegerData data(plain, bytes(0.5F));
  const ConvolutionParams params = with_integers(plain, data);
  std::vector<float> zeros(data.image.begin(), data.image.end());
  // The least one.
  const bool are_quads = params.integers != nullptr && params.integers->form() == LaneForm::quads;
  zeros[3] = zeros[100] = are_quads ? data.grid.low * data.grid.step : 0;
  data.image[3] = data.image[100] = std::numeric_limits<float>::quiet_NaN();
  const Sums expected = twin(params, zeros.data(), data.weights.data());
  for (const std::string_view name : integer_algorithms(params)) {
    const auto convolution = create_convolution(params, data.weights.data(), {}, {}, name);
    run(*convolution, data, nullptr, data.out.data());
    CHECK(count_wrong(*convolution, data.out, expected, [&](std::size_t i) { return expected.values[i]; }) ==
          0);
  }
}

TEST_CASE("Algorithms for integers keep a lane for all terms that share it, and apply no prologue",
          "[kernels]") {
  const test::WithoutMatrixTiles without_tiles;
  const IntegerGrid grid = GENERATE(from_range(test::integer_grids(0.5F)));
  const ConvolutionParams plain = plane(1, 1, 15, 32, 20, 20, 1);
  const IntegerData data(plain, grid);
  const ConvolutionParams params = with_integers(plain, data);
  if (params.integers == nullptr) return;
  const std::size_t lanes = params.integers->form() == LaneForm::quads ? 4 : 8;
  for (const ConvolutionAlgorithm& algorithm : convolution_algorithms(params, true))
    CHECK(algorithm.weight_bytes ==
          (algorithm.name.starts_with("integer") ? lanes : 15) * 32 * sizeof(float));
  Prologue prologue;
  prologue.low = 0;
  for (const std::string_view name : integer_algorithms(params))
    CHECK(create_convolution(params, data.weights.data(), {}, prologue, name) == nullptr);
}

TEST_CASE("Bytes are taken where the weights are signed ones, and padding is a byte", "[kernels]") {
  if (gemm_integer_kernels(LaneForm::quads) == nullptr) return;
  const auto [low, high, weight, padded, are_bytes] = GENERATE(table<float, float, float, bool, bool>({
      {0, 255, 127, true, true},
      {0, 255, -128, true, true},
      {0, 255, 128, true, false},
      {0, 256, 127, true, false},
      {-255, 0, 127, true, true},
      {-300, -60, 127, true, false},
      {-300, -60, 127, false, true},
      {60, 300, 127, true, false},
      {60, 300, 127, false, true},
      {60, 255, 127, true, true},
  }));
  INFO("integers from " << low << " to " << high << ", a weight " << weight << ", padding " << padded);
  const ConvolutionParams params = plane(1, 1, 5, 4, 9, 9, 3, 1, padded ? 1 : 0);
  std::vector<float> weights(5 * 4 * 9, 1.0F);
  weights[7] = weight;
  weights[8] = 0.5F * weight + 0.5F * std::floor(weight * 0.5F);
  for (float& w : weights) w = std::round(w);
  const auto filters = integer_filters(params, weights.data(), {0.25F, low, high});
  CHECK((filters != nullptr && filters->form() == LaneForm::quads) == are_bytes);
}

TEST_CASE("A lane holds the integers of several rows, or of neighbours", "[kernels]") {
  IR_FOR_EACH_TARGET();
  struct Form {
    LaneMap map;
    int low;
    int count;
  };
  const Form form =
      GENERATE(Form{{LaneForm::pairs, 8, 0}, -32768, 65536}, Form{{LaneForm::quads, 8, -100}, -100, 256},
               Form{{LaneForm::quads, 8, 0}, 0, 256});
  if (gemm_integer_kernels(form.map.form) == nullptr) return;
  const std::size_t terms = lane_terms(form.map.form);
  const auto integer = [&](std::size_t i) { return static_cast<int>(i * 977) % form.count + form.low; };
  const auto bits = [&](int value) {
    const auto based = static_cast<std::uint32_t>(value - static_cast<int>(form.map.base));
    return based & (form.map.form == LaneForm::pairs ? 0xFFFFU : 0xFFU);
  };
  for (const std::size_t count :
       {0U, 1U, 2U, 3U, 7U, 8U, 15U, 16U, 17U, 31U, 32U, 33U, 40U, 63U, 64U, 65U, 131U}) {
    test::GuardedBuffer<float> values(terms * count, 1);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.125F * static_cast<float>(integer(i)) + (i % 2 == 0 ? 0.04F : -0.04F);
    const auto lane_of = [&](std::size_t first, std::size_t stride, std::size_t present) {
      std::uint32_t lane = 0;
      for (std::size_t t = 0; t < terms; ++t)
        lane |= bits(t < present ? integer(first + t * stride) : 0) << (32 / terms * t);
      return lane;
    };
    std::size_t wrong = 0;
    for (std::size_t present = 1; present <= terms; ++present) {
      test::GuardedBuffer<float> rows(count, 5);
      lane_joins().rows(form.map, {values.data(), count, present}, count, rows.data());
      for (std::size_t i = 0; i < count; ++i)
        wrong += std::bit_cast<std::uint32_t>(rows[i]) != lane_of(i, count, present);
      CHECK(rows.guards_intact());

      const std::size_t length = terms * count - std::min(terms * count, terms - present);
      test::GuardedBuffer<float> neighbours(divide_up(length, terms), 5);
      lane_joins().neighbours(form.map, values.data(), length, neighbours.data());
      for (std::size_t i = 0; i < neighbours.size(); ++i)
        wrong += std::bit_cast<std::uint32_t>(neighbours[i]) != lane_of(i * terms, 1, length - i * terms);
      CHECK(neighbours.guards_intact());
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Filters are found to be integers, whatever their steps", "[kernels]") {
  if (gemm_integer_kernels(LaneForm::quads) == nullptr && gemm_integer_kernels(LaneForm::pairs) == nullptr)
    return;
  const ConvolutionParams params = plane(1, 1, 3, 4, 5, 5, 1);
  const IntegerGrid image{0.25F, 0, 255};
  SECTION("all kinds of them") {
    // The second one has no step of its own, the third one all of 8 bits, the last one a common divisor.
    const std::vector<float> weights{0.3F, -0.6F, 0.1F, 0, 0, 0, -1.28F, 0.01F, 0.07F, 6e-3F, 12e-3F, 4e-3F};
    const auto filters = integer_filters(params, weights.data(), image);
    REQUIRE(filters != nullptr);
    CHECK(filters->values().per_unit == 4);
    CHECK(filters->scale()[0] == Approx(0.25 * 0.1));
    CHECK(filters->scale()[2] == Approx(0.25 * 0.01));
    CHECK(filters->scale()[3] == Approx(0.25 * 2e-3));
  }
  SECTION("no integers") {
    const std::vector<float> weights{1, 2, 3, 1, 2, 3, 1, 2, 3, 0.1234F, 0.7931F, -1};
    CHECK(integer_filters(params, weights.data(), image) == nullptr);
  }
  SECTION("small numbers near a large one, which are no zeros") {
    const std::vector<float> weights{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1e-5F, -2e-5F};
    CHECK(integer_filters(params, weights.data(), image) == nullptr);
  }
  SECTION("roundings on the way") {
    std::vector<float> weights(12);
    float level = -120;
    for (float& weight : weights) weight = 0.37F * ((level += 20) / 255.0F) + 1e-8F;
    CHECK(integer_filters(params, weights.data(), image) != nullptr);
  }
  SECTION("integers of more than 255") {
    const std::vector<float> weights{1, 2, 3, 1, 2, 3, 1, 2, 3, 256, 1, 3};
    CHECK(integer_filters(params, weights.data(), image) == nullptr);
  }
  SECTION("no numbers") {
    for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::denorm_min()}) {
      const std::vector<float> weights{1, 2, 3, 1, 2, 3, 1, 2, 3, odd, odd, odd};
      CHECK(integer_filters(params, weights.data(), image) == nullptr);
    }
  }
  SECTION("images that do not fit, or have no step") {
    const std::vector<float> weights(12, 1.0F);
    const bool takes_pairs = gemm_integer_kernels(LaneForm::pairs) != nullptr;
    CHECK((integer_filters(params, weights.data(), {0.25F, -32767, 32767}) != nullptr) == takes_pairs);
    CHECK(integer_filters(params, weights.data(), {0.25F, 0, 32768}) == nullptr);
    CHECK(integer_filters(params, weights.data(), {0.25F, -32768, 0}) == nullptr);
    CHECK(integer_filters(params, weights.data(), {0, 0, 255}) == nullptr);
    CHECK(integer_filters(params, weights.data(), {std::numeric_limits<float>::quiet_NaN(), 0, 255}) ==
          nullptr);
  }
  SECTION("sums that do not fit") {
    // 2^31 / (127 * 255) = 66311.4
    for (const std::size_t terms : {66311U, 66312U}) {
      const ConvolutionParams deep = plane(1, 1, terms, 1, 1, 2, 1);
      std::vector<float> weights(terms, 127.0F);
      weights[0] = 126;
      CHECK((integer_filters(deep, weights.data(), {1, 0, 255}) != nullptr) == (terms == 66311));
    }
  }
}

TEST_CASE("Planes of a few positions, and taps that see nothing but padding, are left to floats",
          "[kernels]") {
  for (const ConvolutionParams& plain : {plane(1, 1, 64, 32, 3, 3, 2), plane(1, 1, 8, 8, 4, 4, 3, 1, 5, 5)}) {
    const IntegerData data(plain, bytes(0.5F));
    const ConvolutionParams params = with_integers(plain, data);
    CHECK(integer_algorithms(params).empty());
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    check_agrees(*create_convolution(params, data.weights.data(), whole_epilogue(data)), params, data,
                 expected);
  }
}

}  // namespace ir::kernels
