#include "kernels/detection/detection_output.h"

#include <cmath>
#include <map>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

std::vector<float> run(const DetectionOutputParams& params, const DetectionOutputInputs& inputs) {
  GuardedBuffer<float> out(7 * detection_output_rows(params), 1);
  DetectionOutputScratch scratch;
  detection_output(params, inputs, out.data(), scratch);
  std::vector<float> first(out.begin(), out.end());
  detection_output(params, inputs, out.data(), scratch);
  REQUIRE(first == std::vector<float>(out.begin(), out.end()));  // the scratch carries nothing over
  REQUIRE(out.guards_intact());
  return first;
}

struct Random {
  std::vector<float> logits;
  std::vector<float> scores;
  std::vector<float> priors;
  std::vector<float> objectness;
  std::vector<float> first_logits;

  Random(const DetectionOutputParams& params, bool cascade, std::uint32_t seed) {
    const std::size_t locations = params.share_location ? 1 : params.classes;
    logits.resize(params.images * params.priors * locations * 4);
    scores.resize(params.images * params.priors * params.classes);
    test::fill_random(logits, -0.5, 0.5, seed);
    test::fill_random(scores, 0, 1, seed + 1);
    for (float& score : scores) score = std::round(score * 64) / 64;  // some are equal
    if (cascade) {
      objectness.resize(params.images * params.priors * 2);
      first_logits.resize(logits.size());
      test::fill_random(objectness, 0, 1, seed + 2);
      test::fill_random(first_logits, -0.5, 0.5, seed + 3);
    }
    const std::size_t size = params.normalized ? 4 : 5;
    std::mt19937 generator(seed + 4);
    std::uniform_real_distribution<float> place(0, 0.8F);
    const float width = params.normalized ? 1 : static_cast<float>(params.input_width);
    const float height = params.normalized ? 1 : static_cast<float>(params.input_height);
    for (std::size_t batch = 0; batch < params.prior_batches; ++batch) {
      for (std::size_t i = 0; i < params.priors; ++i) {
        const float x = place(generator);
        const float y = place(generator);
        if (size == 5) priors.push_back(0);
        priors.insert(priors.end(), {x * width, y * height, (x + 0.2F) * width, (y + 0.3F) * height});
      }
      if (params.variance_encoded_in_target) continue;
      for (std::size_t i = 0; i < params.priors * size; ++i) priors.push_back(i % 2 == 0 ? 0.1F : 0.2F);
    }
  }

  DetectionOutputInputs inputs() const {
    return {logits.data(), scores.data(), priors.data(), objectness.empty() ? nullptr : objectness.data(),
            first_logits.empty() ? nullptr : first_logits.data()};
  }
};

struct Row {
  double image, label, score;
  std::array<double, 4> box;
};

/// The op as its specification and OpenVINO's behaviour have it, without regard to cost.
class Twin {
 public:
  Twin(const DetectionOutputParams& params, const DetectionOutputInputs& inputs)
      : params_(params), inputs_(inputs) {}

