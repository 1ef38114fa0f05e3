#include "kernels/convolution/deconvolution.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolution/convolution_nd.h"
#include "kernels/convolution/deconvolution_phases.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;
using Case = NamedParams;

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](std::string name, std::size_t batch, std::size_t groups, std::size_t in,
                       std::size_t out, std::size_t size, std::size_t kernel, std::size_t stride,
                       std::ptrdiff_t pad, std::size_t dilation = 1, std::size_t output_padding = 0) {
    ConvolutionParams p;
    p.batch = batch;
    p.groups = groups;
    p.in_channels = in;
    p.out_channels = out;
    p.in_dims = {size, size + 2, 1};
    p.kernel = {kernel, kernel, 1};
    p.strides = {stride, stride, 1};
    p.dilations = {dilation, dilation, 1};
    p.pads_begin = {pad, pad, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      p.out_dims[i] = (p.in_dims[i] - 1) * stride + (kernel - 1) * dilation + 1 + output_padding -
                      2 * static_cast<std::size_t>(pad);
    }
    list.push_back({std::move(name), p});
  };
  add("stride 1", 1, 1, 5, 7, 6, 3, 1, 0);
  add("stride 1, pad 1", 2, 1, 5, 7, 6, 3, 1, 1);
  add("4x4 stride 2 pad 1", 2, 1, 9, 6, 7, 4, 2, 1);
  add("3x3 stride 2 pad 1, output padding", 1, 1, 9, 6, 7, 3, 2, 1, 1, 1);
  add("2x2 stride 2", 1, 1, 16, 8, 9, 2, 2, 0);
  add("kernel below stride", 1, 1, 3, 4, 5, 2, 3, 0);
  add("kernel below stride, output padding", 1, 1, 3, 4, 5, 1, 2, 0, 1, 1);
  add("dilation 2", 1, 1, 3, 4, 5, 3, 1, 1, 2);
  add("dilation 2, stride 2", 1, 1, 3, 4, 5, 3, 2, 1, 2);
  add("dilation 2, stride 3", 1, 1, 3, 4, 5, 4, 3, 2, 2);
  add("groups", 2, 3, 12, 6, 5, 4, 2, 1);
  add("depthwise", 1, 5, 5, 5, 9, 4, 2, 1);
  add("one sample", 1, 1, 40, 3, 1, 4, 4, 0);
  add("16x16 stride 8", 1, 1, 5, 3, 4, 16, 8, 4);
  add("16x16 stride 8, pad 3, output padding", 2, 1, 3, 2, 3, 16, 8, 3, 1, 5);
  add("few channels, 4x4 stride 3", 1, 1, 6, 2, 30, 4, 3, 0);
  add("few channels, 3x3 stride 2", 1, 1, 2, 1, 40, 3, 2, 1);
  add("columns, 3x3 stride 2", 1, 1, 128, 1, 40, 3, 2, 1);
  add("columns of groups, 3x3 stride 2", 1, 2, 160, 2, 20, 3, 2, 1);
  add("columns, 5x5 stride 3, dilation 2, output padding", 2, 1, 96, 2, 16, 5, 3, 4, 2, 2);
  using Sizes = std::array<std::size_t, 3>;
  const auto add_axes = [&](std::string name, std::size_t rank, const Sizes& in, const Sizes& kernel,
                            const Sizes& strides, const std::array<std::ptrdiff_t, 3>& pads,
                            const Sizes& out) {
    ConvolutionParams p;
    p.in_channels = 3;
    p.out_channels = 4;
    p.spatial_rank = rank;
    p.in_dims = in;
    p.kernel = kernel;
    p.strides = strides;
    p.pads_begin = pads;
    p.out_dims = out;
    list.push_back({std::move(name), p});
  };
  add_axes("one dimension", 1, {50, 1, 1}, {16, 1, 1}, {8, 1, 1}, {4, 0, 0}, {400, 1, 1});
  add_axes("stride along the first axis", 2, {6, 9, 1}, {4, 3, 1}, {2, 1, 1}, {1, 1, 0}, {12, 9, 1});
  add_axes("three dimensions", 3, {2, 3, 4}, {3, 2, 3}, {2, 1, 2}, {1, 0, 1}, {3, 4, 8});
  add_axes("negative pads, cut", 3, {2, 3, 4}, {3, 2, 3}, {2, 1, 2}, {-1, 0, 2}, {6, 2, 5});
  return list;
}

