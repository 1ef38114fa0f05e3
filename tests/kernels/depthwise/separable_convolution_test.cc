#include "kernels/depthwise/separable_convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/post_functions.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/integer_weights.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// A chain: `in` channels (0: no expansion), those of the depthwise stage, `out` (0: no projection).
struct Case {
  std::string name;
  std::size_t in = 0;
  ConvolutionParams depthwise;
  std::size_t out = 0;
};

std::vector<Case> cases() {
  const auto depthwise = [](std::size_t batch, std::size_t channels, std::size_t height, std::size_t width,
                            std::size_t kernel, std::size_t stride = 1, std::ptrdiff_t pad = 1,
                            std::size_t dilation = 1) {
    return plane(batch, channels, channels, channels, height, width, kernel, stride, pad, dilation);
  };
  std::vector<Case> list{
      {"all stages", 5, depthwise(1, 19, 17, 15, 3), 7},
      {"stride 2", 4, depthwise(1, 9, 33, 30, 3, 2), 11},
      {"many channels in blocks", 70, depthwise(1, 300, 12, 13, 3), 40},
      {"terms over a block", 300, depthwise(1, 33, 6, 9, 3), 5},
      {"batch of 3", 3, depthwise(3, 8, 14, 14, 3), 6},
      {"5x5", 6, depthwise(1, 34, 11, 19, 5, 1, 2), 9},
      {"dilated", 3, depthwise(1, 6, 21, 20, 3, 1, 2, 2), 4},
      {"unpadded", 3, depthwise(1, 6, 12, 10, 3, 1, 0), 4},
      {"without expansion", 0, depthwise(2, 13, 19, 23, 3), 6},
      {"without projection", 7, depthwise(2, 40, 16, 12, 3), 0},
      {"without projection, stride 2", 7, depthwise(1, 70, 15, 18, 5, 2, 2), 0},
      {"wide", 3, depthwise(1, 5, 4, 700, 3), 4},
      {"so wide that a row is a strip", 90, depthwise(1, 40, 3, 3000, 3), 30},
      {"one row", 3, depthwise(1, 5, 1, 40, 3), 4},
      {"one tap", 3, depthwise(1, 5, 9, 8, 1, 1, 0), 4},
  };
  ConvolutionParams odd = depthwise(1, 5, 9, 11, 3);
  odd.pads_begin = {0, 2, 0};
  odd.out_dims = {9, 12, 1};
  list.push_back({"asymmetric pads", 3, odd, 4});
  // The first strip has more padding above it than a window has rows, the others have none.
  ConvolutionParams below = depthwise(1, 6, 40, 33, 5, 2, 2);
  below.pads_begin = {7, 2, 0};
  below.out_dims = {23, 17, 1};
  list.push_back({"more padding than a window sees", 3, below, 4});
  ConvolutionParams line = depthwise(1, 6, 100, 1, 3);
  line.spatial_rank = 1;
  line.out_dims = {100, 1, 1};
  list.push_back({"one dimension", 4, line, 5});
  return list;
}

ConvolutionParams pointwise(const ConvolutionParams& around, const std::array<std::size_t, 3>& dims,
                            std::size_t in, std::size_t out) {
  ConvolutionParams params;
  params.batch = around.batch;
  params.in_channels = in;
  params.out_channels = out;
  params.spatial_rank = around.spatial_rank;
  params.in_dims = params.out_dims = dims;
  return params;
}

double factor_of(std::size_t channel) { return channel % 2 == 0 ? 0.5 : 0.75; }

/// Times the factor, plus the number that the context is, if any.
void scale_channel(float* data, std::size_t count, std::size_t channel, const void* context) {
  const auto factor = static_cast<float>(factor_of(channel));
  const float summand = context == nullptr ? 0 : *static_cast<const float*>(context);
  std::for_each(data, data + count, [&](float& value) { value = value * factor + summand; });
}

/// What the stages before the last one quantise to: steps that leave no ties, as sums are multiples of 1 and,
/// then, of 0.5.
Quantization quantization_of(bool is_depthwise) {
  return is_depthwise ? Quantization(-192, 190.5F, -192, 190.5F, 256)
                      : Quantization(0, 127.5F, 0, 127.5F, 256);
}

/// The definition.
double quantized(double value, const Quantization& q) {
  const double level = std::nearbyint((value - static_cast<double>(q.in_low)) /
                                      static_cast<double>(q.in_range) * static_cast<double>(q.steps));
  return std::clamp(level, 0.0, static_cast<double>(q.steps)) / static_cast<double>(q.steps) *
             static_cast<double>(q.out_range) +
         static_cast<double>(q.out_low);
}

