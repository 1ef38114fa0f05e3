// Whether two networks are the same.
#ifndef IR_READER_DIFFERENCE_H_
#define IR_READER_DIFFERENCE_H_

#include <optional>
#include <string>

#include "ir_runtime/model.h"
#include "ir_runtime/tensor.h"

namespace ir::reader {

/// The first thing in which `b` differs from `a`, as a sentence; empty when they are equal: layers in the
/// order of files with their names, operations, attributes, bodies, connections, element types, shapes,
/// output names and annotations, constants to the bit. Not compared: IR versions, layer ids, places in files,
/// names of bodies.
std::optional<std::string> difference(const Model& a, const Model& b);

/// Whether both have the same type, shape and elements, bit by bit.
bool identical(const Tensor& a, const Tensor& b);

}  // namespace ir::reader

#endif  // IR_READER_DIFFERENCE_H_
