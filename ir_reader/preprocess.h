// The element <pre-process>, with which networks of 2020 and before ask for means to be subtracted.
#ifndef IR_READER_PREPROCESS_H_
#define IR_READER_PREPROCESS_H_

#include "ir_reader/layers.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// Subtracts the means of <pre-process> from the input that it names, or from the first one that may be an
/// image: a number for each channel, or an image of the input's type in the weights file. The input has 2 to 5
/// known dims, [N, C, ...], or three, [C, H, W]. What is wrong goes into the findings; the model is changed
/// only when they hold no error.
void subtract_means(const ReadState& state, const pugi::xml_node& net, Model& model);

}  // namespace ir::reader

#endif  // IR_READER_PREPROCESS_H_
