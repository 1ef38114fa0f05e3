#include "kernels/convolution/prologue.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/threads/parallel.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

struct Case {
  std::string name;
  ConvolutionParams params;
  std::string algorithm;  ///< "": the one that is chosen
};

std::vector<Case> cases() {
  std::vector<Case> list{
      {"some columns", plane(1, 1, 19, 21, 5, 7, 1), ""},
      {"terms over a block", plane(2, 1, 330, 70, 11, 13, 1), "pointwise"},
      {"many columns, several blocks of rows", plane(1, 1, 3, 200, 23, 29, 1), "pointwise"},
      {"many rows and terms", plane(1, 1, 410, 210, 9, 11, 1), ""},
      {"groups", plane(3, 3, 12, 15, 13, 5, 1), "pointwise"},
      {"few rows", plane(2, 1, 19, 5, 9, 11, 1), "direct"},
      {"few rows, many columns and terms", plane(2, 2, 640, 14, 41, 33, 1), "direct"},
      {"a small plane", plane(1, 1, 300, 50, 3, 3, 1), small_plane_algorithm()},
      {"a small plane of 7 x 7", plane(2, 1, 420, 170, 7, 7, 1), ""},
      {"a small plane in groups", plane(2, 2, 30, 60, 3, 3, 1), ""},
      // What has no columns to pack, or takes them from somewhere else.
      {"one position", plane(3, 1, 37, 18, 1, 1, 1), "full"},
      {"stride 2", plane(1, 1, 6, 10, 15, 17, 1, 2), "implicit_gemm"},
      {"padded", plane(2, 1, 6, 10, 5, 6, 1, 1, 1), "implicit_gemm"},
      {"3x3", plane(1, 1, 8, 16, 14, 14, 3, 1, 1), ""},
      {"3x3 worth a transform", plane(1, 1, 64, 64, 40, 40, 3, 1, 1), "winograd_4x4"},
      {"depthwise", plane(2, 7, 7, 7, 14, 13, 3, 1, 1), "depthwise"},
      {"depthwise 1x1", plane(2, 3, 3, 3, 5, 5, 1), "depthwise"},
      {"taps that see nothing", plane(1, 2, 4, 6, 9, 11, 3, 1, 12, 12), "pointwise"},
      {"nothing", plane(0, 1, 4, 6, 9, 11, 1), ""},
  };
  ConvolutionParams line;
  line.batch = 2;
  line.in_channels = 5;
  line.out_channels = 9;
  line.spatial_rank = 1;
  line.in_dims = line.out_dims = {107, 1, 1};
  list.push_back({"one dimension", line, ""});
  return list;
}

enum class Kind { all, runtime_scale, repeated_scale, repeated_image, shift, clamp };
constexpr std::array kKinds{Kind::all,   Kind::runtime_scale, Kind::repeated_scale, Kind::repeated_image,
                            Kind::shift, Kind::clamp};

// A case with random numbers.
class Example {
 public:
  Example(const Case& c, Kind kind)
      : data_(c.params),
        params_(c.params),
        scale_(c.params.batch * c.params.in_channels, 3),
        shift_(c.params.in_channels, 1) {
    test::fill_random(scale_, -1, 1, 5);
    test::fill_random(shift_, -1, 1, 6);
    prologue_.repeats_scale = kind == Kind::repeated_scale;
    prologue_.repeats_image = kind == Kind::repeated_image;
    prologue_.runtime_scale =
        kind == Kind::runtime_scale || prologue_.repeats_scale || prologue_.repeats_image;
    if (kind == Kind::all) prologue_.scale = scale_.data();
    if (kind == Kind::all || kind == Kind::shift || kind == Kind::repeated_scale)
      prologue_.shift = shift_.data();
    if (kind == Kind::all || kind == Kind::clamp) {
      prologue_.low = -0.25F;
      prologue_.high = 0.5F;
    }
    epilogue_.bias = data_.bias.data();
    epilogue_.residual = true;
    epilogue_.low = 0;
  }

  /// With weights that are constant, by a named algorithm.
  [[nodiscard]] std::unique_ptr<Convolution> create(std::string_view algorithm) const {
    return create_convolution(params_, data_.weights.data(), epilogue_, prologue_, algorithm);
  }
  /// With weights of the run.
  [[nodiscard]] std::unique_ptr<Convolution> create_late() const {
    return create_convolution(params_, nullptr, epilogue_, prologue_);
  }

