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

TEST_CASE("RGB as NV12 in one plane and in two") {
  // A strong red is luma 81.78, u 90.26, v 239.95; white 235.045, 128, 128; black 16, 128, 128.
  const std::vector<std::uint8_t> colours{255, 0, 0, 255, 255, 255, 0, 0, 0, 255, 0, 0};
  std::vector<std::uint8_t> reversed;
  for (std::size_t i = 0; i < colours.size(); ++i) reversed.push_back(colours[i / 3 * 3 + 2 - i % 3]);
  const Tensor rgb = u8({1, 2, 2, 3}, colours);
  const Tensor bgr = u8({1, 2, 2, 3}, reversed);
  const std::vector<std::uint8_t> luma{82, 235, 16, 82};
  const std::vector<std::uint8_t> chroma{109, 184};
  op::v17::RGBtoNV12 of_rgb;
  op::v17::BGRtoNV12 of_bgr;
  check_equal<std::uint8_t>(run(of_rgb, {rgb}), {1, 3, 2, 1}, {82, 235, 16, 82, 109, 184});
  check_equal<std::uint8_t>(run(of_bgr, {bgr}), {1, 3, 2, 1}, {82, 235, 16, 82, 109, 184});
  of_rgb.single_plane = false;
  of_bgr.single_plane = false;
  for (const std::vector<Tensor>& planes :
       {evaluate(of_rgb, std::vector{rgb}), evaluate(of_bgr, std::vector{bgr})}) {
    REQUIRE(planes.size() == 2);
    check_equal<std::uint8_t>(planes[0], {1, 2, 2, 1}, luma);
    check_equal<std::uint8_t>(planes[1], {1, 1, 1, 2}, chroma);
  }
}

TEST_CASE("RGB of floating-point types keeps fractions in NV12, and limits") {
  const Tensor rgb = f32({2, 2, 2, 3}, {10,  20,  30,  10,  20,  30,  10, 20, 30, 10,   20,   30,  //
                                        300, 300, 300, 300, 300, 300, 0,  0,  0,  -900, -900, -900});
  const std::vector<float> expected{31.59F, 31.59F, 31.59F, 31.59F, 133.87F, 122.9F,  //
                                    255,    255,    16,     0,      128,     128};
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16}) {
    const Tensor plane = run(op::v17::RGBtoNV12(), {rgb.converted(type)});
    CHECK(plane.element_type() == type);
    const double tolerance = type == ElementType::bf16 ? 4e-3 : 1e-3;
    check_close(plane.converted(ElementType::f32), {2, 3, 2, 1}, expected, tolerance);
  }
  CHECK(run(op::v17::BGRtoNV12(), {f32({2, 0, 4, 3}, {})}).shape() == Shape{2, 0, 4, 1});
}

TEST_CASE("Shapes of NV12 planes follow from the image") {
  const Dimension any;
  op::v17::RGBtoNV12 op;
  const ValueInfo open = value(ElementType::u8, {any, {3, 9}, any, any});
  CHECK(infer_shape(op, {value(ElementType::u8, {2, 480, 640, 3})}) == PartialShape{2, 720, 640, 1});
  CHECK(infer_shape(op, {open}) == PartialShape{any, {6, 12}, any, 1});
  CHECK(infer_shape(op, {value(ElementType::u8, PartialShape())}) == PartialShape{any, any, any, 1});
  CHECK(explain_outputs(op, std::vector{value(ElementType::u8, {1, 480, 640, 3})})[0][1] ==
        "480 * 3 / 2 = 720");
  op.single_plane = false;
  CHECK(infer_shape(op, {open}, 0) == PartialShape{any, {3, 9}, any, 1});
  CHECK(infer_shape(op, {open}, 1) == PartialShape{any, {2, 4}, any, 2});
  CHECK(infer_shape(op, {value(ElementType::u8, PartialShape())}, 1) == PartialShape{any, any, any, 2});
  CHECK(infer_shape(op, {value(ElementType::dynamic, {2, 480, 640, 3})}, 1) == PartialShape{2, 240, 320, 2});
}

TEST_CASE("Images that cannot become NV12 are refused") {
  const op::v17::RGBtoNV12 op;
  const auto failure = [&](ElementType type, PartialShape shape) {
    return failure_of(op, {value(type, std::move(shape))});
  };
  const ValueInfo image = value(ElementType::u8, {1, 4, 4, 3});
  CHECK(failure_of(op, {image, image}) == "IR-input-count: has 2 inputs, RGBtoNV12 takes 1");
  CHECK(failure(ElementType::i32, {1, 4, 4, 3}) ==
        "IR-element-type: input 0 is of type i32, RGBtoNV12 takes u8, f16, bf16, f32, f64");
  CHECK(failure(ElementType::u8, {4, 4, 3}) ==
        "IR-rank: input 0 has shape [4,4,3] of rank 3, RGBtoNV12 takes rank 4");
  CHECK(failure(ElementType::u8, {1, 4, 4, 1}) ==
        "IR-shape: input 0 has shape [1,4,4,1]; it takes three channels");
  CHECK(failure(ElementType::u8, {1, 5, 4, 3}) == "IR-shape: the image height is 5; it must be even");
  CHECK(failure(ElementType::u8, {1, 4, 7, 3}) == "IR-shape: the image width is 7; it must be even");
}

}  // namespace ir::test
