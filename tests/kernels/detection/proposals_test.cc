#include "kernels/detection/proposals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

// The definitions in double, without regard to cost.

struct Candidate {
  std::array<double, 4> box;
  double score;
};

std::array<double, 4> decoded(const std::array<double, 4>& box, const std::array<double, 4>& deltas,
                              double extent) {
  std::array<double, 4> result{};
  for (std::size_t i = 0; i < 2; ++i) {
    const double side = box[i + 2] - box[i] + extent;
    const double center = box[i] + side / 2 + deltas[i] * side;
    const double half = std::exp(deltas[i + 2]) * side / 2;
    result[i] = center - half;
    result[i + 2] = center + half;
  }
  return result;
}

void limit(std::array<double, 4>& box, double width, double height) {
  for (std::size_t i = 0; i < 4; ++i) box[i] = std::clamp(box[i], 0.0, i % 2 == 0 ? width : height);
}

double overlap(const std::array<double, 4>& a, const std::array<double, 4>& b, double extent) {
  const auto area = [&](const std::array<double, 4>& box) {
    return (box[2] - box[0] + extent) * (box[3] - box[1] + extent);
  };
  const std::array<double, 4> both{std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]),
                                   std::min(a[3], b[3])};
  if (both[2] < both[0] || both[3] < both[1]) return 0;
  return area(both) / (area(a) + area(b) - area(both));
}

void sort_and_cut(std::vector<Candidate>& found, std::size_t count) {
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  if (found.size() > count) found.resize(count);
}

std::vector<Candidate> suppressed(const std::vector<Candidate>& found, double threshold, double extent,
                                  double eta, std::size_t count) {
  std::vector<Candidate> kept;
  for (const Candidate& one : found) {
    if (kept.size() == count) break;
    if (std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
          return overlap(one.box, other.box, extent) > threshold;
        })) {
      continue;
    }
    kept.push_back(one);
    if (eta < 1 && threshold > 0.5) threshold *= eta;
  }
  return kept;
}

struct Head {
  std::vector<float> deltas;
  std::vector<float> scores;

  Head(std::size_t anchors, std::size_t cells, std::uint32_t seed)
      : deltas(4 * anchors * cells), scores(anchors * cells) {
    test::fill_random(deltas, -0.4, 0.4, seed);
    test::fill_random(scores, 0, 1, seed + 1);
    for (float& score : scores) score = std::round(score * 64) / 64;  // some are equal
  }
  std::array<double, 4> deltas_of(std::size_t anchor, std::size_t cell, std::size_t cells) const {
    const float* at = deltas.data() + 4 * anchor * cells + cell;
    return {at[0], at[cells], at[2 * cells], at[3 * cells]};
  }
};

std::vector<Candidate> twin(const ProposalParams& params, const ProposalInputs& inputs, std::size_t image) {
  const bool tensorflow = params.framework == ProposalFramework::tensorflow;
  const double extent = tensorflow ? 0 : 1;
  const double max_x = tensorflow ? inputs.image_height : inputs.image_width;
  const double max_y = tensorflow ? inputs.image_width : inputs.image_height;
  const std::size_t cells = params.height * params.width;
  const std::size_t anchors = params.anchors.size();
  std::vector<Candidate> found;
  for (std::size_t row = 0; row < params.height; ++row) {
    for (std::size_t column = 0; column < params.width; ++column) {
      for (std::size_t anchor = 0; anchor < anchors; ++anchor) {
        const double x = static_cast<double>(tensorflow ? row : column) * params.feat_stride;
        const double y = static_cast<double>(tensorflow ? column : row) * params.feat_stride;
        const Box& at = params.anchors[anchor];
        std::array<double, 4> box{x + at.x0, y + at.y0, x + at.x1, y + at.y1};
        if (tensorflow) limit(box, max_x, max_y);
        const std::size_t cell = row * params.width + column;
        const float* delta = inputs.deltas + (image * anchors + anchor) * 4 * cells + cell;
        box = decoded(box,
                      {delta[0] / params.box_coordinate_scale, delta[cells] / params.box_coordinate_scale,
                       delta[2 * cells] / params.box_size_scale, delta[3 * cells] / params.box_size_scale},
                      extent);
        if (params.clip_before_nms) limit(box, max_x - extent, max_y - extent);
        const bool small = box[2] - box[0] + extent < params.min_size * inputs.scale_width ||
                           box[3] - box[1] + extent < params.min_size * inputs.scale_height;
        const double score = inputs.class_probs[((2 * image + 1) * anchors + anchor) * cells + cell];
        found.push_back({box, small ? 0 : score});
      }
    }
  }
  sort_and_cut(found, params.pre_nms_topn);
  std::vector<Candidate> kept = suppressed(found, params.nms_thresh, extent, 1, params.post_nms_topn);
  for (Candidate& one : kept) {
    if (params.clip_after_nms) limit(one.box, max_x, max_y);
    for (std::size_t i = 0; params.normalize && i < 4; ++i) one.box[i] /= i % 2 == 0 ? max_x : max_y;
  }
  return kept;
}