/// What the last stage quantises to where the results are levels: no ties either, as sums are multiples of
/// 0.5.
Quantization quantization_of_results() { return {-150, 150, -150, 150, 201}; }

/// What the image is levels of, if it is: it is small.
Quantization quantization_of_image() { return {-1, 1, -1, 1, 3}; }

/// The offset: of what the projection gets. Levels: all stages but the last quantise, and say so. Bytes: the
/// last one does, too, and image and results are levels. Channels: what the depthwise stage sees, and
/// results, have a step for each channel.
enum class Numbers { any, integers, integers_and_offset, levels, bytes, channels };

/// The same for all of them, or half of the steps for every other one.
std::vector<Quantization> of_channels(const Quantization& q, std::size_t channels, Numbers numbers) {
  if (numbers != Numbers::channels) return {q};
  const Quantization half(q.in_low / 2, q.in_high / 2, q.out_low / 2, q.out_high / 2,
                          static_cast<std::size_t>(q.steps) + 1);
  std::vector<Quantization> list;
  for (std::size_t channel = 0; channel < channels; ++channel) list.push_back(channel % 2 == 0 ? q : half);
  return list;
}

/// A chain with random numbers, and what it should give. With integers, its 1x1 stages know that they
/// multiply some.
class Chain {
 public:
  Chain(const Case& test, bool residual, Numbers numbers = Numbers::any) : numbers_(numbers) {
    const ConvolutionParams& middle = test.depthwise;
    if (test.in != 0) params_.push_back(pointwise(middle, middle.in_dims, test.in, middle.in_channels));
    params_.push_back(middle);
    if (test.out != 0) params_.push_back(pointwise(middle, middle.out_dims, middle.out_channels, test.out));
    for (const ConvolutionParams& params : params_) data_.emplace_back(params);
    if (numbers != Numbers::any) round_numbers();
    if (numbers == Numbers::channels && test.in == 0) halve_channels();
    for (std::size_t i = 0; i < params_.size(); ++i) {
      Epilogue epilogue;
      if (i != 1) epilogue.bias = data_[i].bias.data();
      if (i == 0) epilogue.low = 0;
      epilogue.post = scale_channel;
      epilogue.post_by_channel = true;
      const bool is_depthwise = i == (test.in != 0 ? 1 : 0);
      if (is_depthwise && numbers == Numbers::integers_and_offset) epilogue.post_context = &kOffset;
      epilogue.residual = residual && i + 1 == params_.size();
      list_.push_back({params_[i], data_[i].weights.data(), epilogue});
      if (numbers >= Numbers::levels && i + 1 != params_.size()) quantize(list_.back(), is_depthwise);
    }
    if (numbers >= Numbers::bytes) {
      list_.front().params.image_levels = of_image_;
      Epilogue& last = list_.back().epilogue;
      last.post = nullptr;
      last.post_by_channel = false;
      last.post_context = nullptr;
      of_results_ = of_channels(quantization_of_results(), list_.back().params.out_channels, numbers);
      last.levels = of_results_;
      list_.back().quantization = of_results_;
    }
    stages_.depthwise = list_[test.in != 0 ? 1 : 0];
    compute();
    if (numbers != Numbers::any) find_integers(test, numbers == Numbers::integers_and_offset ? kOffset : 0);
    if (test.in != 0) stages_.expansion = list_.front();
    if (test.out != 0) stages_.projection = list_.back();
  }

  [[nodiscard]] const SeparableStages& stages() const { return stages_; }
  /// That `stages` read, which the expected results need no more.
  [[nodiscard]] std::vector<std::span<float>> weights() {
    std::vector<std::span<float>> all;
    for (Data& data : data_) all.emplace_back(data.weights.data(), data.weights.size());
    return all;
  }

