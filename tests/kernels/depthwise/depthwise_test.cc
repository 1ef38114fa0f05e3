// Depthwise convolutions: windows that lie across the edges of planes of any size.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#define HAS_PAGES 1
#endif

#include "kernels/convolution/convolution_geometry.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

std::string text(const ConvolutionParams& p) {
  return std::to_string(p.in_dims[0]) + "x" + std::to_string(p.in_dims[1]) + ", kernel " +
         std::to_string(p.kernel[0]) + "x" + std::to_string(p.kernel[1]) + ", dilations " +
         std::to_string(p.dilations[0]) + " " + std::to_string(p.dilations[1]) + ", stride " +
         std::to_string(p.strides[0]) + ", pads " + std::to_string(p.pads_begin[0]) + " " +
         std::to_string(p.pads_begin[1]) + ", outputs " + std::to_string(p.out_dims[0]) + "x" +
         std::to_string(p.out_dims[1]);
}

/// Windows on planes of one to some vectors, with any pads that leave something to see: square ones, and
/// others with dilations.
std::vector<ConvolutionParams> windows() {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  const auto with_pads = [&](ConvolutionParams params) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::size_t reach = (params.kernel[axis] - 1) * params.dilations[axis] + 1;
      const std::size_t before = pick(0, reach - 1);
      const std::size_t padded = std::max(params.in_dims[axis] + before + pick(0, reach - 1), reach);
      params.pads_begin[axis] = static_cast<std::ptrdiff_t>(before);
      params.out_dims[axis] = (padded - reach) / params.strides[axis] + 1;
    }
    return params;
  };
  std::vector<ConvolutionParams> list;
  for (const std::size_t kernel : {3U, 5U, 7U, 9U}) {
    for (const std::size_t stride : {1U, 2U}) {
      for (std::size_t i = 0; i < 25; ++i) {
        list.push_back(with_pads(plane(pick(1, 2), 3, 3, 3, pick(1, 19), pick(1, 53), kernel, stride)));
      }
    }
  }
  for (std::size_t i = 0; i < 60; ++i) {
    ConvolutionParams params = plane(1, 3, 3, 3, pick(1, 40), pick(1, 80), 1);
    params.kernel = {pick(1, 13), pick(1, 13), 1};
    params.dilations = {i % 4 == 0 ? 2U : 1U, pick(1, 3), 1};
    list.push_back(with_pads(params));
  }
  return list;
}

#ifdef HAS_PAGES
/// Floats between pages that nobody may touch: right behind the first one, or right before the last.
class FencedFloats {
 public:
  FencedFloats(const GuardedBuffer<float>& values, bool at_end) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = values.size() * sizeof(float);
    const std::size_t inside = (bytes + page - 1) / page * page;
    size_ = inside + 2 * page;
    pages_ = static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages_ != MAP_FAILED);
    REQUIRE(mprotect(pages_ + page, inside, PROT_READ | PROT_WRITE) == 0);
    floats_ = reinterpret_cast<float*>(pages_ + page + (at_end ? inside - bytes : 0));
    std::memcpy(floats_, values.data(), bytes);
  }
  FencedFloats(const FencedFloats&) = delete;
  FencedFloats& operator=(const FencedFloats&) = delete;
  ~FencedFloats() { munmap(pages_, size_); }
  [[nodiscard]] float* data() { return floats_; }

 private:
  char* pages_;
  std::size_t size_;
  float* floats_;
};
#endif

}  // namespace

