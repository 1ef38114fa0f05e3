// Products of compressed weights whose rows are quantised, against the definition on what rows and codes
// stand for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/quantised_rows.h"
#include "kernels/weights/integer_weights.h"
#include "tests/kernels/matmul/compressed_cases.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::kernels {
namespace {

using test::check_results;
using test::CompressedCase;
using test::Data;
using test::describe;
using test::GuardedBuffer;
using test::run;
using test::Sums;
using test::Weights;

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// A case, and how many terms may share a scale.
struct Case {
  CompressedCase weights;
  std::size_t most = 0;
};

/// All codes of integers with their kinds of offsets; columns around panels, groups that are cut and that are
/// longer than what is summed in registers.
std::vector<Case> cases() {
  struct Size {
    std::size_t rows;
    std::size_t terms;
    std::size_t group;
    std::size_t most;
  };
  std::vector<Case> list;
  for (const auto code : {WeightCode::u8, WeightCode::i8, WeightCode::u4, WeightCode::i4}) {
    for (const Size& size :
         {Size{1, 32, 32, kAny}, Size{17, 64, 64, 32}, Size{50, 256, 128, kAny}, Size{33, 256, 128, 48},
          Size{3, 480, 96, 100}, Size{96, 1536, 192, 64}, Size{49, 1920, 384, kAny},
          Size{7, 9600, 4800, kAny}, Size{200, 320, 320, 128}, Size{5, 72, 72, 40}, Size{48, 288, 32, 32}}) {
      for (const CompressedCase& c : test::cases_of({code, size.rows, size.terms, size.group}))
        list.push_back({c, size.most});
    }
    list.push_back({{{code, 9, 64, 64}, false}, kAny});
  }
  return list;
}

/// The largest number of terms that divides the weights' groups and has whole lanes, for 4 bits pairs of
/// them.
std::size_t expected_group(const CompressedForm& form, std::size_t most) {
  std::size_t found = 0;
  for (std::size_t group = 32; group <= std::min(most, form.group); ++group) {
    if (form.group % group == 0 && group % (bits_of(form.code) == 4 ? 8 : 4) == 0) found = group;
  }
  return found;
}

/// What bytes of groups of so many values stand for.
std::vector<float> quantised(const GuardedBuffer<float>& values, std::size_t group) {
  std::vector<float> results(values.data(), values.data() + values.size());
  for (std::size_t first = 0; first < results.size(); first += group) {
    float largest = 0;
    for (std::size_t i = first; i < first + group; ++i) largest = std::max(largest, std::abs(results[i]));
    const float scale = largest / 127;
    const float per_unit = largest == 0 ? 0 : 127 / largest;
    for (std::size_t i = first; i < first + group; ++i)
      results[i] = std::nearbyint(results[i] * per_unit) * scale;
  }
  return results;
}

std::string describe(const Case& c) { return describe(c.weights) + " most " + std::to_string(c.most); }

}  // namespace

TEST_CASE("Quantised rows share a scale within the groups of weights, and in no larger ones than asked for") {
  for (const Case& c : cases()) {
    INFO(describe(c));
    CHECK(quantised_group(c.weights.form, c.most) == expected_group(c.weights.form, c.most));
  }
  CHECK(quantised_group({WeightCode::f16, 4, 64, 64}, kAny) == 0);
  CHECK(quantised_group({WeightCode::u8, 4, 64, 16}, kAny) == 0);
  CHECK(quantised_group({WeightCode::u8, 4, 70, 70}, kAny) == 0);
  CHECK(quantised_group({WeightCode::u8, 4, 64, 64}, 31) == 0);
}

TEST_CASE("Products of quantised rows agree with the definition on what the bytes stand for") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    const std::size_t group = quantised_group(c.weights.form, c.most);
    if (group == 0 || !multiplies_bytes()) continue;
    const Weights weights(c.weights);
    for (const std::size_t m : {1, 5, 8, 13, 70, 300}) {
      if (m == 300 && c.weights.form.terms > 500) continue;
      INFO(describe(c) << " m " << m);
      const GemmParams p = product_of(m, c.weights.form);
      Data data(p);
      if (m > 1) std::fill_n(data.a.data() + c.weights.form.terms, group, 0.0F);
      const std::vector<float> a = quantised(data.a, group);
      const Sums expected = test::twin(p, a.data(), weights.floats.data());
      run(*create_quantised_gemm(m, c.weights.form, group, {}), weights, data, data.out.data());
      check_results(expected, expected.values, data.out.data());
      CHECK(data.out.guards_intact());
      // The residual may be where the results go.
      std::copy(data.residual.begin(), data.residual.end(), data.out.begin());
      const auto gemm = create_quantised_gemm(m, c.weights.form, group, test::whole_epilogue(data));
      std::vector<std::byte> scratch(gemm->scratch_bytes());
      gemm->run(data.a.data(), weights.rows, data.out.data(), data.out.data(), scratch.data());
      check_results(expected, test::after_epilogue(p, data, expected), data.out.data());
    }
  }
}

