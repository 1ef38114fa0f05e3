#include "kernels/detection/multiclass_nms.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kImages = 3;
constexpr std::size_t kClasses = 4;
constexpr std::size_t kBoxes = 40;

struct Sample {
  Sample() {
    test::fill_random(boxes, 0, 20, 3);
    test::fill_random(scores, 0, 1, 4);
    for (std::size_t i = 0; i < boxes.size(); i += 4) {
      boxes[i + 2] = boxes[i] + 6 + boxes[i + 2] / 4;
      boxes[i + 3] = boxes[i + 1] + 6 + boxes[i + 3] / 4;
    }
  }
  MulticlassInput input(bool shared) const {
    return {boxes.data(), scores.data(), kClasses, shared ? kBoxes : kImages * kBoxes, shared, starts};
  }
  std::vector<float> boxes = std::vector<float>(kClasses * kImages * kBoxes * 4);
  std::vector<float> scores = std::vector<float>(kClasses * kImages * kBoxes);
  std::vector<std::size_t> starts{0, kBoxes, 2 * kBoxes, 3 * kBoxes};
};

double overlap(const float* a, const float* b, double extent) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + extent;
  const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + extent;
  if (width <= 0 || height <= 0) return 0;
  const auto area = [extent](const float* box) {
    return (box[2] - box[0] + extent) * (box[3] - box[1] + extent);
  };
  return width * height / (area(a) + area(b) - width * height);
}

using Row = std::tuple<double, std::size_t, std::size_t>;  // minus score, class, box

std::vector<Row> best_of_class(const MulticlassInput& input, std::size_t image, std::size_t label,
                               const MulticlassLimits& limits) {
  std::vector<Row> rows;
  const auto scores = input.scores_of(image, label);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.score_threshold) rows.emplace_back(-scores[i], label, input.starts[image] + i);
  }
  std::sort(rows.begin(), rows.end());
  rows.resize(std::min(rows.size(), limits.max_candidates));
  return rows;
}

template <class SelectClass>
std::vector<Row> twin(const MulticlassInput& input, const MulticlassLimits& limits, SelectClass select) {
  std::vector<Row> all;
  for (std::size_t image = 0; image < kImages; ++image) {
    std::vector<Row> rows;
    for (std::size_t label = 0; label < kClasses; ++label) {
      if (static_cast<std::int64_t>(label) == limits.background) continue;
      const auto selected = select(best_of_class(input, image, label, limits));
      rows.insert(rows.end(), selected.begin(), selected.end());
    }
    std::sort(rows.begin(), rows.end());
    rows.resize(std::min(rows.size(), limits.max_per_image));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

void check_rows(const MulticlassSelection& got, const std::vector<Row>& expected) {
  REQUIRE(got.boxes.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [minus_score, label, box] = expected[i];
    CHECK(got.boxes[i].score == Approx(-minus_score).epsilon(1e-4));
    CHECK(got.boxes[i].label == static_cast<std::int64_t>(label));
    CHECK(got.boxes[i].box == static_cast<std::int64_t>(box));
  }
}

MulticlassLimits limits(bool normalized) {
  MulticlassLimits limits;
  limits.score_threshold = 0.2F;
  limits.normalized = normalized;
  limits.max_candidates = 25;
  limits.max_per_image = 20;
  limits.background = 2;
  return limits;
}

}  // namespace

TEST_CASE("multiclass_nms drops what overlaps better boxes of its class") {
  const Sample sample;
  const bool shared = GENERATE(true, false);
  MulticlassNmsParams params;
  params.limits = limits(GENERATE(true, false));
  params.iou_threshold = 0.6F;
  params.eta = GENERATE(1.0F, 0.95F);
  const MulticlassInput input = sample.input(shared);
  const double extent = params.limits.normalized ? 0 : 1;
  const auto expected = twin(input, params.limits, [&](const std::vector<Row>& candidates) {
    double threshold = params.iou_threshold;
    std::vector<Row> kept;
    for (const Row& row : candidates) {
      const auto suppresses = [&](const Row& rival) {
        return overlap(input.box_of(std::get<1>(row), std::get<2>(row)),
                       input.box_of(std::get<1>(rival), std::get<2>(rival)), extent) >= threshold;
      };
      if (std::any_of(kept.begin(), kept.end(), suppresses)) continue;
      kept.push_back(row);
      if (params.eta < 1 && threshold > 0.5) threshold *= params.eta;
    }
    return kept;
  });
  CHECK(expected.size() > 30);
  check_rows(multiclass_nms(input, params), expected);
}

TEST_CASE("matrix_nms lowers scores by the overlaps with better boxes of the class") {
  const Sample sample;
  MatrixNmsParams params;
  params.limits = limits(GENERATE(true, false));
  params.decay = GENERATE(DecayFunction::linear, DecayFunction::gaussian);
  params.gaussian_sigma = GENERATE(2.0F, -0.5F);
  params.post_threshold = 0.15F;
  const MulticlassInput input = sample.input(true);
  const double extent = params.limits.normalized ? 0 : 1;
  const auto iou = [&](const Row& a, const Row& b) {
    const float* first = input.box_of(0, std::get<2>(a));
    const float* second = input.box_of(0, std::get<2>(b));
    // Boxes of pixels that lie apart do not overlap here, even when less than a pixel.
    return overlap(first, second, 0) > 0 ? overlap(first, second, extent) : 0.0;
  };
  const auto expected = twin(input, params.limits, [&](const std::vector<Row>& candidates) {
    std::vector<Row> kept;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      double least = 1;
      for (std::size_t j = 0; j < i; ++j) {
        double largest = 0;
        for (std::size_t k = 0; k < j; ++k) largest = std::max(largest, iou(candidates[j], candidates[k]));
        const double x = iou(candidates[i], candidates[j]);
        least = std::min(least, params.decay == DecayFunction::linear
                                    ? (1 - x) / (1 - largest)
                                    : std::exp((largest * largest - x * x) * params.gaussian_sigma));
      }
      Row row = candidates[i];
      std::get<0>(row) *= least;
      if (-std::get<0>(row) > params.post_threshold) kept.push_back(row);
    }
    return kept;
  });
  CHECK(expected.size() > 30);
  check_rows(matrix_nms(input, params), expected);
}