  [[nodiscard]] std::vector<float> run(const Convolution& convolution) const {
    GuardedBuffer<float> out(data_.out.size(), 7);
    GuardedBuffer<std::byte> scratch(convolution.scratch_bytes(), 5);
    // NaN everywhere: what is not written before it is read shows.
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    std::fill(scratch.begin(), scratch.end(), std::byte{0xFF});
    convolution.run({data_.image.data(), data_.weights.data(), data_.residual.data(),
                     prologue_.runtime_scale ? scale_.data() : nullptr},
                    out.data(), scratch.data());
    CHECK(scratch.guards_intact());
    CHECK(out.guards_intact());
    return {out.begin(), out.end()};
  }

  [[nodiscard]] std::size_t count_wrong(const Convolution& convolution, const std::vector<float>& out) const {
    const std::vector<float> image = mapped();
    const Sums sums = twin(params_, image.data(), data_.weights.data());
    const std::size_t plane = product(params_.out_dims, params_.spatial_rank);
    return test_convolution::count_wrong(
        convolution, out, sums,
        [&](std::size_t i) {
          const double bias = data_.bias[i / plane % params_.out_channels];
          return std::max(sums.values[i] + bias + static_cast<double>(data_.residual[i]), 0.0);
        },
        1e-5);
  }

 private:
  // The image that the prologue makes, by its definition.
  [[nodiscard]] std::vector<float> mapped() const {
    const std::size_t plane = product(params_.in_dims, params_.spatial_rank);
    const std::size_t image_size = params_.in_channels * plane;
    std::vector<float> image(params_.batch * image_size);
    for (std::size_t i = 0; i < image.size(); ++i) {
      const std::size_t channel = i / plane % params_.in_channels;
      double value = data_.image[prologue_.repeats_image ? i % image_size : i];
      if (prologue_.scale != nullptr || prologue_.repeats_scale) {
        value *= scale_[channel];
      } else if (prologue_.runtime_scale) {
        value *= scale_[i / plane];
      }
      if (prologue_.shift != nullptr) value += shift_[channel];
      image[i] = static_cast<float>(
          std::clamp(value, static_cast<double>(prologue_.low), static_cast<double>(prologue_.high)));
    }
    return image;
  }

  Data data_;
  ConvolutionParams params_;
  GuardedBuffer<float> scale_;
  GuardedBuffer<float> shift_;
  Prologue prologue_;
  Epilogue epilogue_;
};

TEST_CASE("convolution scales, shifts and clamps its image first, whatever the algorithm") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    INFO(c.name);
    for (const Kind kind : kKinds) {
      INFO(static_cast<int>(kind));
      const Example example(c, kind);
      const auto convolution = example.create(c.algorithm);
      REQUIRE(convolution != nullptr);
      CHECK(example.count_wrong(*convolution, example.run(*convolution)) == 0);
      const auto late = example.create_late();
      CHECK(example.count_wrong(*late, example.run(*late)) == 0);
    }
  }
}

TEST_CASE("convolution with a prologue gives the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  for (Case c : cases()) {
    INFO(c.name);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      c.params.max_threads = static_cast<std::size_t>(threads);
      const Example example(c, Kind::all);
      ThreadPool(threads).run([&] { results.push_back(example.run(*example.create(c.algorithm))); });
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("convolution of a prologue lets NaN through the clamp") {
  IR_FOR_EACH_TARGET();
  const std::size_t side = GENERATE(3, 9);
  const ConvolutionParams params = plane(1, 1, 2, 60, side, side, 1);
  Data data(params);
  data.image[0] = std::numeric_limits<float>::quiet_NaN();
  Prologue prologue;
  prologue.low = 0;
  prologue.high = 6;
  run(*create_convolution(params, data.weights.data(), {}, prologue), data, nullptr, data.out.data());
  CHECK(std::isnan(data.out[0]));
  CHECK_FALSE(std::isnan(data.out[1]));
}

TEST_CASE("an image that has to be changed before the convolution takes scratch, others less or none") {
  const test::WithoutMatrixTiles without_tiles;
  Prologue prologue;
  prologue.low = 0;
  const auto more = [&](const ConvolutionParams& params) {
    const Data data(params);
    return create_convolution(params, data.weights.data(), {}, prologue)->scratch_bytes() -
           create_convolution(params, data.weights.data(), {})->scratch_bytes();
  };
  CHECK(more(plane(1, 1, 19, 21, 15, 17, 1)) == 0);
  // Block by block of terms, or once for all workers.
  CHECK(more(plane(1, 1, 300, 50, 3, 3, 1)) < 2 * 300 * 3 * 3 * sizeof(float));
  CHECK(more(plane(1, 1, 6, 10, 15, 17, 1, 2)) >= 6 * 15 * 17 * sizeof(float));
}

}  // namespace
}  // namespace ir::kernels
