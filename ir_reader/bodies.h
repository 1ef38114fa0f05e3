// The bodies and port maps of If, Loop and TensorIterator.
#ifndef IR_READER_BODIES_H_
#define IR_READER_BODIES_H_

#include "ir_reader/layers.h"
#include "ir_runtime/op.h"

namespace ir::reader {

/// Fills the subgraphs of `op` from the layer's elements; returns whether all went well.
bool read_bodies(const ReadState& state, const Layer& layer, Op& op);

}  // namespace ir::reader

#endif  // IR_READER_BODIES_H_
