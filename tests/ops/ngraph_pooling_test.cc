// nGraph's AvgPool.
#include <limits>

#include "ir_runtime/ops/pooling.h"
#include "tests/ops/pooling_support.h"

namespace ir::test {
namespace {

using op::AutoPad;
using Integers = std::vector<std::int64_t>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("nGraph AvgPool computes its document's example", "[pooling][ngraph]") {
  const Tensor input = f32({1, 1, 3, 3}, {1, 3, 5, 7, 11, 13, 17, 19, 23});
  const op::ngraph::AvgPool without({2, 2}, {1, 1}, {1, 1}, {0, 0}, false);
  check_close(run(without, {input}), {1, 1, 3, 3}, {1, 2, 4, 4, 5.5, 8, 12, 13.5, 16.5});
  const op::ngraph::AvgPool with({2, 2}, {1, 1}, {1, 1}, {0, 0}, true);
  check_close(run(with, {input}), {1, 1, 3, 3}, {0.25, 1, 2, 2, 5.5, 8, 6, 13.5, 16.5});
}

TEST_CASE("nGraph AvgPool has the defaults of its constructors", "[pooling][ngraph]") {
  const op::ngraph::AvgPool pool({2, 3});
  CHECK(pool.window_shape == Integers{2, 3});
  CHECK(pool.window_movement_strides.empty());
  CHECK(pool.padding_below.empty());
  CHECK(pool.padding_above.empty());
  CHECK_FALSE(pool.include_padding_in_avg_computation);
  CHECK(pool.pad_type == AutoPad::explicit_);
  CHECK_FALSE(pool.ceil_mode);
  CHECK(infer_shape(pool, {image({2, 3, 4, 5})}) == PartialShape{2, 3, 3, 3});
  CHECK(infer_shape(op::ngraph::AvgPool({2, 3}, {2, 2}), {image({2, 3, 4, 5})}) == PartialShape{2, 3, 2, 2});
  CHECK(infer_shape(op::ngraph::AvgPool({2, 3}, {2, 2}, {1, 1}, {1, 2}), {image({2, 3, 4, 5})}) ==
        PartialShape{2, 3, 3, 3});
}

TEST_CASE("nGraph AvgPool has ceil((p + d + q - w + 1) / s) windows", "[pooling][ngraph]") {
  for (std::int64_t size = 1; size <= 6; ++size) {
    for (std::int64_t window = 1; window <= size; ++window) {
      for (std::int64_t stride = 1; stride <= 3; ++stride) {
        for (std::int64_t below = 0; below <= 2; ++below) {
          const std::int64_t above = 2 - below;
          const op::ngraph::AvgPool pool({window}, {stride}, {below}, {above});
          const std::int64_t expected = (below + size + above - window + 1 + stride - 1) / stride;
          CHECK(infer_shape(pool, {image({1, 1, size})}) == PartialShape{1, 1, expected});
        }
      }
    }
  }
}

TEST_CASE("nGraph AvgPool of only padding is 0 / 0 unless padding counts", "[pooling][ngraph]") {
  const op::ngraph::AvgPool without({2}, {1}, {2}, {2}, false);
  check_close(run(without, {line({4, 8})}), {1, 1, 5}, {kNaN, 4, 6, 8, kNaN});
  const op::ngraph::AvgPool with({2}, {1}, {2}, {2}, true);
  check_close(run(with, {line({4, 8})}), {1, 1, 5}, {0, 2, 6, 4, 0});
  check_close(run(op::ngraph::AvgPool({2}, {1}, {1}, {1}, false), {f32({1, 1, 0}, {})}), {1, 1, 1}, {kNaN});
  check_close(run(op::ngraph::AvgPool({2}, {1}, {1}, {1}, true), {f32({1, 1, 0}, {})}), {1, 1, 1}, {0});
  check_equal<std::int32_t>(run(without, {i32({1, 1, 2}, {4, 8})}), {1, 1, 5}, {0, 4, 6, 8, 0});
}

TEST_CASE("nGraph AvgPool takes any number of spatial axes", "[pooling][ngraph]") {
  check_close(run(op::ngraph::AvgPool({2, 2, 2}), {counting({1, 1, 2, 2, 3})}), {1, 1, 1, 1, 2}, {6, 7});
  check_close(run(op::ngraph::AvgPool({2, 2, 2, 2}), {counting({1, 1, 2, 2, 2, 2})}), {1, 1, 1, 1, 1, 1},
              {8.5});
  check_close(run(op::ngraph::AvgPool({1, 1, 1, 1, 2}), {counting({1, 1, 1, 2, 1, 1, 2})}),
              {1, 1, 1, 2, 1, 1, 1}, {1.5, 3.5});
  const op::ngraph::AvgPool nine(Integers(9, 1));
  CHECK(infer_shape(nine, {image(PartialShape(Shape(11, 1)))}) == PartialShape(Shape(11, 1)));
  CHECK_THROWS_WITH(run(nine, {counting(Shape(11, 1))}),
                    ir::test::contains_text("no kernel for pooling over 9 axes"));
}

TEST_CASE("nGraph AvgPool pads and rounds as told", "[pooling][ngraph]") {
  const Tensor input = line({1, 2, 3, 4, 5});
  op::ngraph::AvgPool pool({2}, {2}, {3}, {3});
  pool.pad_type = AutoPad::same_upper;
  check_close(run(pool, {input}), {1, 1, 3}, {1.5, 3.5, 5});
  pool.pad_type = AutoPad::same_lower;
  check_close(run(pool, {input}), {1, 1, 3}, {1, 2.5, 4.5});
  pool.pad_type = AutoPad::valid;
  check_close(run(pool, {input}), {1, 1, 2}, {1.5, 3.5});
  op::ngraph::AvgPool up({2}, {2}, {0}, {0}, false, AutoPad::explicit_, true);
  check_close(run(up, {input}), {1, 1, 3}, {1.5, 3.5, 5});
  up.include_padding_in_avg_computation = true;
  check_close(run(up, {input}), {1, 1, 3}, {1.5, 3.5, 2.5});
}

TEST_CASE("nGraph AvgPool infers through unknown dims", "[pooling][ngraph]") {
  const op::ngraph::AvgPool pool({2, 2});
  CHECK(infer_shape(pool, {image(PartialShape())}) == PartialShape::of_rank(4));
  CHECK(infer_shape(pool, {image({Dimension(), Dimension(), Dimension(2, 5), Dimension()})}) ==
        PartialShape{Dimension(), Dimension(), Dimension(1, 4), Dimension()});
}

TEST_CASE("nGraph AvgPool says what is wrong", "[pooling][ngraph]") {
  const auto failure = [](const op::ngraph::AvgPool& pool, PartialShape shape) {
    return failure_of(pool, {image(std::move(shape))});
  };
  CHECK(failure(op::ngraph::AvgPool({2, 2}), {1, 3, 4}) ==
        "IR-rank: input 0 has shape [1,3,4]; a window of 2 axes takes rank 4");
  CHECK(failure(op::ngraph::AvgPool(), {1, 3, 4}) == "IR-attribute-size: window_shape is empty");
  CHECK(failure(op::ngraph::AvgPool({3}), {1, 3, 2}) ==
        "IR-window: the window of spatial axis 0 covers 3 elements (size 3, dilation 1), the padded image "
        "has 2 (0 + 2 + 0)");
  CHECK(failure(op::ngraph::AvgPool({0}), {1, 3, 2}) == "IR-window: the window of spatial axis 0 has size 0");
  CHECK(failure(op::ngraph::AvgPool({2}, {0}), {1, 3, 2}) ==
        "IR-attribute-range: window_movement_strides holds 0; it takes values from 1 to 2147483648");
  CHECK(failure(op::ngraph::AvgPool({2}, {1, 1}), {1, 3, 2}) ==
        "IR-attribute-size: window_movement_strides has 2 values for 1 spatial axes");
  CHECK(failure(op::ngraph::AvgPool({2}, {1}, {-1}), {1, 3, 4}) ==
        "IR-attribute-range: padding_below holds -1; it takes values from 0 to 2147483648");
  CHECK(failure(op::ngraph::AvgPool({2}, {1}, {0}, {0, 0}), {1, 3, 4}) ==
        "IR-attribute-size: padding_above has 2 values for 1 spatial axes");
  CHECK(failure_of(op::ngraph::AvgPool({2}), {}) == "IR-input-count: has 0 inputs, AvgPool takes 1");
}

}  // namespace ir::test
