#include "ir_runtime/c_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ir_runtime/ir_runtime.h"
#include "ir_runtime/ops/infrastructure.h"

struct ir_model {
  std::shared_ptr<ir::Model> value;
};

struct ir_compiled_model {
  ir::CompiledModel value;
};

struct ir_infer_request {
  ir::InferRequest value;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  /// What ir_output_tensor handed out: pointers into tensors stay valid as long as these.
  std::vector<ir::Tensor> results;
};

namespace {

struct LastError {
  std::string text;
  std::string code;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

ir_status fail(ir_status status, std::string code, std::string text) {
  last_error() = {std::move(text), std::move(code)};
  return status;
}

ir_status fail_argument(std::string text) {
  return fail(IR_STATUS_INVALID_ARGUMENT, "IR-argument", std::move(text));
}

ir_status status_of(std::string_view code) {
  if (code == "IR-file" || code == "IR-weights-missing") return IR_STATUS_FILE;
  if (code == "IR-unsupported" || code == "IR-operation-unknown") return IR_STATUS_UNSUPPORTED;
  if (code == "IR-limit" || code == "IR-tensor-size" || code == "IR-memory") return IR_STATUS_LIMIT;
  return IR_STATUS_INVALID_MODEL;
}

/// Runs `body`, which returns a status; nothing that it throws gets out.
template <class Body>
ir_status guarded(const Body& body) {
  try {
    return body();
  } catch (const ir::Error& error) {
    return fail(status_of(error.code()), error.code(), error.what());
  } catch (const std::bad_alloc&) {
    // Short enough that neither text allocates.
    return fail(IR_STATUS_LIMIT, "IR-memory", "memory ran out");
  } catch (const std::exception& error) {
    return fail(IR_STATUS_INTERNAL, "IR-internal", error.what());
  } catch (...) {
    return fail(IR_STATUS_INTERNAL, "IR-internal", "something unknown was thrown");
  }
}

ir_status check_index(std::string_view what, std::size_t index, std::size_t count) {
  if (index < count) return IR_STATUS_OK;
  return fail_argument(fmt::format("{} {} is asked for, there are {}", what, index, count));
}

ir_status describe(const std::vector<ir::Port>& ports, std::string_view what, std::size_t index,
                   ir_port* port) {
  if (const ir_status status = check_index(what, index, ports.size()); status != IR_STATUS_OK) return status;
  const ir::Port& from = ports[index];
  *port = {};
  port->name = from.name().c_str();
  port->element_type = ir::name_of(from.type).data();
  port->rank = -1;
  if (!from.shape.has_rank()) return IR_STATUS_OK;
  if (from.shape.rank() > IR_MAX_RANK)
    return fail_argument(fmt::format("{} {} has too high a rank", what, index));
  port->rank = static_cast<std::int32_t>(from.shape.rank());
  std::size_t axis = 0;
  for (const ir::Dimension& dim : from.shape) port->dims[axis++] = dim.is_static() ? dim.value() : -1;
  return IR_STATUS_OK;
}

ir_status find(const std::vector<ir::Port>& ports, std::string_view what, const char* name,
               std::size_t* index) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (std::ranges::find(ports[i].names, name) == ports[i].names.end()) continue;
    *index = i;
    return IR_STATUS_OK;
  }
  return fail_argument(fmt::format("no {} is called '{}'", what, name));
}

ir_status view(ir::Tensor& tensor, ir_tensor* to) {
  if (tensor.element_type() == ir::ElementType::string)
    return fail(IR_STATUS_UNSUPPORTED, "IR-unsupported", "tensors of strings have no C view");
  *to = {};
  to->element_type = ir::name_of(tensor.element_type()).data();
  to->rank = static_cast<std::int32_t>(tensor.shape().size());
  std::copy_n(tensor.shape().begin(), std::min<std::size_t>(tensor.shape().size(), IR_MAX_RANK), to->dims);
  to->data = tensor.raw();
  to->byte_size = tensor.byte_size();
  return IR_STATUS_OK;
}

