// Compares what inference says of a layer's inputs and outputs with what its ports declare.
#ifndef IR_READER_PORT_CHECK_H_
#define IR_READER_PORT_CHECK_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ir_reader/layers.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// A declaration that inference contradicts.
struct PortFinding {
  /// Place of the port in its list.
  std::size_t port = 0;
  Diagnostic diagnostic;
  /// A hint that nobody relied on: what inference says goes on.
  bool no_more_than_a_hint = false;
  /// Another finding of the list says why.
  bool follows = false;
};

/// What a port declares, as far as it does; `flowing` says the rest.
ValueInfo declared_value(const LayerPort& port, const ValueInfo& flowing = {});

/// What inference says of an output, and where it leaves dims or the rank open, what the port declares.
PartialShape narrowed_shape(const LayerPort& port, const PartialShape& inferred);

/// Whether the port declares something that `value` fits.
bool agrees(const LayerPort& port, const ValueInfo& value);

/// Whether a port, when it agrees with what inference gives, declares that the rank is unknown.
bool declares_unknown_rank(const LayerPort& port, const PartialShape& inferred);

/// Declared precisions and dims of input ports that contradict what flows in. `unknown_rank` says that some
/// input comes from a port that declares so.
std::vector<PortFinding> check_inputs(const ReadState& state, const Layer& layer,
                                      std::span<const ValueInfo> inputs, bool unknown_rank);

/// Declared precisions and dims of output ports that contradict `outputs`, which inference gives for
/// `inputs`; with the rule behind the right number. `unknown_rank` as for `check_inputs`.
std::vector<PortFinding> check_outputs(const ReadState& state, const Layer& layer, const Op& op,
                                       std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs,
                                       bool unknown_rank);

/// Notes about outputs that are not declared, and about dims that are declared unknown and known.
void note_outputs(const ReadState& state, const Layer& layer, std::span<const ValueInfo> outputs);

}  // namespace ir::reader

#endif  // IR_READER_PORT_CHECK_H_
