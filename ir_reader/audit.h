// What is odd about a model that can be read: checks for a validator, which readers do without.
#ifndef IR_READER_AUDIT_H_
#define IR_READER_AUDIT_H_

#include <pugixml.hpp>
#include <vector>

#include "ir_reader/layers.h"
#include "ir_reader/topology.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// A <net> or body, and what became of it.
struct GraphView {
  const ReadState& state;
  pugi::xml_node xml;
  const LayerGraph& graph;
  const Sources& sources;
  /// For each layer; null for one that could not be placed.
  const std::vector<Node*>& nodes;
  /// The first finding that was made here.
  FindingId first_finding = 0;
};

/// All of the audits below.
void audit_graph(const GraphView& view);

/// Elements that are not read, attributes and elements that stand twice, ids that are no numbers.
void audit_elements(const GraphView& view);
/// Names of layers and tensors, and <rt_info>.
void audit_names(const GraphView& view);
/// Layers from which nothing is computed.
void audit_use(const GraphView& view);
/// Spellings, attributes without effect, and ports without precision.
void audit_attributes(const GraphView& view);

}  // namespace ir::reader

#endif  // IR_READER_AUDIT_H_
