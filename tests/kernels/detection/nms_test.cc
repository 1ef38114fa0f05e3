#include "kernels/detection/nms.h"

#include <cmath>
#include <random>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

double overlap_of(const Box& a, const Box& b, double extent) {
  const double width = std::min<double>(a.x1, b.x1) - std::max<double>(a.x0, b.x0);
  const double height = std::min<double>(a.y1, b.y1) - std::max<double>(a.y0, b.y0);
  if (width < 0 || height < 0) return 0;
  const auto area = [extent](const Box& box) {
    return (double{box.x1} - box.x0 + extent) * (double{box.y1} - box.y0 + extent);
  };
  const double both = (width + extent) * (height + extent);
  return both <= 0 ? 0 : both / (area(a) + area(b) - both);
}

std::vector<Box> random_boxes(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> place(0, 20);
  std::uniform_real_distribution<float> size(1, 10);
  std::vector<Box> boxes(count);
  for (Box& box : boxes) {
    box.x0 = place(generator);
    box.y0 = place(generator);
    box.x1 = box.x0 + size(generator);
    box.y1 = box.y0 + size(generator);
  }
  return boxes;
}

std::vector<std::uint32_t> run_greedy(const std::vector<Box>& boxes, const GreedyNmsParams& params) {
  GuardedBuffer<float> storage(BoxColumns::floats_for(boxes.size()), 1);
  const BoxColumns columns = BoxColumns::over(storage.data(), boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) columns.set(i, boxes[i], box_area(boxes[i], params.extent));
  GuardedBuffer<std::uint32_t> kept(std::min(boxes.size(), params.max_kept));
  const std::size_t count = greedy_nms(columns, boxes.size(), params, kept.data());
  REQUIRE(storage.guards_intact());
  REQUIRE(kept.guards_intact());
  return {kept.begin(), kept.begin() + count};
}

std::vector<std::uint32_t> expected_greedy(const std::vector<Box>& boxes, const GreedyNmsParams& params) {
  double threshold = params.iou_threshold;
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < boxes.size() && kept.size() < params.max_kept; ++i) {
    const bool keep = std::none_of(kept.begin(), kept.end(), [&](std::uint32_t j) {
      return overlap_of(boxes[i], boxes[j], params.extent) > threshold;
    });
    if (!keep) continue;
    kept.push_back(i);
    if (params.eta < 1 && threshold > 0.5) threshold *= params.eta;
  }
  return kept;
}

/// The six boxes of ONNX's tests of NonMaxSuppression.
const std::vector<float> kSixCorners{0, 0,    1, 1,    0, 0.1F,  1, 1.1F,  0, -0.1F, 1, 0.9F,
                                     0, 10.F, 1, 11.F, 0, 10.1F, 1, 11.1F, 0, 100.F, 1, 101.F};
const std::vector<float> kSixScores{0.9F, 0.75F, 0.6F, 0.95F, 0.5F, 0.3F};

NonMaxSuppressionParams six_params() {
  NonMaxSuppressionParams params;
  params.max_output_boxes_per_class = 3;
  params.iou_threshold = 0.5F;
  return params;
}

std::vector<std::int64_t> indices_of(const std::vector<SelectedBox>& selected) {
  std::vector<std::int64_t> indices(3 * selected.size());
  write_selected<std::int64_t>(selected, selected.size(), indices.data(), nullptr);
  return indices;
}