void require_box(const float* got, const std::array<double, 4>& expected) {
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(got[i] == Approx(expected[i]).margin(1e-4));
}

}  // namespace

TEST_CASE("anchors of Proposal by hand") {
  // 16 * 16 pixels at ratio 0.5: sqrt(512) = 22.6 wide, rounded to 23, and 11.5, rounded to 12, high.
  const std::vector<Box> caffe =
      proposal_anchors(16, std::vector{0.5F, 1.0F}, std::vector{1.0F, 2.0F}, ProposalFramework::caffe);
  REQUIRE(caffe.size() == 4);
  CHECK(caffe[0].x0 == 7.5F - 11);
  CHECK(caffe[0].y0 == 7.5F - 5.5F);
  CHECK(caffe[1].x1 == 7.5F + 22.5F);
  CHECK(caffe[3].y1 == 7.5F + 15.5F);
  const std::vector<Box> tensorflow =
      proposal_anchors(16, std::vector{4.0F}, std::vector{2.0F}, ProposalFramework::tensorflow);
  REQUIRE(tensorflow.size() == 1);
  CHECK(tensorflow[0].x0 == -8);
  CHECK(tensorflow[0].y0 == -32);
  CHECK(tensorflow[0].x1 == 8);
  CHECK(tensorflow[0].y1 == 32);
}

TEST_CASE("proposal agrees with its twin for all attributes") {
  IR_FOR_EACH_TARGET();
  ProposalParams params;
  params.images = 2;
  params.height = 5;
  params.width = 7;
  params.feat_stride = 8;
  params.min_size = 6;
  params.nms_thresh = 0.4F;
  params.post_nms_topn = 30;
  std::uint32_t seed = 1;
  for (unsigned bits = 0; bits < 64; ++bits) {
    params.framework = (bits & 1) != 0 ? ProposalFramework::tensorflow : ProposalFramework::caffe;
    params.clip_before_nms = (bits & 2) != 0;
    params.clip_after_nms = (bits & 4) != 0;
    params.normalize = (bits & 8) != 0;
    params.pre_nms_topn = (bits & 16) != 0 ? 40 : 1000;
    params.box_coordinate_scale = (bits & 32) != 0 ? 2.0F : 1.0F;
    params.box_size_scale = (bits & 32) != 0 ? 0.5F : 1.0F;
    params.anchors =
        proposal_anchors(8, std::vector{0.5F, 1.0F, 2.0F}, std::vector{1.0F, 3.0F}, params.framework);
    const Head head(params.images * 2 * params.anchors.size(), params.height * params.width, seed += 2);
    const ProposalInputs inputs{head.scores.data(), head.deltas.data(), 38, 55, 1, 2};
    INFO("attributes " << bits);

    const std::size_t rows = params.images * params.post_nms_topn;
    GuardedBuffer<float> rois(rows * 5, 1);
    GuardedBuffer<float> probs(rows, 1);
    ProposalsScratch scratch;
    ThreadPool(1).run([&] { proposal(params, inputs, rois.data(), probs.data(), scratch); });
    REQUIRE(rois.guards_intact());
    REQUIRE(probs.guards_intact());
    for (std::size_t image = 0; image < params.images; ++image) {
      const std::vector<Candidate> expected = twin(params, inputs, image);
      const float* roi = rois.data() + image * params.post_nms_topn * 5;
      const float* prob = probs.data() + image * params.post_nms_topn;
      for (std::size_t i = 0; i < expected.size(); ++i, roi += 5) {
        INFO("image " << image << ", row " << i);
        REQUIRE(roi[0] == static_cast<float>(image));
        require_box(roi + 1, expected[i].box);
        REQUIRE(prob[i] == static_cast<float>(expected[i].score));
      }
      if (expected.size() == params.post_nms_topn) continue;
      REQUIRE(roi[0] == -1.0F);
      for (const float* rest = roi + 1; rest < rois.data() + (image + 1) * params.post_nms_topn * 5; ++rest) {
        REQUIRE(*rest == 0.0F);
      }
    }

    std::vector<float> again(rows * 5);
    ThreadPool(2).run([&] { proposal(params, inputs, again.data(), nullptr, scratch); });
    REQUIRE(std::equal(again.begin(), again.end(), rois.begin()));
  }
}

