// The order in which layers are computed, and the cycles that leave none.
#ifndef IR_READER_TOPOLOGY_H_
#define IR_READER_TOPOLOGY_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "ir_reader/layers.h"

namespace ir::reader {

/// The output that feeds an input port.
struct Source {
  std::size_t layer = 0;
  std::size_t output = 0;
  pugi::xml_node edge = {};
};

/// For each layer and input port.
using Sources = std::vector<std::vector<std::optional<Source>>>;

struct Topology {
  /// Parameters first and results last, both as the file orders them; in between, inputs before consumers,
  /// else as in the file. Without the layers on or behind a cycle.
  std::vector<std::size_t> order;
  /// Cycles, each from a layer to those that read it and back; none shares a layer with another.
  std::vector<std::vector<std::size_t>> cycles;
};

Topology sort_layers(const LayerGraph& graph, const Sources& sources);

/// Marks a layer and all that it is computed from, but for what is marked already and lies behind that.
void mark_with_sources(std::size_t layer, const Sources& sources, std::vector<bool>& marked);

/// By layer: whether a Result or Assign needs it, or it is a Parameter. OpenVINO makes no others, whatever is
/// wrong with them. All where nothing is computed; layers with bodies may assign variables, and stay, too.
std::vector<bool> needed_layers(const LayerGraph& graph, const Sources& sources);

}  // namespace ir::reader

#endif  // IR_READER_TOPOLOGY_H_