  std::vector<Row> rows() const {
    std::vector<Row> all;
    for (std::size_t image = 0; image < params_.images; ++image) {
      std::vector<Found> found = params_.decrease_label_id ? best_per_prior(image) : best_per_class(image);
      if (params_.keep_top_k > -1 && found.size() > static_cast<std::size_t>(params_.keep_top_k)) {
        std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
          return std::tuple(-a.score, a.prior, a.label) < std::tuple(-b.score, b.prior, b.label);
        });
        found.resize(static_cast<std::size_t>(params_.keep_top_k));
      }
      std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
        return std::tuple(a.label, -a.score, a.prior) < std::tuple(b.label, -b.score, b.prior);
      });
      for (const Found& one : found) {
        std::array<double, 4> box = box_of(image, one.prior, one.label);
        if (params_.clip_after_nms) clip(box);
        all.push_back({static_cast<double>(image), static_cast<double>(one.label) - params_.decrease_label_id,
                       one.score, box});
      }
    }
    return all;
  }

 private:
  struct Found {
    double score;
    std::size_t label;
    std::size_t prior;
  };

  static void clip(std::array<double, 4>& box) {
    for (double& x : box) x = std::min(1.0, std::max(0.0, x));
  }

  double score_of(std::size_t image, std::size_t prior, std::size_t label) const {
    if (inputs_.objectness != nullptr &&
        inputs_.objectness[(image * params_.priors + prior) * 2 + 1] < params_.objectness_score) {
      return static_cast<std::int64_t>(label) == params_.background_label_id ? 1 : 0;
    }
    return inputs_.class_scores[(image * params_.priors + prior) * params_.classes + label];
  }

  std::array<double, 4> decode(const std::array<double, 4>& from, const float* logits,
                               const float* variance) const {
    std::array<double, 4> prior = from;
    if (!params_.normalized) {
      for (std::size_t i = 0; i < 4; ++i) {
        prior[i] /= static_cast<double>(i % 2 == 0 ? params_.input_width : params_.input_height);
      }
    }
    std::array<double, 4> shift{};
    for (std::size_t i = 0; i < 4; ++i)
      shift[i] = logits[i] * (variance == nullptr ? 1.0 : double{variance[i]});
    std::array<double, 4> box{};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (params_.code_type == BoxCoding::corner) {
        box[axis] = prior[axis] + shift[axis];
        box[axis + 2] = prior[axis + 2] + shift[axis + 2];
      } else {
        const double size = prior[axis + 2] - prior[axis];
        const double center = shift[axis] * size + (prior[axis] + prior[axis + 2]) / 2;
        const double new_size = std::exp(shift[axis + 2]) * size;
        box[axis] = center - new_size / 2;
        box[axis + 2] = center + new_size / 2;
      }
    }
    if (params_.clip_before_nms) clip(box);
    return box;
  }

  std::array<double, 4> box_of(std::size_t image, std::size_t prior, std::size_t label) const {
    const std::size_t size = params_.normalized ? 4 : 5;
    const std::size_t row = params_.priors * size;
    const float* priors = inputs_.priors + (params_.prior_batches == 1 ? 0 : image) * row *
                                               (params_.variance_encoded_in_target ? 1 : 2);
    const float* at = priors + prior * size + (size - 4);
    const float* variance = params_.variance_encoded_in_target ? nullptr : priors + row + prior * 4;
    const std::size_t locations = params_.share_location ? 1 : params_.classes;
    const std::size_t logit =
        ((image * params_.priors + prior) * locations + (params_.share_location ? 0 : label)) * 4;
    std::array<double, 4> box{at[0], at[1], at[2], at[3]};
    if (inputs_.first_box_logits != nullptr) box = decode(box, inputs_.first_box_logits + logit, variance);
    return decode(box, inputs_.box_logits + logit, variance);
  }

  static double overlap(const std::array<double, 4>& a, const std::array<double, 4>& b) {
    const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
    const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
    if (width <= 0 || height <= 0) return 0;
    const double both = width * height;
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
  }

  void sort_and_limit(std::vector<Found>& found) const {
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.score > b.score; });
    if (params_.top_k > -1 && found.size() > static_cast<std::size_t>(params_.top_k)) {
      found.resize(static_cast<std::size_t>(params_.top_k));
    }
  }

  std::vector<Found> suppressed(std::size_t image, const std::vector<Found>& found) const {
    std::vector<Found> kept;
    for (const Found& one : found) {
      const bool keep = std::none_of(kept.begin(), kept.end(), [&](const Found& other) {
        return other.label == one.label &&
               overlap(box_of(image, one.prior, one.label), box_of(image, other.prior, one.label)) >
                   params_.nms_threshold;
      });
      if (keep) kept.push_back(one);
    }
    return kept;
  }

  std::vector<Found> best_per_class(std::size_t image) const {
    std::vector<Found> all;
    for (std::size_t label = 0; label < params_.classes; ++label) {
      if (static_cast<std::int64_t>(label) == params_.background_label_id) continue;
      std::vector<Found> found;
      for (std::size_t prior = 0; prior < params_.priors; ++prior) {
        const double score = score_of(image, prior, label);
        if (score > params_.confidence_threshold) found.push_back({score, label, prior});
      }
      sort_and_limit(found);
      const std::vector<Found> kept = suppressed(image, found);
      all.insert(all.end(), kept.begin(), kept.end());
    }
    return all;
  }

  std::vector<Found> best_per_prior(std::size_t image) const {
    std::vector<Found> found;
    for (std::size_t prior = 0; prior < params_.priors; ++prior) {
      Found best{-1, 0, prior};
      for (std::size_t label = 1; label < params_.classes; ++label) {
        if (static_cast<std::int64_t>(label) == params_.background_label_id) continue;
        const double score = score_of(image, prior, label);
        if (score > best.score) best = {score, label, prior};
      }
      if (best.label > 0 && best.score >= params_.confidence_threshold) found.push_back(best);
    }
    sort_and_limit(found);
    return suppressed(image, found);
  }

  const DetectionOutputParams& params_;
  const DetectionOutputInputs& inputs_;
};

