// DFT, IDFT, RDFT, IRDFT, STFT, ISTFT.
#include "ir_runtime/ops/signals.h"

#include <limits>

#include "tests/kernels/signal/fourier_reference.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v15::STFT;
using op::v16::ISTFT;
using op::v7::DFT;
using op::v7::IDFT;
using op::v9::IRDFT;
using op::v9::RDFT;

ValueInfo real(PartialShape shape) { return value(ElementType::f32, std::move(shape)); }
ValueInfo integers(std::vector<std::int64_t> values) {
  return value_of(i64({static_cast<std::int64_t>(values.size())}, values));
}
ValueInfo number(std::int64_t value) { return value_of(i64({}, {value})); }
ValueInfo unknown_number() { return value(ElementType::i64, PartialShape(Shape{})); }

// Numbers without any pattern.
Tensor noise(Shape shape) {
  Tensor tensor(ElementType::f32, std::move(shape));
  std::uint32_t state = 1;
  for (float& element : tensor.data<float>()) {
    state = state * 1664525U + 1013904223U;
    element = static_cast<float>(state >> 8) / static_cast<float>(1U << 24) - 0.5F;
  }
  return tensor;
}

STFT stft(bool transpose_frames) {
  STFT op;
  op.transpose_frames = transpose_frames;
  return op;
}

ISTFT istft(bool center, bool normalized) {
  ISTFT op;
  op.center = center;
  op.normalized = normalized;
  return op;
}

}  // namespace

TEST_CASE("DFT and IDFT transform one axis", "[signals]") {
  // 1, i, -1, -i is one turn: all of it at frequency 1.
  const Tensor turn = f32({4, 2}, {1, 0, 0, 1, -1, 0, 0, -1});
  const Tensor at_one = f32({4, 2}, {0, 0, 4, 0, 0, 0, 0, 0});
  check_close(run(DFT(), {turn, i64({1}, {0})}), {4, 2}, {0, 0, 4, 0, 0, 0, 0, 0});
  check_close(run(IDFT(), {at_one, i64({1}, {-1})}), {4, 2}, {1, 0, 0, 1, -1, 0, 0, -1});
  // x0 + x1 and x0 - x1 along axis 1 of two lines.
  check_close(run(DFT(), {f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i32({1}, {1})}), {2, 2, 2},
              {4, 6, -2, -2, 12, 14, -2, -2});
}

TEST_CASE("DFT transforms several axes in any order and size", "[signals]") {
  const Tensor data = noise({3, 4, 5, 2});
  const Tensor both = run(DFT(), {data, i64({2}, {2, 0})});
  const Tensor one = run(DFT(), {data, i64({1}, {0})});
  const Tensor other = run(DFT(), {one, i64({1}, {-1})});
  const auto expected = other.data<float>();
  check_close(both, {3, 4, 5, 2}, {expected.begin(), expected.end()});
  // Sizes go with the axes: axis 2 is cut to 4, axis 0 padded to 6.
  const Tensor sized = run(DFT(), {data, i64({2}, {2, 0}), i64({2}, {4, 6})});
  CHECK(sized.shape() == Shape{6, 4, 4, 2});
  const Tensor back = run(IDFT(), {sized, i64({2}, {0, 2})});
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        const float is = back.data<float>()[((i * 4 + j) * 4 + k) * 2];
        const float was = i < 3 ? data.data<float>()[((i * 4 + j) * 5 + k) * 2] : 0;
        REQUIRE(std::abs(is - was) < 1e-6);
      }
    }
  }
}

TEST_CASE("DFT without axes changes nothing", "[signals]") {
  check_equal<float>(run(DFT(), {f32({1, 2}, {3, 4}), i64({0}, {})}), {1, 2}, {3, 4});
}