/// Scatters, as the definition does.
Sums twin(const ConvolutionParams& p, const float* image, const float* weights) {
  const auto [in, out, kernel, stride, dilation, pad] = SignedAxes(p);
  const auto in_size = static_cast<std::size_t>(in[0] * in[1] * in[2]);
  const auto out_size = static_cast<std::size_t>(out[0] * out[1] * out[2]);
  const auto taps = static_cast<std::size_t>(kernel[0] * kernel[1] * kernel[2]);
  const std::size_t ic = p.in_channels / p.groups;
  const std::size_t oc = p.out_channels / p.groups;
  Sums sums;
  sums.values.resize(p.batch * p.out_channels * out_size);
  sums.magnitudes.resize(sums.values.size());
  for (std::size_t n = 0; n < p.batch; ++n) {
    for (std::size_t i = 0; i < p.in_channels; ++i) {
      for (std::size_t o = 0; o < oc; ++o) {
        const float* channel = image + (n * p.in_channels + i) * in_size;
        const float* factors = weights + (i * oc + o) * taps;
        const std::size_t to = (n * p.out_channels + i / ic * oc + o) * out_size;
        for (std::size_t s = 0; s < in_size; ++s) {
          for (std::size_t t = 0; t < taps; ++t) {
            std::size_t at = 0;
            bool inside = true;
            std::size_t s_rest = in_size;
            std::size_t t_rest = taps;
            for (std::size_t axis = 0; axis < 3; ++axis) {
              s_rest /= static_cast<std::size_t>(in[axis]);
              t_rest /= static_cast<std::size_t>(kernel[axis]);
              const auto x = static_cast<std::ptrdiff_t>(s / s_rest) % in[axis];
              const auto k = static_cast<std::ptrdiff_t>(t / t_rest) % kernel[axis];
              const std::ptrdiff_t y = x * stride[axis] + k * dilation[axis] - pad[axis];
              inside = inside && y >= 0 && y < out[axis];
              at = at * static_cast<std::size_t>(out[axis]) + static_cast<std::size_t>(inside ? y : 0);
            }
            if (!inside) continue;
            const double term = static_cast<double>(channel[s]) * static_cast<double>(factors[t]);
            sums.values[to + at] += term;
            sums.magnitudes[to + at] += std::abs(term);
          }
        }
      }
    }
  }
  return sums;
}

/// What output i may be off. Where phases have 3 x 3 taps, alone or together, Winograd's transforms may mix
/// the outputs of a tile: there the largest sum counts.
double tolerance(const ConvolutionParams& p, const Sums& sums, std::size_t i) {
  const bool mixes = p.spatial_rank == 2 && p.kernel[0] >= 3;
  return mixes ? 6e-6 * *std::max_element(sums.magnitudes.begin(), sums.magnitudes.end())
               : 2e-6 * sums.magnitudes[i];
}

TEST_CASE("deconvolution agrees with its definition on every target") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    {
      // What has been packed is not read again.
      std::vector<float> weights(data.weights.begin(), data.weights.end());
      const SpoilsPacked spoils({weights});
      run(*create_deconvolution(c.params, weights.data(), {}), data, nullptr, data.out.data());
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.out.size(); ++i) {
      wrong += !(std::abs(data.out[i] - expected.values[i]) <= tolerance(c.params, expected, i));
    }
    CHECK(wrong == 0);
    CHECK(data.out.guards_intact());

    // Weights that come with the run may take another algorithm.
    std::vector<float> again(data.out.size());
    run(*create_deconvolution(c.params, nullptr, {}), data, data.weights.data(), again.data());
    wrong = 0;
    for (std::size_t i = 0; i < again.size(); ++i)
      wrong += !(std::abs(again[i] - expected.values[i]) <= tolerance(c.params, expected, i));
    CHECK(wrong == 0);
  }
}

TEST_CASE("a stride of single samples means nothing to the other axes of a deconvolution") {
  const std::size_t channels = GENERATE(1U, 17U);
  for (const ConvolutionParams& params :
       test_convolution::volumes_of_single_samples(channels, channels, true)) {
    INFO("in " << Catch::rangeToString(params.in_dims) << ", kernel " << Catch::rangeToString(params.kernel)
               << ", strides " << Catch::rangeToString(params.strides));
    Data data(params);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    run(*create_deconvolution(params, data.weights.data(), {}), data, nullptr, data.out.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.out.size(); ++i)
      wrong += !(std::abs(data.out[i] - expected.values[i]) <= tolerance(params, expected, i));
    REQUIRE(wrong == 0);
  }
}

