// Read an OpenVINO IR model from its files, or from memory.
#ifndef IR_RUNTIME_READ_MODEL_H_
#define IR_RUNTIME_READ_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/model.h"

namespace ir {

/// What becomes of a declared port dim or precision that inference contradicts.
enum class ShapeCheck { error, warn, off };

/// Bounds on what a file may ask for, so that no file exhausts the machine.
struct ReadLimits {
  std::int64_t max_xml_bytes = std::int64_t{1} << 30;
  /// Elements, attributes and pieces of text together: each takes some 50 bytes of memory.
  std::int64_t max_xml_elements = 20'000'000;
  std::int64_t max_attributes_per_element = 1'000;
  std::int64_t max_layers = 1'000'000;
  std::int64_t max_edges = 4'000'000;
  std::int64_t max_ports_per_layer = 65'536;
  std::int64_t max_rank = 64;
  std::int64_t max_attribute_bytes = 1 << 20;
  /// Entries of an attribute that is a list.
  std::int64_t max_attribute_entries = 65'536;
  /// Bodies within bodies, and XML elements within elements.
  std::int64_t max_body_depth = 64;
  /// Values that are worked out from constants while the shapes are inferred.
  std::int64_t max_known_bytes = std::int64_t{1} << 30;
  /// Memory for constants that cannot be read where they lie in the weights file: those at offsets that their
  /// type cannot be read from, and strings; the whole file when it is not mapped.
  std::int64_t max_copied_bytes = std::int64_t{4} << 30;
  /// Findings of each severity, and of what follows from others; those beyond are only counted.
  std::int64_t max_diagnostics = 1'000;
};

struct ReadOptions {
  ShapeCheck shape_check = ShapeCheck::error;
  /// Read without a weights file: constants then have a shape and no elements. For validation.
  bool without_weights = false;
  /// Map the weights file, which nobody may change or cut off while the model or what was compiled from it is
  /// in use: that would end the process. Off: read it into memory, for files that others can write to.
  bool map_weights = true;
  ReadLimits limits;
};

/// A model together with what was noticed while reading it.
struct ReadResult {
  /// Null when an error was found.
  std::shared_ptr<Model> model;
  std::vector<Diagnostic> diagnostics;
};

/// Reads IR version 10 or 11. `weights` defaults to `xml` with the extension .bin, which may be missing when
/// the model has no constants. Constants are views into the mapped file. Throws Error with all errors of the
/// file.
std::shared_ptr<Model> read_model(const std::filesystem::path& xml, const std::filesystem::path& weights = {},
                                  const ReadOptions& options = {});

/// As read_model, but returns the findings (warnings and notes too) instead of throwing.
ReadResult read_and_check(const std::filesystem::path& xml, const std::filesystem::path& weights = {},
                          const ReadOptions& options = {});

/// A model that lies in memory instead of in files.
struct ModelInMemory {
  /// What the .xml file would hold; not needed after reading.
  std::string_view xml;
  /// What the .bin file would hold. Not copied: constants are views into it, and it stays as it is for as
  /// long as the model, or what was compiled from it, is in use.
  std::span<const std::byte> weights = {};
  /// Kept as long as `weights` are needed; may be null.
  std::shared_ptr<const void> owner = nullptr;
  /// Stand in diagnostics for the names of the files.
  std::string name = "model.xml";
  std::string weights_name = "model.bin";
};

/// As for files. `ReadOptions::map_weights` is without effect; empty `weights` are a file that is missing.
std::shared_ptr<Model> read_model(const ModelInMemory& model, const ReadOptions& options = {});
ReadResult read_and_check(const ModelInMemory& model, const ReadOptions& options = {});

}  // namespace ir

#endif  // IR_RUNTIME_READ_MODEL_H_