void require_like_twin(const DetectionOutputParams& params, const DetectionOutputInputs& inputs) {
  const std::vector<float> got = run(params, inputs);
  const std::vector<Row> expected = Twin(params, inputs).rows();
  REQUIRE(expected.size() * 7 <= got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float* row = got.data() + 7 * i;
    INFO("row " << i);
    REQUIRE(row[0] == expected[i].image);
    REQUIRE(row[1] == expected[i].label);
    REQUIRE(row[2] == static_cast<float>(expected[i].score));
    for (std::size_t k = 0; k < 4; ++k) REQUIRE(row[3 + k] == Approx(expected[i].box[k]).margin(1e-5));
  }
  if (expected.size() * 7 == got.size()) return;
  REQUIRE(got[expected.size() * 7] == -1.0F);
  for (std::size_t i = expected.size() * 7 + 1; i < got.size(); ++i) REQUIRE(got[i] == 0.0F);
}

}  // namespace

TEST_CASE("detection_output of a few boxes by hand") {
  DetectionOutputParams params;
  params.priors = 3;
  params.classes = 3;
  params.keep_top_k = 4;
  params.nms_threshold = 0.5F;
  params.confidence_threshold = 0.25F;
  params.normalized = true;
  params.variance_encoded_in_target = true;
  // The first two overlap by 0.9 / 1.1; the logits shift the third one.
  const std::vector<float> priors{0, 0, 1, 0.5F, 0.1F, 0, 1.1F, 0.5F, 0, 0.5F, 0.5F, 1};
  const std::vector<float> logits{0, 0, 0, 0, 0, 0, 0, 0, 0.25F, 0, 0.25F, 0};
  const std::vector<float> scores{0.9F, 0.5F, 0.0F, 0.9F, 0.75F, 0.5F, 0.0F, 0.25F, 0.5F};
  std::vector<float> got = run(params, {logits.data(), scores.data(), priors.data()});
  CHECK(got ==
        std::vector<float>{0,  1, 0.75F, 0.1F,  0,    1.1F,  0.5F,  // class 1: the better of the first two
                           0,  2, 0.5F,  0.1F,  0,    1.1F,  0.5F,  // class 2: equal scores, by prior
                           0,  2, 0.5F,  0.25F, 0.5F, 0.75F, 1,     //
                           -1, 0, 0,     0,     0,    0,     0});

  SECTION("clipped at the end") {
    params.clip_after_nms = true;
    got = run(params, {logits.data(), scores.data(), priors.data()});
    CHECK(got[5] == 1.0F);
  }
  SECTION("only the best are kept, by label") {
    params.keep_top_k = 2;
    got = run(params, {logits.data(), scores.data(), priors.data()});
    REQUIRE(got.size() == 14);
    CHECK(got[1] == 1.0F);
    CHECK(got[8] == 2.0F);
    CHECK(got[10] == 0.1F);
  }
  SECTION("of equal scores those of lower priors are kept") {
    params.keep_top_k = 1;
    const std::vector<float> equal{0, 0, 0.5F, 0, 0, 0, 0, 0.5F, 0};
    got = run(params, {logits.data(), equal.data(), priors.data()});
    REQUIRE(got.size() == 7);
    CHECK(got[1] == 2.0F);
  }
  SECTION("each prior for its best class, labels less one") {
    params.decrease_label_id = true;
    got = run(params, {logits.data(), scores.data(), priors.data()});
    CHECK(got[1] == 0.0F);
    CHECK(got[2] == 0.75F);
    CHECK(got[8] == 1.0F);
    CHECK(got[9] == 0.5F);
    CHECK(got[14] == -1.0F);
  }
}

