// Processors that are too old for the kernels.
#include "runtime/types/processor.h"

#include <array>

#include "ir_runtime/diagnostics.h"
#include "tests/catch.h"

TEST_CASE("A processor without the kernels' instructions is an error that names these") {
  using ir::Instructions;
  const std::array old{Instructions{"SSSE3", true}, Instructions{"SSE4.2", false},
                       Instructions{"POPCNT", false}};
  try {
    ir::require_present(old);
    FAIL("no error");
  } catch (const ir::Error& error) {
    CHECK(error.code() == "IR-unsupported");
    CHECK(error.diagnostics()[0].message ==
          "this processor lacks SSE4.2, POPCNT, with which all kernels are built");
  }
  CHECK_NOTHROW(ir::require_present(std::array{Instructions{"SSSE3", true}}));
}

TEST_CASE("The processor that runs the tests is fit for the kernels") {
  CHECK_NOTHROW(ir::require_processor());
}
