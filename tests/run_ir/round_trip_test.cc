// Models that are written and read again.
#include "samples/run_ir/round_trip.h"

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/ops/activation.h"
#include "tests/catch.h"
#include "tests/repository.h"
#include "tests/temporary_folder.h"

namespace {

using ir::test::TemporaryFolder;
using Lines = std::vector<std::string>;

TEST_CASE("a shipped case passes the round trip") {
  CHECK(run_ir::run_round_trip(ir::test::repository() / "models" / "small_cnn" / "case.xml", {}) == Lines());
}

TEST_CASE("what stops a round trip is told") {
  const TemporaryFolder folder;
  const auto failures = run_ir::run_round_trip(
      folder.write("case.xml", R"(<case><output element_type="f32" shape="1" file="a.bin"/></case>)"), {});
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].find("[IR-file]") != std::string::npos);
}

TEST_CASE("a model that reads as another one is an error") {
  ir::Model model("m");
  ir::Node& relu =
      model.add(ir::op::v0::ReLU{}, {model.add_parameter(ir::ElementType::f32, {2}, "in")}, "relu");
  model.add_result(relu, "out");
  const TemporaryFolder folder;
  CHECK(run_ir::written_and_read(model, folder.path() / "m.xml", 10)->ir_version() == 10);
  // A dim that inference knows is read as what it is.
  relu.set_outputs({{ir::ElementType::f32, {ir::Dimension()}, nullptr, std::nullopt}});
  try {
    (void)run_ir::written_and_read(model, folder.path() / "m.xml", 11);
    FAIL("no error");
  } catch (const ir::Error& error) {
    CHECK(error.code() == "IR-round-trip");
    CHECK(error.diagnostics()[0].message ==
          "IR version 11 reads as another model: layer 'relu' (ReLU): output 0 is 'f32 [?]' and 'f32 [2]'");
  }
}

}  // namespace
