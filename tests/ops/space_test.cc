#include "ir_runtime/ops/space.h"

#include "tests/catch.h"
#include "tests/ops/support.h"

namespace ir::test {
namespace {

const Dimension kAny;

ValueInfo f32_value(const PartialShape& shape) { return value(ElementType::f32, shape); }

ValueInfo known(std::vector<std::int64_t> values) {
  return value_of(i64({static_cast<std::int64_t>(values.size())}, values));
}

template <class Op>
Op blocks(std::int64_t size, op::DepthMode mode) {
  Op op;
  op.block_size = size;
  op.mode = mode;
  return op;
}

}  // namespace

TEST_CASE("DepthToSpace and SpaceToDepth are inverse") {
  using op::DepthMode;
  // Channels 0..3 of one pixel make a block of 2 x 2; with two depths the modes differ.
  const Tensor pixel = i32({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor blocks_first = i32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  const Tensor depth_first = i32({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  check_equal<std::int32_t>(run(blocks<op::v0::DepthToSpace>(2, DepthMode::blocks_first), {pixel}),
                            {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  check_equal<std::int32_t>(run(blocks<op::v0::DepthToSpace>(2, DepthMode::depth_first), {pixel}),
                            {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  check_equal<std::int32_t>(run(blocks<op::v0::SpaceToDepth>(2, DepthMode::blocks_first), {blocks_first}),
                            {1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  check_equal<std::int32_t>(run(blocks<op::v0::SpaceToDepth>(2, DepthMode::depth_first), {depth_first}),
                            {1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});

  const auto depth_to_space = blocks<op::v0::DepthToSpace>(2, DepthMode::blocks_first);
  CHECK(infer_shape(depth_to_space, {f32_value({5, 28, 2, 3})}) == PartialShape{5, 7, 4, 6});
  CHECK(infer_shape(depth_to_space, {f32_value({kAny, Dimension(8, 15), kAny, 3})}) ==
        PartialShape{kAny, Dimension(2, 3), kAny, 6});
  CHECK(explain_outputs(depth_to_space, std::vector{f32_value({5, 28, 2, 3})})[0][1] == "28 / 4 = 7");
  const auto space_to_depth = blocks<op::v0::SpaceToDepth>(3, DepthMode::blocks_first);
  CHECK(infer_shape(space_to_depth, {f32_value({5, 7, 6, 9})}) == PartialShape{5, 63, 2, 3});
  CHECK(failure_of(depth_to_space, {f32_value({1, 6, 2, 2})}) ==
        "IR-shape: axis 1 of input 0 has 6 elements, which is no multiple of 4");
  CHECK(failure_of(space_to_depth, {f32_value({1, 1, 4, 3})}) ==
        "IR-shape: axis 2 of input 0 has 4 elements, which is no multiple of 3");
  CHECK(failure_of(depth_to_space, {f32_value({1, 4})}) ==
        "IR-rank: input 0 has shape [1,4]; it takes a rank of at least 3");
  CHECK(failure_of(blocks<op::v0::DepthToSpace>(std::int64_t{1} << 40, DepthMode::depth_first),
                   {f32_value({1, 4, 1, 1})}) ==
        "IR-attribute-range: block_size is 1099511627776; its power of 2 overflows");
  CHECK(failure_of(blocks<op::v0::DepthToSpace>(0, DepthMode::depth_first), {f32_value({1, 4, 1, 1})}) ==
        "IR-attribute-range: block_size is 0; it takes values of at least 1");
}

TEST_CASE("ShuffleChannels interleaves groups") {
  op::v0::ShuffleChannels shuffle;
  shuffle.group = 3;
  check_equal<std::int32_t>(run(shuffle, {i32({1, 6}, {0, 1, 2, 3, 4, 5})}), {1, 6}, {0, 2, 4, 1, 3, 5});
  shuffle.axis = -2;
  check_equal<std::int32_t>(run(shuffle, {i32({3, 1}, {0, 1, 2})}), {3, 1}, {0, 1, 2});
  CHECK(infer_shape(shuffle, {f32_value({kAny, 4})}) == PartialShape{kAny, 4});
  CHECK(failure_of(shuffle, {f32_value({4, 4})}) ==
        "IR-shape: axis 0 of input 0 has 4 elements, which is no multiple of 3");
  CHECK(failure_of(shuffle, {f32_value({4})}) == "IR-axis: axis -2 lies outside of [-1, 1) for rank 1");
}

TEST_CASE("BatchToSpace moves blocks out of the batch and crops") {
  const op::v1::BatchToSpace op;
  // Batches 0 and 1 lie side by side.
  check_equal<std::int32_t>(run(op, {i32({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({2}, {1, 2}),
                                     i64({2}, {0, 1}), i64({2}, {0, 0})}),
                            {2, 5}, {6, 1, 7, 2, 8, 9, 4, 10, 5, 11});
  Tensor deep(ElementType::i32, {4, 1, 2, 3});
  std::int32_t next = 1;
  for (auto& element : deep.data<std::int32_t>()) element = next++;
  check_equal<std::int32_t>(
      run(op, {deep, i64({4}, {1, 1, 2, 1}), i64({4}, {0, 0, 0, 0}), i64({4}, {0, 0, 0, 0})}), {2, 1, 4, 3},
      {1, 2, 3, 13, 14, 15, 4, 5, 6, 16, 17, 18, 7, 8, 9, 19, 20, 21, 10, 11, 12, 22, 23, 24});
  check_equal<std::int32_t>(
      run(op, {deep, i64({4}, {1, 1, 2, 2}), i64({4}, {0, 0, 0, 0}), i64({4}, {0, 0, 0, 2})}), {1, 1, 4, 4},
      {1, 7, 2, 8, 13, 19, 14, 20, 4, 10, 5, 11, 16, 22, 17, 23});
  CHECK(infer_shape(op, {f32_value({10, 2}), known({1, 5}), known({0, 2}), known({0, 0})}) ==
        PartialShape{2, 8});
  CHECK(infer_shape(op, {f32_value({48, 3, 3, 1, 3}), known({1, 2, 4, 3, 1}), known({0, 0, 1, 0, 0}),
                         known({0, 0, 1, 0, 0})}) == PartialShape{2, 6, 10, 3, 3});
  CHECK(infer_shape(op, {f32_value({kAny, 3}), known({1, 2}), known({0, 0}), known({0, 1})}) ==
        PartialShape{kAny, 5});
  CHECK(infer_shape(op, {f32_value({4, 3}), value(ElementType::i64, {2}), known({0, 0}), known({0, 0})}) ==
        PartialShape{Dimension(0, 4), Dimension(3, Dimension::kUnbounded)});
  CHECK(failure_of(op, {f32_value({4, 3}), known({1, 2}), value(ElementType::i32, {2}), known({0, 0})}) ==
        "IR-element-type: inputs 1 and 2 are of types i64 and i32, BatchToSpace takes one type");
  CHECK(failure_of(op, {f32_value({3, 3}), known({1, 2}), known({0, 0}), known({0, 0})}) ==
        "IR-shape: axis 0 of input 0 has 3 elements, which is no multiple of 2");
  CHECK(failure_of(op, {f32_value({2, 3}), known({1, 2}), known({0, 4}), known({0, 3})}) ==
        "IR-shape: 7 elements are cut off axis 1, which has 3 * 2");
  CHECK(failure_of(op, {f32_value({2, 3}), known({2, 1}), known({0, 0}), known({0, 0})}) ==
        "IR-value: axis 0 has block size 2 and crops 0 and 0; it takes 1, 0 and 0");
  CHECK(failure_of(op, {f32_value({2, 3}), known({1, 0}), known({0, 0}), known({0, 0})}) ==
        "IR-value: block size 0 of axis 1 is less than 1");
  CHECK(failure_of(op, {f32_value({2, 3}), known({1, 1}), known({0, -1}), known({0, 0})}) ==
        "IR-value: the crop -1 of axis 1 is negative");
  CHECK(failure_of(op, {f32_value({2, 3}), known({1}), known({0, 0}), known({0, 0})}) ==
        "IR-shape: input 1 has 1 entries, input 0 has shape [2,3]");
}

TEST_CASE("SpaceToBatch moves blocks into the batch, padded with zeros") {
  const op::v1::SpaceToBatch op;
  check_equal<std::int32_t>(
      run(op, {i32({1, 5}, {1, 2, 3, 4, 5}), i64({2}, {1, 2}), i64({2}, {0, 1}), i64({2}, {0, 0})}), {2, 3},
      {0, 2, 4, 1, 3, 5});
  CHECK(infer_shape(op, {f32_value({2, 6, 10, 3, 3}), known({1, 2, 4, 3, 1}), known({0, 0, 1, 0, 0}),
                         known({0, 0, 1, 0, 0})}) == PartialShape{48, 3, 3, 1, 3});
  CHECK(failure_of(op, {f32_value({1, 5}), known({1, 2}), known({0, 0}), known({0, 0})}) ==
        "IR-shape: axis 1 of input 0 has 5 elements, which is no multiple of 2");
  CHECK(failure_of(op, {f32_value({5}), known({1}), known({0}), known({0})}) ==
        "IR-rank: input 0 has shape [5]; it takes a rank of at least 2");
}

}  // namespace ir::test