TEST_CASE("RDFT gives the first half of the spectrum", "[signals]") {
  // 1, 2, 3, 4: 10, -2 + 2i, -2.
  const Tensor data = f32({4}, {1, 2, 3, 4});
  check_close(run(RDFT(), {data, i64({1}, {0})}), {3, 2}, {10, 0, -2, 2, -2, 0});
  // Cut to 1, 2, 3: 6, -1.5 + 0.866i.
  check_close(run(RDFT(), {data, i64({1}, {-1}), i64({1}, {3})}), {2, 2}, {6, 0, -1.5F, 0.8660254F});
  check_close(run(RDFT(), {f32({1}, {7}), i64({1}, {0}), i64({1}, {-1})}), {1, 2}, {7, 0});
}

TEST_CASE("IRDFT takes half a spectrum", "[signals]") {
  const Tensor half = f32({3, 2}, {10, 0, -2, 2, -2, 0});
  check_close(run(IRDFT(), {half, i64({1}, {0})}), {4}, {1, 2, 3, 4});
  // Five values, of which 10, -2 + 2i, -2 and their conjugates are the spectrum:
  // x0 = (10 + 2 * -2 + 2 * -2) / 5.
  const Tensor odd = run(IRDFT(), {half, i64({1}, {0}), i64({1}, {5})});
  CHECK(odd.shape() == Shape{5});
  CHECK(std::abs(odd.data<float>()[0] - 0.4F) < 1e-6);
  // Imaginary parts of the first and of the middle value have no part in the result.
  check_close(run(IRDFT(), {f32({3, 2}, {10, 9, -2, 2, -2, 9}), i64({1}, {0})}), {4}, {1, 2, 3, 4});
}

TEST_CASE("RDFT and IRDFT along several axes", "[signals]") {
  const Tensor data = noise({4, 6, 5});
  for (const auto& axes : std::vector<std::vector<std::int64_t>>{{0, 2}, {2, 1}, {1, 2, 0}, {-1}}) {
    const Tensor axis_input = i64({static_cast<std::int64_t>(axes.size())}, axes);
    const Tensor spectrum = run(RDFT(), {data, axis_input});
    std::vector<std::int64_t> sizes;
    for (const std::int64_t axis : axes)
      sizes.push_back(data.shape()[static_cast<std::size_t>((axis + 3) % 3)]);
    const Tensor back =
        run(IRDFT(), {spectrum, axis_input, i64({static_cast<std::int64_t>(axes.size())}, sizes)});
    const auto expected = data.data<float>();
    check_close(back, data.shape(), {expected.begin(), expected.end()});
  }
  // The formula, for the last axis listed first in memory.
  const Tensor spectrum = run(RDFT(), {data, i64({2}, {1, 0})});
  REQUIRE(spectrum.shape() == Shape{3, 6, 5, 2});
  Complex sum;
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 6; ++k) {
      const double angle = -2 * std::numbers::pi * (1.0 * j / 4 + 5.0 * k / 6);
      sum +=
          double{data.data<float>()[static_cast<std::size_t>((j * 6 + k) * 5 + 3)]} * std::polar(1.0, angle);
    }
  }
  CHECK(std::abs(spectrum.data<float>()[((1 * 6 + 5) * 5 + 3) * 2] - sum.real()) < 1e-5);
  CHECK(std::abs(spectrum.data<float>()[((1 * 6 + 5) * 5 + 3) * 2 + 1] - sum.imag()) < 1e-5);
}

