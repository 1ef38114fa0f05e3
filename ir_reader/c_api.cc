#include "ir_runtime/c_api.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "ir_reader/c_api_handles.h"
#include "runtime/model/ports.h"

using ir::c_api::check_index;
using ir::c_api::clear;
using ir::c_api::fail_argument;
using ir::c_api::guarded;
using ir::c_api::view;
using ir::c_api::wrap;

namespace {

ir_status describe(const std::vector<ir::Port>& ports, std::string_view what, std::size_t index,
                   ir_port* port) {
  if (const ir_status status = check_index(what, index, ports.size()); status != IR_STATUS_OK) return status;
  return ir::c_api::describe(ports[index].name().c_str(), ports[index].type, ports[index].shape, port);
}

// The shape for input `index` of a model.
ir_status read_shape(std::string_view function, std::size_t index, const std::int64_t* dims,
                     std::int32_t rank, ir::PartialShape& shape) {
  if (rank < 0 || rank > IR_MAX_RANK) return fail_argument(fmt::format("rank {} for input {}", rank, index));
  if (dims == nullptr && rank != 0) return fail_argument(fmt::format("{}: a pointer is null", function));
  std::vector<ir::Dimension> read;
  for (std::int32_t i = 0; i < rank; ++i) {
    if (dims[i] < -1)
      return fail_argument(fmt::format("dim {} of the shape for input {} is {}", i, index, dims[i]));
    read.push_back(dims[i] < 0 ? ir::Dimension() : ir::Dimension(dims[i]));
  }
  shape = ir::PartialShape(std::move(read));
  return IR_STATUS_OK;
}

}  // namespace

ir_model::ir_model(std::shared_ptr<ir::Model> model)
    : value(std::move(model)), inputs(value->inputs()), outputs(value->outputs()) {}

void ir_model::update_ports() {
  const auto take_shapes = [](std::vector<ir::Port> now, std::vector<ir::Port>& ports) {
    for (std::size_t i = 0; i < ports.size(); ++i) ports[i].shape = std::move(now[i].shape);
  };
  take_shapes(value->inputs(), inputs);
  take_shapes(value->outputs(), outputs);
}

const char* ir_version(void) { return IR_RUNTIME_VERSION; }

void ir_model_free(ir_model* model) { delete model; }

size_t ir_model_input_count(const ir_model* model) { return model == nullptr ? 0 : model->inputs.size(); }

size_t ir_model_output_count(const ir_model* model) { return model == nullptr ? 0 : model->outputs.size(); }

ir_status ir_model_input_port(const ir_model* model, size_t index, ir_port* port) {
  if (model == nullptr || port == nullptr) return fail_argument("ir_model_input_port: a pointer is null");
  return guarded([&] { return describe(model->inputs, "input", index, port); });
}

ir_status ir_model_output_port(const ir_model* model, size_t index, ir_port* port) {
  if (model == nullptr || port == nullptr) return fail_argument("ir_model_output_port: a pointer is null");
  return guarded([&] { return describe(model->outputs, "output", index, port); });
}

ir_status ir_model_reshape(ir_model* model, size_t index, const int64_t* dims, int32_t rank) {
  if (model == nullptr) return fail_argument("ir_model_reshape: a pointer is null");
  return guarded([&] {
    ir_status status = check_index("input", index, model->inputs.size());
    ir::PartialShape shape;
    if (status == IR_STATUS_OK) status = read_shape("ir_model_reshape", index, dims, rank, shape);
    if (status != IR_STATUS_OK) return status;
    model->value->reshape(index, shape);
    model->update_ports();
    return status;
  });
}

