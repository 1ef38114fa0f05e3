#include "kernels/weights/packing_pieces.h"

#include <memory>
#include <numeric>
#include <span>

#include "kernels/matmul/gemm.h"
#include "kernels/sequence/rnn.h"
#include "tests/kernels/convolution/convolution_support.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

/// Which parts of a constant were packed.
struct Told {
  std::vector<std::pair<const float*, std::size_t>> parts;
  void operator()(std::span<const std::byte> part, Rereads) {
    parts.emplace_back(reinterpret_cast<const float*>(part.data()), part.size() / sizeof(float));
  }

  /// Whether they are all of `constant`, from its beginning to its end.
  [[nodiscard]] bool covers(const std::vector<float>& constant) const {
    const float* next = constant.data();
    for (const auto& [part, count] : parts) {
      if (part != next) return false;
      next += count;
    }
    return next == constant.data() + constant.size();
  }
};

std::vector<float> random_values(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  test::fill_random(values, -1, 1, seed);
  return values;
}

}  // namespace

TEST_CASE("Large constants are packed in pieces, of which the listener is told") {
  constexpr std::size_t kItem = 1000;
  const std::vector<float> constant(3000 * kItem);
  std::vector<int> packed(3000);
  Told told;
  const PackingListener::Packed listen(told);
  const PackingListener listener(listen);
  pack_in_pieces(
      packed.size(), [&](std::size_t i) { return constant.data() + i * kItem; },
      [&](std::size_t begin, std::size_t end) {
        // Whoever packs has not been told of.
        CHECK(std::accumulate(packed.begin(), packed.end(), std::size_t{0}) == begin);
        for (std::size_t i = begin; i < end; ++i) ++packed[i];
      });
  CHECK(packed == std::vector<int>(3000, 1));
  CHECK(told.parts.size() == 2);
  CHECK(told.covers(constant));

  SECTION("half of those that are half as large at a time") {
    told.parts.clear();
    const auto source = [&](std::size_t i) { return constant.data() + i * kItem; };
    pack_in_pieces(1500, source, [](std::size_t, std::size_t) {});
    CHECK(told.parts.size() == 2);
  }
  SECTION("a thirty-second of the largest ones at a time") {
    told.parts.clear();
    constexpr std::size_t kFloats = std::size_t{1} << 20;
    const auto large = std::make_unique_for_overwrite<float[]>(64 * kFloats);
    const auto source = [&](std::size_t i) { return large.get() + i * kFloats; };
    pack_in_pieces(64, source, [](std::size_t, std::size_t) {});
    CHECK(told.parts.size() == 32);
  }
  SECTION("small ones as a whole, and nothing of nothing") {
    told.parts.clear();
    const auto source = [&](std::size_t i) { return constant.data() + i; };
    pack_in_pieces(7, source, [](std::size_t, std::size_t) {});
    pack_in_pieces(0, source, [](std::size_t, std::size_t) {});
    CHECK(told.parts == decltype(told.parts){{constant.data(), 7}});
  }
  SECTION("an inner listener takes the place of the outer one") {
    Told inner;
    {
      const PackingListener::Packed listen_inside(inner);
      const PackingListener inside(listen_inside);
      PackingListener::tell(std::as_bytes(std::span(constant).first(1)));
    }
    PackingListener::tell(std::as_bytes(std::span(constant).first(2)));
    CHECK(inner.parts.size() == 1);
    CHECK(told.parts.back().second == 2);
    CHECK(told.parts.size() == 3);
  }
}

TEST_CASE("Convolutions of many weights pack them piece by piece") {
  const ConvolutionParams params = plane(1, 2, 960, 970, 4, 5, 3, 1, 1);
  const std::vector<float> weights = random_values(970 * 480 * 9, 1);
  const std::vector<float> image = random_values(960 * 20, 2);
  const auto result_of = [&](std::string_view algorithm, Told& told) {
    const PackingListener::Packed listen(told);
    const PackingListener listener(listen);
    const auto convolution = create_convolution(params, weights.data(), {}, {}, algorithm);
    REQUIRE(convolution->algorithm() == algorithm);
    std::vector<std::byte> scratch(convolution->scratch_bytes());
    std::vector<float> out(970 * 20);
    convolution->run({image.data(), nullptr, nullptr, nullptr}, out.data(), scratch.data());
    return out;
  };
  Told none;
  const std::vector<float> expected = result_of("implicit_gemm", none);
  for (const std::string_view algorithm :
       {"winograd_2x2", "winograd_4x4", "winograd_2x2_compact", "winograd_4x4_compact", "tap_by_tap"}) {
    INFO(algorithm);
    Told told;
    const std::vector<float> out = result_of(algorithm, told);
    CHECK(told.parts.size() > 2);
    CHECK(told.covers(weights));
    float most = 0;
    for (std::size_t i = 0; i < out.size(); ++i) most = std::max(most, std::abs(out[i] - expected[i]));
    CHECK(most < 2e-3F);  // of sums of 4320 terms
  }
}