  [[nodiscard]] std::vector<float> run(const Convolution& convolution) {
    Data& last = data_.back();
    std::fill(last.out.begin(), last.out.end(), std::numeric_limits<float>::quiet_NaN());
    GuardedBuffer<std::byte> scratch(convolution.scratch_bytes(), 5);
    std::fill(scratch.begin(), scratch.end(), std::byte{0xFF});
    if (numbers_ >= Numbers::bytes) return run_on_bytes(convolution, scratch.data());
    convolution.run({data_.front().image.data(), nullptr, last.residual.data()}, last.out.data(),
                    scratch.data());
    CHECK(scratch.guards_intact());
    CHECK(last.out.guards_intact());
    return {last.out.begin(), last.out.end()};
  }
  /// `bound`: of errors, to the largest sum of magnitudes.
  [[nodiscard]] std::size_t count_wrong(const std::vector<float>& out, double bound = 3e-6) const {
    std::size_t wrong = out.size() != expected_.size() ? out.size() + 1 : 0;
    for (std::size_t i = 0; i < std::min(out.size(), expected_.size()); ++i)
      wrong += !(std::abs(static_cast<double>(out[i]) - expected_[i]) <= bound * largest_);
    return wrong;
  }
  void keep_whole_floats() {
    for (std::optional<ConvolutionStage>* const stage : {&stages_.expansion, &stages_.projection})
      if (*stage) (*stage)->params.whole_floats = true;
    stages_.depthwise.params.whole_floats = true;
  }

 private:
  [[nodiscard]] std::vector<float> run_on_bytes(const Convolution& convolution, std::byte* scratch) {
    Data& last = data_.back();
    GuardedBuffer<std::uint8_t> image(data_.front().image.size(), 3);
    const ConvolutionParams& first = params_.front();
    by_channel(of_image_, first.in_channels, image.size(), product(first.in_dims, first.spatial_rank),
               [&](const Quantization& of, std::size_t begin, std::size_t count) {
                 levels_of_span(of, data_.front().image.data() + begin, image.data() + begin, count);
               });
    GuardedBuffer<std::uint8_t> levels(last.out.size(), 1);
    convolution.run({reinterpret_cast<const float*>(image.data()), nullptr, last.residual.data()},
                    reinterpret_cast<float*>(levels.data()), scratch);
    CHECK(levels.guards_intact());
    std::vector<float> out(levels.size());
    by_channel(of_results_, params_.back().out_channels, out.size(),
               product(params_.back().out_dims, params_.back().spatial_rank),
               [&](const Quantization& of, std::size_t begin, std::size_t count) {
                 values_of_span(of, levels.data() + begin, out.data() + begin, count);
               });
    return out;
  }
  /// use(quantization, first, count) for each plane.
  template <class Use>
  static void by_channel(ChannelQuantization quantization, std::size_t channels, std::size_t size,
                         std::size_t plane, const Use& use) {
    for (std::size_t first = 0; first < size; first += plane)
      use(of_channel(quantization, first / plane % channels), first, plane);
  }
  /// So small that sums, which f32 has exactly, stay integers of 16 bits.
  void round_numbers() {
    const auto round = [](auto& values) {
      for (float& value : values) value = std::round(value);
    };
    for (Data& data : data_) {
      round(data.image);
      round(data.weights);
      round(data.bias);
      round(data.residual);
    }
  }
  /// Of an image that the depthwise stage sees.
  void halve_channels() {
    of_image_ = of_channels(quantization_of_image(), params_.front().in_channels, numbers_);
    Data& data = data_.front();
    const std::size_t plane = product(params_.front().in_dims, params_.front().spatial_rank);
    for (std::size_t i = 0; i < data.image.size(); ++i)
      if (i / plane % params_.front().in_channels % 2 != 0) data.image[i] /= 2;
  }
  void quantize(ConvolutionStage& stage, bool is_depthwise) {
    PostFunctions& functions = functions_[is_depthwise ? 1 : 0];
    functions.quantization = {quantization_of(is_depthwise)};
    if (!is_depthwise)
      functions.quantization = of_channels(quantization_of(false), stage.params.out_channels, numbers_);
    functions.exact = false;
    stage.epilogue.post = apply_post_functions;
    stage.epilogue.post_by_channel = false;
    stage.epilogue.post_context = &functions;
    stage.quantization = functions.quantization;
  }
  void find_integers(const Case& test, float offset) {
    const auto find = [](ConvolutionStage& stage, const IntegerGrid& image) {
      stage.params.integers = integer_filters(stage.params, stage.weights, image);
    };
    if (test.in != 0) find(list_.front(), {1, -1, 1});
    if (numbers_ >= Numbers::levels) {
      ConvolutionStage& middle = stages_.depthwise;
      std::vector<IntegerGrid> grids;
      for (const Quantization& of : test.in == 0 ? of_image_ : functions_[0].quantization)
        grids.push_back(*integer_grid(of));
      middle.windows = integer_windows(middle.params, middle.weights, grids);
    }
    if (test.out == 0) return;
    if (!stages_.depthwise.quantization.empty()) {
      return find(list_.back(), *integer_grid(stages_.depthwise.quantization[0]));
    }
    // The hook of each stage before makes quarters.
    const float step = test.in != 0 ? 0.0625F : 0.25F;
    const auto [low, high] = std::minmax_element(last_image_.begin(), last_image_.end());
    find(list_.back(), {step, (*low - offset) / step, (*high - offset) / step, offset});
  }
  /// Stage by stage, from the definition.
  void compute() {
    std::vector<float>& image = last_image_;
    image.assign(data_.front().image.begin(), data_.front().image.end());
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const Sums sums = twin(params_[i], image.data(), list_[i].weights.floats());
      largest_ = 1;
      for (const double magnitude : sums.magnitudes) largest_ = std::max(largest_, magnitude);
      const std::size_t plane = product(params_[i].out_dims, params_[i].spatial_rank);
      const Epilogue& epilogue = list_[i].epilogue;
      expected_.clear();
      for (std::size_t j = 0; j < sums.values.size(); ++j) {
        double value = sums.values[j];
        const std::size_t channel = j / plane % params_[i].out_channels;
        if (epilogue.bias != nullptr) value += static_cast<double>(epilogue.bias[channel]);
        if (epilogue.residual) value += static_cast<double>(data_[i].residual[j]);
        value = std::max(value, static_cast<double>(epilogue.low));
        if (!list_[i].quantization.empty()) {
          value = quantized(value, of_channel(list_[i].quantization, channel));
        } else {
          value *= factor_of(channel);
          if (epilogue.post_context != nullptr) value += static_cast<double>(kOffset);
        }
        expected_.push_back(value);
      }
      if (i + 1 == list_.size()) break;
      image.assign(expected_.begin(), expected_.end());
    }
  }

  static constexpr float kOffset = 0.0078125F;

  Numbers numbers_;
  std::vector<Quantization> of_image_{quantization_of_image()};
  std::vector<Quantization> of_results_;
  std::vector<ConvolutionParams> params_;
  std::vector<Data> data_;
  std::array<PostFunctions, 2> functions_;
  std::vector<ConvolutionStage> list_;
  SeparableStages stages_;
  std::vector<double> expected_;
  std::vector<float> last_image_;  ///< what the last stage gets
  double largest_ = 0;
};