std::array<std::size_t, 3> phases(std::size_t size, std::size_t channels, std::size_t kernel,
                                  std::size_t stride, std::ptrdiff_t pad, std::size_t groups = 1) {
  ConvolutionParams p;
  p.groups = groups;
  p.in_channels = p.out_channels = channels;
  p.in_dims = {size, size, 1};
  p.out_dims = {(size - 1) * stride + kernel - 2 * static_cast<std::size_t>(pad), 0, 1};
  p.out_dims[1] = p.out_dims[0];
  p.kernel = {kernel, kernel, 1};
  p.strides = {stride, stride, 1};
  p.pads_begin = {pad, pad, 0};
  const PhaseSplit split = split_phases(ConvolutionGeometry(p), true);
  std::array<std::size_t, 3> counts{};
  std::size_t all = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t next = 0;
    for (const PhaseAxis& phase : split.axes[i]) {
      CHECK(phase.first == next);
      next += phase.residues();
    }
    CHECK(next == (i == 0 ? 1 : stride));
    counts[i] = split.axes[i].size();
    all *= counts[i];
  }
  CHECK(split.algorithms.size() == all);
  return counts;
}

using Counts = std::array<std::size_t, 3>;

TEST_CASE("deconvolution computes outputs that see the same samples together") {
  CHECK(phases(20, 64, 2, 2, 0) == Counts{1, 1, 1});
  CHECK(phases(20, 21, 64, 32, 16) == Counts{1, 2, 2});
  CHECK(phases(20, 64, 2, 2, 0, 2) == Counts{1, 2, 2});
  // Here the zeros would be half of the work.
  CHECK(phases(20, 256, 4, 2, 1) == Counts{1, 2, 2});
  // Too many results to be held until their rows are complete.
  CHECK(phases(1500, 2, 2, 2, 0) == Counts{1, 2, 1});
}

TEST_CASE("deconvolution of few channels and many taps makes columns") {
  IR_FOR_EACH_TARGET();
  std::size_t found = 0;
  for (const Case& c : cases()) {
    INFO(c.name);
    Data data(c.params);
    const bool makes_columns =
        create_deconvolution(c.params, data.weights.data(), {})->algorithm() == "columns";
    if (c.name.starts_with("columns")) CHECK(makes_columns);
    found += makes_columns ? 1 : 0;
    CHECK(create_deconvolution(c.params, nullptr, {})->algorithm() == "phased_convolution");
  }
  CHECK(found < cases().size() / 2);
}

TEST_CASE(
    "deconvolution adds bias and, if there is one, a residual, clamps, then calls the hook, each element "
    "once") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    Epilogue epilogue;
    epilogue.bias = data.bias.data();
    epilogue.low = 0;
    epilogue.high = 2;
    epilogue.post = [](float* values, std::size_t count, std::size_t, const void*) {
      for (std::size_t i = 0; i < count; ++i) values[i] += 10;
    };
    std::unique_ptr<Convolution> deconvolution;
    for (const bool has_residual : {false, true}) {
      epilogue.residual = has_residual;
      deconvolution = create_deconvolution(c.params, data.weights.data(), epilogue);
      run(*deconvolution, data, nullptr, data.out.data());
      const std::size_t plane_size = product(c.params.out_dims, c.params.spatial_rank);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < data.out.size(); ++i) {
        const double sum = expected.values[i] + data.bias[i / plane_size % c.params.out_channels] +
                           (has_residual ? data.residual[i] : 0.0F);
        wrong += !(std::abs(data.out[i] - std::clamp(sum, 0.0, 2.0) - 10) <=
                   tolerance(c.params, expected, i) + 24e-6);
      }
      CHECK(wrong == 0);
    }

    std::vector<float> in_place(data.residual.begin(), data.residual.end());
    GuardedBuffer<std::byte> scratch(deconvolution->scratch_bytes());
    deconvolution->run({data.image.data(), nullptr, in_place.data()}, in_place.data(), scratch.data());
    CHECK(std::equal(in_place.begin(), in_place.end(), data.out.begin()));
  }
}

