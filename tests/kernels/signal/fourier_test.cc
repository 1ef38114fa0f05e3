#include "kernels/signal/fourier.h"

#include <algorithm>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "tests/kernels/signal/fourier_reference.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::Complex;
using test::GuardedBuffer;
using Sizes = std::vector<std::size_t>;

struct ComplexTensor {
  Sizes dims;
  std::vector<Complex> numbers;
};

std::size_t count_of(const Sizes& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
}

// Lines along `axis` replaced by what `f` makes of them.
template <class F>
ComplexTensor along(const ComplexTensor& in, std::size_t axis, F&& f) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < in.dims.size(); ++i) inner *= in.dims[i];
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= in.dims[i];
  ComplexTensor out;
  for (std::size_t line = 0; line < outer * inner; ++line) {
    std::vector<Complex> numbers(in.dims[axis]);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = in.numbers[(line / inner * in.dims[axis] + i) * inner + line % inner];
    }
    const std::vector<Complex> result = f(numbers);
    if (out.dims.empty()) {
      out.dims = in.dims;
      out.dims[axis] = result.size();
      out.numbers.resize(count_of(out.dims));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      out.numbers[(line / inner * result.size() + i) * inner + line % inner] = result[i];
    }
  }
  return out;
}

ComplexTensor twin(ComplexTensor data, const std::vector<FourierAxis>& axes, FourierKind kind, bool inverse) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t length = axes[i].length;
    const bool last = i + 1 == axes.size();
    data = along(data, axes[i].axis, [&](std::vector<Complex> line) {
      if (last && kind == FourierKind::complex_to_real) {
        line.resize(length / 2 + 1);
        line.resize(length);
        for (std::size_t k = length / 2 + 1; k < length; ++k) line[k] = std::conj(line[length - k]);
      }
      line.resize(length);
      auto result = test::direct_fourier(line, inverse ? 1 : -1);
      for (Complex& number : result) {
        if (inverse) number /= static_cast<double>(length);
        if (last && kind == FourierKind::complex_to_real) number = number.real();
      }
      if (last && kind == FourierKind::real_to_complex) result.resize(length / 2 + 1);
      return result;
    });
  }
  return data;
}

template <class T>
void check(const Sizes& dims, const std::vector<FourierAxis>& axes, FourierKind kind,
           FftDirection direction) {
  const bool real_in = kind == FourierKind::real_to_complex;
  const bool real_out = kind == FourierKind::complex_to_real;
  const std::size_t width = real_in ? 1 : 2;
  GuardedBuffer<T> in(count_of(dims) * width, 1);
  test::fill_random(in, -1, 1, 7);
  ComplexTensor data{dims, std::vector<Complex>(count_of(dims))};
  for (std::size_t i = 0; i < data.numbers.size(); ++i) {
    data.numbers[i] = {in[i * width], real_in ? 0 : in[i * width + width - 1]};
  }
  const ComplexTensor expected = twin(data, axes, kind, direction == FftDirection::inverse);

  const FourierTransform<T> transform(dims, axes, kind, direction);
  GuardedBuffer<T> out(expected.numbers.size() * (real_out ? 1 : 2), 1);
  GuardedBuffer<T> scratch(transform.scratch_bytes() / sizeof(T));
  transform.run(in.data(), out.data(), reinterpret_cast<std::byte*>(scratch.data()));
  REQUIRE(out.guards_intact());
  REQUIRE(scratch.guards_intact());
  double power = 0;
  double error = 0;
  for (std::size_t i = 0; i < expected.numbers.size(); ++i) {
    const Complex got = real_out ? Complex(out[i]) : Complex(out[2 * i], out[2 * i + 1]);
    power += std::norm(expected.numbers[i]);
    error = std::max(error, std::abs(got - expected.numbers[i]));
  }
  const double scale =
      std::sqrt(power / static_cast<double>(std::max<std::size_t>(1, expected.numbers.size())));
  REQUIRE(error <= (sizeof(T) == 4 ? 4e-6 : 1e-13) * scale);
}

}  // namespace

