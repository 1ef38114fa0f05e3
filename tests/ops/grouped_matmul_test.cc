#include "ir_runtime/ops/grouped_matmul.h"

#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v17::GroupedMatMul;

ValueInfo real(PartialShape shape) { return value(ElementType::f32, std::move(shape)); }
ValueInfo offsets(PartialShape shape) { return value(ElementType::i32, std::move(shape)); }

// Rows of two, for two groups of matrices with three columns.
const Tensor kRows = f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
const Tensor kMatrices = f32({2, 3, 2}, {1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, -1});

}  // namespace

TEST_CASE("GroupedMatMul multiplies each row by the matrix of its group") {
  const auto product = [](const std::vector<std::int32_t>& ends) {
    return run(GroupedMatMul(), {kRows, kMatrices, i32({2}, ends)});
  };
  check_close(product({1, 4}), {4, 3}, {1, 2, 3, 6, 8, -1, 10, 12, -1, 14, 16, -1});
  check_close(product({4, 4}), {4, 3}, {1, 2, 3, 3, 4, 7, 5, 6, 11, 7, 8, 15});
  check_close(product({0, 4}), {4, 3}, {2, 4, -1, 6, 8, -1, 10, 12, -1, 14, 16, -1});
  // Rows behind the last group.
  check_close(product({1, 3}), {4, 3}, {1, 2, 3, 6, 8, -1, 10, 12, -1, 0, 0, 0});
  check_close(product({0, 0}), {4, 3}, std::vector<float>(12, 0.0F));
  check_close(run(GroupedMatMul(), {f32({0, 2}, {}), kMatrices, i64({2}, {0, 0})}), {0, 3}, {});
  check_close(run(GroupedMatMul(), {f32({1, 0}, {}), f32({2, 2, 0}, {}), i64({2}, {0, 1})}), {1, 2}, {0, 0});
  check_close(run(GroupedMatMul(), {f32({1, 2}, {1, 2}), f32({0, 2, 2}, {}), i64({0}, {})}), {1, 2}, {0, 0});
}

TEST_CASE("GroupedMatMul multiplies groups of as many rows without offsets") {
  check_close(run(GroupedMatMul(), {kRows.reshaped({2, 2, 2}), kMatrices}), {2, 2, 3},
              {1, 2, 3, 3, 4, 7, 10, 12, -1, 14, 16, -1});
}

TEST_CASE("GroupedMatMul takes every numeric type") {
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                 ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64}) {
    INFO(name_of(type));
    const Tensor rows = kRows.converted(type);
    const Tensor matrices = kMatrices.converted(type);
    const Tensor product = run(GroupedMatMul(), {rows, matrices, i64({2}, {1, 3})});
    CHECK(product.element_type() == type);
    check_close(product.converted(ElementType::f32), {4, 3}, {1, 2, 3, 6, 8, -1, 10, 12, -1, 0, 0, 0});
    check_close(run(GroupedMatMul(), {rows.reshaped({2, 2, 2}), matrices}).converted(ElementType::f32),
                {2, 2, 3}, {1, 2, 3, 3, 4, 7, 10, 12, -1, 14, 16, -1});
  }
}

TEST_CASE("GroupedMatMul packs matrices that are known, once there are several rows") {
  const auto product = [](const Tensor& rows, bool knows_matrices, bool packs) {
    std::vector<ValueInfo> inputs{value(ElementType::f32, rows.shape()), value_of(kMatrices), offsets({2})};
    if (!knows_matrices) inputs[1].constant = nullptr;
    const std::vector<ValueInfo> outputs = infer_outputs(GroupedMatMul(), inputs);
    const PreparedKernel kernel = prepare_kernel(GroupedMatMul(), inputs, outputs);
    CHECK(kernel.absorbed == (packs ? std::vector<std::size_t>{1} : std::vector<std::size_t>{}));
    const auto count = static_cast<double>(rows.shape()[0]);
    CHECK(kernel.flops == 2 * count * 3 * 2);
    Tensor result(ElementType::f32, outputs[0].shape.to_shape());
    std::vector<std::byte> scratch(kernel.scratch_bytes);
    const Tensor ends = i32({2}, {0, static_cast<std::int32_t>(rows.shape()[0])});
    const std::vector<const void*> in{rows.raw(), packs ? nullptr : kMatrices.raw(), ends.raw()};
    const std::vector<void*> out{result.raw()};
    kernel.run({in, out, scratch.data()});
    return result;
  };
  const std::vector<float> expected{2, 4, -1, 6, 8, -1, 10, 12, -1, 14, 16, -1};
  check_close(product(kRows, true, true), {4, 3}, expected);
  check_close(product(kRows, false, false), {4, 3}, expected);
  check_close(product(f32({1, 2}, {1, 2}), true, false), {1, 3}, {2, 4, -1});
}

TEST_CASE("GroupedMatMul infers through unknown ranks and dims") {
  const Dimension any;
  const GroupedMatMul op;
  CHECK(infer_shape(op, {real({16, 64}), real({3, 128, 64}), offsets({3})}) == PartialShape{16, 128});
  CHECK(infer_shape(op, {real({any, 64}), real({3, 128, any}), offsets({any})}) == PartialShape{any, 128});
  CHECK(infer_shape(op, {real(PartialShape()), real({3, 128, 64}), offsets(PartialShape())}) ==
        PartialShape{any, 128});
  CHECK(infer_shape(op, {real({Dimension(1, 5), 64}), real(PartialShape()), offsets({3})}) ==
        PartialShape{Dimension(1, 5), any});
  CHECK(infer_shape(op, {real({3, 4, 64}), real({3, 128, 64})}) == PartialShape{3, 4, 128});
  CHECK(infer_shape(op, {real({any, 4, 64}), real({3, any, any})}) == PartialShape{3, 4, any});
  CHECK(infer_shape(op, {real(PartialShape()), real({3, 128, 64})}) == PartialShape{3, any, 128});
  const auto rules = explain_outputs(op, std::vector{real({16, 64}), real({3, 128, 64}), offsets({3})}).at(0);
  CHECK(rules.at(0) == "rows of input 0 = 16");
  CHECK(rules.at(1) == "columns of input 1 = 128");
}