using Indices = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("intersection_over_union of normalized and pixel boxes") {
  const Box a{0, 0, 2, 2};
  CHECK(intersection_over_union(a, {1, 0, 3, 2}) == Approx(1.0 / 3));
  CHECK(intersection_over_union(a, {2, 0, 3, 2}) == 0.0F);
  CHECK(intersection_over_union(a, {2, 0, 3, 2}, 1) == Approx(3.0 / (9 + 6 - 3)));
  CHECK(intersection_over_union(a, {3, 0, 2, 2}) == 0.0F);
  CHECK(intersection_over_union(a, {NAN, 0, 2, 2}) == 0.0F);
  CHECK(intersection_over_union({1, 1, 1, 1}, {1, 1, 1, 1}) == 0.0F);
  CHECK(box_area({2, 0, 1, 1}) == 0.0F);
  CHECK(box_area({2, 0, 2, 1}, 1) == 2.0F);
  // Half a pixel wide.
  CHECK(box_area({2, 0, 1.5F, 1}, 1) == 1.0F);
  CHECK(intersection_over_union({2, 0, 1.5F, 1}, {1, 0, 2, 1}, 1) == Approx(1.0 / (1 + 4 - 1)));
  CHECK(intersection_over_union({2, 0, 1.5F, 1}, {2, 0, 3, 1}, 1) == 0.0F);  // which begins after its end
  CHECK(box_area({2, 0, 0, 1}, 1) == 0.0F);
}

TEST_CASE("overlaps_of has the bits of intersection_over_union on every target") {
  IR_FOR_EACH_TARGET();
  const float extent = GENERATE(0.0F, 1.0F);
  for (const std::size_t count : test::sizes_around_lanes(40)) {
    INFO("count " << count);
    std::vector<Box> boxes = random_boxes(count, static_cast<std::uint32_t>(count));
    if (count > 2) boxes[1] = {NAN, 0, 2, 2};
    if (count > 3) boxes[2] = {6.5F, 6, 6, 8};  // half a pixel wide, with an extent
    const Box box{5, 5, 15, 12};
    GuardedBuffer<float> storage(BoxColumns::floats_for(count), 1);
    const BoxColumns columns = BoxColumns::over(storage.data(), count);
    for (std::size_t i = 0; i < count; ++i) columns.set(i, boxes[i], box_area(boxes[i], extent));
    GuardedBuffer<float> overlaps(count, 1);
    const float largest = overlaps_of(box, box_area(box, extent), columns, count, extent, overlaps.data());
    REQUIRE(overlaps.guards_intact());
    float expected_largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float expected = intersection_over_union(box, boxes[i], extent);
      REQUIRE(overlaps.data()[i] == expected);
      expected_largest = std::max(expected_largest, expected);
    }
    REQUIRE(largest == expected_largest);
  }
}

TEST_CASE("greedy_nms agrees with a plain walk on every target") {
  IR_FOR_EACH_TARGET();
  GreedyNmsParams params;
  params.iou_threshold = GENERATE(0.0F, 0.2F, 0.55F, 0.9F);
  params.extent = GENERATE(0.0F, 1.0F);
  params.eta = GENERATE(1.0F, 0.9F);
  for (const std::size_t count : test::sizes_around_lanes(100)) {
    const std::vector<Box> boxes = random_boxes(count, static_cast<std::uint32_t>(count));
    INFO("count " << count);
    REQUIRE(run_greedy(boxes, params) == expected_greedy(boxes, params));
  }
}

TEST_CASE("greedy_nms limits the number of kept boxes and treats the threshold as asked") {
  IR_FOR_EACH_TARGET();
  // Halves of each other: the overlap is exactly 0.5. Repeated, so that whole vectors see it.
  std::vector<Box> boxes;
  for (int i = 0; i < 40; ++i) {
    const auto x = static_cast<float>(10 * i);
    boxes.push_back({x, 0, x + 4, 1});
    boxes.push_back({x, 0, x + 2, 1});
  }
  GreedyNmsParams params;
  params.iou_threshold = 0.5F;
  CHECK(run_greedy(boxes, params).size() == 80);
  params.suppress_at_threshold = true;
  CHECK(run_greedy(boxes, params).size() == 40);
  params.max_kept = 7;
  CHECK(run_greedy(boxes, params) == std::vector<std::uint32_t>{0, 2, 4, 6, 8, 10, 12});
  params.max_kept = 0;
  CHECK(run_greedy(boxes, params).empty());
}