TEST_CASE("Taps that see nothing but padding are told of, too") {
  ConvolutionParams params = volume(1, 280, 300, 1);
  params.weights_stay = true;
  const std::vector<float> weights = random_values(300 * 280 * 27, 1);
  Told told;
  const PackingListener::Packed listen(told);
  const PackingListener listener(listen);
  (void)create_convolution(params, weights.data(), {});
  // What is left of the filters is packed as well, from memory of the convolution's own.
  std::erase_if(told.parts, [&](const auto& part) {
    return part.first < weights.data() || part.first >= weights.data() + weights.size();
  });
  CHECK(told.parts.size() == 2);
  CHECK(told.covers(weights));
}

TEST_CASE("Products of large constants pack them piece by piece") {
  constexpr std::size_t kDepth = 1500;
  constexpr std::size_t kColumns = 1501;
  const bool transposed = GENERATE(false, true);
  const std::string_view form = GENERATE(as<std::string_view>(), "gemm", "strassen", "strassen_twice");
  const bool is_plain = form == "gemm";
  const std::size_t rows = is_plain ? 2 : 52;
  const std::vector<float> a = random_values(rows * kDepth, 1);
  const std::vector<float> b = random_values(kDepth * kColumns, 2);
  GemmParams params;
  params.m = rows;
  params.n = kColumns;
  params.k = kDepth;
  params.transpose_b = transposed;
  params.constant = GemmConstant::b;
  Told told;
  const PackingListener::Packed listen(told);
  const PackingListener listener(listen);
  const auto gemm = create_gemm(params, b.data(), {}, form);
  REQUIRE(gemm != nullptr);
  CHECK(told.parts.size() == 2);
  CHECK(told.covers(b));

  std::vector<std::byte> scratch(gemm->scratch_bytes());
  std::vector<float> out(rows * kColumns);
  gemm->run(a.data(), nullptr, nullptr, out.data(), scratch.data());
  double most = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < kDepth; ++k) {
      const std::size_t column = i % kColumns;
      sum += static_cast<double>(a[i / kColumns * kDepth + k]) *
             static_cast<double>(transposed ? b[column * kDepth + k] : b[k * kColumns + column]);
    }
    most = std::max(most, std::abs(sum - static_cast<double>(out[i])));
  }
  CHECK(most < (is_plain ? 1e-4 : 1e-3));
}

TEST_CASE("Recurrent weights are told of gate by gate") {
  RnnParams params;
  params.cell = GENERATE(RnnCell::rnn, RnnCell::gru, RnnCell::lstm);
  params.direction = RnnDirection::bidirectional;
  params.input_size = 7;
  params.hidden_size = 13;
  const std::size_t rows = 2 * params.gates() * params.hidden_size;
  const std::vector<float> w = random_values(rows * params.input_size, 1);
  const std::vector<float> r = random_values(rows * params.hidden_size, 2);
  Told told;
  const PackingListener::Packed listen(told);
  const PackingListener listener(listen);
  (void)create_rnn(params, {w.data(), r.data(), nullptr});
  std::vector<int> seen_w(w.size());
  std::vector<int> seen_r(r.size());
  for (const auto& [part, count] : told.parts) {
    const bool is_w = part >= w.data() && part < w.data() + w.size();
    std::vector<int>& seen = is_w ? seen_w : seen_r;
    const auto first = static_cast<std::size_t>(part - (is_w ? w.data() : r.data()));
    REQUIRE(first + count <= seen.size());
    for (std::size_t i = first; i < first + count; ++i) ++seen[i];
  }
  CHECK(seen_w == std::vector<int>(w.size(), 1));
  CHECK(seen_r == std::vector<int>(r.size(), 1));
}

}  // namespace ir::kernels