TEST_CASE("Transforms take every real type", "[signals]") {
  for (const ElementType type : {ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor result = run(RDFT(), {f32({4}, {1, 2, 3, 4}).converted(type), i64({1}, {0})});
    CHECK(result.element_type() == type);
    check_close(result.converted(ElementType::f32), {3, 2}, {10, 0, -2, 2, -2, 0});
  }
}

TEST_CASE("Transforms of nothing are empty", "[signals]") {
  CHECK(run(DFT(), {f32({0, 3, 2}, {}), i64({1}, {1})}).shape() == Shape{0, 3, 2});
  CHECK(run(DFT(), {f32({0, 2}, {}), i64({1}, {0})}).shape() == Shape{0, 2});
  CHECK(run(RDFT(), {f32({0}, {}), i64({1}, {0})}).shape() == Shape{0, 2});
  CHECK(run(IRDFT(), {f32({1, 2}, {1, 0}), i64({1}, {0})}).shape() == Shape{0});
  check_equal<float>(run(DFT(), {f32({0, 2}, {}), i64({1}, {0}), i64({1}, {2})}), {2, 2}, {0, 0, 0, 0});
}

TEST_CASE("Transforms have the shapes of the specifications' examples", "[signals]") {
  const PartialShape image{1, 320, 320, 2};
  CHECK(infer_shape(DFT(), {real(image), integers({1, 2})}) == image);
  CHECK(infer_shape(DFT(), {real(image), integers({1, 2}), integers({512, 100})}) ==
        PartialShape{1, 512, 100, 2});
  CHECK(infer_shape(IDFT(), {real({16, 768, 580, 320, 2}), integers({3, 0, 2}), integers({258, -1, 2056})}) ==
        PartialShape{16, 768, 2056, 258, 2});
  CHECK(infer_shape(RDFT(), {real({1, 320, 320}), integers({1, 2})}) == PartialShape{1, 320, 161, 2});
  CHECK(infer_shape(RDFT(), {real({16, 768, 580, 320}), integers({3, 0, 2}), integers({258, -1, 2056})}) ==
        PartialShape{16, 768, 1029, 258, 2});
  CHECK(infer_shape(IRDFT(), {real({1, 161, 161, 2}), integers({1, 2})}) == PartialShape{1, 161, 320});
  CHECK(infer_shape(IRDFT(), {real({16, 768, 580, 320, 2}), integers({3, 1, 2}),
                              integers({170, -1, 1024})}) == PartialShape{16, 768, 1024, 170});
}

TEST_CASE("Transforms infer what is known", "[signals]") {
  const PartialShape data{2, Dimension(), Dimension(3, 10), 2};
  CHECK(infer_shape(DFT(), {real(data), integers({1, 2})}) == data);
  CHECK(infer_shape(DFT(), {real(data), integers({1}), partly_known({Dimension(4, 8)})}) ==
        PartialShape{2, Dimension(4, 8), Dimension(3, 10), 2});
  CHECK(infer_shape(DFT(), {real(data), integers({0, 1}), value(ElementType::i64, {2})}) ==
        PartialShape{Dimension(), Dimension(), Dimension(3, 10), 2});
  CHECK(infer_shape(DFT(), {real(data), value(ElementType::i64, {1})}) ==
        PartialShape{Dimension(), Dimension(), Dimension(), 2});
  CHECK(infer_shape(DFT(), {real(PartialShape()), integers({0})}) == PartialShape());
  CHECK(infer_shape(RDFT(), {real({2, Dimension(3, 10)}), integers({1})}) ==
        PartialShape{2, Dimension(2, 6), 2});
  CHECK(infer_shape(RDFT(), {real({Dimension()}), integers({0})}) == PartialShape{Dimension(), 2});
  CHECK(infer_shape(IRDFT(), {real({2, Dimension(0, 6), 2}), integers({1})}) ==
        PartialShape{2, Dimension(0, 10)});
  CHECK(explain_outputs(RDFT(), std::vector{real({2, 320}), integers({0, 1})})[0][1] ==
        "floor(320 / 2) + 1 = 161");
  CHECK(explain_outputs(IRDFT(), std::vector{real({161, 2}), integers({0})})[0][0] == "2 * (161 - 1) = 320");
  CHECK(explain_outputs(DFT(), std::vector{real({161, 2}), integers({0}), integers({8})})[0][0] ==
        "signal size = 8");
}

TEST_CASE("Transforms refuse what does not fit", "[signals]") {
  const ValueInfo data = real({3, 4, 2});
  CHECK(failure_of(DFT(), {data}) == "IR-input-count: has 1 inputs, DFT takes 2 to 3");
  CHECK(failure_of(DFT(), {value(ElementType::i32, {3, 2}), integers({0})}) ==
        "IR-element-type: input 0 is of type i32, DFT takes a floating-point type");
  CHECK(failure_of(DFT(), {real({3, 4, 3}), integers({0})}) ==
        "IR-shape: input 0 has shape [3,4,3]: its last axis takes pairs of real and imaginary part");
  CHECK(failure_of(DFT(), {real({2}), integers({0})}) ==
        "IR-rank: input 0 has shape [2]; it takes a rank of at least 2");
  CHECK(failure_of(DFT(), {data, integers({2})}) == "IR-axis: axis 2 lies outside of [-2, 2) for rank 2");
  CHECK(failure_of(DFT(), {data, integers({0, -2})}) == "IR-axis: axis 0 is given twice");
  CHECK(failure_of(DFT(), {data, value(ElementType::f32, {1})}) ==
        "IR-element-type: input 1 is of type f32, DFT takes an integer type");
  CHECK(failure_of(DFT(), {data, integers({0}), integers({4, 5})}) ==
        "IR-shape: input 1 names 1 axes, input 2 has 2 signal sizes");
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-2}, std::numeric_limits<std::int64_t>::min(),
                                  std::int64_t{16777217}, std::numeric_limits<std::int64_t>::max()}) {
    CHECK(failure_of(DFT(), {data, integers({0}), integers({size})}) ==
          "IR-value: input 2 has signal size " + std::to_string(size) + "; it takes -1 and 1 to 16777216");
  }
  CHECK(failure_of(DFT(), {real({16777217, 2}), integers({0})}) ==
        "IR-shape: a signal has 16777217 elements; at most 16777216 can be transformed");
  CHECK(failure_of(RDFT(), {real({4}), integers({})}) == "IR-value: input 1 names no axis");
  CHECK(failure_of(RDFT(), {real({4}), integers({1})}) ==
        "IR-axis: axis 1 lies outside of [-1, 1) for rank 1");
  CHECK(failure_of(IRDFT(), {real({4, 2}), integers({-2})}) ==
        "IR-axis: axis -2 lies outside of [-1, 1) for rank 1");
}

