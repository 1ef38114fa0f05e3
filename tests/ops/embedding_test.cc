#include "ir_runtime/ops/embedding.h"

#include <limits>

#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::BagReduction;
using op::FillMode;

// The table of the specifications' examples.
const Tensor kTable = f32({5, 2}, {-0.2F, -0.6F, -0.1F, -0.4F, -1.9F, -1.8F, -1, 1.5F, 0.8F, -0.7F});
const Tensor kHalves = f32({4}, {0.5F, 0.5F, 0.5F, 0.5F});

op::v15::EmbeddingBagOffsets offsets(BagReduction reduction) {
  op::v15::EmbeddingBagOffsets op;
  op.reduction = reduction;
  return op;
}

op::v15::EmbeddingBagPacked packed(BagReduction reduction) {
  op::v15::EmbeddingBagPacked op;
  op.reduction = reduction;
  return op;
}

op::v16::SegmentMax segment_max(FillMode fill) {
  op::v16::SegmentMax op;
  op.fill_mode = fill;
  return op;
}

}  // namespace

TEST_CASE("EmbeddingBagOffsetsSum sums bags, weighted, and fills empty ones") {
  const op::v3::EmbeddingBagOffsetsSum op;
  const Tensor indices = i32({4}, {0, 2, 3, 4});
  const Tensor starts = i32({3}, {0, 2, 2});
  check_close(run(op, {kTable, indices, starts, i32({}, {0}), kHalves}), {3, 2},
              {-1.05F, -1.2F, -0.2F, -0.6F, -0.1F, 0.4F});
  check_close(run(op, {kTable, indices, starts}), {3, 2}, {-2.1F, -2.4F, 0, 0, -0.2F, 0.8F});
  check_close(run(op, {kTable, indices, starts, i32({1}, {-1})}), {3, 2}, {-2.1F, -2.4F, 0, 0, -0.2F, 0.8F});
  // A last bag that starts behind the last index is empty.
  check_close(run(op, {kTable, indices, i32({2}, {1, 4}), i32({}, {1})}), {2, 2}, {-2.1F, -1, -0.1F, -0.4F});
  const Tensor halves = run(op, {kTable.converted(ElementType::f16), i64({1}, {3}), i64({1}, {0})});
  CHECK(halves.element_type() == ElementType::f16);
  check_close(halves.converted(ElementType::f32), {1, 2}, {-1, 1.5F});
}

TEST_CASE("embedding bags take every numeric type") {
  const Tensor table = i32({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                 ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64,
                                 ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64}) {
    INFO(name_of(type));
    const Tensor got = run(op::v15::EmbeddingBagOffsets(),
                           {table.converted(type), i64({4}, {0, 2, 3, 4}), i64({3}, {0, 2, 2}), i64({}, {1}),
                            i32({4}, {2, 2, 2, 2}).converted(type)});
    CHECK(got.element_type() == type);
    check_equal<std::int32_t>(got.converted(ElementType::i32), {3, 2}, {12, 16, 3, 4, 32, 36});
  }
}

TEST_CASE("EmbeddingBagOffsets takes means, which truncate integers") {
  const Tensor indices = i32({4}, {0, 2, 3, 4});
  const Tensor starts = i32({3}, {0, 2, 2});
  const auto mean = offsets(BagReduction::mean);
  check_close(run(mean, {kTable, indices, starts, i32({}, {0})}), {3, 2},
              {-1.05F, -1.2F, -0.2F, -0.6F, -0.1F, 0.4F});
  check_equal<std::int32_t>(run(mean, {i32({5, 1}, {-1, 0, -4, 7, 8}), indices, starts}), {3, 1}, {-2, 0, 7});
}

TEST_CASE("EmbeddingBagPacked reduces bags of one size") {
  const Tensor indices = i32({3, 2}, {0, 2, 1, 2, 3, 4});
  const std::vector<float> sums{-2.1F, -2.4F, -2, -2.2F, -0.2F, 0.8F};
  const std::vector<float> means{-1.05F, -1.2F, -1, -1.1F, -0.1F, 0.4F};
  check_close(run(op::v3::EmbeddingBagPackedSum(), {kTable, indices}), {3, 2}, sums);
  check_close(run(packed(BagReduction::sum), {kTable, indices, f32({3, 2}, std::vector<float>(6, 0.5F))}),
              {3, 2}, means);
  check_close(run(packed(BagReduction::mean), {kTable, indices}), {3, 2}, means);
  check_close(run(packed(BagReduction::mean), {kTable, i32({2, 0}, {})}), {2, 2}, {0, 0, 0, 0});
  CHECK(run(packed(BagReduction::sum), {f32({2, 0}, {}), indices}).shape() == Shape{3, 0});
}