TEST_CASE("Depthwise convolution follows its definition across all edges", "[kernels]") {
  IR_FOR_EACH_TARGET();
  for (const ConvolutionParams& params : windows()) {
    INFO(text(params));
    Data data(params);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    const auto plain = create_convolution(params, data.weights.data(), {});
    CHECK(plain->algorithm() == "depthwise");
    run(*plain, data, nullptr, data.out.data());
    CHECK(count_wrong(*plain, data.out, expected, [&](std::size_t i) { return expected.values[i]; }) == 0);
    CHECK(data.out.guards_intact());

    const auto whole = create_convolution(params, data.weights.data(), whole_epilogue(data));
    run(*whole, data, nullptr, data.out.data());
    CHECK(count_wrong_after_epilogue(*whole, params, data, data.out, expected) == 0);
    CHECK(data.out.guards_intact());
    // The residual in place.
    std::vector<float> in_place(data.residual.begin(), data.residual.end());
    GuardedBuffer<std::byte> scratch(whole->scratch_bytes());
    whole->run({data.image.data(), nullptr, in_place.data()}, in_place.data(), scratch.data());
    CHECK(std::equal(in_place.begin(), in_place.end(), data.out.begin()));
  }
}

TEST_CASE("Depthwise convolution of volumes follows its definition in all depth slices", "[kernels]") {
  IR_FOR_EACH_TARGET();
  for (const auto& [name, params] : cases_of_depth(3, 3, 6)) {
    INFO(name);
    Data data(params);
    const Sums expected = twin(params, data.image.data(), data.weights.data());
    const auto convolution =
        create_depthwise_convolution(ConvolutionGeometry(params), data.weights.data(), whole_epilogue(data));
    run(*convolution, data, nullptr, data.out.data());
    CHECK(count_wrong_after_epilogue(*convolution, params, data, data.out, expected) == 0);
    CHECK(data.out.guards_intact());
  }
}

TEST_CASE("Depthwise convolution gives the same bits on any number of threads", "[kernels]") {
  for (const ConvolutionParams& params : windows()) {
    INFO(text(params));
    const Data data(params);
    check_same_bits(params, data, [&](const ConvolutionParams& for_threads) {
      return create_convolution(for_threads, data.weights.data(), {});
    });
  }
}

TEST_CASE("Depthwise convolution takes nothing from neighbouring rows", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const std::size_t kernel = GENERATE(3U, 5U, 7U, 9U);
  const std::size_t stride = GENERATE(1U, 2U);
  const auto width = static_cast<std::size_t>(GENERATE(14, 16, 29, 40));
  const std::size_t bad = GENERATE_COPY(std::size_t{0}, width - 1);
  const auto pad = static_cast<std::ptrdiff_t>(kernel / 2);
  const ConvolutionParams params = plane(1, 2, 2, 2, 9, width, kernel, stride, pad);
  INFO(text(params));
  Data data(params);
  // What comes from the other end of a row, even with a weight of zero, shows.
  for (std::size_t i = bad; i < data.image.size(); i += width)
    data.image[i] = std::numeric_limits<float>::infinity();
  const auto convolution = create_convolution(params, data.weights.data(), {});
  run(*convolution, data, nullptr, data.out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.out.size(); ++i) {
    const std::size_t first = i % params.out_dims[1] * stride;  // with the padding
    const bool sees = first <= bad + kernel / 2 && bad + kernel / 2 < first + kernel;
    wrong += std::isfinite(data.out[i]) == sees;
  }
  CHECK(wrong == 0);
}

#ifdef HAS_PAGES
TEST_CASE("Depthwise convolution touches nothing outside of its tensors", "[kernels]") {
  IR_FOR_EACH_TARGET();
  const bool at_end = GENERATE(false, true);
  for (const ConvolutionParams& params : windows()) {
    INFO(text(params));
    Data data(params);
    const auto convolution = create_convolution(params, data.weights.data(), {});
    run(*convolution, data, nullptr, data.out.data());
    FencedFloats image(data.image, at_end);
    FencedFloats out(data.out, at_end);
    GuardedBuffer<std::byte> scratch(convolution->scratch_bytes());
    convolution->run({image.data(), nullptr, nullptr}, out.data(), scratch.data());
    CHECK(std::equal(data.out.begin(), data.out.end(), out.data()));
  }
}
#endif

}  // namespace ir::kernels