TEST_CASE("an accurate deconvolution leaves outputs alone that a sample does not reach") {
  IR_FOR_EACH_TARGET();
  ConvolutionParams params;
  params.in_channels = 1;
  params.out_channels = 2;
  params.spatial_rank = 1;
  params.in_dims[0] = 24;
  params.out_dims[0] = 322;
  params.kernel[0] = 4;
  params.strides[0] = 14;
  params.pads_begin[0] = 2;
  params.accurate = true;
  Data data(params);
  data.image[10] = std::numeric_limits<float>::quiet_NaN();
  for (const bool known : {true, false}) {
    const float* const weights = data.weights.data();
    run(*create_deconvolution(params, known ? weights : nullptr, {}), data, weights, data.out.data());
    for (std::size_t i = 0; i < data.out.size(); ++i) {
      const std::size_t x = i % 322;
      REQUIRE(std::isnan(data.out[i]) == (x >= 138 && x < 142));
    }
  }
}

TEST_CASE("deconvolution tells a hook by channel which channel it is about") {
  for (const Case& c : cases()) {
    INFO(c.name);
    Data data(c.params);
    const Sums expected = twin(c.params, data.image.data(), data.weights.data());
    Epilogue epilogue;
    epilogue.post_by_channel = true;
    epilogue.post = [](float* values, std::size_t count, std::size_t channel, const void*) {
      for (std::size_t i = 0; i < count; ++i) values[i] += 0.125F * static_cast<float>(channel);
    };
    run(*create_deconvolution(c.params, data.weights.data(), epilogue), data, nullptr, data.out.data());
    const std::size_t plane = product(c.params.out_dims, c.params.spatial_rank);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.out.size(); ++i) {
      const double want = expected.values[i] + 0.125 * static_cast<double>(i / plane % c.params.out_channels);
      wrong += !(std::abs(data.out[i] - want) <= tolerance(c.params, expected, i) + 24e-6);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("deconvolution gives the same bits on one and two threads") {
  for (Case c : cases()) {
    INFO(c.name);
    Data data(c.params);
    std::array<std::vector<float>, 2> results;
    for (const int threads : {1, 2}) {
      c.params.max_threads = static_cast<std::size_t>(threads);
      auto& result = results[static_cast<std::size_t>(threads - 1)];
      result.resize(data.out.size());
      const auto deconvolution = create_deconvolution(c.params, data.weights.data(), {});
      ThreadPool(threads).run([&] { run(*deconvolution, data, nullptr, result.data()); });
    }
    CHECK(results[0] == results[1]);
  }
}

template <class T>
void check_nd(const Case& c) {
  const ConvolutionParams& p = c.params;
  Data data(p);
  for (float& value : data.image) value = std::round(value * 4);
  for (float& value : data.weights) value = std::round(value * 4);
  if (std::is_unsigned_v<T>) {
    for (float& value : data.image) value = std::abs(value);
    for (float& value : data.weights) value = std::abs(value);
  }
  const Sums expected = twin(p, data.image.data(), data.weights.data());
  ConvolutionNdParams nd;
  nd.batch = p.batch;
  nd.groups = p.groups;
  nd.in_channels = p.in_channels;
  nd.out_channels = p.out_channels;
  const auto list = [&](const auto& values) {
    return std::vector(values.begin(), values.begin() + p.spatial_rank);
  };
  nd.in_dims = list(p.in_dims);
  nd.out_dims = list(p.out_dims);
  nd.kernel = list(p.kernel);
  nd.strides = list(p.strides);
  nd.dilations = list(p.dilations);
  nd.pads_begin = list(p.pads_begin);
  std::vector<T> image(data.image.begin(), data.image.end());
  std::vector<T> weights(data.weights.begin(), data.weights.end());
  GuardedBuffer<T> out(data.out.size());
  deconvolution_nd(nd, image.data(), weights.data(), out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    wrong += out[i] != static_cast<T>(static_cast<std::int64_t>(expected.values[i]));
  }
  CHECK(wrong == 0);
  CHECK(out.guards_intact());
}

TEMPLATE_TEST_CASE("deconvolution_nd is exact on small integers of every type", "", float, double,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  for (const Case& c : cases()) {
    INFO(c.name);
    check_nd<TestType>(c);
  }
}

}  // namespace
}  // namespace ir::kernels