TEST_CASE("GroupedMatMul says what is wrong") {
  const auto failure = [](const std::vector<ValueInfo>& inputs) {
    return failure_of(GroupedMatMul(), inputs);
  };
  CHECK(failure({real({4, 2})}) == "IR-input-count: has 1 inputs, GroupedMatMul takes 2 to 3");
  CHECK(failure({real({4, 2}), real({2, 3, 2})}) ==
        "IR-input-count: input 0 has rank 2, for which GroupedMatMul takes offsets as input 2");
  CHECK(failure({real({2, 4, 2}), real({2, 3, 2}), offsets({2})}) ==
        "IR-input-count: input 2 holds offsets, which GroupedMatMul does not take for input 0 of rank 3");
  CHECK(failure({real({4}), real({2, 3, 2})}) ==
        "IR-rank: input 0 has shape [4] of rank 1, GroupedMatMul takes a rank from 2 to 3");
  CHECK(failure({real({4, 2}), real({3, 2}), offsets({2})}) ==
        "IR-rank: input 1 has shape [3,2] of rank 2, GroupedMatMul takes rank 3");
  CHECK(failure({real({4, 2}), value(ElementType::f64, {2, 3, 2}), offsets({2})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and f64, GroupedMatMul takes one type");
  CHECK(failure({value(ElementType::boolean, {4, 2}), real({2, 3, 2}), offsets({2})}) ==
        "IR-element-type: input 0 is of type boolean, GroupedMatMul takes a numeric type");
  CHECK(failure({real({4, 2}), real({2, 3, 2}), real({2})}) ==
        "IR-element-type: input 2 is of type f32, GroupedMatMul takes i32, i64");
  CHECK(failure({real({4, 2}), real({2, 3, 5}), offsets({2})}) ==
        "IR-shape: input 1 has shape [2,3,5]: axis 2 is 5, but the length of a row is 2");
  CHECK(failure({real({4, 2}), real({2, 3, 2}), offsets({3})}) ==
        "IR-shape: input 2 has shape [3]: axis 0 is 3, but the number of groups is 2");
  CHECK(failure({real({4, 2}), real({2, 3, 2}), offsets({2, 1})}) ==
        "IR-rank: input 2 has shape [2,1] of rank 2, GroupedMatMul takes rank 1");
  CHECK(failure({real({3, 4, 2}), real({2, 3, 2})}) ==
        "IR-shape: input 1 has shape [2,3,2]: axis 0 is 2, but the number of groups is 3");
}

TEST_CASE("GroupedMatMul refuses offsets that descend or lie outside of the rows") {
  const auto failure = [](const PartialShape& rows, const std::vector<std::int64_t>& ends) {
    return failure_of(GroupedMatMul(), {real(rows), real({2, 3, 2}), value_of(i64({2}, ends))});
  };
  CHECK(failure({4, 2}, {3, 2}) ==
        "IR-value: element 1 of input 2 is 2; offsets ascend from 0, and this one is at least 3");
  CHECK(failure({4, 2}, {-1, 2}) ==
        "IR-value: element 0 of input 2 is -1; offsets ascend from 0, and this one is at least 0");
  CHECK(failure({4, 2}, {1, 5}) == "IR-value: element 1 of input 2 is 5, but input 0 has at most 4 rows");
  CHECK(failure({Dimension(0, 8), 2}, {1, 9}) ==
        "IR-value: element 1 of input 2 is 9, but input 0 has at most 8 rows");
  CHECK(failure({Dimension(), 2}, {1, 9}) == "no failure");

  // Offsets that are not known before the product runs.
  for (const ElementType type : {ElementType::f32, ElementType::i32}) {
    const std::vector<ValueInfo> inputs{value(type, {4, 2}), value(type, {2, 3, 2}), offsets({2})};
    const PreparedKernel kernel =
        prepare_kernel(GroupedMatMul(), inputs, infer_outputs(GroupedMatMul(), inputs));
    const Tensor rows = kRows.converted(type);
    const Tensor matrices = kMatrices.converted(type);
    Tensor result(type, {4, 3});
    std::vector<std::byte> scratch(kernel.scratch_bytes);
    const auto error = [&](const std::vector<std::int32_t>& ends) -> std::string {
      const std::vector<const void*> in{rows.raw(), matrices.raw(), ends.data()};
      const std::vector<void*> out{result.raw()};
      try {
        kernel.run({in, out, scratch.data()});
      } catch (const Error& failed) {
        return failed.code() + ": " + failed.diagnostics().front().message;
      }
      return "no error";
    };
    CHECK(error({0, 4}) == "no error");
    CHECK(error({2, 1}) ==
          "IR-value: element 1 of input 2 is 1; offsets ascend from 0 to at most the number "
          "of rows, 4");
    CHECK(error({2, 5}) ==
          "IR-value: element 1 of input 2 is 5; offsets ascend from 0 to at most the number "
          "of rows, 4");
    CHECK(error({-2147483647, 5}) ==
          "IR-value: element 0 of input 2 is -2147483647; offsets ascend from 0 to "
          "at most the number of rows, 4");
  }
}

}  // namespace ir::test