TEST_CASE("detection_output has the rows of the declared shape") {
  DetectionOutputParams params;
  params.images = 3;
  params.priors = 5;
  params.classes = 2;
  params.keep_top_k = 10;
  CHECK(detection_output_rows(params) == 30);
  params.keep_top_k = -1;
  CHECK(detection_output_rows(params) == 30);
  params.top_k = 4;
  CHECK(detection_output_rows(params) == 24);
}

TEST_CASE("detection_output agrees with its twin for all attributes") {
  IR_FOR_EACH_TARGET();
  DetectionOutputParams params;
  params.images = 2;
  params.priors = 41;
  params.classes = 4;
  params.nms_threshold = 0.3F;
  params.confidence_threshold = 0.4F;
  params.objectness_score = 0.3F;
  params.input_width = 20;
  params.input_height = 30;
  std::uint32_t seed = 1;
  for (unsigned bits = 0; bits < 512; ++bits) {
    params.normalized = (bits & 1) != 0;
    params.variance_encoded_in_target = (bits & 2) != 0;
    params.share_location = (bits & 4) != 0;
    params.code_type = (bits & 8) != 0 ? BoxCoding::center_size : BoxCoding::corner;
    params.decrease_label_id = (bits & 16) != 0;
    params.clip_before_nms = (bits & 32) != 0;
    params.prior_batches = (bits & 64) != 0 ? 2 : 1;
    params.top_k = (bits & 128) != 0 ? 12 : -1;
    params.keep_top_k = (bits & 256) != 0 ? 9 : -1;
    params.clip_after_nms = bits % 3 == 0;
    params.background_label_id = static_cast<std::int64_t>(bits % 5) - 1;
    INFO("attributes " << bits);
    const Random random(params, bits % 7 < 2, seed++);
    require_like_twin(params, random.inputs());
  }
}

TEST_CASE("detection_output ends at an image id of -1 when priors are pixels") {
  DetectionOutputParams params;
  params.priors = 6;
  params.classes = 2;
  params.nms_threshold = 0.9F;
  params.variance_encoded_in_target = true;
  params.input_width = 10;
  params.input_height = 10;
  Random random(params, false, 3);
  for (float& score : random.scores) score += 0.1F;
  random.priors[5 * 2] = -1;
  const std::vector<float> got = run(params, random.inputs());
  CHECK(got[7] >= 0.0F);
  CHECK(got[14] == -1.0F);
}

TEST_CASE("detection_output has the same bits for any number of threads") {
  DetectionOutputParams params;
  params.images = 2;
  params.priors = 2000;
  params.classes = 5;
  params.nms_threshold = 0.45F;
  params.top_k = 400;
  params.keep_top_k = 200;
  params.normalized = true;
  params.code_type = BoxCoding::center_size;
  const Random random(params, false, 5);
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run(params, random.inputs()); });
  ThreadPool(2).run([&] { two = run(params, random.inputs()); });
  CHECK(one == two);
}

}  // namespace ir::kernels
