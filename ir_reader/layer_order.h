// The order in which a file lists the layers of a network.
#ifndef IR_READER_LAYER_ORDER_H_
#define IR_READER_LAYER_ORDER_H_

#include <vector>

#include "ir_runtime/model.h"

namespace ir::reader {

/// Parameters first and results last, as inputs and outputs are ordered; in between as in the model. Reading
/// keeps this order.
std::vector<const Node*> in_layer_order(const Model& model);

}  // namespace ir::reader

#endif  // IR_READER_LAYER_ORDER_H_