TEST_CASE("EmbeddingSegmentsSum sums segments in any order") {
  const op::v3::EmbeddingSegmentsSum op;
  check_close(
      run(op, {kTable, i32({4}, {0, 2, 3, 4}), i32({4}, {0, 0, 2, 2}), i32({}, {3}), i32({}, {0}), kHalves}),
      {3, 2}, {-1.05F, -1.2F, -0.2F, -0.6F, -0.1F, 0.4F});
  check_close(run(op, {kTable, i64({4}, {3, 0, 4, 2}), i64({4}, {2, 0, 2, 0}), i64({1}, {4})}), {4, 2},
              {-2.1F, -2.4F, 0, 0, -0.2F, 0.8F, 0, 0});
  CHECK(run(op, {kTable, i32({0}, {}), i32({0}, {}), i32({}, {0})}).shape() == Shape{0, 2});
}

TEST_CASE("SegmentMax takes the largest rows and fills empty segments") {
  const Tensor data = f32({4}, {1, 2, 3, 4});
  const Tensor ids = i32({4}, {0, 0, 2, 2});
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  check_equal<float>(run(segment_max(FillMode::zero), {data, ids}), {3}, {2, 0, 4});
  check_equal<float>(run(segment_max(FillMode::lowest), {data, ids, i64({}, {4})}), {4},
                     {2, kLowest, 4, kLowest});
  check_equal<float>(run(segment_max(FillMode::zero), {data, i64({4}, {0, 1, 2, 3}), i32({}, {2})}), {2},
                     {1, 2});
  check_equal<std::int32_t>(run(segment_max(FillMode::lowest),
                                {i32({3, 4}, {1, 2, 3, 4, 4, 3, 2, 1, 0, 9, 0, 9}), i64({3}, {0, 1, 1})}),
                            {2, 4}, {1, 2, 3, 4, 4, 9, 2, 9});
  CHECK(run(segment_max(FillMode::zero), {f32({0, 2}, {}), i32({0}, {})}).shape() == Shape{0, 2});
  for (const ElementType type : {ElementType::f64, ElementType::i8, ElementType::i16, ElementType::i64,
                                 ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64}) {
    INFO(name_of(type));
    check_equal<float>(
        run(segment_max(FillMode::zero), {data.converted(type), ids}).converted(ElementType::f32), {3},
        {2, 0, 4});
  }
}

TEST_CASE("SegmentMax fills with the lowest value of the type that it is given") {
  const Tensor data = f32({1}, {1});
  const auto filled = [&](ElementType type) {
    return run(segment_max(FillMode::lowest), {data.converted(type), i32({1}, {1})})
        .converted(ElementType::f64)
        .data<double>()[0];
  };
  CHECK(filled(ElementType::f16) == -65504.0);
  CHECK(filled(ElementType::bf16) == -0x1.FEp127);
  CHECK(filled(ElementType::f32) == double{std::numeric_limits<float>::lowest()});
  CHECK(filled(ElementType::i8) == -128);
  CHECK(filled(ElementType::u32) == 0);
}

TEST_CASE("Shapes of embedding bags follow from the bags and the table") {
  const auto table = value(ElementType::f32, {5, Dimension(), 3});
  const auto vector = [](Dimension count) { return value(ElementType::i32, {count}); };
  const auto scalar = value(ElementType::i32, Shape());
  CHECK(infer_shape(op::v3::EmbeddingBagOffsetsSum(), {table, vector(9), vector({2, 4})}) ==
        PartialShape{{2, 4}, Dimension(), 3});
  CHECK(infer_shape(op::v3::EmbeddingBagOffsetsSum(),
                    {value(ElementType::f32, PartialShape()), vector(9), vector(2)}) == PartialShape());
  CHECK(infer_shape(packed(BagReduction::sum), {table, value(ElementType::i64, {Dimension(), 4})}) ==
        PartialShape{Dimension(), Dimension(), 3});
  CHECK(infer_shape(packed(BagReduction::sum),
                    {table, value(ElementType::i64, PartialShape()), value(ElementType::f32, {7, 4})}) ==
        PartialShape{7, Dimension(), 3});
  CHECK(infer_shape(op::v3::EmbeddingSegmentsSum(), {table, vector(9), vector(9), scalar}) ==
        PartialShape{Dimension(), Dimension(), 3});
  CHECK(infer_shape(op::v3::EmbeddingSegmentsSum(), {table, vector(9), vector(9), value_of(i32({}, {6}))}) ==
        PartialShape{6, Dimension(), 3});
  ValueInfo partly = scalar;
  partly.elements = std::vector<Dimension>{{2, 5}};
  CHECK(infer_shape(op::v3::EmbeddingSegmentsSum(), {table, vector(9), vector(9), partly}) ==
        PartialShape{{2, 5}, Dimension(), 3});
}

TEST_CASE("Shapes of SegmentMax follow from the number of segments or the last one") {
  const auto data = value(ElementType::f32, {Dimension(), 3});
  const auto ids = value(ElementType::i32, PartialShape{4});
  const op::v16::SegmentMax op;
  CHECK(infer_shape(op, {data, ids}) == PartialShape{Dimension(), 3});
  CHECK(infer_shape(op, {data, value_of(i32({4}, {0, 0, 2, 6}))}) == PartialShape{7, 3});
  CHECK(infer_shape(op, {data, value_of(i32({4}, {0, 0, 2, 6})), value_of(i64({}, {3}))}) ==
        PartialShape{3, 3});
  CHECK(infer_shape(op, {data, ids, value(ElementType::i64, Shape())}) == PartialShape{Dimension(), 3});
  CHECK(infer_shape(op, {value(ElementType::f32, PartialShape()), ids}) == PartialShape());
}