TEST_CASE("multiclass_nms counts boxes less than a pixel apart as overlapping") {
  const std::vector<float> boxes{0, 0, 4, 4, 4.5F, 0, 8, 4};
  const std::vector<float> scores{0.9F, 0.8F};
  const std::vector<std::size_t> starts{0, 2};
  const MulticlassInput input{boxes.data(), scores.data(), 1, 2, true, starts};
  MulticlassNmsParams params;
  params.limits.normalized = false;
  // 0.5 * 5 of 5 * 5 + 4.5 * 5 - 2.5 = 45.
  params.iou_threshold = 0.05F;
  CHECK(multiclass_nms(input, params).boxes.size() == 1);
  params.iou_threshold = 0.06F;
  CHECK(multiclass_nms(input, params).boxes.size() == 2);
}

TEST_CASE("matrix_nms of boxes that coincide gives finite scores") {
  const std::vector<float> boxes{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
  const std::vector<float> scores{0.9F, 0.9F, 0.8F};
  const std::vector<std::size_t> starts{0, 3};
  const MulticlassInput input{boxes.data(), scores.data(), 1, 3, true, starts};
  MatrixNmsParams params;
  params.post_threshold = -1;
  const auto selection = matrix_nms(input, params);
  REQUIRE(selection.boxes.size() == 3);
  CHECK(selection.boxes[0].box == 0);
  CHECK(selection.boxes[1].score == 0);
  CHECK(selection.boxes[2].score == 0);
}

TEST_CASE("Selections have the same bits for any number of threads") {
  const Sample sample;
  MulticlassNmsParams params;
  params.iou_threshold = 0.5F;
  const auto run = [&](int threads) {
    std::vector<float> outputs;
    ThreadPool(threads).run([&] {
      const MulticlassInput input = sample.input(true);
      const MulticlassSelection selection = multiclass_nms(input, params);
      outputs.resize(selection.boxes.size() * 6);
      std::vector<std::int32_t> indices(selection.boxes.size());
      std::vector<std::int32_t> counts(kImages);
      write_selection(input, selection, outputs.data(), indices.data(), counts.data());
    });
    return outputs;
  };
  CHECK(run(1).size() > 60);
  CHECK(run(1) == run(2));
}

TEST_CASE("Images without boxes cost nothing, however many classes there are") {
  const std::vector<std::size_t> starts(1001, 0);
  const MulticlassInput input{nullptr, nullptr, std::size_t{1} << 60, 0, true, starts};
  const MulticlassSelection selection = multiclass_nms(input, {});
  CHECK(selection.boxes.empty());
  CHECK(selection.per_image == std::vector<std::size_t>(1000, 0));
}

}  // namespace ir::kernels