TEST_CASE("boxes with NaN neither suppress nor are suppressed") {
  IR_FOR_EACH_TARGET();
  std::vector<Box> boxes(40, Box{0, 0, 2, 2});
  boxes[3].x0 = NAN;
  boxes[20].y1 = NAN;
  GreedyNmsParams params;
  params.iou_threshold = 0.5F;
  CHECK(run_greedy(boxes, params) == std::vector<std::uint32_t>{0, 3, 20});
}

TEST_CASE("sort_best puts higher scores, then lower indices first") {
  std::vector<ScoredIndex> candidates{{0.5F, 4}, {0.5F, 1}, {0.9F, 3}, {0.1F, 0}, {0.5F, 2}};
  REQUIRE(sort_best(candidates, 3) == 3);
  CHECK(candidates[0].index == 3);
  CHECK(candidates[1].index == 1);
  CHECK(candidates[2].index == 2);
  CHECK(sort_best(candidates, 9) == 5);
  CHECK(candidates[4].index == 0);
  CHECK(sort_best({}, 3) == 0);
}

TEST_CASE("candidates_of finds every score that counts") {
  IR_FOR_EACH_TARGET();
  const auto count = GENERATE(0, 1, 7, 31, 1024, 2500);
  const auto limit = GENERATE(ScoreLimit::above, ScoreLimit::at_or_above);
  GuardedBuffer<float> scores(static_cast<std::size_t>(count), 1);
  std::mt19937 generator(7);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < scores.size(); ++i) {
    // Some equal the threshold, most are below, and one is no number.
    scores[i] = i == 5 ? NAN : static_cast<float>(generator() % 40) * 0.25F;
    if (scores[i] > 8 || (scores[i] == 8 && limit == ScoreLimit::at_or_above)) expected.push_back(i);
  }
  std::vector<std::uint32_t> found;
  for (const ScoredIndex& candidate : candidates_of({scores.data(), scores.size()}, 8, limit)) {
    CHECK(candidate.score == scores[candidate.index]);
    found.push_back(candidate.index);
  }
  CHECK(found == expected);
}

TEST_CASE("keep_best keeps what the walk over all sorted candidates does") {
  IR_FOR_EACH_TARGET();
  const std::vector<Box> boxes = random_boxes(2000, 3);
  const auto box_of = [&](std::uint32_t i) { return boxes[i]; };
  std::mt19937 generator(11);
  std::vector<ScoredIndex> candidates(boxes.size());
  for (std::uint32_t i = 0; i < boxes.size(); ++i) candidates[i] = {static_cast<float>(generator() % 500), i};
  std::vector<ScoredIndex> sorted = candidates;
  sort_best(sorted, sorted.size());
  GreedyNmsParams params;
  params.iou_threshold = GENERATE(0.05F, 0.7F, 1.0F);
  params.max_kept = GENERATE(std::size_t{1}, std::size_t{20}, std::size_t{100}, std::size_t{700}, SIZE_MAX);
  params.eta = GENERATE(1.0F, 0.9F);
  const auto indices = [](const std::vector<ScoredIndex>& kept) {
    std::vector<std::uint32_t> result(kept.size());
    std::ranges::transform(kept, result.begin(), &ScoredIndex::index);
    return result;
  };
  CHECK(indices(keep_best(candidates, box_of, params)) == indices(keep_greedily(sorted, box_of, params)));
}