TEST_CASE("STFT transforms the frames of a signal", "[signals]") {
  // Frames of 4 with step 2 under the window 0, 1, 1, 0: [0 2 3 0], [0 4 5 0].
  const std::vector<Tensor> inputs{f32({1, 6}, {1, 2, 3, 4, 5, 6}), f32({2}, {1, 1}), i64({}, {4}),
                                   i64({}, {2})};
  check_close(run(stft(false), inputs), {1, 2, 3, 2}, {5, 0, -3, -2, 1, 0, 9, 0, -5, -4, 1, 0});
  check_close(run(stft(true), inputs), {1, 3, 2, 2}, {5, 0, 9, 0, -3, -2, -5, -4, 1, 0, 1, 0});
}

TEST_CASE("STFT of a signal without a batch has none", "[signals]") {
  const Tensor signal = noise({48});
  const std::vector<Tensor> inputs{signal, noise({7}), i32({}, {11}), i32({}, {3})};
  const Tensor flat = run(stft(false), inputs);
  CHECK(flat.shape() == Shape{13, 6, 2});
  std::vector<Tensor> batched = inputs;
  batched[0] = signal.reshaped({1, 48});
  const Tensor with_batch = run(stft(false), batched);
  const auto expected = with_batch.data<float>();
  check_equal<float>(flat, {13, 6, 2}, {expected.begin(), expected.end()});
}

