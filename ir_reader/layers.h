// The layers and edges of a <net> or of a body, as the file states them: no operation is known yet.
#ifndef IR_READER_LAYERS_H_
#define IR_READER_LAYERS_H_

#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ir_reader/document.h"
#include "ir_reader/findings.h"
#include "ir_runtime/element_type.h"
#include "ir_runtime/read_model.h"
#include "ir_runtime/shape.h"

namespace ir::reader {

/// A <port>. Ids are labels; an edge names a port by its id, an operation by its place in the list.
/// Views of characters are valid as long as the document.
struct LayerPort {
  std::string_view id;
  pugi::xml_node xml;
  /// `dynamic` when the port states no precision.
  ElementType precision = ElementType::dynamic;
  /// Dims as declared, -1 read as unknown. A port without dims is a scalar or of unknown rank.
  PartialShape shape;
  std::vector<std::string> names;

  [[nodiscard]] PortReference reference(PortKind kind) const { return {kind, std::string(id)}; }
};

struct Layer {
  std::string_view id;
  std::string_view name;
  std::string_view type;
  std::string_view version;
  pugi::xml_node xml;
  std::vector<LayerPort> inputs;
  std::vector<LayerPort> outputs;
  /// Names that a Result gives to the model's output.
  std::vector<std::string> output_names;
  /// What is wrong with an edge that ends at the layer, so that inputs are missing.
  FindingId edge_fault = kNoFinding;

  [[nodiscard]] LayerReference reference() const {
    return {std::string(id), std::string(name), std::string(type)};
  }
};

/// A connection by indices into the list of layers and their lists of ports.
struct Edge {
  std::size_t from_layer = 0;
  std::size_t from_output = 0;
  std::size_t to_layer = 0;
  std::size_t to_input = 0;
  /// It starts nowhere, which has been reported.
  bool loose = false;
  pugi::xml_node xml;
};

struct LayerGraph {
  std::vector<Layer> layers;
  std::vector<Edge> edges;
  /// What is wrong with <edges> as a whole, so that inputs have no edges.
  FindingId edges_fault = kNoFinding;
  /// Edges that end nowhere, as they were reported.
  std::vector<FindingId> strays;
  /// By layer, once they are connected: see needed_layers.
  std::vector<bool> needed;
};

/// What is looked for beyond what makes a model unreadable.
struct Scrutiny {
  /// Oddities that change nothing, for a validator.
  bool audit = false;
  /// What is worth knowing of a model without fault.
  bool notes = false;
  /// Overlaps and gaps in the weights file.
  bool weights_layout = false;
  /// Equal constants, and numbers that are none; the whole weights file is read.
  bool weights_values = false;
};

class ConstantReader;
class ReleaseNotes;

/// Memory that the model takes beside the weights file, against the limits.
struct MemoryUse {
  std::int64_t copied_bytes = 0;
  std::int64_t known_bytes = 0;
};

/// What all parts of the reader share while a file is read.
struct ReadState {
  const Document& document;
  int ir_version;
  const ReadOptions& options;
  Findings& findings;
  ConstantReader& constants;
  MemoryUse& memory;
  Scrutiny scrutiny = {};
  /// Null unless notes are asked for.
  ReleaseNotes* releases = nullptr;
  /// Number of bodies around what is read.
  int depth = 0;
};

/// Reads <layers> and <edges> below `parent`. What is wrong goes into the findings; layers without an id of
/// their own and edges without ends are left out.
LayerGraph read_layers(const ReadState& state, const pugi::xml_node& parent);

/// Reports a second <edges>, which is not read, as the reason why inputs have no edges; kNoFinding when there
/// is none.
FindingId report_second_edges(const ReadState& state, const pugi::xml_node& parent);

}  // namespace ir::reader

#endif  // IR_READER_LAYERS_H_
