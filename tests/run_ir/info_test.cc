// What `run_ir info` needs.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "samples/run_ir/commands.h"
#include "tests/catch.h"
#include "tests/ir_reader/support.h"

namespace {

using namespace ir::test;  // NOLINT(google-build-using-namespace)

// In units of the system: KiB, or bytes.
double most_resident_memory() {
  rusage usage{};
  REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
  return static_cast<double>(usage.ru_maxrss);
}

TEST_CASE("info takes no memory for activations") {
  // 400 MB between the passes of the transform.
  constexpr std::string_view kImages = "500,200,1000,2";
  const std::string signals =
      layer("2", "DFT",
            inputs(port("0", kImages) + port("1", "2", R"(precision="I64")")) + outputs(port("2", kImages)),
            "opset7");
  const std::string axes = layer("1", "Const",
                                 R"(<data element_type="i64" shape="2" offset="0" size="16"/>)" +
                                     outputs(port("0", "2", R"(precision="I64")")));
  const std::string weights("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
  const ModelFiles files(net(parameter("0", kImages) + axes + signals + result("3", kImages),
                             edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0")),
                         weights);
  CLI::App app;
  auto outcome = run_ir::Outcome::usage;
  run_ir::add_info(app, outcome);
  const double before = most_resident_memory();
  app.parse(std::vector<std::string>{files.xml().string(), "info"});
  CHECK(outcome == run_ir::Outcome::fine);
  CHECK(most_resident_memory() - before < 0.1 * 1024 * 1024);
}

}  // namespace
