// What depends on the version of the IR.
#ifndef IR_READER_IR_VERSION_H_
#define IR_READER_IR_VERSION_H_

#include "ir_reader/document.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// Version of the document's <net>: 10 or 11. Throws Error `IR-structure` or `IR-version` for anything else.
int read_ir_version(const Document& document);

/// Throws Error `IR-version` unless `version` can be read and written.
void require_known_version(int version);

/// Makes of a model what a reader of version 10 sees of it. Annotations of layers and ports and names of
/// results, which only later versions have, are gone. Inputs and outputs show the types that they always
/// had: f16 inputs f32, outputs of 32 and 64 bit integers i32, other outputs but strings f32. Their type
/// changes and a Convert stands between.
void present_as_v10(Model& model);

}  // namespace ir::reader

#endif  // IR_READER_IR_VERSION_H_