TEST_CASE("ISTFT gives back the signal of STFT", "[signals]") {
  const Tensor signal = noise({2, 47});
  const Tensor window = f32({5}, {0.5F, 1, 2, 1, 0.5F});
  for (const std::int64_t size : {8, 9}) {
    // The window misses the border of the frames, so that the first samples are lost.
    const Tensor spectra = run(stft(true), {signal, window, i64({}, {size}), i64({}, {3})});
    const std::vector<Tensor> inputs{spectra, window, i64({}, {size}), i64({}, {3})};
    const Tensor back = run(istft(false, false), inputs);
    const std::int64_t frames = (47 - size) / 3 + 1;
    const std::int64_t length = (frames - 1) * 3 + size;
    REQUIRE(back.shape() == Shape{2, length});
    const std::int64_t start = (size - 5) / 2;
    for (std::int64_t batch = 0; batch < 2; ++batch) {
      for (std::int64_t i = 0; i < length; ++i) {
        const bool covered = i >= start && i < length - size + start + 5;
        const float was = covered ? signal.data<float>()[batch * 47 + i] : 0;
        INFO("size " << size << ", sample " << i);
        REQUIRE(std::abs(back.data<float>()[batch * length + i] - was) < 1e-5);
      }
    }
    std::vector<Tensor> longer = inputs;
    longer.push_back(i64({1}, {60}));
    const Tensor padded = run(istft(false, true), longer);
    REQUIRE(padded.shape() == Shape{2, 60});
    CHECK(padded.data<float>()[59] == 0);
    CHECK(std::abs(padded.data<float>()[70] - std::sqrt(float(size)) * back.data<float>()[length + 10]) <
          1e-5);
    const Tensor centered = run(istft(true, false), inputs);
    REQUIRE(centered.shape() == Shape{2, length - size + size % 2});
    CHECK(std::abs(centered.data<float>()[3] - back.data<float>()[3 + size / 2]) < 1e-6);
  }
}

TEST_CASE("ISTFT adds up frames by the weights of the window", "[signals]") {
  // Frames {5, 2} and {7, -1}, one sample apart: spectra that are not those of a signal.
  const Tensor spectra = f32({2, 2, 2}, {7, 0, 6, 0, 3, 0, 8, 0});
  const std::vector<Tensor> inputs{spectra, f32({2}, {1, 3}), i64({}, {2}), i64({}, {1})};
  check_close(run(istft(false, false), inputs), {3}, {5, (2 * 3 + 7 * 1) / 10.0F, -1 / 3.0F});
}

TEST_CASE("STFT and ISTFT have the shapes of the specifications' examples", "[signals]") {
  const ValueInfo window = real({7});
  CHECK(infer_shape(stft(false), {real({56}), window, number(11), number(3)}) == PartialShape{16, 6, 2});
  CHECK(infer_shape(stft(true), {real({3, 56}), window, number(11), number(3)}) == PartialShape{3, 6, 16, 2});
  CHECK(infer_shape(istft(false, false), {real({6, 16, 2}), window, number(11), number(3)}) ==
        PartialShape{56});
  CHECK(infer_shape(istft(true, false), {real({4, 6, 16, 2}), window, number(11), number(3)}) ==
        PartialShape{4, 46});
  CHECK(infer_shape(istft(false, false), {real({6, 16, 2}), window, number(11), number(3), number(64)}) ==
        PartialShape{64});
  CHECK(explain_outputs(stft(false), std::vector{real({56}), window, number(11), number(3)})[0] ==
        std::vector<std::string>{"floor((56 - 11) / 3) + 1 = 16", "floor(11 / 2) + 1 = 6"});
  CHECK(explain_outputs(istft(false, false), std::vector{real({6, 16, 2}), window, number(11),
                                                         number(3)})[0][0] == "(16 - 1) * 3 + 11 = 56");
}