TEMPLATE_TEST_CASE("Transforms along any axes agree with the formula", "", float, double) {
  const FourierKind kind =
      GENERATE(FourierKind::complex, FourierKind::real_to_complex, FourierKind::complex_to_real);
  const FftDirection direction = GENERATE(FftDirection::forward, FftDirection::inverse);
  check<TestType>({10}, {{0, 10}}, kind, direction);
  check<TestType>({1}, {{0, 1}}, kind, direction);
  check<TestType>({5, 6, 7}, {{0, 5}, {1, 6}, {2, 7}}, kind, direction);
  check<TestType>({5, 6, 7}, {{2, 7}, {0, 5}}, kind, direction);
  check<TestType>({5, 6, 7}, {{1, 6}}, kind, direction);
  check<TestType>({3, 1, 20, 9}, {{2, 20}, {1, 1}}, kind, direction);
  check<TestType>({2, 3, 4, 5, 2}, {{3, 5}, {1, 3}}, kind, direction);
}

TEMPLATE_TEST_CASE("Lines are cut off and padded", "", float, double) {
  const FourierKind kind =
      GENERATE(FourierKind::complex, FourierKind::real_to_complex, FourierKind::complex_to_real);
  const FftDirection direction = GENERATE(FftDirection::forward, FftDirection::inverse);
  check<TestType>({10}, {{0, 3}}, kind, direction);
  check<TestType>({10}, {{0, 24}}, kind, direction);
  check<TestType>({10}, {{0, 1}}, kind, direction);
  check<TestType>({4, 9, 11}, {{0, 12}, {2, 5}}, kind, direction);
  check<TestType>({4, 9, 11}, {{2, 5}, {0, 12}}, kind, direction);
  check<TestType>({4, 9, 11}, {{0, 12}, {2, 15}, {1, 2}}, kind, direction);
  check<TestType>({4, 9, 11}, {{1, 3}, {2, 4}, {0, 2}}, kind, direction);
  check<TestType>({4, 9, 11}, {{1, 13}, {2, 14}, {0, 7}}, kind, direction);
  check<TestType>({30, 2}, {{0, 1}, {1, 40}}, kind, direction);
}

TEST_CASE("A transform of an empty axis that is padded is zero") {
  const FourierTransform<float> transform(Sizes{2, 0}, std::vector<FourierAxis>{{1, 4}, {0, 2}},
                                          FourierKind::complex, FftDirection::forward);
  std::vector<float> out(16, 5.0F);
  std::vector<float> scratch(transform.scratch_bytes() / sizeof(float));
  transform.run(nullptr, out.data(), reinterpret_cast<std::byte*>(scratch.data()));
  CHECK(out == std::vector<float>(16, 0.0F));
}

TEST_CASE("What lies between two passes is no larger than the result") {
  // Axis 1 grows by as much as axis 0 loses.
  const FourierTransform<float> transform(Sizes{100000, 1}, std::vector<FourierAxis>{{0, 1}, {1, 100000}},
                                          FourierKind::real_to_complex, FftDirection::forward);
  CHECK(transform.scratch_bytes() < 100U * 100000U);
}

TEST_CASE("Transforms have the same bits for any number of threads") {
  const Sizes dims{60, 50, 21};
  const FourierTransform<float> transform(dims, std::vector<FourierAxis>{{0, 60}, {1, 49}, {2, 21}},
                                          FourierKind::complex, FftDirection::forward);
  std::vector<float> in(2 * count_of(dims));
  test::fill_random(in, -1, 1, 5);
  std::vector<float> one(2 * 60 * 49 * 21);
  std::vector<float> two(one.size());
  std::vector<float> scratch(transform.scratch_bytes() / sizeof(float));
  auto* bytes = reinterpret_cast<std::byte*>(scratch.data());
  ThreadPool(1).run([&] { transform.run(in.data(), one.data(), bytes); });
  ThreadPool(2).run([&] { transform.run(in.data(), two.data(), bytes); });
  CHECK(one == two);
}

}  // namespace ir::kernels
