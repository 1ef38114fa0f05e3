// From a layer's type and version to an op class.
#ifndef IR_READER_OPERATION_LOOKUP_H_
#define IR_READER_OPERATION_LOOKUP_H_

#include <optional>

#include "ir_reader/layers.h"
#include "ir_runtime/op.h"

namespace ir::reader {

/// The opset that the layer means, by its version; empty when that names none.
std::optional<int> opset_of(const Layer& layer);

/// The class that the layer means; null when there is none, which the findings then tell.
const OpClass* find_class(const ReadState& state, const Layer& layer);

}  // namespace ir::reader

#endif  // IR_READER_OPERATION_LOOKUP_H_
