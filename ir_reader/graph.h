// From layers and edges to a Model: operations, order, constants, inference, and the comparison of what
// inference says with what the file declares.
#ifndef IR_READER_GRAPH_H_
#define IR_READER_GRAPH_H_

#include <memory>

#include "ir_reader/layers.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// Builds the model of a <net> or of a body. What is wrong goes into the findings; the model is whole only
/// when they hold no error.
std::shared_ptr<Model> build_model(const ReadState& state, const pugi::xml_node& net);

}  // namespace ir::reader

#endif  // IR_READER_GRAPH_H_
