// Depthwise windows over lanes of four channels' bytes, against sums of integers.
#include "kernels/depthwise/depthwise_lanes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

constexpr std::size_t kTogether = 4;

struct Window {
  std::size_t side;
  std::size_t step;
};

/// An image that a kernel reads, with all that it may touch, and its windows.
class Lanes {
 public:
  Lanes(Window window, std::size_t rows, std::size_t columns)
      : window_(window),
        rows_(rows),
        columns_(columns),
        stride_((columns - 1) * window.step + window.side + 2 * GemmKernels::kLanesLimit + 1),
        image_(kTogether * stride_ * ((rows - 1) * window.step + window.side), 1),
        weights_(kTogether * window.side * window.side) {
    test::fill_random(image_, 0, 256, 2);
    test::fill_random(weights_, -128, 128, 3);
    pack();
  }

  float scale[kTogether] = {0.0009F, 0.0011F, 0.0005F, 0.002F};
  float bias[kTogether] = {100.25F, 30.5F, 128, 77.125F};
  float low = 3;
  float high = 251;

  /// How many bytes are not what they should be.
  [[nodiscard]] std::size_t wrong(DepthwiseLanesKernel kernel) const {
    GuardedBuffer<std::uint8_t> out(kTogether * rows_ * columns_, 4);
    const LaneWindow window{packed_.data(), scale, bias, low, high};
    kernel({reinterpret_cast<const float*>(image_.data()), stride_}, window, rows_, columns_,
           reinterpret_cast<float*>(out.data()));
    std::size_t wrong = out.guards_intact() ? 0 : 1;
    for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != expected(i) ? 1 : 0;
    return wrong;
  }

 private:
  void pack() {
    const std::size_t groups = tap_groups(window_.side);
    packed_.assign(window_.side * groups * kTogether * 4, 0);
    for (std::size_t channel = 0; channel < kTogether; ++channel) {
      for (std::size_t y = 0; y < window_.side; ++y) {
        for (std::size_t x = 0; x < window_.side; ++x)
          packed_[((y * groups + x / 4) * kTogether + channel) * 4 + x % 4] = weight(channel, y, x);
      }
    }
  }
  [[nodiscard]] std::int8_t weight(std::size_t channel, std::size_t y, std::size_t x) const {
    return weights_[(channel * window_.side + y) * window_.side + x];
  }
  [[nodiscard]] int expected(std::size_t i) const {
    const std::size_t channel = i % kTogether;
    const std::size_t row = i / kTogether / columns_ * window_.step;
    const std::size_t column = i / kTogether % columns_ * window_.step;
    int sum = 0;
    for (std::size_t y = 0; y < window_.side; ++y) {
      for (std::size_t x = 0; x < window_.side; ++x)
        sum += image_[((row + y) * stride_ + column + x) * kTogether + channel] * weight(channel, y, x);
    }
    const float value = std::fma(static_cast<float>(sum), scale[channel], bias[channel]);
    if (std::isnan(value)) return static_cast<int>(low);
    return static_cast<int>(std::nearbyint(std::clamp(value, low, high)));
  }

  Window window_;
  std::size_t rows_;
  std::size_t columns_;
  std::size_t stride_;  ///< in lanes
  GuardedBuffer<std::uint8_t> image_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int8_t> packed_;
};

Window any_window() { return GENERATE(Window{3, 1}, Window{3, 2}, Window{5, 1}, Window{5, 2}); }

}  // namespace

TEST_CASE("Lanes of bytes are summed by windows and become levels", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Window window = any_window();
  const DepthwiseLanesKernel kernel = depthwise_lanes_kernel(window.side, window.step);
  if (kernel == nullptr) return;
  const std::size_t rows = GENERATE(1, 2, 3, 7, 20);
  const std::size_t columns = GENERATE(1, 2, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 56, 100);
  INFO(window.side << " step " << window.step << ", " << rows << " x " << columns);
  CHECK(Lanes(window, rows, columns).wrong(kernel) == 0);
}

TEST_CASE("Levels of windows end at their bounds, whatever the sums are worth", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const Window window = any_window();
  const DepthwiseLanesKernel kernel = depthwise_lanes_kernel(window.side, window.step);
  if (kernel == nullptr) return;
  Lanes lanes(window, 5, 19);
  SECTION("all levels") {
    lanes.low = 0;
    lanes.high = 255;
  }
  SECTION("one") { lanes.low = lanes.high = 7; }
  SECTION("sums beyond 2^31 steps") { std::fill_n(lanes.scale, kTogether, 1e9F); }
  SECTION("infinite and no numbers") {
    lanes.bias[0] = std::numeric_limits<float>::infinity();
    lanes.bias[1] = -std::numeric_limits<float>::infinity();
    lanes.bias[2] = std::numeric_limits<float>::quiet_NaN();
  }
  CHECK(lanes.wrong(kernel) == 0);
}

TEST_CASE("Other windows have no kernel for lanes", "[kernels]") {
  IR_FOR_EACH_TARGET();
  CHECK(depthwise_lanes_kernel(1, 1) == nullptr);
  CHECK(depthwise_lanes_kernel(7, 1) == nullptr);
  CHECK(depthwise_lanes_kernel(3, 3) == nullptr);
  CHECK(depthwise_lanes_kernel(4, 2) == nullptr);
}

}  // namespace ir::kernels
