// Which one attribute, with another value, would make a layer what its output ports declare.
#ifndef IR_READER_MEANT_ATTRIBUTES_H_
#define IR_READER_MEANT_ATTRIBUTES_H_

#include <span>
#include <string>

#include "ir_reader/layers.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// `strides="2, 2" or pads_end="0, 0"`: attributes that, one at a time, give for these inputs all that the
/// layer declares, found by trying values near to those that it has. Empty when there is none, or too many
/// to mean anything.
std::string attributes_that_fit(const Layer& layer, const Op& op, std::span<const ValueInfo> inputs);

}  // namespace ir::reader

#endif  // IR_READER_MEANT_ATTRIBUTES_H_