ir_status wrap(const ir_tensor& from, ir::Tensor& to) {
  const auto type = from.element_type == nullptr ? std::nullopt : ir::element_type_of(from.element_type);
  if (!type || ir::bits_of(*type) == 0) {
    return fail_argument(fmt::format("'{}' is no element type that a tensor can have here",
                                     from.element_type == nullptr ? "" : from.element_type));
  }
  if (from.rank < 0 || from.rank > IR_MAX_RANK) return fail_argument(fmt::format("rank {}", from.rank));
  const ir::Shape shape(from.dims, from.dims + from.rank);
  const auto count = ir::element_count(shape);
  const auto bytes = count ? ir::storage_bytes(*type, *count) : std::nullopt;
  if (!bytes) return fail_argument(fmt::format("{} is no shape of a tensor", ir::to_string(shape)));
  if (static_cast<std::size_t>(*bytes) != from.byte_size) {
    return fail_argument(fmt::format("a tensor of {} {} takes {} bytes, {} are given", ir::name_of(*type),
                                     ir::to_string(shape), *bytes, from.byte_size));
  }
  if (from.data == nullptr && *bytes != 0) return fail_argument("the tensor has no data");
  to = ir::Tensor(*type, shape, from.data);
  return IR_STATUS_OK;
}

}  // namespace

const char* ir_last_error(void) { return last_error().text.c_str(); }

const char* ir_last_error_code(void) { return last_error().code.c_str(); }

const char* ir_version(void) { return IR_RUNTIME_VERSION; }

ir_status ir_read_model(const char* xml, const char* weights, ir_model** model) {
  if (xml == nullptr || model == nullptr) return fail_argument("ir_read_model: a pointer is null");
  *model = nullptr;
  return guarded([&] {
    *model = new ir_model{ir::read_model(xml, weights == nullptr ? "" : weights)};
    return IR_STATUS_OK;
  });
}

void ir_model_free(ir_model* model) { delete model; }

ir_status ir_model_reshape(ir_model* model, size_t index, const int64_t* dims, int32_t rank) {
  if (model == nullptr || (dims == nullptr && rank != 0))
    return fail_argument("ir_model_reshape: a pointer is null");
  if (rank < 0 || rank > IR_MAX_RANK) return fail_argument(fmt::format("rank {}", rank));
  return guarded([&] {
    const auto& parameters = model->value->parameters();
    if (const ir_status status = check_index("input", index, parameters.size()); status != IR_STATUS_OK)
      return status;
    std::vector<ir::Dimension> shape;
    for (std::int32_t i = 0; i < rank; ++i) {
      if (dims[i] < -1) return fail_argument(fmt::format("dim {} of the shape is {}", i, dims[i]));
      shape.push_back(dims[i] < 0 ? ir::Dimension() : ir::Dimension(dims[i]));
    }
    // On a copy: a shape that does not fit leaves the model as it was.
    auto changed = std::make_shared<ir::Model>(*model->value);
    changed->parameters()[index]->op().as<ir::op::v0::Parameter>()->shape = ir::PartialShape(shape);
    changed->infer();
    model->value = std::move(changed);
    return IR_STATUS_OK;
  });
}

ir_status ir_compile_model(const ir_model* model, int32_t threads, ir_compiled_model** compiled) {
  if (model == nullptr || compiled == nullptr) return fail_argument("ir_compile_model: a pointer is null");
  *compiled = nullptr;
  if (threads < 0) return fail_argument(fmt::format("{} threads", threads));
  return guarded([&] {
    ir::CompileOptions options;
    options.threads = threads;
    *compiled = new ir_compiled_model{ir::compile_model(*model->value, options)};
    return IR_STATUS_OK;
  });
}

void ir_compiled_model_free(ir_compiled_model* compiled) { delete compiled; }

