// Models are graphs of their own nodes; a program that builds two can mix them up.
#ifndef RUNTIME_MODEL_OWN_NODES_H_
#define RUNTIME_MODEL_OWN_NODES_H_

#include <cstddef>

#include "ir_runtime/model.h"

namespace ir {

/// What is wrong with input `index` of `node`, which reads no node that comes earlier in its model.
Error not_an_own_node(const Node& node, std::size_t index);

/// Throws that where a node of `model`, or of a body in it, reads such an input. The node that is read is not
/// looked at: it may be gone.
void require_own_nodes(const Model& model);

}  // namespace ir

#endif  // RUNTIME_MODEL_OWN_NODES_H_
