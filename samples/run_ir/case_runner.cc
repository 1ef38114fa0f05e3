#include "samples/run_ir/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ir_reader/errors.h"
#include "ir_reader/regular_file.h"
#include "ir_runtime/read_model.h"
#include "samples/run_ir/compare.h"
#include "samples/run_ir/limits.h"

namespace run_ir {
namespace {

constexpr const char* kCaseName = "case.xml";

ir::Tensor read_tensor(const ir::reader::CaseTensor& tensor, std::optional<std::int64_t> first = {}) {
  const ir::Budget budget(input_budget());
  return ir::reader::read_case_tensor(tensor, first, limits().max_input_bytes);
}

std::vector<std::string> compared(const ir::reader::CaseFile& file, const ir::CompileOptions& options) {
  const std::vector<ir::Tensor> outputs =
      case_outputs(file, *ir::read_model(file.model, {}, limits().read), options);
  std::vector<std::string> failures;
  for (const ir::reader::CaseTensor& output : file.outputs) {
    if (output.index >= outputs.size())
      throw ir::Error("IR-port-unknown",
                      fmt::format("output {}: the model has {} outputs", output.index, outputs.size()));
    const ir::Tensor expected = read_tensor(output, file.metric.compare_first);
    if (const auto wrong = difference(outputs[output.index], expected, file.metric)) {
      failures.push_back(fmt::format("output {}: {}", output.index, *wrong));
    }
  }
  return failures;
}

}  // namespace

std::vector<ir::Tensor> case_outputs(const ir::reader::CaseFile& file, const ir::Model& model,
                                     const ir::CompileOptions& options) {
  const ir::CompiledModel compiled = ir::compile_model(model, options);
  ir::InferRequest request = compiled.create_infer_request();
  for (const ir::reader::CaseTensor& input : file.inputs) {
    ir::Tensor tensor = read_tensor(input);
    if (input.index < compiled.inputs().size()) {
      const ir::ElementType wanted = compiled.inputs()[input.index].type;
      if (tensor.element_type() != wanted) tensor = tensor.converted(wanted);
    }
    request.set_input_tensor(input.index, tensor);
  }
  request.infer();
  std::vector<ir::Tensor> outputs;
  // The request's own memory ends with it.
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i)
    outputs.push_back(request.output_tensor(i).clone());
  return outputs;
}

std::vector<std::filesystem::path> find_cases(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> cases;
  for (const std::string& text : paths) {
    const std::filesystem::path path(text);
    if (std::filesystem::is_regular_file(path)) {
      cases.push_back(path);
    } else if (std::filesystem::is_directory(path)) {
      using Walk = std::filesystem::recursive_directory_iterator;
      for (const auto& entry : Walk(path, std::filesystem::directory_options::skip_permission_denied)) {
        if (entry.path().filename() == kCaseName && entry.is_regular_file()) cases.push_back(entry.path());
      }
    } else {
      throw ir::reader::file_error("IR-file", text,
                                   ir::reader::is_there(path) ? "this is neither a file nor a folder"
                                                              : "there is no such file or folder");
    }
  }
  std::ranges::sort(cases);
  return cases;
}

std::vector<std::string> run_case(const std::filesystem::path& case_file, const ir::CompileOptions& options) {
  try {
    return compared(ir::reader::read_case(case_file), options);
  } catch (const ir::Error& error) {
    return failures_of(error);
  }
}

std::vector<std::string> failures_of(const ir::Error& error) {
  std::vector<std::string> failures;
  for (const ir::Diagnostic& diagnostic : error.diagnostics()) {
    if (diagnostic.severity == ir::Severity::error) failures.push_back(ir::to_string(diagnostic));
  }
  return failures;
}

}  // namespace run_ir
