// What hostile models go through: reading, compiling and one inference under small limits.
#ifndef TESTS_HOSTILE_RUN_MODEL_H_
#define TESTS_HOSTILE_RUN_MODEL_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "ir_runtime/read_model.h"

namespace ir::hostile {

/// How far a model got. Everything but these is a bug: another exception than ir::Error, a signal, a hang.
enum class Outcome {
  not_read,      ///< reading found errors
  not_compiled,  ///< the plan was refused
  not_run,       ///< inference was refused
  ran,
};

std::string_view name_of(Outcome outcome);

struct RunOptions {
  /// Bytes of activations, and of each input.
  std::int64_t max_bytes = 1 << 20;
  /// Off: what is inferred from damaged attributes counts, so that more of them reach execution.
  ShapeCheck shape_check = ShapeCheck::error;
};

/// Reads the model, puts every finding into words, and runs the model once on inputs that are always the
/// same; unknown dims are small.
Outcome run_model(const std::filesystem::path& xml, const std::filesystem::path& weights,
                  const RunOptions& options);

}  // namespace ir::hostile

#endif  // TESTS_HOSTILE_RUN_MODEL_H_