TEST_CASE("Embedding bags refuse inputs that do not fit together") {
  const auto table = value(ElementType::f32, {5, 2});
  const auto four = value(ElementType::i32, PartialShape{4});
  const auto scalar = value(ElementType::i32, Shape());
  const op::v3::EmbeddingBagOffsetsSum sum;
  CHECK(failure_of(sum, {table, four}) ==
        "IR-input-count: has 2 inputs, EmbeddingBagOffsetsSum takes 3 to 5");
  CHECK(failure_of(sum, {value(ElementType::boolean, {5, 2}), four, four}) ==
        "IR-element-type: input 0 is of type boolean, EmbeddingBagOffsetsSum takes a numeric type");
  CHECK(failure_of(sum, {value(ElementType::f32, Shape()), four, four}) ==
        "IR-rank: input 0 has shape []; it takes a rank of at least 1");
  CHECK(failure_of(sum, {table, value(ElementType::i8, PartialShape{4}), four}) ==
        "IR-element-type: input 1 is of type i8, EmbeddingBagOffsetsSum takes i32, i64");
  CHECK(failure_of(sum, {table, four, value(ElementType::i64, PartialShape{4})}) ==
        "IR-element-type: inputs 1 and 2 are of types i32 and i64, EmbeddingBagOffsetsSum takes one type");
  CHECK(failure_of(sum, {table, four, four, four}) ==
        "IR-shape: input 3 has shape [4]; it takes one element");
  CHECK(failure_of(sum, {table, four, four, scalar, value(ElementType::f64, PartialShape{4})}) ==
        "IR-element-type: inputs 0 and 4 are of types f32 and f64, EmbeddingBagOffsetsSum takes one type");
  CHECK(failure_of(sum, {table, four, four, scalar, value(ElementType::f32, PartialShape{5})}) ==
        "IR-shape: input 4 has shape [5]: axis 0 is 5, but the number of indices is 4");
  CHECK(failure_of(offsets(BagReduction::mean),
                   {table, four, four, scalar, value(ElementType::f32, PartialShape{4})}) ==
        "IR-input-count: input 4 holds weights, which reduction mean does not take");
  CHECK(failure_of(packed(BagReduction::sum), {table, four}) ==
        "IR-rank: input 1 has shape [4] of rank 1, EmbeddingBagPacked takes rank 2");
  CHECK(failure_of(op::v3::EmbeddingSegmentsSum(), {table, four, four, value_of(i32({}, {-2}))}) ==
        "IR-value: the number of segments is -2");
  CHECK(failure_of(op::v16::SegmentMax(), {table, value_of(i32({5}, {0, 1, 0, 1, 1}))}) ==
        "IR-value: segment 2 of input 1 is 0, the one before it 1");
  CHECK(failure_of(op::v16::SegmentMax(), {table, value_of(i32({5}, {-1, 1, 0, 1, 1}))}) ==
        "IR-value: segment 0 of input 1 is -1");
  CHECK(failure_of(op::v16::SegmentMax(), {table, four}) ==
        "IR-shape: input 1 has shape [4]: axis 0 is 4, but the number of rows is 5");
}

TEST_CASE("Embedding bags report data that addresses nothing") {
  const Tensor starts = i32({2}, {0, 2});
  const op::v3::EmbeddingBagOffsetsSum sum;
  CHECK(error_of(sum, {kTable, i32({3}, {0, 5, 1}), starts}) ==
        "IR-value: element 1 of input 1 (indices) is 5, which addresses nothing");
  CHECK(error_of(sum, {kTable, i32({3}, {0, -1, 1}), starts}) ==
        "IR-value: element 1 of input 1 (indices) is -1, which addresses nothing");
  CHECK(error_of(sum, {kTable, i32({3}, {0, 1, 1}), i32({2}, {2, 1})}) ==
        "IR-value: element 1 of input 2 (offsets) is 1, which addresses nothing");
  CHECK(error_of(sum, {kTable, i32({1}, {0}), starts}) ==
        "IR-value: element 1 of input 2 (offsets) is 2, which addresses nothing");
  CHECK(error_of(sum, {kTable, i32({3}, {0, 1, 1}), starts, i32({}, {5})}) ==
        "IR-value: the default index is 5, the table has 5 rows");
  CHECK(
      error_of(op::v3::EmbeddingSegmentsSum(), {kTable, i32({2}, {0, 1}), i32({2}, {0, 3}), i32({}, {3})}) ==
      "IR-value: element 1 of input 2 (segments) is 3, which addresses nothing");
  CHECK(error_of(sum, {kTable.converted(ElementType::i4), i32({1}, {0}), i32({1}, {0})}) ==
        "IR-unsupported: no kernel for a table of type i4");
}

}  // namespace ir::test
