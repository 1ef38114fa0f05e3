// Tables and JSON of `run_ir profile`.
#include "samples/run_ir/profile_report.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace {

using ir::StepProfile;
using ir::test::contains_text;
using run_ir::profile_json;
using run_ir::profile_text;
using run_ir::ProfileReport;
using run_ir::split_kernel_name;

StepProfile step(std::string layer, std::string type, std::string kernel, double milliseconds) {
  StepProfile profile;
  profile.layer = std::move(layer);
  profile.type = std::move(type);
  profile.kernel = std::move(kernel);
  profile.outputs = {{1, 8, 4, 4}};
  profile.milliseconds = milliseconds;
  profile.threads = 1;
  return profile;
}

ProfileReport sample() {
  ProfileReport report{"net.xml", 2, 5, false, 10.5, {}};
  report.steps = {step("first", "Convolution", "convolution/winograd_4x4+bias", 2),
                  step("second", "Convolution", "convolution/pointwise", 6),
                  step("last", "SoftMax", "softmax", 2)};
  report.steps[0].simd_target = "AVX2";
  report.steps[0].threads = 2;
  report.steps[0].flops = 4e8;
  report.steps[0].bytes = 2e7;
  return report;
}

TEST_CASE("kernel names have up to three parts") {
  const auto full = split_kernel_name("convolution/winograd_4x4+bias+activation");
  CHECK(full.kernel == "convolution");
  CHECK(full.algorithm == "winograd_4x4");
  CHECK(full.fused == "+bias+activation");
  const auto mapped = split_kernel_name("convolution/pointwise(scale+clamp)+bias");
  CHECK(mapped.algorithm == "pointwise");
  CHECK(mapped.fused == "(scale+clamp)+bias");
  CHECK(split_kernel_name("softmax").kernel == "softmax");
  CHECK(split_kernel_name("softmax").algorithm.empty());
  const auto fused = split_kernel_name("matmul+bias/x");
  CHECK(fused.kernel == "matmul");
  CHECK(fused.algorithm.empty());
  CHECK(fused.fused == "+bias/x");
  CHECK(split_kernel_name("").kernel.empty());
}

TEST_CASE("times of several runs become one") {
  run_ir::StepTimes times;
  for (const double milliseconds : {9.0, 1.0, 2.0})
    times.add({step("a", "Tanh", "unary/Tanh", milliseconds)});
  const auto medians = times.at(0.5);
  REQUIRE(medians.size() == 1);
  CHECK(medians[0].layer == "a");
  CHECK(medians[0].milliseconds == 2);
  CHECK(times.at(0)[0].milliseconds == 1);
  CHECK(run_ir::StepTimes().at(0.5).empty());
}

TEST_CASE("the table has a line per step, with rates where there are numbers") {
  CHECK(profile_text(sample(), {}) ==
        "net.xml: 3 steps take 10.000 ms of 10.500 ms, medians of 5 runs on 2 threads\n"
        "step      ms  share  GFLOP/s  GB/s  threads  SIMD  kernel       algorithm          type         "
        "output   "
        "  name\n"
        "   0  2.0000  20.0%    200.0  10.0        2  AVX2  convolution  winograd_4x4+bias  Convolution  "
        "[1,8,4,4]  first\n"
        "   1  6.0000  60.0%        -     -        1  -     convolution  pointwise          Convolution  "
        "[1,8,4,4]  second\n"
        "   2  2.0000  20.0%        -     -        1  -     softmax      -                  SoftMax      "
        "[1,8,4,4]  last\n"
        "\n"
        "steps      ms  share  GFLOP/s  GB/s  type         kernel\n"
        "    2  8.0000  80.0%     50.0   2.5  Convolution  all\n"
        "    1  6.0000  60.0%        -     -               convolution/pointwise\n"
        "    1  2.0000  20.0%    200.0  10.0               convolution/winograd_4x4\n"
        "    1  2.0000  20.0%        -     -  SoftMax      softmax\n");
}

TEST_CASE("steps may be sorted and left out, totals count all") {
  const std::string slowest = profile_text(sample(), {.slowest_first = true, .top = 1});
  CHECK_THAT(slowest, contains_text("second"));
  CHECK_THAT(slowest, !contains_text("first"));
  CHECK_THAT(slowest, contains_text("    2  8.0000  80.0%"));
  const std::string totals = profile_text(sample(), {.by_op = true, .slowest_first = true});
  CHECK_THAT(totals, !contains_text("second"));
  CHECK_THAT(totals, contains_text("convolution/pointwise"));
}

TEST_CASE("totals of operations may be sorted and left out, too, where they are what is listed") {
  ProfileReport report = sample();
  report.steps.push_back(step("end", "Tanh", "unary/Tanh", 9));
  report.steps.push_back(step("start", "Abs", "unary/Abs", 1));
  std::swap(report.steps.front(), report.steps.back());
  const auto types = [&](const run_ir::ProfileView& view) {
    std::string names;
    const auto json = nlohmann::json::parse(profile_json(report, view));
    for (const auto& type : json["types"]) names += type["name"].get<std::string>() + " ";
    return names;
  };
  CHECK(types({.by_op = true}) == "Abs Convolution SoftMax Tanh ");
  CHECK(types({.by_op = true, .slowest_first = true}) == "Tanh Convolution SoftMax Abs ");
  CHECK(types({.by_op = true, .slowest_first = true, .top = 2}) == "Tanh Convolution ");
  CHECK(types({.by_op = true, .top = 1}) == "Abs ");
  CHECK(types({.top = 1}) == "Tanh Convolution SoftMax Abs ");
  CHECK_THAT(profile_text(report, {.by_op = true, .top = 2}), !contains_text("SoftMax"));
}

TEST_CASE("JSON has the same numbers") {
  const std::string text = profile_json(sample(), {});
  CHECK(text.find('\n') == std::string::npos);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["model"] == "net.xml");
  CHECK(json["threads"] == 2);
  CHECK(json["statistic"] == "median");
  CHECK(json["steps_ms"] == 10);
  REQUIRE(json["steps"].size() == 3);
  CHECK(json["steps"][0]["kernel"] == "convolution");
  CHECK(json["steps"][0]["algorithm"] == "winograd_4x4");
  CHECK(json["steps"][0]["fused"] == "+bias");
  CHECK(json["steps"][0]["simd"] == "AVX2");
  CHECK(json["steps"][0]["gflops"] == 200);
  CHECK(json["steps"][2]["gflops"] == 0);
  CHECK(json["types"][0]["name"] == "Convolution");
  CHECK(json["types"][0]["kernels"][1]["name"] == "convolution/winograd_4x4");
  CHECK_FALSE(nlohmann::json::parse(profile_json(sample(), {.by_op = true})).contains("steps"));
}

TEST_CASE("a model without steps and names that are no text do not matter") {
  ProfileReport report{"net.xml", 1, 1, true, 0, {}};
  CHECK_THAT(profile_text(report, {}), contains_text("0 steps take 0.000 ms of 0.000 ms, fastest of 1 runs"));
  report.steps = {step("\xff", "Tanh", "unary/Tanh", 0)};
  CHECK(nlohmann::json::parse(profile_json(report, {}))["steps"].size() == 1);
}

}  // namespace
