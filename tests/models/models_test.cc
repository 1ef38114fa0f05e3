// The models that the repository ships: made anew they are the same, and they run as expected.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "ir_reader/case_file.h"
#include "ir_runtime/compiled_model.h"
#include "ir_runtime/read_model.h"
#include "ir_runtime/validate.h"
#include "models/make/shipped_model.h"
#include "samples/run_ir/case_runner.h"
#include "tests/catch.h"
#include "tests/repository.h"
#include "tests/temporary_folder.h"

namespace {

using ir::test::bytes_of;
using ir::test::repository;

std::filesystem::path models_folder() { return repository() / "models"; }

std::vector<std::filesystem::path> cases() { return run_ir::find_cases({models_folder().string()}); }

std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

double worst_difference(const std::filesystem::path& a, const std::filesystem::path& b,
                        const ir::reader::CaseTensor& tensor) {
  ir::reader::CaseTensor other = tensor;
  other.file = a / tensor.file.filename();
  const ir::Tensor left = ir::reader::read_case_tensor(other).converted(ir::ElementType::f64);
  other.file = b / tensor.file.filename();
  const ir::Tensor right = ir::reader::read_case_tensor(other).converted(ir::ElementType::f64);
  double worst = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(left.size()); ++i)
    worst = std::max(worst, std::abs(left.data<double>()[i] - right.data<double>()[i]));
  return worst;
}

std::vector<std::string> output_bytes(const std::filesystem::path& case_path,
                                      const ir::CompileOptions& options) {
  const ir::reader::CaseFile file = ir::reader::read_case(case_path);
  const ir::CompiledModel compiled = ir::compile_model(*ir::read_model(file.model), options);
  ir::InferRequest request = compiled.create_infer_request();
  for (const ir::reader::CaseTensor& input : file.inputs)
    request.set_input_tensor(input.index, ir::reader::read_case_tensor(input));
  request.infer();
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
    const ir::Tensor tensor = request.output_tensor(i);
    outputs.emplace_back(static_cast<const char*>(tensor.raw()), tensor.byte_size());
  }
  return outputs;
}

TEST_CASE("the models in the repository are those that make_models writes") {
  const ir::test::TemporaryFolder temporary;
  std::vector<std::filesystem::path> made;
  for (const models::ShippedModel& shipped : models::shipped_models()) {
    const std::string& name = shipped.model.name();
    INFO(name);
    models::write_shipped_model(shipped, temporary.path());
    const std::filesystem::path fresh = temporary.path() / name;
    const std::filesystem::path kept = models_folder() / name;
    made.push_back(kept / "case.xml");
    for (const std::string& file : files_in(fresh)) {
      INFO(file);
      // What is computed may differ in the last bits on another machine.
      const bool same = file.starts_with("output") || bytes_of(fresh / file) == bytes_of(kept / file);
      CHECK(same);
    }
    for (const ir::reader::CaseTensor& output : ir::reader::read_case(kept / "case.xml").outputs) {
      INFO(output.file.filename());
      CHECK(worst_difference(fresh, kept, output) <= 1e-5);
    }
  }
  std::ranges::sort(made);
  CHECK(made == cases());
}

TEST_CASE("the models in the repository are small") {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models_folder())) {
    if (entry.path().extension() == ".bin") bytes += entry.file_size();
  }
  CHECK(bytes < 200'000);
}

TEST_CASE("the models in the repository have nothing to complain of") {
  for (const auto& path : cases()) {
    INFO(path);
    CHECK(ir::validate(path.parent_path() / "model.xml").empty());
  }
}

TEST_CASE("every case passes with every way to run it, in the same bits for any number of threads") {
  for (const auto& path : cases()) {
    INFO(path);
    for (const bool optimize : {true, false}) {
      std::vector<std::string> first;
      for (const bool share_memory : {true, false}) {
        for (const int threads : {1, 2}) {
          INFO("optimize " << optimize << ", share_memory " << share_memory << ", threads " << threads);
          ir::CompileOptions options;
          options.threads = threads;
          options.optimize = optimize;
          options.share_memory = share_memory;
          CHECK(run_ir::run_case(path, options) == std::vector<std::string>());
          const std::vector<std::string> outputs = output_bytes(path, options);
          if (first.empty()) first = outputs;
          CHECK(outputs == first);
        }
      }
    }
  }
}

TEST_CASE("nGraph's AvgPool gives the numbers of its documentation") {
  // The window at the top left holds three elements of padding and a 1.
  const std::filesystem::path folder = models_folder() / "seed_examples";
  const auto first_element = [&](std::size_t output) {
    return ir::reader::read_case_tensor(ir::reader::read_case(folder / "case.xml").outputs.at(output))
        .data<float>()[0];
  };
  CHECK(first_element(4) == 1.0F);
  CHECK(first_element(5) == 0.25F);
}

TEST_CASE("the detection head finds every rectangle of its picture once") {
  const ir::reader::CaseFile file = ir::reader::read_case(models_folder() / "detection_head" / "case.xml");
  const ir::Tensor rows = ir::reader::read_case_tensor(file.outputs.at(0));
  std::multiset<float> labels;
  for (std::size_t at = 0; rows.data<float>()[at] == 0.0F; at += 7) labels.insert(rows.data<float>()[at + 1]);
  CHECK(labels == std::multiset<float>{1, 1, 2, 3});
}

TEST_CASE("the wrong examples of AvgPool-1 are reported with the rule behind the right number") {
  const std::filesystem::path file = models_folder() / "seed_examples" / "wrong_pads.xml";
  const std::vector<ir::Diagnostic> found = ir::validate(file);
  REQUIRE(found.size() == 4);
  const std::string declared =
      " of output port 1 is declared 32, inference gives 16: same_upper: ceil(32 / 2) = 16, declared 32 "
      "[IR-shape-mismatch]";
  const std::string hint = "\n  hint: strides=\"1, 1\" would give what the port and what reads it declare";
  CHECK(to_string(found[0]) ==
        file.string() + ":31:6: error: layer 'padding_excluded' (AvgPool, id 1): dim 2" + declared + hint);
  CHECK(to_string(found[1]) ==
        file.string() + ":32:6: error: layer 'padding_excluded' (AvgPool, id 1): dim 3" + declared);
  CHECK(to_string(found[2]) ==
        file.string() + ":50:6: error: layer 'padding_included' (AvgPool, id 2): dim 2" + declared + hint);
  CHECK(to_string(found[3]) ==
        file.string() + ":51:6: error: layer 'padding_included' (AvgPool, id 2): dim 3" + declared);
}

}  // namespace