TEST_CASE("select_proposals agrees with its twin for all attributes") {
  IR_FOR_EACH_TARGET();
  constexpr std::size_t kCells = 35;
  constexpr std::size_t kAnchors = 3;
  ImageProposalsParams params;
  params.cells = kCells;
  params.anchors = kAnchors;
  params.nms_threshold = 0.7F;
  std::uint32_t seed = 100;
  for (unsigned bits = 0; bits < 32; ++bits) {
    params.extent = (bits & 1) != 0 ? 1.0F : 0.0F;
    params.nms_extent = (bits & 2) != 0 ? 1.0F : 0.0F;
    params.keep_small = (bits & 4) != 0;
    params.pre_nms_count = (bits & 8) != 0 ? 50 : 1000;
    params.nms_eta = (bits & 16) != 0 ? 0.9F : 1.0F;
    params.post_nms_count = bits % 3 == 0 ? 10 : 60;
    const Head head(kAnchors, kCells, seed += 2);
    std::vector<float> corners(4 * kCells * kAnchors);
    test::fill_random(corners, 0, 30, seed + 1000);
    for (std::size_t i = 0; i < corners.size(); i += 4) {
      corners[i + 2] = corners[i] + 4 + corners[i + 2] / 2;
      corners[i + 3] = corners[i + 1] + 4 + corners[i + 3] / 2;
    }
    const ImageProposalsInputs inputs{corners.data(), head.deltas.data(), head.scores.data(), 30, 40, 5, 6};
    INFO("attributes " << bits);

    std::vector<Candidate> all;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      for (std::size_t anchor = 0; anchor < kAnchors; ++anchor) {
        const float* at = corners.data() + 4 * (cell * kAnchors + anchor);
        Candidate one{
            decoded({at[0], at[1], at[2], at[3]}, head.deltas_of(anchor, cell, kCells), params.extent),
            head.scores[anchor * kCells + cell]};
        one.box[2] -= params.extent;
        one.box[3] -= params.extent;
        limit(one.box, 40 - params.extent, 30 - params.extent);
        all.push_back(one);
      }
    }
    const auto small = [&](const Candidate& one) {
      return one.box[2] - one.box[0] + params.extent < 6 || one.box[3] - one.box[1] + params.extent < 5;
    };
    for (Candidate& one : all) {
      if (params.keep_small && small(one)) one.score = 0;
    }
    sort_and_cut(all, params.pre_nms_count);
    if (!params.keep_small) std::erase_if(all, small);
    const std::vector<Candidate> expected =
        suppressed(all, params.nms_threshold, params.nms_extent, params.nms_eta, params.post_nms_count);

    for (const int threads : {1, 2}) {
      ProposalsScratch scratch;
      std::size_t count = 0;
      ThreadPool(threads).run([&] { count = select_proposals(params, inputs, scratch); });
      REQUIRE(count == expected.size());
      GuardedBuffer<float> boxes(4 * params.post_nms_count, 1);
      GuardedBuffer<float> scores(params.post_nms_count, 1);
      write_proposals(scratch, count, params.post_nms_count, boxes.data(), scores.data());
      REQUIRE(boxes.guards_intact());
      REQUIRE(scores.guards_intact());
      for (std::size_t i = 0; i < count; ++i) {
        INFO("row " << i);
        require_box(boxes.data() + 4 * i, expected[i].box);
        REQUIRE(scores[i] == static_cast<float>(expected[i].score));
      }
      REQUIRE(std::all_of(boxes.begin() + 4 * count, boxes.end(), [](float x) { return x == 0; }));
      REQUIRE(std::all_of(scores.begin() + count, scores.end(), [](float x) { return x == 0; }));
    }
  }
}

TEST_CASE("proposals with NaN scores are never selected") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> anchors{0, 0, 4, 4, 8, 8, 12, 12};
  const std::vector<float> deltas(8, 0);
  const std::vector<float> scores{nan, 0.5F};
  ImageProposalsParams params;
  params.cells = 2;
  params.pre_nms_count = params.post_nms_count = 2;
  params.nms_threshold = 0.5F;
  ProposalsScratch scratch;
  REQUIRE(select_proposals(params, {anchors.data(), deltas.data(), scores.data(), 20, 20, 0, 0}, scratch) ==
          1);
  CHECK(scratch.boxes[scratch.candidates[0].index].x0 == 8);
}

TEST_CASE("proposals of nothing are nothing") {
  ProposalsScratch scratch;
  ImageProposalsParams none;
  none.cells = 0;
  none.post_nms_count = 3;
  CHECK(select_proposals(none, {}, scratch) == 0);

  ProposalParams params;
  params.height = 0;
  params.anchors = {Box{}};
  params.pre_nms_topn = params.post_nms_topn = 2;
  std::vector<float> rois(10, 7);
  proposal(params, {}, rois.data(), nullptr, scratch);
  CHECK(rois == std::vector<float>{-1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

}  // namespace ir::kernels
