#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "ir_reader/c_api_handles.h"

using ir::c_api::clear;
using ir::c_api::fail_argument;
using ir::c_api::guarded;

namespace {

ir::ReadOptions read_options_of(const ir_read_options& from) {
  ir::ReadOptions options;
  options.shape_check = static_cast<ir::ShapeCheck>(from.shape_check);
  options.without_weights = from.without_weights != 0;
  options.map_weights = from.map_weights != 0;
  options.limits = {.max_xml_bytes = from.max_xml_bytes,
                    .max_xml_elements = from.max_xml_elements,
                    .max_attributes_per_element = from.max_attributes_per_element,
                    .max_layers = from.max_layers,
                    .max_edges = from.max_edges,
                    .max_ports_per_layer = from.max_ports_per_layer,
                    .max_rank = from.max_rank,
                    .max_attribute_bytes = from.max_attribute_bytes,
                    .max_attribute_entries = from.max_attribute_entries,
                    .max_body_depth = from.max_body_depth,
                    .max_known_bytes = from.max_known_bytes,
                    .max_copied_bytes = from.max_copied_bytes,
                    .max_diagnostics = from.max_diagnostics};
  return options;
}

struct NamedLimit {
  const char* name;
  std::int64_t value;
};

// A limit below 0 is a mistake of the caller's arithmetic, and not to be taken for none.
ir_status check(std::initializer_list<NamedLimit> limits) {
  for (const NamedLimit& limit : limits) {
    if (limit.value < 0) return fail_argument(fmt::format("{} is {}", limit.name, limit.value));
  }
  return IR_STATUS_OK;
}

ir_status check(const ir_read_options& options) {
  if (options.shape_check < IR_SHAPE_CHECK_ERROR || options.shape_check > IR_SHAPE_CHECK_OFF)
    return fail_argument(fmt::format("shape_check is {}", options.shape_check));
  return check({{"max_xml_bytes", options.max_xml_bytes},
                {"max_xml_elements", options.max_xml_elements},
                {"max_attributes_per_element", options.max_attributes_per_element},
                {"max_layers", options.max_layers},
                {"max_edges", options.max_edges},
                {"max_ports_per_layer", options.max_ports_per_layer},
                {"max_rank", options.max_rank},
                {"max_attribute_bytes", options.max_attribute_bytes},
                {"max_attribute_entries", options.max_attribute_entries},
                {"max_body_depth", options.max_body_depth},
                {"max_known_bytes", options.max_known_bytes},
                {"max_copied_bytes", options.max_copied_bytes},
                {"max_diagnostics", options.max_diagnostics}});
}

ir_status check(const ir_compile_options& options) {
  if (options.threads < 0) return fail_argument(fmt::format("{} threads", options.threads));
  if (options.execution_mode < IR_EXECUTION_MODE_PERFORMANCE ||
      options.execution_mode > IR_EXECUTION_MODE_ACCURACY)
    return fail_argument(fmt::format("execution_mode is {}", options.execution_mode));
  if (std::isnan(options.extra_weights)) return fail_argument("extra_weights is no number");
  if (options.tune != 0 && options.tuning == nullptr)
    return fail_argument("tune is set, and tuning is null: there is no place for what is measured");
  return check({{"dynamic_quantization_group_size", options.dynamic_quantization_group_size},
                {"max_activation_bytes", options.max_activation_bytes},
                {"max_memory_bytes", options.max_memory_bytes},
                {"max_folded_bytes", options.max_folded_bytes},
                {"max_loop_iterations", options.max_loop_iterations}});
}

ir::CompileOptions compile_options_of(const ir_compile_options& from) {
  return {.threads = from.threads,
          .use_callers_arena = from.use_callers_arena != 0,
          .optimize = from.optimize != 0,
          .share_memory = from.share_memory != 0,
          .max_activation_bytes = from.max_activation_bytes,
          .max_memory_bytes = from.max_memory_bytes,
          .max_folded_bytes = from.max_folded_bytes,
          .extra_weights = from.extra_weights,
          .execution_mode = static_cast<ir::ExecutionMode>(from.execution_mode),
          .dynamic_quantization_group_size = from.dynamic_quantization_group_size,
          .tuning = from.tuning == nullptr ? nullptr : from.tuning->value,
          .tune = from.tune != 0,
          .max_loop_iterations = from.max_loop_iterations};
}

// `read` gives the model.
template <class Read>
ir_status read_into(const ir_read_options* options, ir_model** model, const Read& read) {
  return guarded([&] {
    ir_read_options defaults;
    ir_read_options_init(&defaults);
    const ir_read_options& chosen = options == nullptr ? defaults : *options;
    const ir_status status = check(chosen);
    if (status == IR_STATUS_OK) *model = new ir_model(read(read_options_of(chosen)));
    return status;
  });
}

}  // namespace

