// Matrix products: with packed weights, between activations, of one row.
#include "kernels/matmul/gemm.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "kernels/matmul/gemm_compressed.h"
#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

using kernels::GemmConstant;
using kernels::GemmParams;

struct Product {
  const char* name;
  std::size_t batch, m, n, k;
  GemmConstant constant;
  bool transpose_b;
};

constexpr Product kProducts[] = {
    {"square_256", 1, 256, 256, 256, GemmConstant::b, false},
    {"square_1024", 1, 1024, 1024, 1024, GemmConstant::b, false},
    {"dense_128x768x768", 1, 128, 768, 768, GemmConstant::b, true},
    {"dense_128x3072x768", 1, 128, 3072, 768, GemmConstant::b, true},
    {"dense_197x768x3072", 1, 197, 768, 3072, GemmConstant::b, true},
    {"heads_12x128x128x64", 12, 128, 128, 64, GemmConstant::none, true},
    {"heads_12x128x64x128", 12, 128, 64, 128, GemmConstant::none, false},
    {"odd_61x67x71", 1, 61, 67, 71, GemmConstant::b, false},
    {"row_1x1000x2048", 1, 1, 1000, 2048, GemmConstant::b, true},
    {"row_1x4096x4096", 1, 1, 4096, 4096, GemmConstant::b, true},
    {"row_1x4096x4096_varying", 1, 1, 4096, 4096, GemmConstant::none, false},
    {"rows_2x4096x4096", 1, 2, 4096, 4096, GemmConstant::b, true},
    {"rows_2x1000x2048", 1, 2, 1000, 2048, GemmConstant::b, true},
    {"rows_4x1000x2048", 1, 4, 1000, 2048, GemmConstant::b, true},
    {"rows_4x4096x4096", 1, 4, 4096, 4096, GemmConstant::b, true},
    {"rows_8x4096x4096", 1, 8, 4096, 4096, GemmConstant::b, true},
    {"rows_16x4096x4096", 1, 16, 4096, 4096, GemmConstant::b, true},
    {"rows_64x4096x4096", 1, 64, 4096, 4096, GemmConstant::b, true},
    {"rows_256x4096x4096", 1, 256, 4096, 4096, GemmConstant::b, true},
};

GemmParams params_of(const Product& product) {
  GemmParams params;
  params.m = product.m;
  params.n = product.n;
  params.k = product.k;
  params.transpose_b = product.transpose_b;
  params.constant = product.constant;
  if (product.batch > 1) params.batch = {{product.batch, product.m * product.k, product.k * product.n}};
  return params;
}

enum class Numbers { any, integers };

/// "": the algorithm that is chosen.
void run(benchmark::State& state, const Product& product, std::string_view algorithm,
         Numbers numbers = Numbers::any) {
  GemmParams params = params_of(product);
  const std::size_t a_size = product.m * product.k;
  const std::size_t b_size = product.k * product.n;
  const std::size_t out_size = product.m * product.n;
  const std::vector<float> a = random_floats(product.batch * a_size);
  std::vector<float> b = random_floats(product.batch * b_size);
  if (numbers == Numbers::integers) {
    b = quantised(b.data(), b.size());
    params.integers = kernels::integer_columns(params, b.data(), kBytes);
  }
  std::vector<float> out(product.batch * out_size);
  const float* constant = product.constant == GemmConstant::b ? b.data() : nullptr;
  const auto gemm = prepared([&] { return kernels::create_gemm(params, constant, {}, algorithm); });
  if (gemm == nullptr) {
    state.SkipWithError("the SIMD target does not take this product");
    return;
  }
  std::vector<std::byte> scratch(gemm->scratch_bytes());
  const auto batch = static_cast<double>(product.batch);
  const Work work{2 * batch * static_cast<double>(out_size) * static_cast<double>(product.k),
                  batch * static_cast<double>((a_size + b_size + out_size) * sizeof(float))};
  measure(state, work, [&] { gemm->run(a.data(), b.data(), nullptr, out.data(), scratch.data()); });
  state.SetLabel(std::string(gemm->algorithm()));
}

struct Compression {
  const char* name;
  kernels::WeightCode code;
  std::size_t group;  ///< 0: all terms of a row
};

constexpr Compression kCompressions[] = {{"f16", kernels::WeightCode::f16, 0},
                                         {"u8", kernels::WeightCode::u8, 0},
                                         {"i8", kernels::WeightCode::i8, 0},
                                         {"u4_128", kernels::WeightCode::u4, 128}};

/// Rows times 4096 x 4096 weights that stay compressed.
void run_compressed(benchmark::State& state, std::size_t m, const Compression& compression,
                    std::size_t most_quantised) {
  constexpr std::size_t kSize = 4096;
  const std::size_t group = compression.group == 0 ? kSize : compression.group;
  const kernels::CompressedForm form{compression.code, kSize, kSize, group};
  const std::vector<float> a = random_floats(m * kSize);
  std::vector<float> out(m * kSize);
  const std::vector<float> scale = random_floats(kSize * form.groups());
  const std::vector<std::uint8_t> codes(kSize * form.row_bytes(), 1);
  const auto gemm = prepared([&] { return kernels::create_compressed_gemm(m, form, {}, most_quantised); });
  std::vector<std::byte> scratch(gemm->scratch_bytes());
  const Work work{2 * static_cast<double>(m * kSize * kSize),
                  static_cast<double>(codes.size() + (scale.size() + a.size() + out.size()) * sizeof(float))};
  measure(state, work, [&] {
    gemm->run(a.data(), {codes.data(), scale.data()}, nullptr, out.data(), scratch.data());
  });
}

}  // namespace

void register_gemm() {
  for (const std::size_t m : {1, 4, 8, 16, 64, 256}) {
    for (const Compression& compression : kCompressions) {
      const std::string name = fmt::format("gemm/rows_{}x4096x4096/{}", m, compression.name);
      add(name, [m, compression](benchmark::State& state) { run_compressed(state, m, compression, 0); });
      for (const std::size_t group : {32, 128}) {
        add(fmt::format("{}/quantised_{}", name, group),
            [=](benchmark::State& state) { run_compressed(state, m, compression, group); });
      }
    }
  }
  for (const Product& product : kProducts) {
    const std::string name = fmt::format("gemm/{}", product.name);
    add(name, [product](benchmark::State& state) { run(state, product, ""); });
    if (product.m > 1 && product.constant == GemmConstant::b) {
      for (const char* const algorithm : {"integer", "integer_tiles"}) {
        add(fmt::format("{}/{}", name, algorithm),
            [=](benchmark::State& state) { run(state, product, algorithm, Numbers::integers); });
      }
    }
    for (const kernels::GemmAlgorithm& algorithm : kernels::gemm_algorithms(params_of(product))) {
      add(fmt::format("{}/{}", name, algorithm.name),
          [product, algorithm](benchmark::State& state) { run(state, product, algorithm.name); });
    }
  }
}

}  // namespace ir::bench
