// When outputs count as what a case expects.
#include "samples/run_ir/compare.h"

#include <limits>

#include "tests/catch.h"

namespace {

using ir::Tensor;
using ir::reader::CaseMetric;
using run_ir::difference;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor f32(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}
Tensor i64(std::initializer_list<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

CaseMetric elementwise(std::optional<double> relative, std::optional<double> absolute) {
  CaseMetric metric;
  metric.relative = relative;
  metric.absolute = absolute;
  return metric;
}

TEST_CASE("strings are the same or not") {
  const Tensor ab = Tensor::of<std::string>({2}, {"a", "b"});
  CHECK_FALSE(difference(ab, ab, {}));
  CHECK(difference(ab, Tensor::of<std::string>({2}, {"a", "c"}), {}) == "got 'b' at [1], expected 'c'");
  CHECK(difference(f32({1, 2}), ab, {}) == "got f32, expected string");
}

TEST_CASE("elementwise: floating elements may differ by 1e-4, or as the case says") {
  CHECK_FALSE(difference(f32({1, 2}), f32({1, 2.00005F}), {}));
  CHECK(difference(f32({1, 2}), f32({1, 2.001F}), {}) ==
        "1 of 2 elements differ; worst at [1]: got 2, expected 2.000999927520752");
  CHECK_FALSE(difference(f32({100}), f32({101}), elementwise(0.01, std::nullopt)));
  CHECK(difference(f32({100}), f32({102}), elementwise(0.01, std::nullopt)).has_value());
  CHECK_FALSE(difference(f32({100}), f32({102}), elementwise(std::nullopt, 2)));
}

TEST_CASE("elementwise: NaN equals NaN, an infinity the one of its sign") {
  CHECK_FALSE(difference(f32({kNan, kInfinity, -kInfinity}), f32({kNan, kInfinity, -kInfinity}), {}));
  CHECK(difference(f32({1}), f32({kNan}), elementwise(1e9, 1e9)).has_value());
  CHECK(difference(f32({kNan}), f32({1}), elementwise(1e9, 1e9)).has_value());
  CHECK(difference(f32({1e30F}), f32({kInfinity}), elementwise(1e9, 1e9)).has_value());
  CHECK(difference(f32({-kInfinity}), f32({kInfinity}), elementwise(1e9, 1e9)).has_value());
}

TEST_CASE("elementwise: integers are exact unless a relative tolerance is given") {
  CHECK_FALSE(difference(i64({1, 2}), i64({1, 2}), {}));
  CHECK(difference(i64({1, 2}), i64({1, 3}), elementwise(std::nullopt, 5)).has_value());
  CHECK_FALSE(difference(i64({100}), i64({101}), elementwise(0.01, std::nullopt)));
  // Beyond what a double holds.
  CHECK(difference(i64({9007199254740993}), i64({9007199254740992}), {}).has_value());
}

TEST_CASE("the worst element is named with its place") {
  const Tensor got = Tensor::of<float>({2, 3}, {0, 0, 0, 0, 0, 9});
  const Tensor expected = Tensor::of<float>({2, 3}, {0, 1, 0, 0, 0, 0});
  CHECK(difference(got, expected, {}) == "2 of 6 elements differ; worst at [1,2]: got 9, expected 0");
}

TEST_CASE("shapes agree, or the case's is flat") {
  const Tensor square = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  CHECK_FALSE(difference(square, f32({1, 2, 3, 4}), {}));
  CHECK(difference(square, Tensor::of<float>({1, 4}, {1, 2, 3, 4}), {}) == "got shape [2,2], expected [1,4]");
  CHECK(difference(square, f32({1, 2, 3}), {}) == "got shape [2,2], expected [3]");
  CHECK_FALSE(difference(f32({}), f32({}), {}));
}

TEST_CASE("another element type is converted first") {
  CHECK_FALSE(difference(i64({1, 2}), f32({1, 2}), {}));
  CHECK_FALSE(difference(Tensor::of<bool>({2}, {true, false}), Tensor::of<std::uint8_t>({2}, {1, 0}), {}));
}

TEST_CASE("compare_first leaves the rest out, and wants that many") {
  CaseMetric metric;
  metric.compare_first = 2;
  CHECK_FALSE(difference(f32({1, 2, 99}), f32({1, 2, 3}), metric));
  CHECK_FALSE(difference(f32({1, 2, 99, 98}), f32({1, 2, 3}), metric));
  CHECK(difference(f32({1, 9, 3}), f32({1, 2, 3}), metric).has_value());
  CHECK(difference(f32({1}), f32({1, 2, 3}), metric) == "got 1 elements, expected 2");
  metric.compare_first = 5;
  CHECK_FALSE(difference(f32({1, 2}), f32({1, 2}), metric));
}

TEST_CASE("relative_l2: the norm of the error against that of the expected") {
  CaseMetric metric;
  metric.kind = CaseMetric::Kind::relative_l2;
  metric.tolerance = 0.1;
  CHECK_FALSE(difference(f32({3, 4.4F}), f32({3, 4}), metric));
  CHECK(difference(f32({3, 5}), f32({3, 4}), metric) ==
        "relative L2 error 0.2 is above 0.1; worst at [1]: got 5, expected 4");
  CHECK(difference(f32({kNan, 4}), f32({3, 4}), metric).has_value());
  CHECK_FALSE(difference(f32({0, 0}), f32({0, 0}), metric));
  CHECK(difference(f32({1, 0}), f32({0, 0}), metric).has_value());
}

// Rows of 7 as DetectionOutput gives them.
Tensor detections(const std::vector<std::vector<float>>& rows) {
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return Tensor::of<float>({1, 1, static_cast<std::int64_t>(rows.size()), 7}, std::span<const float>(values));
}

const std::vector<float> kCat{0, 1, 0.9F, 0.1F, 0.1F, 0.5F, 0.5F};
const std::vector<float> kDog{0, 2, 0.8F, 0.5F, 0.5F, 0.9F, 0.9F};
const std::vector<float> kFaint{0, 2, 0.2F, 0.0F, 0.5F, 0.2F, 0.9F};
const std::vector<float> kEnd{-1, 0, 0, 0, 0, 0, 0};

CaseMetric detection_metric() {
  CaseMetric metric;
  metric.kind = CaseMetric::Kind::detections;
  metric.confidence = 0.5;
  metric.confidence_tolerance = 0.05;
  metric.iou = 0.8;
  return metric;
}

TEST_CASE("detections: order does not matter, nor what comes behind the end or lies below the confidence") {
  const auto same = [](const Tensor& got, const Tensor& expected) {
    return !difference(got, expected, detection_metric());
  };
  CHECK(same(detections({kDog, kCat, kEnd}), detections({kCat, kDog, kEnd})));
  CHECK(same(detections({kCat, kEnd, kDog}), detections({kCat, kEnd, kEnd})));
  CHECK(same(detections({kCat, kFaint, kEnd}), detections({kCat, kEnd, kEnd})));
  CHECK(same(detections({kCat, kEnd, kEnd}), detections({kCat, kFaint, kEnd})));
}

TEST_CASE("detections: each side's rows have a match on the other") {
  CHECK(difference(detections({kCat, kEnd}), detections({kCat, kDog}), detection_metric()) ==
        "the expected detection of label 2 with confidence 0.8000 at (0.5000, 0.5000, 0.9000, 0.9000) has no "
        "match");
  CHECK(difference(detections({kCat, kDog}), detections({kCat, kEnd}), detection_metric()) ==
        "the computed detection of label 2 with confidence 0.8000 at (0.5000, 0.5000, 0.9000, 0.9000) has no "
        "match");
}

TEST_CASE("detections: label, confidence, box and image must fit") {
  const auto changed = [](std::size_t column, float value) {
    std::vector<float> row = kCat;
    row[column] = value;
    return difference(detections({row}), detections({kCat}), detection_metric()).has_value();
  };
  CHECK(changed(0, 1));
  CHECK(changed(1, 2));
  CHECK(changed(2, 0.8F));
  CHECK_FALSE(changed(2, 0.86F));
  CHECK(changed(3, 0.2F));
  CHECK_FALSE(changed(3, 0.12F));
}

}  // namespace