TEST_CASE("A few quantised rows meet codes of 4 bits where these lie") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    if (bits_of(c.weights.form.code) != 4) continue;
    const std::size_t group = quantised_group(c.weights.form, c.most);
    const Weights weights(c.weights);
    for (const std::size_t m : {1, 2, 4, 7}) {
      INFO(describe(c) << " m " << m);
      const GemmParams p = product_of(m, c.weights.form);
      Data data(p);
      const auto plain = create_compressed_gemm(m, c.weights.form, {}, c.most);
      const bool several = m > 4 && multiplies_bytes();
      CHECK(plain->quantises() == (group != 0 && (several || dots_nibbles(c.weights.form))));
      if (!plain->quantises()) continue;
      const std::vector<float> a = quantised(data.a, group);
      const Sums expected = test::twin(p, a.data(), weights.floats.data());
      run(*plain, weights, data, data.out.data());
      check_results(expected, expected.values, data.out.data());
      CHECK(data.out.guards_intact());
      run(*create_compressed_gemm(m, c.weights.form, test::whole_epilogue(data), c.most), weights, data,
          data.out.data());
      check_results(expected, test::after_epilogue(p, data, expected), data.out.data());
    }
  }
}

TEST_CASE("Any number of quantised rows meets codes of 4 bits where these lie") {
  IR_FOR_EACH_TARGET();
  for (const Case& c : cases()) {
    const CompressedForm& form = c.weights.form;
    const std::size_t group = quantised_group(form, c.most);
    if (group == 0 || !dots_nibbles(form)) continue;
    const Weights weights(c.weights);
    for (const std::size_t m : {3, 22, 134}) {
      if (m > 3 && form.terms > 1000) continue;
      INFO(describe(c) << " m " << m);
      const GemmParams p = product_of(m, form);
      Data data(p);
      const Sums expected = test::twin(p, quantised(data.a, group).data(), weights.floats.data());
      run(*create_arranged_gemm(m, form, group, {}), weights, data, data.out.data());
      check_results(expected, expected.values, data.out.data());
      CHECK(data.out.guards_intact());
      run(*create_arranged_gemm(m, form, group, test::whole_epilogue(data)), weights, data, data.out.data());
      check_results(expected, test::after_epilogue(p, data, expected), data.out.data());
      std::vector<float> on_threads(data.out.size());
      ThreadPool(3).run([&] {
        run(*create_arranged_gemm(m, form, group, test::whole_epilogue(data)), weights, data,
            on_threads.data());
      });
      CHECK(std::equal(on_threads.begin(), on_threads.end(), data.out.begin()));
    }
  }
}

TEST_CASE("Rows are quantised where that is allowed and possible, and there are several") {
  IR_FOR_EACH_TARGET();
  const CompressedForm form{WeightCode::u4, 64, 256, 128};
  CHECK_FALSE(create_compressed_gemm(40, form, {})->quantises());
  CHECK_FALSE(create_compressed_gemm(40, form, {}, 16)->quantises());
  CHECK_FALSE(create_compressed_gemm(1, {WeightCode::u8, 64, 256, 128}, {}, 64)->quantises());
  CHECK(create_compressed_gemm(1, form, {}, 64)->quantises() == dots_nibbles(form));
  CHECK(create_compressed_gemm(40, form, {}, 64)->quantises() == (multiplies_bytes() || dots_nibbles(form)));
  CHECK(create_compressed_gemm(40, {WeightCode::u8, 64, 256, 128}, {}, 64)->quantises() ==
        multiplies_bytes());
  CHECK_FALSE(create_compressed_gemm(40, {WeightCode::f16, 64, 256, 256}, {}, 64)->quantises());
}

TEST_CASE("Products of quantised rows have the same bits on any number of threads") {
  IR_FOR_EACH_TARGET();
  const CompressedCase c{{WeightCode::u4, 700, 384, 128}, true, CompressedCase::Offsets::many};
  const Weights weights(c);
  for (const std::size_t m : {1, 3, 6, 150, 530}) {
    const Data data(product_of(m, c.form));
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      results.emplace_back(data.out.size());
      ThreadPool(threads).run(
          [&] { run(*create_compressed_gemm(m, c.form, {}, 64), weights, data, results.back().data()); });
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("What is not finite makes the results of its row NaN, and of no other") {
  IR_FOR_EACH_TARGET();
  const CompressedCase c{
      {GENERATE(WeightCode::i8, WeightCode::i4), 30, 96, 96}, true, CompressedCase::Offsets::none};
  const std::size_t rows = GENERATE(4, 7);
  const auto gemm = create_compressed_gemm(rows, c.form, {}, 32);
  if (!gemm->quantises()) return;
  const Weights weights(c);
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::size_t place : {0, 31, 50, 95}) {
      Data data(product_of(rows, c.form));
      data.a[2 * c.form.terms + place] = value;
      run(*gemm, weights, data, data.out.data());
      for (std::size_t i = 0; i < data.out.size(); ++i)
        CHECK(std::isnan(data.out[i]) == (i / c.form.rows == 2));
    }
  }
}

TEST_CASE("Groups of the smallest values are quantised to 0, without a division by them") {
  IR_FOR_EACH_TARGET();
  std::vector<float> values(64, 1e-40F);
  values[40] = 1e-20F;
  std::vector<std::int8_t> bytes(64, 1);
  float scale[2] = {};
  float sums[2] = {};
  quantise_row(values.data(), 64, 32, WeightCode::u8, {bytes.data(), scale, 1, sums});
  CHECK(scale[0] == 0);
  CHECK(sums[0] == 0);
  CHECK(std::ranges::all_of(bytes.begin(), bytes.begin() + 32, [](int byte) { return byte == 0; }));
  CHECK(bytes[40] == 127);
  CHECK(sums[1] == Approx(1e-20F));
}

}  // namespace ir::kernels
