// Outputs in a few lines of text.
#include "samples/run_ir/summary.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "tests/catch.h"

namespace {

using ir::Tensor;
using run_ir::summary_of;

Tensor counting(const ir::Shape& shape) {
  Tensor tensor(ir::ElementType::f32, shape);
  const auto data = tensor.data<float>();
  std::iota(data.begin(), data.end(), 0.0F);
  return tensor;
}

TEST_CASE("strings are shown in quotes") {
  CHECK(summary_of(Tensor::of<std::string>({3}, {"a \"b\"", "line\n", "c"}), 2) ==
        "  \"a \\\"b\\\"\"\n  \"line\\x0a\"\n  3 strings, 2 shown\n");
}

TEST_CASE("a class vector shows its largest entries") {
  const Tensor scores = Tensor::of<float>({1, 6}, {0.1F, 0.5F, 0.25F, 0.5F, 0, -1});
  CHECK(summary_of(scores, 3) ==
        "  class      value\n"
        "      1        0.5\n"
        "      3        0.5\n"
        "      2       0.25\n");
  CHECK(summary_of(counting({1, 6, 1, 1}), 1) == "  class      value\n      5          5\n");
}

TEST_CASE("NaN has no sign") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Tensor::of<float>({5}, {-nan, 1, nan, 2, -INFINITY});
  CHECK(summary_of(scores, 5) ==
        "  class      value\n"
        "      3          2\n"
        "      1          1\n"
        "      0        nan\n"
        "      2        nan\n"
        "      4       -inf\n");
  CHECK(summary_of(Tensor::of<float>({2}, {-nan, nan}), 5) == "  nan nan\n");
}

TEST_CASE("detections show as rows up to the end mark") {
  const Tensor rows = Tensor::of<float>({1, 1, 3, 7}, {0,    1,    0.75F, 0.125F, 0.25F, 0.5F, 1,  //
                                                       0,    2,    0.5F,  0,      0,     1,    1,  //
                                                       -1.F, 0.0F, 0,     0,      0,     0,    0});
  CHECK(summary_of(rows, 10) ==
        "  image label confidence      x0      y0      x1      y1\n"
        "      0     1     0.7500  0.1250  0.2500  0.5000  1.0000\n"
        "      0     2     0.5000  0.0000  0.0000  1.0000  1.0000\n"
        "  2 detections\n");
  CHECK(summary_of(rows, 1) ==
        "  image label confidence      x0      y0      x1      y1\n"
        "      0     1     0.7500  0.1250  0.2500  0.5000  1.0000\n"
        "  2 detections, 1 shown\n");
}

TEST_CASE("few elements are all shown, of many the range and the mean") {
  CHECK(summary_of(Tensor::of<std::int64_t>({2, 2}, {1, -2, 3, 4}), 10) == "  1 -2 3 4\n");
  CHECK(summary_of(Tensor::of<float>({}, {0.5F}), 10) == "  0.5\n");
  CHECK(summary_of(counting({5, 5}), 10) == "  min 0, max 24, mean 12\n");
  CHECK(summary_of(Tensor(ir::ElementType::f32, {0, 3}), 10) == "  no elements\n");
}

TEST_CASE("elements that are no numbers are counted and left out of the rest") {
  Tensor tensor = counting({5, 5});
  tensor.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  tensor.data<float>()[24] = std::numeric_limits<float>::infinity();
  CHECK(summary_of(tensor, 10) == "  min 0, max 23, mean 11.8696, 2 NaN or infinite\n");
  CHECK(summary_of(Tensor::of<float>({2, 9}, std::span<const float>(std::vector<float>(18, HUGE_VALF))),
                   10) == "  18 NaN or infinite\n");
  CHECK(summary_of(Tensor::of<float>({1, 5}, {1, std::numeric_limits<float>::quiet_NaN(), 3, 2, 0}), 2) ==
        "  class      value\n      2          3\n      3          2\n");
}

}  // namespace
