#include "kernels/detection/detectron.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

struct Detection {
  double score;
  std::size_t label;
  std::size_t roi;
  std::array<double, 4> box;
};

// The definition in double, without regard to cost.
std::vector<Detection> twin(const DetectronOutputParams& params, const DetectronOutputInputs& inputs) {
  std::vector<Detection> all;
  for (std::size_t label = 1; label < params.classes; ++label) {
    std::vector<Detection> found;
    for (std::size_t roi = 0; roi < params.rois; ++roi) {
      const float* at = inputs.rois + 4 * roi;
      const float score = inputs.scores[roi * params.classes + label];
      if (!(score > params.score_threshold) || at[2] <= at[0] || at[3] <= at[1]) continue;
      Detection one{score, label, roi, {}};
      for (std::size_t i = 0; i < 2; ++i) {
        const float* deltas = inputs.deltas + 4 * (roi * params.classes + label) + i;
        const double side = double{at[i + 2]} - at[i] + 1;
        const double center = at[i] + side / 2 + deltas[0] / params.deltas_weights[i] * side;
        const double factor =
            std::exp(std::min<double>(deltas[2] / params.deltas_weights[i + 2], params.max_delta_log_wh));
        one.box[i] = std::max(0.0, center - factor * side / 2);
        one.box[i + 2] = std::max(0.0, center + factor * side / 2 - 1);
      }
      found.push_back(one);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    std::vector<Detection> kept;
    for (const Detection& one : found) {
      const auto overlaps = [&](const Detection& other) {
        const double width = std::min(one.box[2], other.box[2]) - std::max(one.box[0], other.box[0]);
        const double height = std::min(one.box[3], other.box[3]) - std::max(one.box[1], other.box[1]);
        if (width < 0 || height < 0) return false;
        const auto area = [](const std::array<double, 4>& box) {
          return (box[2] - box[0] + 1) * (box[3] - box[1] + 1);
        };
        const double both = (width + 1) * (height + 1);
        return both / (area(one.box) + area(other.box) - both) > params.nms_threshold;
      };
      if (kept.size() < params.post_nms_count && std::none_of(kept.begin(), kept.end(), overlaps)) {
        kept.push_back(one);
      }
    }
    all.insert(all.end(), kept.begin(), kept.end());
  }
  if (all.size() > params.max_detections) {
    std::stable_sort(all.begin(), all.end(), [](const Detection& a, const Detection& b) {
      return a.score != b.score ? a.score > b.score : a.roi < b.roi;
    });
    all.resize(params.max_detections);
  }
  return all;
}

}  // namespace

TEST_CASE("detectron_output agrees with its twin") {
  IR_FOR_EACH_TARGET();
  DetectronOutputParams params;
  params.rois = 60;
  params.classes = 4;
  params.score_threshold = 0.3F;
  params.nms_threshold = 0.3F;
  params.deltas_weights = {10, 8, 5, 4};
  for (std::uint32_t seed = 1; seed < 40; ++seed) {
    params.max_delta_log_wh = seed % 2 == 0 ? 0.1F : 4.0F;
    params.post_nms_count = seed % 3 == 0 ? 7 : 1000;
    params.max_detections = seed % 5 == 0 ? 10 : 100;
    std::vector<float> rois(4 * params.rois);
    test::fill_random(rois, 0, 40, seed);
    for (std::size_t i = 0; i < rois.size(); i += 4) {
      if (i % 7 == 0) continue;  // some have no area
      rois[i + 2] = rois[i] + 2 + rois[i + 2] / 2;
      rois[i + 3] = rois[i + 1] + 2 + rois[i + 3] / 2;
    }
    std::vector<float> deltas(4 * params.rois * params.classes);
    test::fill_random(deltas, -2, 2, seed + 1);
    std::vector<float> scores(params.rois * params.classes);
    test::fill_random(scores, 0, 1, seed + 2);
    for (float& score : scores) score = std::round(score * 64) / 64;  // some are equal
    scores[5] = std::numeric_limits<float>::quiet_NaN();
    const DetectronOutputInputs inputs{rois.data(), deltas.data(), scores.data()};
    const std::vector<Detection> expected = twin(params, inputs);
    INFO("seed " << seed);

    for (const int threads : {1, 2}) {
      GuardedBuffer<float> boxes(4 * params.max_detections, 1);
      GuardedBuffer<std::int32_t> labels(params.max_detections, 1);
      GuardedBuffer<float> found(params.max_detections, 1);
      DetectronOutputScratch scratch;
      ThreadPool(threads).run(
          [&] { detectron_output(params, inputs, boxes.data(), labels.data(), found.data(), scratch); });
      REQUIRE(boxes.guards_intact());
      REQUIRE(labels.guards_intact());
      REQUIRE(found.guards_intact());
      REQUIRE(expected.size() <= params.max_detections);
      for (std::size_t i = 0; i < params.max_detections; ++i) {
        const Detection one = i < expected.size() ? expected[i] : Detection{};
        INFO("row " << i);
        REQUIRE(found[i] == static_cast<float>(one.score));
        REQUIRE(labels[i] == static_cast<std::int32_t>(one.label));
        for (std::size_t k = 0; k < 4; ++k) REQUIRE(boxes[4 * i + k] == Approx(one.box[k]).margin(1e-4));
      }
    }
  }
}

TEMPLATE_TEST_CASE("prior_grid puts the priors around every cell, then zeros", "", float, double) {
  const std::vector<TestType> priors{-2, -1, 2, 1};
  PriorGridParams params;
  params.priors = 1;
  params.height = 2;
  params.width = 2;
  params.step_y = 4;
  params.step_x = 10;
  params.boxes = 5;
  GuardedBuffer<TestType> out(20, 1);
  prior_grid(params, priors.data(), out.data());
  CHECK(std::vector<TestType>(out.begin(), out.end()) ==
        std::vector<TestType>{3, 1, 7, 3, 13, 1, 17, 3, 3, 5, 7, 7, 13, 5, 17, 7, 0, 0, 0, 0});
  CHECK(out.guards_intact());

  params.height = 500;
  params.width = 30;
  params.boxes = 15000;
  std::vector<TestType> one(60000);
  std::vector<TestType> two(60000);
  ThreadPool(1).run([&] { prior_grid(params, priors.data(), one.data()); });
  ThreadPool(2).run([&] { prior_grid(params, priors.data(), two.data()); });
  CHECK(one == two);
  CHECK(one[4 * (499 * 30 + 29)] == TestType(29.5 * 10 - 2));
}

TEMPLATE_TEST_CASE("take_boxes writes boxes in order, then zeros", "", float, double) {
  const std::vector<TestType> rois{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int32_t> order{1, 0};
  GuardedBuffer<TestType> out(12, 1);
  take_boxes(rois.data(), order.data(), 2, 3, out.data());
  CHECK(std::vector<TestType>(out.begin(), out.end()) ==
        std::vector<TestType>{5, 6, 7, 8, 1, 2, 3, 4, 0, 0, 0, 0});
  CHECK(out.guards_intact());
}

}  // namespace ir::kernels
