#include "kernels/signal/stft.h"

#include <algorithm>

#include "kernels/threads/parallel.h"
#include "tests/kernels/signal/fourier_reference.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::Complex;
using test::GuardedBuffer;

struct Case {
  FrameParams frames;
  std::size_t signal_length;
};

std::vector<Case> cases() {
  return {
      {{1, 3, 16, 16, 16}, 48}, {{2, 9, 16, 4, 8}, 48}, {{1, 13, 11, 3, 7}, 48},  {{3, 1, 9, 100, 5}, 48},
      {{2, 5, 1, 2, 1}, 9},     {{1, 2, 2, 1, 1}, 3},   {{1, 40, 31, 1, 30}, 70},
  };
}

template <class T>
std::vector<double> padded_window(const FrameParams& frames, const GuardedBuffer<T>& window) {
  std::vector<double> padded(frames.frame_size, 0.0);
  for (std::size_t i = 0; i < frames.window_length; ++i) {
    padded[(frames.frame_size - frames.window_length) / 2 + i] = window[i];
  }
  return padded;
}

template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;

}  // namespace

TEMPLATE_TEST_CASE("Stft agrees with the formula", "", float, double) {
  for (const auto& [frames, signal_length] : cases()) {
    for (const bool transposed : {false, true}) {
      const std::size_t bins = frames.frame_size / 2 + 1;
      GuardedBuffer<TestType> signal(frames.batch * signal_length, 1);
      GuardedBuffer<TestType> window(frames.window_length, 1);
      GuardedBuffer<TestType> out(2 * frames.batch * frames.frames * bins, 1);
      test::fill_random(signal, -1, 1, 1);
      test::fill_random(window, 0, 1, 2);
      const Stft<TestType> stft(frames, signal_length, transposed);
      GuardedBuffer<TestType> scratch(stft.scratch_bytes() / sizeof(TestType));
      stft.run(signal.data(), window.data(), out.data(), reinterpret_cast<std::byte*>(scratch.data()));
      REQUIRE(out.guards_intact());
      REQUIRE(scratch.guards_intact());
      const std::vector<double> padded = padded_window(frames, window);
      for (std::size_t batch = 0; batch < frames.batch; ++batch) {
        for (std::size_t frame = 0; frame < frames.frames; ++frame) {
          std::vector<Complex> line(frames.frame_size);
          for (std::size_t i = 0; i < line.size(); ++i) {
            line[i] = signal[batch * signal_length + frame * frames.frame_step + i] * padded[i];
          }
          const auto expected = test::direct_fourier(line, -1);
          for (std::size_t bin = 0; bin < bins; ++bin) {
            const std::size_t at = transposed ? (batch * bins + bin) * frames.frames + frame
                                              : (batch * frames.frames + frame) * bins + bin;
            INFO("frame size " << frames.frame_size << ", frame " << frame << ", bin " << bin);
            REQUIRE(std::abs(Complex(out[2 * at], out[2 * at + 1]) - expected[bin]) < kTolerance<TestType>);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("InverseStft agrees with the formula", "", float, double) {
  const bool center = GENERATE(false, true);
  const bool normalized = GENERATE(false, true);
  for (const auto& [frames, signal_length] : cases()) {
    const std::size_t bins = frames.frame_size / 2 + 1;
    GuardedBuffer<TestType> in(2 * frames.batch * frames.frames * bins, 1);
    GuardedBuffer<TestType> window(frames.window_length, 1);
    test::fill_random(in, -1, 1, 1);
    test::fill_random(window, 0.5, 1, 2);
    const std::vector<double> padded = padded_window(frames, window);
    for (const std::size_t length : {std::size_t{1}, signal_length / 2, signal_length + 40}) {
      GuardedBuffer<TestType> out(frames.batch * length, 1);
      const InverseStft<TestType> stft(frames, length, center, normalized);
      GuardedBuffer<TestType> scratch(stft.scratch_bytes() / sizeof(TestType));
      stft.run(in.data(), window.data(), out.data(), reinterpret_cast<std::byte*>(scratch.data()));
      REQUIRE(out.guards_intact());
      REQUIRE(scratch.guards_intact());
      for (std::size_t batch = 0; batch < frames.batch; ++batch) {
        std::vector<double> sums(frames.frames * frames.frame_step + frames.frame_size + length + 100, 0.0);
        std::vector<double> weights(sums.size(), 0.0);
        for (std::size_t frame = 0; frame < frames.frames; ++frame) {
          std::vector<Complex> line(frames.frame_size);
          for (std::size_t bin = 0; bin < bins; ++bin) {
            const std::size_t at = (batch * bins + bin) * frames.frames + frame;
            line[bin] = {in[2 * at], in[2 * at + 1]};
          }
          for (std::size_t bin = bins; bin < line.size(); ++bin)
            line[bin] = std::conj(line[line.size() - bin]);
          const auto result = test::direct_fourier(line, 1);
          for (std::size_t i = 0; i < line.size(); ++i) {
            sums[frame * frames.frame_step + i] +=
                padded[i] * result[i].real() / static_cast<double>(line.size());
            weights[frame * frames.frame_step + i] += padded[i] * padded[i];
          }
        }
        const double scale = normalized ? std::sqrt(static_cast<double>(frames.frame_size)) : 1.0;
        for (std::size_t i = 0; i < length; ++i) {
          const std::size_t sample = i + (center ? frames.frame_size / 2 : 0);
          const double expected = weights[sample] == 0 ? 0 : scale * sums[sample] / weights[sample];
          INFO("frame size " << frames.frame_size << ", sample " << i);
          REQUIRE(std::abs(out[batch * length + i] - expected) < kTolerance<TestType>);
        }
      }
    }
  }
}

TEST_CASE("InverseStft without frames gives zeros") {
  const InverseStft<float> stft({1, 0, 4, 2, 4}, 5, false, false);
  const std::vector<float> window(4, 1.0F);
  std::vector<float> out(5, 3.0F);
  std::vector<float> scratch(stft.scratch_bytes() / sizeof(float) + 1);
  stft.run(nullptr, window.data(), out.data(), reinterpret_cast<std::byte*>(scratch.data()));
  CHECK(out == std::vector<float>(5, 0.0F));
}

TEST_CASE("Frames have the same bits for any number of threads") {
  const FrameParams frames{4, 200, 100, 25, 80};
  const std::size_t length = 199 * 25 + 100;
  const Stft<float> stft(frames, length, true);
  const InverseStft<float> inverse(frames, length, false, true);
  std::vector<float> signal(4 * length);
  std::vector<float> window(80);
  test::fill_random(signal, -1, 1, 1);
  test::fill_random(window, 0.1, 1, 2);
  std::vector<float> spectra[2];
  std::vector<float> signals[2];
  for (const int threads : {1, 2}) {
    auto& spectrum = spectra[threads - 1];
    auto& back = signals[threads - 1];
    spectrum.resize(2 * 4 * 200 * 51);
    back.resize(4 * length);
    std::vector<float> scratch(std::max(stft.scratch_bytes(), inverse.scratch_bytes()) / sizeof(float));
    auto* bytes = reinterpret_cast<std::byte*>(scratch.data());
    ThreadPool(threads).run([&] {
      stft.run(signal.data(), window.data(), spectrum.data(), bytes);
      inverse.run(spectrum.data(), window.data(), back.data(), bytes);
    });
  }
  CHECK(spectra[0] == spectra[1]);
  CHECK(signals[0] == signals[1]);
}

}  // namespace ir::kernels
