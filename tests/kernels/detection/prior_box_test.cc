#include "kernels/detection/prior_box.h"

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

std::vector<float> run(const PriorBoxParams& params, const PriorBoxGrid& grid) {
  GuardedBuffer<float> out(8 * grid.height * grid.width * prior_box_count(params), 1);
  prior_box(params, grid, out.data());
  REQUIRE(out.guards_intact());
  return {out.begin(), out.end()};
}

void require_near(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("element " << i);
    REQUIRE(got[i] == Approx(expected[i]).margin(1e-6));
  }
}

/// The box around a centre, in fractions of a 10 x 10 image.
std::vector<double> around(double x, double y, double half_width, double half_height) {
  return {(x - half_width) / 10, (y - half_height) / 10, (x + half_width) / 10, (y + half_height) / 10};
}

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

TEST_CASE("prior_box counts boxes per cell as declared output shapes do") {
  PriorBoxParams params;
  // The heads of face-detection-adas-0001: [2, 16128] for 24 x 42 cells and [2, 6048] for 12 x 21.
  params.min_size = {16};
  params.max_size = {38.4F};
  params.aspect_ratio = {2};
  params.flip = true;
  CHECK(prior_box_count(params) * 24 * 42 * 4 == 16128);
  params.aspect_ratio = {2, 3};
  CHECK(prior_box_count(params) * 12 * 21 * 4 == 6048);

  SECTION("equal ratios, flipped or not, count once") {
    params.aspect_ratio = {1, 2, 2.0000001F, 0.5F};
    CHECK(prior_box_count(params) == 4);
  }
  SECTION("without scale_all_sizes the ratios count once for all sizes") {
    params.scale_all_sizes = false;
    params.min_size = {0.1F, 0.2F, 0.3F};
    params.max_size = {};
    CHECK(prior_box_count(params) == 5 + 3 - 1);
  }
  SECTION("densities") {
    PriorBoxParams fixed;
    fixed.fixed_size = {32, 64};
    fixed.density = {4, 2};
    CHECK(prior_box_count(fixed) == 16 + 4);
    fixed.aspect_ratio = {2};
    CHECK(prior_box_count(fixed) == 2 * (16 + 4));
    fixed.aspect_ratio = {};
    fixed.fixed_ratio = {1};
    CHECK(prior_box_count(fixed) == 16 + 4);
  }
}

TEST_CASE("prior_box orders min size, max size and ratios") {
  PriorBoxParams params;
  params.min_size = {2};
  params.max_size = {8};
  params.aspect_ratio = {4};
  params.offset = 0.5F;
  params.step = 5;
  params.variance = {0.1F, 0.2F, 0.3F, 0.4F};
  const PriorBoxGrid grid{2, 2, 10, 10};

  const std::vector<double> min_box = around(2.5, 2.5, 1, 1);
  const std::vector<double> max_box = around(2.5, 2.5, 2, 2);
  const std::vector<double> ratio_box = around(2.5, 2.5, 2, 0.5);
  std::vector<double> expected = min_box;
  SECTION("Caffe's") {
    append(expected, max_box);
    append(expected, ratio_box);
  }
  SECTION("ratios first") {
    params.min_max_aspect_ratios_order = false;
    append(expected, ratio_box);
    append(expected, max_box);
  }
  append(expected, around(7.5, 2.5, 1, 1));  // the next cell of the row
  const std::vector<float> got = run(params, grid);
  REQUIRE(got.size() == 2 * 4 * 3 * 4);
  require_near(got, expected);
  CHECK(std::vector<float>(got.end() - 4, got.end()) == params.variance);
}

TEST_CASE("prior_box draws flipped ratios, clips, and fills in its defaults") {
  PriorBoxParams params;
  params.min_size = {8};
  params.aspect_ratio = {4};
  params.flip = true;
  params.offset = 100;  // not used when the step comes from the sizes
  const PriorBoxGrid grid{1, 2, 10, 10};
  std::vector<double> expected = around(2.5, 5, 4, 4);
  append(expected, around(2.5, 5, 8, 2));
  append(expected, around(2.5, 5, 2, 8));
  SECTION("unclipped") { require_near(run(params, grid), expected); }
  SECTION("clipped") {
    params.clip = true;
    for (double& x : expected) x = std::min(1.0, std::max(0.0, x));
    require_near(run(params, grid), expected);
  }
  CHECK(run(params, grid).back() == 0.1F);
  params.variance = {0.7F};
  CHECK(run(params, grid).back() == 0.7F);
}

