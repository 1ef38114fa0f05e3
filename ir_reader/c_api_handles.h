// What stands behind the handles of c_api.h, and how its functions report what goes wrong.
#ifndef IR_READER_C_API_HANDLES_H_
#define IR_READER_C_API_HANDLES_H_

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "ir_runtime/c_api.h"
#include "ir_runtime/ir_runtime.h"
#include "ir_runtime/tuning.h"

struct ir_model {
  explicit ir_model(std::shared_ptr<ir::Model> model);
  /// After the model got other shapes. Names stay where they are, as C has pointers to them.
  void update_ports();

  std::shared_ptr<ir::Model> value;
  std::vector<ir::Port> inputs;
  std::vector<ir::Port> outputs;
};

struct ir_tuning {
  std::shared_ptr<ir::Tuning> value;
};

struct ir_compiled_model {
  ir::CompiledModel value;
};

struct ir_infer_request {
  ir::InferRequest value;
  std::size_t inputs = 0;
  /// What was handed out of outputs and variables: pointers into tensors stay valid as long as these.
  std::vector<ir::Tensor> results = {};
  std::vector<ir::VariableState> variables = {};
  std::vector<ir::Tensor> variable_values = {};
};

namespace ir::c_api {

/// Leaves code and text for ir_last_error of this thread; only the beginning of a long text when there is no
/// memory for the rest.
ir_status fail(ir_status status, std::string_view code, std::string_view text) noexcept;
/// IR_STATUS_INVALID_ARGUMENT.
ir_status fail_argument(std::string_view text) noexcept;
ir_status status_of(std::string_view code);

/// What a call that fails leaves: a handle that may be freed.
template <class Handle>
void clear(Handle** made) noexcept {
  if (made != nullptr) *made = nullptr;
}

/// Runs `body`, which returns a status; nothing that it throws gets out.
template <class Body>
ir_status guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    return fail(status_of(error.code()), error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(IR_STATUS_LIMIT, "IR-memory", "memory ran out");
  } catch (const std::exception& error) {
    return fail(IR_STATUS_INTERNAL, "IR-internal", error.what());
  } catch (...) {
    return fail(IR_STATUS_INTERNAL, "IR-internal", "something unknown was thrown");
  }
}

/// Fails unless `index` < `count`; `what` names what is counted: "input".
ir_status check_index(std::string_view what, std::size_t index, std::size_t count);
/// `name` and `type` in C; the name is not copied.
ir_status describe(const char* name, ElementType type, const PartialShape& shape, ir_port* port);
/// The memory of `tensor`, for as long as that is kept.
ir_status view(Tensor& tensor, ir_tensor* to);
/// A tensor in the caller's memory.
ir_status wrap(const ir_tensor& from, Tensor& to);

}  // namespace ir::c_api

#endif  // IR_READER_C_API_HANDLES_H_