/// Channels and positions around borders of tiles.
std::vector<Case> cases_of_tiles() {
  std::vector<Case> list = cases();
  const auto add = [&](std::size_t in, std::size_t middle, std::size_t out, std::size_t size) {
    list.push_back({std::to_string(in) + " > " + std::to_string(middle) + " > " + std::to_string(out), in,
                    plane(2, middle, middle, middle, size, size + 1, 3, 1, 1), out});
  };
  add(16, 32, 16, 4);
  add(17, 33, 17, 5);
  add(32, 64, 32, 6);
  add(33, 65, 33, 7);
  add(64, 96, 100, 8);
  add(0, 47, 31, 9);
  add(31, 95, 0, 9);
  return list;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("Chains around a depthwise convolution are their stages one after the other", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Case test = GENERATE(from_range(cases()));
  INFO(test.name);
  Chain chain(test, GENERATE(false, true),
              GENERATE(Numbers::any, Numbers::integers, Numbers::integers_and_offset, Numbers::levels));
  const auto algorithm = GENERATE(SeparableAlgorithm::strips, SeparableAlgorithm::in_turn);
  // What has been packed is not read again.
  const SpoilsPacked spoils(chain.weights());
  const auto convolution = create_separable_convolution(chain.stages(), algorithm);
  CHECK(convolution->algorithm() == (algorithm == SeparableAlgorithm::in_turn ? "in_turn" : "strips"));
  CHECK(chain.count_wrong(chain.run(*convolution)) == 0);
}

TEST_CASE("Chains in matrix tiles are their stages one after the other", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Case test = GENERATE(from_range(cases_of_tiles()));
  INFO(test.name);
  Chain chain(test, GENERATE(false, true));
  const bool whole = GENERATE(false, true);
  if (whole) chain.keep_whole_floats();
  const auto convolution = create_separable_convolution(chain.stages(), SeparableAlgorithm::tile_strips);
  CHECK(convolution->algorithm() == (matrix_tiles(whole) == nullptr ? "in_turn" : "tile_strips"));
  CHECK(chain.count_wrong(chain.run(*convolution), whole ? 3e-6 : 6e-5) == 0);
}

TEST_CASE("Chains take levels and leave levels", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Case test = GENERATE(from_range(cases()));
  INFO(test.name);
  Chain chain(test, GENERATE(false, true), GENERATE(Numbers::bytes, Numbers::channels));
  const auto algorithm = GENERATE(SeparableAlgorithm::strips, SeparableAlgorithm::in_turn);
  const auto convolution = create_separable_convolution(chain.stages(), algorithm);
  CHECK(chain.count_wrong(chain.run(*convolution)) == 0);
}

TEST_CASE("Levels go by strips where bytes are multiplied and there is a projection", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Numbers numbers = GENERATE(Numbers::bytes, Numbers::channels);
  const auto algorithm_of = [numbers](std::size_t in, std::size_t out, std::size_t kernel, bool residual) {
    const auto pad = static_cast<std::ptrdiff_t>(kernel / 2);
    Chain chain({"", in, plane(1, 24, 24, 24, 20, 20, kernel, 1, pad), out}, residual, numbers);
    return std::string(create_separable_convolution(chain.stages())->algorithm());
  };
  const std::string expected = multiplies_bytes() ? "strips" : "in_turn";
  CHECK(algorithm_of(8, 6, 3, false) == expected);
  CHECK(algorithm_of(8, 6, 5, false) == expected);
  CHECK(algorithm_of(0, 6, 3, false) == expected);
  CHECK(algorithm_of(0, 200, 3, false) == expected);
  CHECK(algorithm_of(8, 6, 3, true) == "in_turn");
  CHECK(algorithm_of(8, 6, 7, false) == "in_turn");
  CHECK(algorithm_of(8, 0, 3, false) == "in_turn");
}

TEST_CASE("Chains give the same bits on any number of threads", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Case test = GENERATE(from_range(cases()));
  INFO(test.name);
  Chain chain(test, true, GENERATE(Numbers::any, Numbers::integers, Numbers::levels, Numbers::channels));
  const auto algorithm =
      GENERATE(SeparableAlgorithm::strips, SeparableAlgorithm::tile_strips, SeparableAlgorithm::in_turn);
  std::vector<std::vector<float>> outputs;
  for (const int threads : {1, 2, 3, 16}) {
    ThreadPool(threads).run(
        [&] { outputs.push_back(chain.run(*create_separable_convolution(chain.stages(), algorithm))); });
    CHECK(same_bits(outputs.front(), outputs.back()));
  }
}

TEST_CASE("Chains of nothing go in turn", "[kernels]") {
  const auto depthwise = [](std::size_t batch, std::size_t channels) {
    return plane(batch, channels, channels, channels, 14, 14, 3, 1, 1);
  };
  const Case test =
      GENERATE_COPY(Case{"no batch", 3, depthwise(0, 8), 4}, Case{"no channels", 3, depthwise(1, 8), 0});
  Chain chain(test, false);
  SeparableStages stages = chain.stages();
  if (test.out == 0) stages.expansion->params.in_channels = 0;
  const auto convolution = create_separable_convolution(stages, SeparableAlgorithm::strips);
  CHECK(convolution->algorithm() == "in_turn");
  (void)chain.run(*convolution);
}

TEST_CASE("Chains of which a strip would see only padding are cut into fewer", "[kernels]") {
  ConvolutionParams depthwise = plane(1, 4, 4, 4, 6, 9, 3, 1, 1);
  depthwise.out_dims[0] = 12;
  // With an expansion, workers share channels instead.
  Chain chain({"", GENERATE(0U, 3U), depthwise, 2}, false);
  ThreadPool(12).run([&] {
    const auto convolution = create_separable_convolution(chain.stages(), SeparableAlgorithm::strips);
    CHECK(convolution->algorithm() == "strips");
    CHECK(chain.count_wrong(chain.run(*convolution)) == 0);
  });
}

TEST_CASE("Chains go by strips where planes are large and products small, on any number of threads",
          "[kernels]") {
  const int threads = GENERATE(1, 2, 16, 64);
  const auto algorithm_for = [&](const Case& test) {
    Chain chain(test, false);
    std::string algorithm;
    ThreadPool(threads).run(
        [&] { algorithm = std::string(create_separable_convolution(chain.stages())->algorithm()); });
    return algorithm;
  };
  const auto depthwise = [](std::size_t size) { return plane(1, 8, 8, 8, size, size, 3, 1, 1); };
  CHECK(algorithm_for({"", 4, depthwise(28), 4}) == "strips");
  CHECK(algorithm_for({"", 0, depthwise(28), 191}) == "strips");
  CHECK(algorithm_for({"", 4, depthwise(28), 192}) == "strips");
  CHECK(algorithm_for({"", 0, depthwise(28), 192}) == "in_turn");
  CHECK(algorithm_for({"", 4, depthwise(7), 4}) == "in_turn");
}

}  // namespace ir::kernels
