// Memory that runs out anywhere within a call is an ir::Error like any other.
#include <functional>

#include "ir_runtime/c_api.h"
#include "ir_runtime/read_model.h"
#include "ir_runtime/validate.h"
#include "ir_runtime/write_model.h"
#include "runtime/types/exhaustion.h"
#include "tests/execution/allocation_counter.h"
#include "tests/execution/sample_models.h"
#include "tests/temporary_folder.h"

namespace ir::test {
namespace {

CompileOptions on_one_thread() {
  CompileOptions options;
  options.threads = 1;
  return options;
}

struct Trial {
  /// "", or code and message of the error.
  std::string what;
  /// The allocation was reached.
  bool failed = false;
};

/// Does `work` with one allocation that fails, the one behind `after` others.
Trial trial(std::size_t after, const std::function<void()>& work) {
  const FailingAllocation failing(after);
  Trial result;
  try {
    work();
  } catch (const Error& error) {
    result.failed = failing.happened();
    result.what = error.code() + ": " + error.diagnostics().front().message;
    return result;
  }
  result.failed = failing.happened();
  return result;
}

/// Makes trials with one allocation after the other that fails, all of the first and some of the others,
/// until none does. Everything but success and the errors that say that memory ran out is wrong.
void fail_everywhere(const std::function<Trial(std::size_t after)>& make_trial) {
  std::size_t refused = 0;
  for (std::size_t after = 0;; after += 1 + after / 40) {
    INFO("allocation " << after + 1 << " fails");
    const Trial result = make_trial(after);
    const bool named = result.what.starts_with("IR-memory: ") || result.what.starts_with("IR-tensor-size: ");
    // What the library can do without, like values that would be known early, it does without.
    if (!result.what.empty() && !named) FAIL(result.what);
    refused += named ? 1 : 0;
    if (!result.failed) break;
  }
  CHECK(refused > 0);
}

TEST_CASE("memory that runs out is an error with a code", "[exhaustion]") {
  CHECK(error_of([] { reporting_exhaustion("the model ran", [] { throw std::bad_alloc(); }); }) ==
        "IR-memory: memory ran out while the model ran");
  CHECK(error_of([] {
          reporting_exhaustion("the model was compiled",
                               [] { std::string().resize(std::string().max_size() + 1); });
        }) == "IR-memory: memory ran out while the model was compiled");
  CHECK(reporting_exhaustion("nothing", [] { return 7; }) == 7);
}

TEST_CASE("memory that runs out while a model is read, validated or written is an error", "[exhaustion]") {
  const TemporaryFolder folder;
  const std::filesystem::path xml = folder.path() / "model.xml";
  const std::filesystem::path copy = folder.path() / "copy.xml";
  const std::filesystem::path none;
  const Model model = small_network(Dimension());
  write_model(model, xml);
  fail_everywhere([&](std::size_t after) { return trial(after, [&] { (void)read_model(xml, none); }); });
  fail_everywhere([&](std::size_t after) {
    std::vector<Diagnostic> findings;
    Trial result = trial(after, [&] { findings = validate(xml, none); });
    for (const Diagnostic& finding : findings) {
      if (finding.severity == Severity::error) result.what = finding.code + ": " + finding.message;
    }
    return result;
  });
  fail_everywhere([&](std::size_t after) { return trial(after, [&] { write_model(model, copy); }); });
}

TEST_CASE("memory that runs out while a model is compiled is an error", "[exhaustion]") {
  const Dimension batch = GENERATE(Dimension(1), Dimension());
  const Model model = small_network(batch, ElementType::f16);
  fail_everywhere(
      [&](std::size_t after) { return trial(after, [&] { (void)compile_model(model, on_one_thread()); }); });
}

TEST_CASE("memory that runs out while a model runs is an error, and the request runs again", "[exhaustion]") {
  const Model model = small_network(Dimension());
  const std::vector<Tensor> input{noise({2, 3, 20, 20}, 1)};
  const std::vector<Tensor> expected = results_of(model, input);
  fail_everywhere([&](std::size_t after) {
    const CompiledModel compiled = compile_model(model, on_one_thread());
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(0, input[0]);
    Trial result = trial(after, [&] { request.infer(); });
    CHECK(same_bits(infer(request, compiled, input), expected));
    return result;
  });
  const CompiledModel compiled = compile_model(small_network(), on_one_thread());
  fail_everywhere(
      [&](std::size_t after) { return trial(after, [&] { (void)compiled.create_infer_request(); }); });
}

TEST_CASE("memory that runs out within a call of the C interface is a status", "[exhaustion]") {
  const TemporaryFolder folder;
  const std::string xml = (folder.path() / "model.xml").string();
  write_model(small_network(), xml);
  const auto status_trial = [](std::size_t after, const std::function<ir_status()>& call) {
    ir_status status = IR_STATUS_OK;
    Trial result = trial(after, [&] { status = call(); });
    if (status == IR_STATUS_OK) return result;
    CHECK(status == IR_STATUS_LIMIT);
    result.what = std::string(ir_last_error_code()) + ": " + ir_last_error();
    return result;
  };
  fail_everywhere([&](std::size_t after) {
    ir_model* model = nullptr;
    const Trial result = status_trial(after, [&] { return ir_read_model(xml.c_str(), nullptr, &model); });
    ir_model_free(model);
    return result;
  });
  ir_model* model = nullptr;
  REQUIRE(ir_read_model(xml.c_str(), nullptr, &model) == IR_STATUS_OK);
  fail_everywhere([&](std::size_t after) {
    ir_compiled_model* compiled = nullptr;
    const Trial result = status_trial(after, [&] { return ir_compile_model(model, 1, &compiled); });
    ir_compiled_model_free(compiled);
    return result;
  });
  ir_model_free(model);
}

}  // namespace
}  // namespace ir::test
