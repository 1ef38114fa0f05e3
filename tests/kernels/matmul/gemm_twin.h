// Matrix products by their definition, and what their tests run on.
#ifndef TESTS_KERNELS_MATMUL_GEMM_TWIN_H_
#define TESTS_KERNELS_MATMUL_GEMM_TWIN_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/matmul/gemm.h"
#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"
#include "tests/kernels/weights/spoils_packed.h"

namespace ir::test {

using kernels::Epilogue;
using kernels::GemmBatchAxis;
using kernels::GemmConstant;
using kernels::GemmParams;

/// One product by a known B.
inline GemmParams product(std::size_t m, std::size_t n, std::size_t k) {
  GemmParams p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.constant = GemmConstant::b;
  return p;
}

/// Elements of an operand.
inline std::size_t reach(const GemmParams& p, std::size_t GemmBatchAxis::*stride, std::size_t matrix) {
  std::size_t size = matrix;
  for (const GemmBatchAxis& axis : p.batch) size += (axis.count - 1) * (axis.*stride);
  return size;
}

/// Of the batch.
inline std::size_t products(const GemmParams& p) {
  std::size_t count = 1;
  for (const GemmBatchAxis& axis : p.batch) count *= axis.count;
  return count;
}

/// Results by the definition, and sums of the magnitudes of their terms.
struct Sums {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

template <class T>
Sums twin(const GemmParams& p, const T* a, const T* b) {
  Sums sums;
  for (std::size_t index = 0; index < products(p); ++index) {
    std::size_t a_first = 0;
    std::size_t b_first = 0;
    std::size_t rest = index;
    for (std::size_t i = p.batch.size(); i-- > 0;) {
      a_first += rest % p.batch[i].count * p.batch[i].a_stride;
      b_first += rest % p.batch[i].count * p.batch[i].b_stride;
      rest /= p.batch[i].count;
    }
    for (std::size_t i = 0; i < p.m; ++i) {
      for (std::size_t j = 0; j < p.n; ++j) {
        double sum = 0;
        double magnitude = 0;
        for (std::size_t k = 0; k < p.k; ++k) {
          const double term = static_cast<double>(a[a_first + (p.transpose_a ? k * p.m + i : i * p.k + k)]) *
                              static_cast<double>(b[b_first + (p.transpose_b ? j * p.k + k : k * p.n + j)]);
          sum += term;
          magnitude += std::abs(term);
        }
        sums.values.push_back(sum);
        sums.magnitudes.push_back(magnitude);
      }
    }
  }
  return sums;
}

/// Operands of a product, and room for its results.
struct Data {
  GuardedBuffer<float> a;
  GuardedBuffer<float> b;
  GuardedBuffer<float> residual;
  GuardedBuffer<float> out;
  std::vector<float> bias;

  explicit Data(const GemmParams& p)
      : a(reach(p, &GemmBatchAxis::a_stride, p.m * p.k), 1),
        b(reach(p, &GemmBatchAxis::b_stride, p.n * p.k), 3),
        residual(products(p) * p.m * p.n, 5),
        out(residual.size(), 7),
        bias(std::max(p.m, p.n)) {
    fill_random(a, -1, 1, 1);
    fill_random(b, -1, 1, 2);
    fill_random(residual, -1, 1, 3);
    fill_random(bias, -1, 1, 4);
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
  }
};

/// `algorithm` as in create_gemm. What the kernel says it has packed of its constant, it does not read again.
inline void run(const GemmParams& p, const Epilogue& epilogue, const Data& data, float* out,
                std::string_view algorithm = {}) {
  std::vector<float> constant;
  if (p.constant == GemmConstant::a) constant.assign(data.a.data(), data.a.data() + data.a.size());
  if (p.constant == GemmConstant::b) constant.assign(data.b.data(), data.b.data() + data.b.size());
  const auto gemm = [&] {
    const kernels::SpoilsPacked spoils({constant});
    const bool is_there = p.constant != GemmConstant::none;
    return kernels::create_gemm(p, is_there ? constant.data() : nullptr, epilogue, algorithm);
  }();
  REQUIRE(gemm != nullptr);
  GuardedBuffer<std::byte> scratch(gemm->scratch_bytes(), 5);
  std::fill(scratch.begin(), scratch.end(), std::byte{0xFF});
  const bool reads = gemm->reads_constant();
  gemm->run(p.constant == GemmConstant::a && !reads ? nullptr : data.a.data(),
            p.constant == GemmConstant::b && !reads ? nullptr : data.b.data(), data.residual.data(), out,
            scratch.data());
  CHECK(scratch.guards_intact());
}

/// The algorithm gives the same bits on one, two and three threads.
inline void check_same_bits(GemmParams p, const Data& data, std::string_view algorithm) {
  std::array<std::vector<float>, 3> results;
  for (const int threads : {1, 2, 3}) {
    p.max_threads = static_cast<std::size_t>(threads);
    auto& result = results[static_cast<std::size_t>(threads - 1)];
    result.resize(data.out.size());
    kernels::ThreadPool(threads).run([&] { run(p, {}, data, result.data(), algorithm); });
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

/// Everything that an epilogue can do: bias, residual, clamp, and a hook that adds 10.
inline Epilogue whole_epilogue(const Data& data) {
  static constexpr float kOffset = 10;
  Epilogue epilogue;
  epilogue.bias = data.bias.data();
  epilogue.residual = true;
  epilogue.low = -0.5F;
  epilogue.high = 0.75F;
  epilogue.post_context = &kOffset;
  epilogue.post = [](float* values, std::size_t count, std::size_t, const void* context) {
    for (std::size_t i = 0; i < count; ++i) values[i] += *static_cast<const float*>(context);
  };
  return epilogue;
}

/// What it makes of the sums.
inline std::vector<double> after_epilogue(const GemmParams& p, const Data& data, const Sums& sums) {
  std::vector<double> results;
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const double bias = data.bias[p.bias_axis == kernels::BiasAxis::row ? i / p.n % p.m : i % p.n];
    results.push_back(std::clamp(sums.values[i] + bias + data.residual[i], -0.5, 0.75) + 10);
  }
  return results;
}

}  // namespace ir::test

#endif  // TESTS_KERNELS_MATMUL_GEMM_TWIN_H_
