// Models written and read again.
#ifndef SAMPLES_RUN_IR_ROUND_TRIP_H_
#define SAMPLES_RUN_IR_ROUND_TRIP_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/model.h"
#include "ir_runtime/read_model.h"

namespace run_ir {

/// Throws ir::Error `IR-file` when a copy of `model` at `copy` would replace the weights of `model`, be it
/// through a link, and leave the model with weights that are not its own. A copy in its own place may.
void require_weights_stay(const std::filesystem::path& model, const std::filesystem::path& weights,
                          const std::filesystem::path& copy);

/// Writes a model as IR of `version` and reads it again. Throws ir::Error `IR-round-trip` when that gives
/// another model; what version 10 cannot hold is then not missed.
std::shared_ptr<ir::Model> written_and_read(const ir::Model& model, const std::filesystem::path& xml,
                                            int version, const ir::ReadOptions& options = {});

/// Does so with the model of a case, in a temporary folder and in every version, and runs what was read: the
/// outputs must be those of the model to the bit. Empty when that holds, else a line per failure.
std::vector<std::string> run_round_trip(const std::filesystem::path& case_file,
                                        const ir::CompileOptions& options);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_ROUND_TRIP_H_