TEST_CASE("non_max_suppression of six boxes") {
  NonMaxSuppressionParams params = six_params();
  const auto run = [&](const std::vector<float>& boxes, const std::vector<float>& scores,
                       std::size_t classes) {
    return non_max_suppression(boxes.data(), scores.data(), 1, classes, boxes.size() / 4, params);
  };
  SECTION("by overlap") {
    CHECK(indices_of(run(kSixCorners, kSixScores, 1)) == Indices{0, 0, 3, 0, 0, 0, 0, 0, 5});
  }
  SECTION("flipped corners") {
    std::vector<float> boxes = kSixCorners;
    std::swap(boxes[0], boxes[2]);
    std::swap(boxes[5], boxes[7]);
    CHECK(indices_of(run(boxes, kSixScores, 1)) == Indices{0, 0, 3, 0, 0, 0, 0, 0, 5});
  }
  SECTION("by overlap and score") {
    params.score_threshold = 0.4F;
    CHECK(indices_of(run(kSixCorners, kSixScores, 1)) == Indices{0, 0, 3, 0, 0, 0});
  }
  SECTION("limited") {
    params.max_output_boxes_per_class = 2;
    CHECK(indices_of(run(kSixCorners, kSixScores, 1)) == Indices{0, 0, 3, 0, 0, 0});
    params.max_output_boxes_per_class = 0;
    CHECK(run(kSixCorners, kSixScores, 1).empty());
    params.max_output_boxes_per_class = -1;
    CHECK(run(kSixCorners, kSixScores, 1).empty());
  }
  SECTION("centers") {
    params.encoding = BoxEncoding::center;
    const std::vector<float> centers{0.5F, 0.5F,  1, 1, 0.5F, 0.6F,  1, 1, 0.5F, 0.4F,   1, 1,
                                     0.5F, 10.5F, 1, 1, 0.5F, 10.6F, 1, 1, 0.5F, 100.5F, 1, 1};
    CHECK(indices_of(run(centers, kSixScores, 1)) == Indices{0, 0, 3, 0, 0, 0, 0, 0, 5});
  }
  SECTION("two classes, sorted or not") {
    std::vector<float> scores = kSixScores;
    scores.insert(scores.end(), kSixScores.begin(), kSixScores.end());
    params.max_output_boxes_per_class = 2;
    params.sort_result_descending = false;
    CHECK(indices_of(run(kSixCorners, scores, 2)) == Indices{0, 0, 3, 0, 0, 0, 0, 1, 3, 0, 1, 0});
    params.sort_result_descending = true;
    CHECK(indices_of(run(kSixCorners, scores, 2)) == Indices{0, 0, 3, 0, 1, 3, 0, 0, 0, 0, 1, 0});
  }
  SECTION("NaN scores are not selected") {
    std::vector<float> scores = kSixScores;
    scores[3] = NAN;
    CHECK(indices_of(run(kSixCorners, scores, 1)) == Indices{0, 0, 0, 0, 0, 4, 0, 0, 5});
  }
  SECTION("a threshold of zero keeps disjoint boxes unless it suppresses itself") {
    params.iou_threshold = 0;
    CHECK(run(kSixCorners, kSixScores, 1).size() == 3);
    params.suppress_at_threshold = true;
    CHECK(run(kSixCorners, kSixScores, 1).size() == 1);
  }
}

TEST_CASE("non_max_suppression takes boxes and scores of each batch element") {
  std::vector<float> boxes = kSixCorners;
  boxes.insert(boxes.end(), kSixCorners.begin(), kSixCorners.end());
  std::vector<float> scores = kSixScores;
  scores.insert(scores.end(), kSixScores.rbegin(), kSixScores.rend());
  NonMaxSuppressionParams params = six_params();
  params.max_output_boxes_per_class = 1;
  const auto selected = non_max_suppression(boxes.data(), scores.data(), 2, 1, 6, params);
  CHECK(indices_of(selected) == Indices{0, 0, 3, 1, 0, 2});

  std::vector<std::int32_t> indices(9);
  std::vector<float> selected_scores(9);
  write_selected<std::int32_t>(selected, 3, indices.data(), selected_scores.data());
  CHECK(indices == std::vector<std::int32_t>{0, 0, 3, 1, 0, 2, -1, -1, -1});
  CHECK(selected_scores == std::vector<float>{0, 0, 0.95F, 1, 0, 0.95F, -1, -1, -1});
  write_selected<std::int32_t>(selected, 1, indices.data(), selected_scores.data());
  CHECK(indices[3] == 1);
}