ir_status ir_model_reshape_all(ir_model* model, const int64_t* const* dims, const int32_t* ranks,
                               size_t count) {
  if (model == nullptr || ((dims == nullptr || ranks == nullptr) && count != 0))
    return fail_argument("ir_model_reshape_all: a pointer is null");
  return guarded([&] {
    if (count != model->inputs.size())
      return fail_argument(
          fmt::format("shapes for {} inputs are given, the model has {}", count, model->inputs.size()));
    std::vector<ir::PartialShape> shapes(count);
    for (std::size_t i = 0; i < count; ++i) {
      const ir_status status = read_shape("ir_model_reshape_all", i, dims[i], ranks[i], shapes[i]);
      if (status != IR_STATUS_OK) return status;
    }
    model->value->reshape(shapes);
    model->update_ports();
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
  return guarded([&] {
    *index = ir::input_named(compiled->value.inputs(), name);
    return IR_STATUS_OK;
  });
}

ir_status ir_find_output(const ir_compiled_model* compiled, const char* name, size_t* index) {
  if (compiled == nullptr || name == nullptr || index == nullptr)
    return fail_argument("ir_find_output: a pointer is null");
  return guarded([&] {
    *index = ir::output_named(compiled->value.outputs(), name);
    return IR_STATUS_OK;
  });
}

ir_status ir_create_infer_request(const ir_compiled_model* compiled, ir_infer_request** request) {
  clear(request);
  if (compiled == nullptr || request == nullptr)
    return fail_argument("ir_create_infer_request: a pointer is null");
  return guarded([&] {
    auto made = std::make_unique<ir_infer_request>(
        ir_infer_request{compiled->value.create_infer_request(), compiled->value.inputs().size()});
    made->results.resize(compiled->value.outputs().size());
    made->variables = made->value.query_state();
    made->variable_values.resize(made->variables.size());
    *request = made.release();
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

ir_status ir_start_async(ir_infer_request* request) {
  if (request == nullptr) return fail_argument("ir_start_async: a pointer is null");
  return guarded([&] {
    request->value.start_async();
    return IR_STATUS_OK;
  });
}

ir_status ir_wait(ir_infer_request* request) {
  if (request == nullptr) return fail_argument("ir_wait: a pointer is null");
  return guarded([&] {
    request->value.wait();
    return IR_STATUS_OK;
  });
}

ir_status ir_wait_for(ir_infer_request* request, int64_t milliseconds, int32_t* done) {
  if (request == nullptr || done == nullptr) return fail_argument("ir_wait_for: a pointer is null");
  *done = 1;
  return guarded([&] {
    if (!request->value.wait_for(std::chrono::milliseconds(milliseconds))) *done = 0;
    return IR_STATUS_OK;
  });
}

ir_status ir_output_tensor(ir_infer_request* request, size_t index, ir_tensor* tensor) {
  if (request == nullptr || tensor == nullptr) return fail_argument("ir_output_tensor: a pointer is null");
  return guarded([&] {
    if (const ir_status status = check_index("output", index, request->results.size());
        status != IR_STATUS_OK)
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

size_t ir_variable_count(const ir_infer_request* request) {
  return request == nullptr ? 0 : request->variables.size();
}

ir_status ir_variable_port(const ir_infer_request* request, size_t index, ir_port* port) {
  if (request == nullptr || port == nullptr) return fail_argument("ir_variable_port: a pointer is null");
  return guarded([&] {
    if (const ir_status status = check_index("variable", index, request->variables.size());
        status != IR_STATUS_OK)
      return status;
    const ir::VariableState& variable = request->variables[index];
    return ir::c_api::describe(variable.name().c_str(), variable.element_type(), variable.shape(), port);
  });
}

ir_status ir_get_variable(ir_infer_request* request, size_t index, ir_tensor* tensor) {
  if (request == nullptr || tensor == nullptr) return fail_argument("ir_get_variable: a pointer is null");
  return guarded([&] {
    if (const ir_status status = check_index("variable", index, request->variables.size());
        status != IR_STATUS_OK)
      return status;
    request->variable_values[index] = request->variables[index].get_state();
    return view(request->variable_values[index], tensor);
  });
}

ir_status ir_set_variable(ir_infer_request* request, size_t index, const ir_tensor* tensor) {
  if (request == nullptr || tensor == nullptr) return fail_argument("ir_set_variable: a pointer is null");
  return guarded([&] {
    ir::Tensor value;
    ir_status status = check_index("variable", index, request->variables.size());
    if (status == IR_STATUS_OK) status = wrap(*tensor, value);
    if (status == IR_STATUS_OK) request->variables[index].set_state(value);
    return status;
  });
}
