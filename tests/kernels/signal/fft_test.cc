#include "kernels/signal/fft.h"

#include <algorithm>

#include "tests/kernels/signal/fourier_reference.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::Complex;

// Largest error in units of the root mean square of the result. Every lane has a line of its own.
template <class T>
double error_of(std::size_t length, FftDirection direction, std::size_t lines) {
  const Fft<T> fft(length, direction, lines);
  test::GuardedBuffer<T> work(fft.work_size(), 1);
  const SplitComplex<T> in = fft.input(work.data());
  const std::size_t lanes = fft.lanes();
  std::vector<T> numbers(2 * length * lanes);
  test::fill_random(numbers, -1, 1, static_cast<std::uint32_t>(length));
  for (std::size_t i = 0; i < length * lanes; ++i) {
    in.re[i] = numbers[2 * i];
    in.im[i] = numbers[2 * i + 1];
  }
  const SplitComplex<T> out = fft.run(work.data());
  REQUIRE(work.guards_intact());
  double error = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::vector<Complex> line(length);
    for (std::size_t i = 0; i < length; ++i) {
      line[i] = {numbers[2 * (i * lanes + lane)], numbers[2 * (i * lanes + lane) + 1]};
    }
    const auto expected = test::direct_fourier(line, direction == FftDirection::forward ? -1 : 1);
    double power = 0;
    double worst = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const Complex got(out.re[k * lanes + lane], out.im[k * lanes + lane]);
      power += std::norm(expected[k]);
      worst = std::max(worst, std::abs(got - expected[k]));
    }
    error = std::max(error, worst / std::sqrt(power / static_cast<double>(length)));
  }
  return error;
}

std::vector<std::size_t> lengths() {
  std::vector<std::size_t> lengths;
  for (std::size_t n = 1; n <= 40; ++n) lengths.push_back(n);
  for (const std::size_t n :
       {49, 64, 97, 100, 121, 128, 225, 320, 511, 625, 729, 1000, 1009, 1024, 2048, 3000}) {
    lengths.push_back(n);
  }
  return lengths;
}

}  // namespace

TEST_CASE("Fft agrees with the formula for every length") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t length : lengths()) {
    for (const FftDirection direction : {FftDirection::forward, FftDirection::inverse}) {
      for (const std::size_t lines : {1, 100}) {
        INFO("length " << length << ", lines " << lines);
        REQUIRE(error_of<float>(length, direction, lines) < 2e-6);
        REQUIRE(error_of<double>(length, direction, lines) < 1e-13);
      }
    }
  }
}

TEST_CASE("Fft of long lines of a large prime is accurate") {
  CHECK(error_of<float>(4099, FftDirection::forward, 1) < 2e-6);
  CHECK(error_of<float>(9001, FftDirection::inverse, 100) < 2e-6);
}

TEMPLATE_TEST_CASE("Fft gives the same bits on every target", "", float, double) {
  for (const std::size_t length : {12, 31, 360, 1024}) {
    for (const std::size_t lines : {1, 8}) {
      const Fft<TestType> fft(length, FftDirection::inverse, lines);
      const std::size_t count = length * fft.lanes();
      const auto transformed = [&](std::int64_t target) {
        const test::TargetGuard guard(target);
        std::vector<TestType> work(fft.work_size());
        const auto in = fft.input(work.data());
        std::vector<TestType> numbers(2 * count);
        test::fill_random(numbers, -1, 1, 3);
        std::copy_n(numbers.data(), count, in.re);
        std::copy_n(numbers.data() + count, count, in.im);
        const auto out = fft.run(work.data());
        std::vector<TestType> result(out.re, out.re + count);
        result.insert(result.end(), out.im, out.im + count);
        return result;
      };
      const auto expected = transformed(targets().front());
      for (const std::int64_t target : targets()) {
        INFO("target " << target_name(target) << ", length " << length << ", lines " << lines);
        CHECK((transformed(target) == expected));
      }
    }
  }
}

TEST_CASE("Fft gives a line the same bits in any number of lanes") {
  IR_FOR_EACH_TARGET();
  for (const std::size_t length : {12, 31, 360}) {
    const Fft<float> one(length, FftDirection::forward, 1);
    const Fft<float> many(length, FftDirection::forward, 8);
    REQUIRE(one.lanes() == 1);
    REQUIRE(many.lanes() == Fft<float>::kMaxLanes);
    std::vector<float> line(2 * length);
    test::fill_random(line, -1, 1, 3);
    std::vector<float> one_work(one.work_size());
    std::vector<float> many_work(many.work_size(), 1.0F);
    for (std::size_t i = 0; i < length; ++i) {
      one.input(one_work.data()).re[i] = line[2 * i];
      one.input(one_work.data()).im[i] = line[2 * i + 1];
      many.input(many_work.data()).re[i * 8 + 5] = line[2 * i];
      many.input(many_work.data()).im[i * 8 + 5] = line[2 * i + 1];
    }
    const auto one_out = one.run(one_work.data());
    const auto many_out = many.run(many_work.data());
    for (std::size_t i = 0; i < length; ++i) {
      REQUIRE(one_out.re[i] == many_out.re[i * 8 + 5]);
      REQUIRE(one_out.im[i] == many_out.im[i * 8 + 5]);
    }
  }
}

}  // namespace ir::kernels