size_t ir_input_count(const ir_compiled_model* compiled) {
  return compiled == nullptr ? 0 : compiled->value.inputs().size();
}

size_t ir_output_count(const ir_compiled_model* compiled) {
  return compiled == nullptr ? 0 : compiled->value.outputs().size();
}

ir_status ir_input_port(const ir_compiled_model* compiled, size_t index, ir_port* port) {
  if (compiled == nullptr || port == nullptr) return fail_argument("ir_input_port: a pointer is null");
  return guarded([&] { return describe(compiled->value.inputs(), "input", index, port); });
}

ir_status ir_output_port(const ir_compiled_model* compiled, size_t index, ir_port* port) {
  if (compiled == nullptr || port == nullptr) return fail_argument("ir_output_port: a pointer is null");
  return guarded([&] { return describe(compiled->value.outputs(), "output", index, port); });
}

ir_status ir_find_input(const ir_compiled_model* compiled, const char* name, size_t* index) {
  if (compiled == nullptr || name == nullptr || index == nullptr)
    return fail_argument("ir_find_input: a pointer is null");
  return guarded([&] { return find(compiled->value.inputs(), "input", name, index); });
}

ir_status ir_find_output(const ir_compiled_model* compiled, const char* name, size_t* index) {
  if (compiled == nullptr || name == nullptr || index == nullptr)
    return fail_argument("ir_find_output: a pointer is null");
  return guarded([&] { return find(compiled->value.outputs(), "output", name, index); });
}

ir_status ir_create_infer_request(const ir_compiled_model* compiled, ir_infer_request** request) {
  if (compiled == nullptr || request == nullptr)
    return fail_argument("ir_create_infer_request: a pointer is null");
  *request = nullptr;
  return guarded([&] {
    const std::size_t outputs = compiled->value.outputs().size();
    *request = new ir_infer_request{compiled->value.create_infer_request(), compiled->value.inputs().size(),
                                    outputs, std::vector<ir::Tensor>(outputs)};
    return IR_STATUS_OK;
  });
}

void ir_infer_request_free(ir_infer_request* request) { delete request; }

ir_status ir_set_input(ir_infer_request* request, size_t index, const ir_tensor* tensor) {
  if (request == nullptr || tensor == nullptr) return fail_argument("ir_set_input: a pointer is null");
  return guarded([&] {
    ir::Tensor input;
    ir_status status = check_index("input", index, request->inputs);
    if (status == IR_STATUS_OK) status = wrap(*tensor, input);
    if (status == IR_STATUS_OK) request->value.set_input_tensor(index, std::move(input));
    return status;
  });
}

ir_status ir_input_tensor(ir_infer_request* request, size_t index, ir_tensor* tensor) {
  if (request == nullptr || tensor == nullptr) return fail_argument("ir_input_tensor: a pointer is null");
  return guarded([&] {
    if (const ir_status status = check_index("input", index, request->inputs); status != IR_STATUS_OK)
      return status;
    ir::Tensor input = request->value.input_tensor(index);
    return view(input, tensor);
  });
}

ir_status ir_infer(ir_infer_request* request) {
  if (request == nullptr) return fail_argument("ir_infer: a pointer is null");
  return guarded([&] {
    request->value.infer();
    return IR_STATUS_OK;
  });
}

ir_status ir_output_tensor(ir_infer_request* request, size_t index, ir_tensor* tensor) {
  if (request == nullptr || tensor == nullptr) return fail_argument("ir_output_tensor: a pointer is null");
  return guarded([&] {
    if (const ir_status status = check_index("output", index, request->outputs); status != IR_STATUS_OK)
      return status;
    request->results[index] = request->value.output_tensor(index);
    return view(request->results[index], tensor);
  });
}

ir_status ir_reset_state(ir_infer_request* request) {
  if (request == nullptr) return fail_argument("ir_reset_state: a pointer is null");
  return guarded([&] {
    request->value.reset_state();
    return IR_STATUS_OK;
  });
}
