// Write a model as OpenVINO IR.
#ifndef IR_RUNTIME_WRITE_MODEL_H_
#define IR_RUNTIME_WRITE_MODEL_H_

#include <filesystem>
#include <optional>

#include "ir_runtime/model.h"

namespace ir {

struct WriteOptions {
  /// Where the constants go; default: beside the XML file, with the extension .bin.
  std::filesystem::path weights;
  /// 10 or 11; default: `Model::ir_version()`.
  std::optional<int> ir_version;
};

/// Writes the XML file of `model` and its constants, each distinct one once. Both files are written beside
/// existing ones and replace them when they are whole; a model whose constants are views into these can thus
/// be written over them.
///
/// Reading the files gives an equal model: operations, attributes, connections, names, the order of inputs
/// and outputs, constants, and annotations (rt_info, meta data). Layers get new ids, inputs come first and
/// results last. Attributes that the reader ignores are not written, nor are names of bodies. Version 10 has
/// no annotations of layers and ports and no names of results, and its readers show f16 inputs and outputs as
/// f32.
///
/// Throws Error `IR-file` when a file cannot be written, `IR-constant-missing` when a constant has no
/// elements, `IR-port-unknown` when a layer reads a node of another model and `IR-version` for a version that
/// cannot be written.
void write_model(const Model& model, const std::filesystem::path& xml, const WriteOptions& options = {});

}  // namespace ir

#endif  // IR_RUNTIME_WRITE_MODEL_H_
