#include "ir_runtime/ops/colour.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

Tensor u8(Shape shape, std::vector<std::uint8_t> values) {
  return tensor(std::move(shape), std::move(values));
}

// Luma 81, u 90, v 240 are a strong red: 254.439 -> 254, -0.188 -> 0, -1.024 -> 0.
const std::vector<std::uint8_t> kLuma{81, 81, 81, 81};

}  // namespace

TEST_CASE("NV12 in one plane and in two") {
  const std::vector<std::uint8_t> rgb{254, 0, 0, 254, 0, 0, 254, 0, 0, 254, 0, 0};
  const std::vector<std::uint8_t> bgr{0, 0, 254, 0, 0, 254, 0, 0, 254, 0, 0, 254};
  const Tensor plane = u8({1, 3, 2, 1}, {81, 81, 81, 81, 90, 240});
  check_equal<std::uint8_t>(run(op::v8::NV12toRGB(), {plane}), {1, 2, 2, 3}, rgb);
  check_equal<std::uint8_t>(run(op::v8::NV12toBGR(), {plane}), {1, 2, 2, 3}, bgr);
  const std::vector<Tensor> planes{u8({1, 2, 2, 1}, kLuma), u8({1, 1, 1, 2}, {90, 240})};
  check_equal<std::uint8_t>(run(op::v8::NV12toRGB(), planes), {1, 2, 2, 3}, rgb);
  check_equal<std::uint8_t>(run(op::v8::NV12toBGR(), planes), {1, 2, 2, 3}, bgr);
}

TEST_CASE("I420 in one plane and in three") {
  const std::vector<std::uint8_t> rgb{254, 0, 0, 254, 0, 0, 254, 0, 0, 254, 0, 0};
  const std::vector<std::uint8_t> bgr{0, 0, 254, 0, 0, 254, 0, 0, 254, 0, 0, 254};
  const Tensor plane = u8({1, 3, 2, 1}, {81, 81, 81, 81, 90, 240});
  check_equal<std::uint8_t>(run(op::v8::I420toRGB(), {plane}), {1, 2, 2, 3}, rgb);
  const std::vector<Tensor> planes{u8({1, 2, 2, 1}, kLuma), u8({1, 1, 1, 1}, {90}), u8({1, 1, 1, 1}, {240})};
  check_equal<std::uint8_t>(run(op::v8::I420toBGR(), planes), {1, 2, 2, 3}, bgr);
}

TEST_CASE("Frames of a batch lie one after the other") {
  // Two frames of 2 x 4 pixels; greys have equal colours, 1.164 * (y - 16).
  const Tensor nv12 = f32({2, 3, 4, 1}, {16, 17, 18, 19, 20, 21, 22, 23, 128, 128, 128, 128,
                                         26, 27, 28, 29, 30, 31, 32, 33, 128, 128, 138, 128});
  const Tensor rgb = run(op::v8::NV12toRGB(), {nv12});
  CHECK(rgb.shape() == Shape{2, 2, 4, 3});
  const auto values = rgb.data<float>();
  CHECK(values[0] == Approx(0));
  CHECK(values[3 * 7] == Approx(1.164 * 7));
  CHECK(values[3 * 8] == Approx(1.164 * 10));
  // The last two columns of the second frame have u = 138: more blue by 20.18, less green by 3.91.
  CHECK(values[3 * 10 + 2] == Approx(1.164 * 12 + 20.18));
  CHECK(values[3 * 10 + 1] == Approx(1.164 * 12 - 3.91));
  CHECK(values[3 * 9 + 2] == Approx(1.164 * 11));
  for (const ElementType type : {ElementType::f16, ElementType::f64}) {
    const Tensor other = run(op::v8::NV12toRGB(), {nv12.converted(type)});
    CHECK(other.element_type() == type);
    const Tensor narrow = other.converted(ElementType::f32);
    check_close(narrow, rgb.shape(), {values.begin(), values.end()}, 1e-3);
  }
  CHECK(run(op::v8::I420toRGB(), {f32({0, 3, 2, 1}, {})}).shape() == Shape{0, 2, 2, 3});
}

TEST_CASE("Shapes of frames follow from any plane") {
  const Dimension any;
  CHECK(infer_shape(op::v8::NV12toRGB(), {value(ElementType::u8, {any, 720, any, any})}) ==
        PartialShape{any, 480, any, 3});
  CHECK(infer_shape(op::v8::NV12toRGB(), {value(ElementType::u8, PartialShape())}) ==
        PartialShape{any, any, any, 3});
  CHECK(infer_shape(op::v8::I420toBGR(),
                    {value(ElementType::u8, {1, any, 8, 1}), value(ElementType::u8, {any, 3, any, any}),
                     value(ElementType::u8, PartialShape())}) == PartialShape{1, 6, 8, 3});
  CHECK(infer_shape(op::v8::NV12toBGR(),
                    {value(ElementType::f32, PartialShape()), value(ElementType::f32, {2, 3, 4, 2})}) ==
        PartialShape{2, 6, 8, 3});
  CHECK(explain_outputs(op::v8::NV12toRGB(), std::vector{value(ElementType::u8, {1, 720, 640, 1})})[0][1] ==
        "720 * 2 / 3 = 480");
}

TEST_CASE("Frames that cannot be are refused") {
  const ValueInfo luma = value(ElementType::u8, {1, 4, 4, 1});
  const ValueInfo half = value(ElementType::u8, {1, 2, 2, 1});
  const op::v8::NV12toRGB nv12;
  const op::v8::I420toRGB i420;
  CHECK(failure_of(nv12, {luma, half, half}) == "IR-input-count: has 3 inputs, it takes 1 or 2");
  CHECK(failure_of(i420, {luma, half}) == "IR-input-count: has 2 inputs, it takes 1 or 3");
  CHECK(failure_of(nv12, {value(ElementType::i32, {1, 3, 2, 1})}) ==
        "IR-element-type: input 0 is of type i32, NV12toRGB takes u8, f16, bf16, f32, f64");
  CHECK(failure_of(nv12, {luma, value(ElementType::f32, {1, 2, 2, 2})}) ==
        "IR-element-type: inputs 0 and 1 are of types u8 and f32; one is taken");
  CHECK(failure_of(nv12, {value(ElementType::u8, {3, 2, 1})}) ==
        "IR-rank: input 0 has shape [3,2,1] of rank 3, NV12toRGB takes rank 4");
  CHECK(failure_of(nv12, {value(ElementType::u8, {1, 3, 2, 2})}) ==
        "IR-shape: input 0 has shape [1,3,2,2]; it takes one channel");
  CHECK(failure_of(nv12, {value(ElementType::u8, {1, 4, 2, 1})}) ==
        "IR-shape: axis 1 of input 0 has 4 elements, which is no multiple of 3");
  CHECK(failure_of(nv12, {value(ElementType::u8, {1, 3, 3, 1})}) ==
        "IR-shape: the image width is 3; it must be even");
  CHECK(failure_of(nv12, {luma, half}) == "IR-shape: input 1 has shape [1,2,2,1]; its last dim must be 2");
  CHECK(failure_of(i420, {luma, half, value(ElementType::u8, {1, 2, 3, 1})}) ==
        "IR-shape: input 2 has shape [1,2,3,1]: by axis 2, the image's size is 6, but it is 4");
}

}  // namespace ir::test