void ir_read_options_init(ir_read_options* options) {
  if (options == nullptr) return;
  const ir::ReadOptions defaults;
  const ir::ReadLimits& limits = defaults.limits;
  *options = {.shape_check = static_cast<std::int32_t>(defaults.shape_check),
              .map_weights = defaults.map_weights ? 1 : 0,
              .without_weights = defaults.without_weights ? 1 : 0,
              .max_xml_bytes = limits.max_xml_bytes,
              .max_xml_elements = limits.max_xml_elements,
              .max_attributes_per_element = limits.max_attributes_per_element,
              .max_layers = limits.max_layers,
              .max_edges = limits.max_edges,
              .max_ports_per_layer = limits.max_ports_per_layer,
              .max_rank = limits.max_rank,
              .max_attribute_bytes = limits.max_attribute_bytes,
              .max_attribute_entries = limits.max_attribute_entries,
              .max_body_depth = limits.max_body_depth,
              .max_known_bytes = limits.max_known_bytes,
              .max_copied_bytes = limits.max_copied_bytes,
              .max_diagnostics = limits.max_diagnostics};
}

ir_status ir_read_model(const char* xml, const char* weights, ir_model** model) {
  return ir_read_model_with(xml, weights, nullptr, model);
}

ir_status ir_read_model_with(const char* xml, const char* weights, const ir_read_options* options,
                             ir_model** model) {
  clear(model);
  if (xml == nullptr || model == nullptr) return fail_argument("ir_read_model: a pointer is null");
  return read_into(options, model, [&](const ir::ReadOptions& read_options) {
    return ir::read_model(xml, weights == nullptr ? "" : weights, read_options);
  });
}

ir_status ir_read_model_from_memory(const char* xml, size_t xml_size, const void* weights,
                                    size_t weights_size, const ir_read_options* options, ir_model** model) {
  clear(model);
  if (xml == nullptr || (weights == nullptr && weights_size != 0) || model == nullptr)
    return fail_argument("ir_read_model_from_memory: a pointer is null");
  return read_into(options, model, [&](const ir::ReadOptions& read_options) {
    return ir::read_model(
        {.xml = {xml, xml_size}, .weights = {static_cast<const std::byte*>(weights), weights_size}},
        read_options);
  });
}

void ir_compile_options_init(ir_compile_options* options) {
  if (options == nullptr) return;
  const ir::CompileOptions defaults;
  *options = {.threads = defaults.threads,
              .use_callers_arena = defaults.use_callers_arena ? 1 : 0,
              .optimize = defaults.optimize ? 1 : 0,
              .share_memory = defaults.share_memory ? 1 : 0,
              .max_activation_bytes = defaults.max_activation_bytes,
              .max_memory_bytes = defaults.max_memory_bytes,
              .max_folded_bytes = defaults.max_folded_bytes,
              .max_loop_iterations = defaults.max_loop_iterations,
              .extra_weights = defaults.extra_weights,
              .execution_mode = static_cast<std::int32_t>(defaults.execution_mode),
              .dynamic_quantization_group_size = defaults.dynamic_quantization_group_size,
              .tuning = nullptr,
              .tune = defaults.tune ? 1 : 0};
}

ir_status ir_compile_model(const ir_model* model, int32_t threads, ir_compiled_model** compiled) {
  ir_compile_options options;
  ir_compile_options_init(&options);
  options.threads = threads;
  return ir_compile_model_with(model, &options, compiled);
}

ir_status ir_compile_model_with(const ir_model* model, const ir_compile_options* options,
                                ir_compiled_model** compiled) {
  clear(compiled);
  if (model == nullptr || compiled == nullptr) return fail_argument("ir_compile_model: a pointer is null");
  return guarded([&] {
    ir_compile_options defaults;
    ir_compile_options_init(&defaults);
    const ir_compile_options& chosen = options == nullptr ? defaults : *options;
    const ir_status status = check(chosen);
    if (status == IR_STATUS_OK)
      *compiled = new ir_compiled_model{ir::compile_model(*model->value, compile_options_of(chosen))};
    return status;
  });
}

ir_status ir_tuning_create(ir_tuning** tuning) {
  clear(tuning);
  if (tuning == nullptr) return fail_argument("ir_tuning_create: a pointer is null");
  return guarded([&] {
    *tuning = new ir_tuning{std::make_shared<ir::Tuning>()};
    return IR_STATUS_OK;
  });
}

ir_status ir_tuning_read(const char* file, ir_tuning** tuning) {
  clear(tuning);
  if (file == nullptr || tuning == nullptr) return fail_argument("ir_tuning_read: a pointer is null");
  return guarded([&] {
    *tuning = new ir_tuning{ir::read_tuning(file)};
    return IR_STATUS_OK;
  });
}

ir_status ir_tuning_write(const ir_tuning* tuning, const char* file) {
  if (tuning == nullptr || file == nullptr) return fail_argument("ir_tuning_write: a pointer is null");
  return guarded([&] {
    ir::write_tuning(*tuning->value, file);
    return IR_STATUS_OK;
  });
}

void ir_tuning_free(ir_tuning* tuning) { delete tuning; }