TEST_CASE("non_max_suppression of no boxes costs nothing, however many classes there are") {
  CHECK(non_max_suppression(nullptr, nullptr, 1, std::size_t{1} << 60, 0, six_params()).empty());
}

TEST_CASE("soft suppression decays scores instead of dropping boxes") {
  NonMaxSuppressionParams params = six_params();
  params.max_output_boxes_per_class = 6;
  params.soft_nms_sigma = 0.5F;
  const auto run = [&] {
    return non_max_suppression(kSixCorners.data(), kSixScores.data(), 1, 1, 6, params);
  };

  // Boxes 1 and 2 overlap box 0 by 9/11 each, and each other by 8/12; box 4 overlaps box 3 by 9/11.
  const double once = std::exp(-std::pow(9.0 / 11, 2));
  const double twice = std::exp(-std::pow(8.0 / 12, 2));
  auto selected = run();
  CHECK(indices_of(selected) == Indices{0, 0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0, 0, 4, 0, 0, 2});
  REQUIRE(selected.size() == 6);
  CHECK(selected[2].score == Approx(0.75 * once));
  CHECK(selected[3].score == 0.3F);
  CHECK(selected[4].score == Approx(0.5 * once));
  CHECK(selected[5].score == Approx(0.6 * once * twice));

  params.score_threshold = 0.28F;
  CHECK(indices_of(run()) == Indices{0, 0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 5});
  params.soft_suppresses_by_iou = true;
  CHECK(indices_of(run()) == Indices{0, 0, 3, 0, 0, 0, 0, 0, 5});
}

TEST_CASE("soft suppression ends for infinite scores and a slope without bound") {
  NonMaxSuppressionParams params = six_params();
  params.max_output_boxes_per_class = 6;
  params.soft_nms_sigma = GENERATE(0.5F, 1e-3F, 1e-42F);
  std::vector<float> scores(kSixScores.begin(), kSixScores.end());
  const float infinity = std::numeric_limits<float>::infinity();
  scores[0] = infinity;
  scores[1] = GENERATE_COPY(0.5F, infinity);
  scores[3] = GENERATE_COPY(0.5F, -infinity, std::nanf(""));
  const auto selected = non_max_suppression(kSixCorners.data(), scores.data(), 1, 1, 6, params);
  REQUIRE_FALSE(selected.empty());
  CHECK(selected[0].score == infinity);
  // Box 5 touches none, so that nothing changes its score.
  CHECK(std::ranges::any_of(selected, [&](const auto& box) { return box.score == scores[5]; }));
  CHECK(std::ranges::none_of(selected, [](const auto& box) { return std::isnan(box.score); }));
}

TEST_CASE("non_max_suppression has the same results for any number of threads") {
  std::vector<float> boxes(2 * 500 * 4);
  std::vector<float> scores(2 * 5 * 500);
  test::fill_random(boxes, 0, 30, 1);
  test::fill_random(scores, 0, 1, 2);
  NonMaxSuppressionParams params = six_params();
  params.max_output_boxes_per_class = 100;
  params.soft_nms_sigma = GENERATE(0.0F, 0.3F);
  std::vector<SelectedBox> one;
  std::vector<SelectedBox> two;
  ThreadPool(1).run([&] { one = non_max_suppression(boxes.data(), scores.data(), 2, 5, 500, params); });
  ThreadPool(2).run([&] { two = non_max_suppression(boxes.data(), scores.data(), 2, 5, 500, params); });
  CHECK(one.size() > 10);
  CHECK(indices_of(one) == indices_of(two));
}

}  // namespace ir::kernels
