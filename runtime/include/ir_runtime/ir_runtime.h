// All that programs call: read_model, validate, compile_model, create_infer_request, infer, write_model; and
// the API to build models, whose operations are in ir_runtime/ops/.
#ifndef IR_RUNTIME_IR_RUNTIME_H_
#define IR_RUNTIME_IR_RUNTIME_H_

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/diagnostics.h"
#include "ir_runtime/element_type.h"
#include "ir_runtime/lint.h"
#include "ir_runtime/model.h"
#include "ir_runtime/read_model.h"
#include "ir_runtime/shape.h"
#include "ir_runtime/tensor.h"
#include "ir_runtime/tuning.h"
#include "ir_runtime/validate.h"
#include "ir_runtime/write_model.h"

#endif  // IR_RUNTIME_IR_RUNTIME_H_