TEST_CASE("STFT and ISTFT infer what is known", "[signals]") {
  const ValueInfo window = real({7});
  CHECK(infer_shape(stft(false), {real({Dimension(), Dimension(20, 56)}), window, number(11), number(3)}) ==
        PartialShape{Dimension(), Dimension(4, 16), 6, 2});
  CHECK(infer_shape(stft(false), {real({2, Dimension()}), window, number(11), number(3)}) ==
        PartialShape{2, Dimension(1, Dimension::kUnbounded), 6, 2});
  CHECK(infer_shape(stft(true), {real({2, 56}), window, number(11), unknown_number()}) ==
        PartialShape{2, 6, Dimension(), 2});
  CHECK(infer_shape(stft(true), {real(PartialShape()), window, number(11), number(3)}) == PartialShape());
  CHECK(infer_shape(istft(false, false), {real({6, Dimension(2, 16), 2}), window, number(11), number(3)}) ==
        PartialShape{Dimension(14, 56)});
  CHECK(infer_shape(istft(true, false), {real({2, 6, 16, 2}), window, unknown_number(), number(3)}) ==
        PartialShape{2, Dimension()});
  CHECK(infer_shape(istft(true, false), {real({6, 0, 2}), window, number(11), number(3)}) == PartialShape{0});
  CHECK(infer_shape(istft(true, false), {real(PartialShape()), window, number(11), number(3)}) ==
        PartialShape());
  CHECK(infer_shape(istft(true, false), {real({6, 9, 2}), window, number(11), number(3), unknown_number()}) ==
        PartialShape{Dimension()});
}

TEST_CASE("STFT and ISTFT refuse what does not fit", "[signals]") {
  const ValueInfo signal = real({1, 48});
  const ValueInfo window = real({8});
  const STFT op = stft(false);
  CHECK(failure_of(op, {signal, window, number(16)}) == "IR-input-count: has 3 inputs, STFT takes 4");
  CHECK(failure_of(op, {real({1, 1, 48}), window, number(16), number(4)}) ==
        "IR-rank: input 0 has shape [1,1,48] of rank 3, STFT takes a rank from 1 to 2");
  CHECK(failure_of(op, {signal, window, number(0), number(4)}) ==
        "IR-value: the frame size is 0; it takes 1 to 16777216");
  CHECK(failure_of(op, {signal, window, number(16), number(0)}) ==
        "IR-value: the frame step is 0; it takes 1 and above");
  CHECK(failure_of(op, {signal, window, number(7), number(4)}) ==
        "IR-shape: the window has 8 elements; frames take 1 to 7");
  CHECK(failure_of(op, {signal, window, number(49), number(4)}) ==
        "IR-shape: the signal has 48 samples, fewer than the frame size 49");
  CHECK(failure_of(op, {signal, window, value(ElementType::i64, {2}), number(4)}) ==
        "IR-shape: input 2 has shape [2]; it takes one element");
  const ISTFT inverse = istft(false, false);
  CHECK(failure_of(inverse, {signal, window, number(16), number(4)}) ==
        "IR-rank: input 0 has shape [1,48] of rank 2, ISTFT takes a rank from 3 to 4");
  CHECK(failure_of(inverse, {real({9, 3, 1}), window, number(16), number(4)}) ==
        "IR-shape: input 0 has shape [9,3,1]: its last axis takes pairs of real and imaginary part");
  CHECK(failure_of(inverse, {real({8, 3, 2}), window, number(16), number(4)}) ==
        "IR-shape: input 0 has shape [8,3,2]: axis 0 is 8, frames of size 16 have 9 frequencies");
  CHECK(failure_of(inverse, {real({9, 3, 2}), window, number(16), number(4), number(-1)}) ==
        "IR-value: the signal length is -1; it takes 0 and above");
}

TEST_CASE("A frame step beyond all samples is harmless", "[signals]") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<Tensor> inputs{noise({1, 8}), f32({4}, {1, 1, 1, 1}), i64({}, {4}), i64({}, {huge})};
  const Tensor spectra = run(stft(true), inputs);
  CHECK(spectra.shape() == Shape{1, 3, 1, 2});
  CHECK(run(istft(false, false), {spectra, inputs[1], inputs[2], inputs[3]}).shape() == Shape{1, 4});
  const Tensor two =
      run(istft(true, false), {noise({3, 2, 2}), inputs[1], inputs[2], inputs[3], i64({}, {9})});
  CHECK(two.shape() == Shape{9});
  CHECK(two.data<float>()[8] == 0);
}

}  // namespace ir::test
