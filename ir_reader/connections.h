// Ties input ports to the outputs that feed them.
#ifndef IR_READER_CONNECTIONS_H_
#define IR_READER_CONNECTIONS_H_

#include "ir_reader/topology.h"

namespace ir::reader {

/// The output behind each input port of `graph`, the network `net`. Ports with two edges or none are
/// reported. Where an edge ends at a port that is taken, and one port has none, that is one mistake.
Sources connect_layers(const ReadState& state, const pugi::xml_node& net, LayerGraph& graph);

}  // namespace ir::reader

#endif  // IR_READER_CONNECTIONS_H_
