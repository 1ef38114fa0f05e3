// Runs test cases: reads model and tensors, infers, compares.
#ifndef SAMPLES_RUN_IR_CASE_RUNNER_H_
#define SAMPLES_RUN_IR_CASE_RUNNER_H_

#include <filesystem>
#include <string>
#include <vector>

#include "ir_reader/case_file.h"
#include "ir_runtime/compiled_model.h"
#include "ir_runtime/diagnostics.h"
#include "ir_runtime/model.h"

namespace run_ir {

/// The case.xml files at and below `paths`, sorted; a path may be a case, its folder or any folder above.
/// Throws ir::Error `IR-file` for a path that does not exist.
std::vector<std::filesystem::path> find_cases(const std::vector<std::string>& paths);

/// Runs one case; empty when it passes, else a line per failure.
std::vector<std::string> run_case(const std::filesystem::path& case_file, const ir::CompileOptions& options);

/// Runs `model` on the inputs of a case; all outputs. Throws ir::Error.
std::vector<ir::Tensor> case_outputs(const ir::reader::CaseFile& file, const ir::Model& model,
                                     const ir::CompileOptions& options);

/// A line for each of the errors.
std::vector<std::string> failures_of(const ir::Error& error);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_CASE_RUNNER_H_
