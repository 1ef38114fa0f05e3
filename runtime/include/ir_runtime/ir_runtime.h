// Everything of ir_runtime: read_model, compile_model, create_infer_request, infer; and the API to build
// models.
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

#endif  // IR_RUNTIME_IR_RUNTIME_H_
