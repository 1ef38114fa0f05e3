// Where the data of a model's inputs comes from.
#ifndef SAMPLES_RUN_IR_INPUTS_H_
#define SAMPLES_RUN_IR_INPUTS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "samples/run_ir/image.h"

namespace run_ir {

/// The whole file. Throws ir::Error `IR-file` when it is no readable regular file.
std::string read_file(const std::filesystem::path& path);

/// Options of the command line that say what goes into the inputs.
struct InputOptions {
  /// "NAME=FILE", or "FILE" for a model with one input.
  std::vector<std::string> files;
  /// "NAME[1,3,224,224]" or "[1,3,224,224]": shapes for inputs that are not static.
  std::vector<std::string> shapes;
  std::uint64_t seed = 0;
  ImageOptions image;
};

/// Adds the options of `InputOptions` to a command.
void add_input_options(CLI::App& command, InputOptions& options);

/// One tensor per input: read from its file, or random. Throws ir::Error.
std::vector<ir::Tensor> make_inputs(const std::vector<ir::Port>& ports, const InputOptions& options);

/// Gives them to `request`, whose model has these inputs. Throws ir::Error.
void set_inputs(ir::InferRequest& request, const std::vector<ir::Port>& ports, const InputOptions& options);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_INPUTS_H_