TEST_CASE("prior_box without scale_all_sizes takes fractions of the image") {
  PriorBoxParams params;
  params.scale_all_sizes = false;
  params.min_size = {0.2F, 0.4F};
  params.aspect_ratio = {4};
  params.offset = 0.5F;
  params.step = -1;
  const PriorBoxGrid grid{2, 2, 10, 10};
  std::vector<double> expected = around(2.5, 2.5, 1, 1);
  append(expected, around(2.5, 2.5, 2, 2));
  append(expected, around(2.5, 2.5, 2, 0.5));  // of the first size
  require_near(run(params, grid), expected);
  params.step = 0.5F;
  require_near(run(params, grid), expected);
}

TEST_CASE("prior_box spreads fixed sizes over a density grid") {
  PriorBoxParams params;
  params.fixed_size = {4};
  params.density = {2};
  params.offset = 0.5F;
  params.step = 10;
  const PriorBoxGrid grid{1, 1, 10, 10};
  std::vector<double> expected;
  SECTION("squares") {
    for (const double y : {4.0, 6.0}) {
      for (const double x : {4.0, 6.0}) append(expected, around(x, y, 2, 2));
    }
  }
  SECTION("fixed ratios") {
    params.fixed_ratio = {4};
    for (const double y : {4.0, 6.0}) {
      for (const double x : {4.0, 6.0}) append(expected, around(x, y, 4, 1));
    }
  }
  SECTION("ratios, limited to the image on their own side") {
    params.fixed_size = {8};
    params.density = {1};
    params.aspect_ratio = {4};
    append(expected, around(5, 5, 4, 4));
    append(expected, {0, 0.3, 1, 0.7});
  }
  require_near(run(params, grid), expected);
}

TEST_CASE("prior_box stays within its output when attributes contradict each other") {
  PriorBoxParams params;
  params.offset = 0.5F;
  const PriorBoxGrid grid{3, 2, 10, 10};
  SECTION("fewer boxes than counted") {
    params.min_size = {2};
    params.max_size = {3, 4, 5};
    const std::vector<float> got = run(params, grid);
    CHECK(got[6 * 4 * 4 - 1] == 0.0F);
    CHECK(got.back() == 0.1F);
  }
  SECTION("more boxes than counted") {
    params.min_size = {2, 3};
    params.fixed_size = {4};
    CHECK(run(params, grid).size() == 6 * 8);
  }
  SECTION("two fixed ratios, of which OpenVINO counts the density 1 box once") {
    params.fixed_size = {4};
    params.density = {2};
    params.fixed_ratio = {4, 0.25F};
    CHECK(run(params, grid).size() == 6 * 8 * 7);
  }
  SECTION("none") {
    params.scale_all_sizes = false;
    CHECK(run(params, grid).empty());
  }
}

TEST_CASE("prior_box_clustered writes boxes and variances") {
  PriorBoxClusteredParams params;
  params.width = {2, 4};
  params.height = {6, 8};
  params.offset = 0.5F;
  params.variance = {0.1F, 0.2F, 0.3F, 0.4F};
  const PriorBoxGrid grid{1, 2, 10, 10};
  GuardedBuffer<float> out(8 * 4, 3);

  std::vector<double> expected = around(2.5, 5, 1, 3);
  append(expected, around(2.5, 5, 2, 4));
  append(expected, around(7.5, 5, 1, 3));
  SECTION("steps from the sizes") {}
  SECTION("steps per axis") {
    params.step_w = 5;
    params.step_h = 10;
  }
  SECTION("one step replaces a missing one") {
    params.step = 5;
    params.step_h = 10;
  }
  prior_box_clustered(params, grid, out.data());
  REQUIRE(out.guards_intact());
  require_near({out.begin(), out.end()}, expected);
  CHECK(std::vector<float>(out.end() - 4, out.end()) == params.variance);

  params.clip = true;
  params.offset = 0;
  prior_box_clustered(params, grid, out.data());
  CHECK(out[0] == 0.0F);
  CHECK(out[1] == 0.0F);
}

TEST_CASE("prior boxes have the same bits for any number of threads") {
  PriorBoxParams params;
  params.min_size = {16, 32};
  params.max_size = {38.4F, 50};
  params.aspect_ratio = {2, 3};
  params.flip = true;
  params.step = 8;
  const PriorBoxGrid grid{64, 60, 512, 500};
  std::vector<float> one;
  std::vector<float> two;
  ThreadPool(1).run([&] { one = run(params, grid); });
  ThreadPool(2).run([&] { two = run(params, grid); });
  CHECK(one == two);
}

}  // namespace ir::kernels
