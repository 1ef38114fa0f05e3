#include "ir_runtime/ops/control_flow.h"

#include <algorithm>
#include <array>

#include "runtime/ops/infer.h"
#include "runtime/ops/infer_model.h"
#include "runtime/ops/iteration_slices.h"
#include "runtime/ops/loop_run.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"

namespace ir::op {
namespace {

void check_slicing(const InferContext& context, const Slicing& slicing, ElementType type) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  const auto in_range = [](std::int64_t value) { return value >= -kMax && value <= kMax; };
  context.require(slicing.part_size >= 1 && slicing.part_size <= kMax, "IR-port-map",
                  {.found = slicing.part_size, .expected = words("1 to {}", kMax)}, "part_size is {}",
                  slicing.part_size);
  context.require(slicing.stride == slicing.part_size || slicing.stride == -slicing.part_size, "IR-port-map",
                  {.found = slicing.stride,
                   .expected = words("{} or {}", slicing.part_size, -slicing.part_size),
                   .rule = words("part_size is {}", slicing.part_size)},
                  "stride {} does not match part_size {}", slicing.stride, slicing.part_size);
  context.require(in_range(slicing.start) && in_range(slicing.end), "IR-port-map",
                  {.found = in_range(slicing.start) ? slicing.end : slicing.start,
                   .expected = words("{} to {}", -kMax, kMax)},
                  "start {} or end {} is out of range", slicing.start, slicing.end);
  context.require(type == ElementType::dynamic || bits_of(type) >= 8, "IR-element-type",
                  {.found = type, .expected = "a type of whole bytes"},
                  "elements of type {} cannot be cut into slices", type);
}

// The types of a body's parameter and of what feeds it agree: steps of the body are planned for the former.
void require_type_of(const InferContext& context, const Model& body, std::size_t parameter, ElementType got,
                     std::optional<std::size_t> from = {}) {
  const Node& node = *body.parameters()[parameter];
  const ElementType wanted = node.output(0).type;
  context.require(got == wanted || got == ElementType::dynamic || wanted == ElementType::dynamic,
                  "IR-element-type", {.found = got, .expected = wanted, .input = from},
                  "body parameter '{}' is of type {}, what feeds it of type {}", node.name(), wanted, got);
}

std::size_t outputs_given(const Subgraph& subgraph) {
  return static_cast<std::size_t>(
      std::ranges::count_if(subgraph.outputs, [](const auto& output) { return output.outer >= 0; }));
}

// What the port map names as inputs exists, and every parameter has a first value.
void check_mapped_inputs(const InferContext& context, const Subgraph& subgraph) {
  const Model& body = *subgraph.body;
  const std::size_t parameters = body.parameters().size();
  const std::size_t results = body.results().size();
  std::vector<bool> fed(parameters);
  for (const Subgraph::Input& input : subgraph.inputs) {
    context.require(input.parameter < parameters, "IR-port-map",
                    {.found = input.parameter,
                     .expected = words("less than {}", parameters),
                     .rule = words("the body has {}", parameters)},
                    "the port map names body parameter {}, the body has {}", input.parameter, parameters);
    context.require(!fed[input.parameter], "IR-port-map",
                    {.found = "mapped twice", .expected = "mapped once"},
                    "the body parameter '{}' is mapped twice", body.parameters()[input.parameter]->name());
    fed[input.parameter] = true;
    context.require(input.outer < static_cast<std::int64_t>(context.input_count()), "IR-port-map",
                    {.found = input.outer,
                     .expected = words("less than {}", context.input_count()),
                     .rule = words("the layer has {}", context.input_count())},
                    "the port map names input {}, the layer has {}", input.outer, context.input_count());
    context.require(!input.back_edge || *input.back_edge < results, "IR-port-map",
                    {.found = input.back_edge.value_or(0),
                     .expected = words("less than {}", results),
                     .rule = words("the body has {}", results)},
                    "a back edge names body result {}, the body has {}", input.back_edge.value_or(0),
                    results);
    context.require(!input.back_edge || !input.slicing, "IR-port-map",
                    {.found = "slices and a back edge", .expected = "one of them"},
                    "the body parameter '{}' is fed by slices and by a back edge",
                    body.parameters()[input.parameter]->name());
    if (input.outer >= 0) {
      const auto outer = static_cast<std::size_t>(input.outer);
      require_type_of(context, body, input.parameter, context.type(outer), outer);
    }
  }
  for (std::size_t i = 0; i < parameters; ++i) {
    context.require(fed[i], "IR-port-map", {.found = "not mapped", .expected = "mapped to an input"},
                    "the body parameter '{}' is not mapped to any input", body.parameters()[i]->name());
  }
}

// Every output of the layer is a result of the body, once.
void check_mapped_outputs(const InferContext& context, const Subgraph& subgraph) {
  const std::size_t results = subgraph.body->results().size();
  std::vector<bool> given(outputs_given(subgraph));
  for (const Subgraph::Output& output : subgraph.outputs) {
    context.require(output.result < results, "IR-port-map",
                    {.found = output.result,
                     .expected = words("less than {}", results),
                     .rule = words("the body has {}", results)},
                    "the port map names body result {}, the body has {}", output.result, results);
    if (output.outer < 0) continue;
    const auto index = static_cast<std::size_t>(output.outer);
    context.require(index < given.size() && !given[index], "IR-port-map",
                    {.found = words("output {}", index), .expected = "each output once, none left out"},
                    "the port map gives output {} twice, or not those before it", index);
    given[index] = true;
  }
}

void check_port_map(const InferContext& context, const Subgraph& subgraph) {
  context.require(subgraph.body != nullptr, "IR-port-map", {.found = "no body", .expected = "a body"},
                  "the layer has no body");
  check_mapped_inputs(context, subgraph);
  check_mapped_outputs(context, subgraph);
}

std::vector<ValueInfo> body_results(const Model& body, const std::vector<ValueInfo>& parameters) {
  const ModelValues values = infer_model(body, parameters);
  std::vector<ValueInfo> results;
  for (const Node* result : body.results()) results.push_back(values.of(*result).front());
  return results;
}

// The shapes of either: where they differ, an interval over both.
PartialShape joined(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return {};
  PartialShape shape = a;
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    shape[axis] = Dimension(std::min(a[axis].min(), b[axis].min()), std::max(a[axis].max(), b[axis].max()));
  }
  return shape;
}

// As `joined`, but a dim that changes from one iteration to the next may become anything.
PartialShape loosened(const PartialShape& before, const PartialShape& after) {
  PartialShape shape = joined(before, after);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (!(before[axis] == after[axis])) shape[axis] = Dimension();
  }
  return shape;
}

ValueInfo unknown_elements(const ValueInfo& value) {
  return {value.type, value.shape, nullptr, std::nullopt};
}

// Parameters of the body before the first iteration, and the number of iterations that slices ask for.
struct LoopStart {
  std::vector<ValueInfo> parameters;
  Dimension iterations;
};

LoopStart loop_start(InferContext& context, const Subgraph& body, bool sliced_count) {
  check_port_map(context, body);
  LoopStart start;
  start.parameters.resize(body.body->parameters().size());
  bool counted = false;
  for (const Subgraph::Input& input : body.inputs) {
    ValueInfo& parameter = start.parameters[input.parameter];
    if (input.outer < 0) {
      const ValueInfo& declared = body.body->parameters()[input.parameter]->output(0);
      parameter = unknown_elements(declared);
      continue;
    }
    parameter = context.input(static_cast<std::size_t>(input.outer));
    if (input.back_edge) parameter = unknown_elements(parameter);
    if (!input.slicing) continue;
    check_slicing(context, *input.slicing, parameter.type);
    const PartialShape shape = parameter.shape;
    parameter = unknown_elements(parameter);
    if (!shape.has_rank()) continue;
    const std::size_t axis = context.require_axis(input.slicing->axis, shape.rank(), "axis");
    const Dimension size = shape[axis];
    parameter.shape[axis] = Dimension(input.slicing->part_size);
    if (!size.is_static()) continue;
    context.require(lies_in(*input.slicing, size.value()), "IR-port-map",
                    {.found = words("{} to {}", input.slicing->start, input.slicing->end),
                     .expected = words("elements of {}", size),
                     .input = static_cast<std::size_t>(input.outer)},
                    "the slices of input {} go from {} to {}, axis {} has {} elements", input.outer,
                    input.slicing->start, input.slicing->end, axis, size);
    const std::int64_t count = slices_of(*input.slicing, axis, size.value()).iterations;
    context.require(!counted || !sliced_count || start.iterations == Dimension(count), "IR-port-map",
                    {.found = count,
                     .expected = start.iterations,
                     .rule = words("other slices ask for {} iterations", start.iterations),
                     .input = static_cast<std::size_t>(input.outer)},
                    "the slices of input {} ask for {} iterations, others for {}", input.outer, count,
                    start.iterations);
    start.iterations = Dimension(count);
    counted = true;
  }
  return start;
}

// Counts how often a loop's body, and those inside of it, are inferred anew: rounds multiply with every
// level.
class BodyRounds {
 public:
  BodyRounds() { ++levels_; }
  BodyRounds(const BodyRounds&) = delete;
  BodyRounds& operator=(const BodyRounds&) = delete;
  ~BodyRounds() {
    if (--levels_ == 0) rounds_ = 0;
  }

  [[nodiscard]] static bool spent() { return rounds_ >= kMost; }
  static void count() { ++rounds_; }

 private:
  static constexpr int kMost = 100;
  static inline thread_local int levels_ = 0;
  static inline thread_local int rounds_ = 0;
};

// Infers the body until values that go round keep their shape. Where that takes many rounds, nothing is known
// of those shapes.
std::vector<ValueInfo> stable_results(const InferContext& context, const Subgraph& body,
                                      std::vector<ValueInfo>& parameters) {
  const BodyRounds rounds;
  std::vector<ValueInfo> results;
  for (bool changed = true; changed;) {
    const bool is_last = BodyRounds::spent();
    for (const Subgraph::Input& input : body.inputs) {
      if (is_last && input.back_edge) parameters[input.parameter].shape = PartialShape();
    }
    results = body_results(*body.body, parameters);
    changed = false;
    for (const Subgraph::Input& input : body.inputs) {
      if (!input.back_edge) continue;
      PartialShape& before = parameters[input.parameter].shape;
      require_type_of(context, *body.body, input.parameter, results[*input.back_edge].type);
      const PartialShape after = loosened(before, results[*input.back_edge].shape);
      changed = changed || after != before;
      // Every change loses a dim or the rank, so this ends.
      before = after;
    }
    if (changed) BodyRounds::count();
  }
  return results;
}

void set_loop_outputs(InferContext& context, const Subgraph& body, const std::vector<ValueInfo>& results,
                      const Dimension& iterations) {
  for (const Subgraph::Output& output : body.outputs) {
    if (output.outer < 0) continue;
    const ValueInfo& result = results[output.result];
    PartialShape shape = result.shape;
    if (output.slicing) {
      check_slicing(context, *output.slicing, result.type);
      if (shape.has_rank()) {
        const std::size_t axis = context.require_axis(output.slicing->axis, shape.rank(), "axis");
        context.require(shape[axis].compatible(Dimension(output.slicing->part_size)), "IR-port-map",
                        {.found = shape[axis],
                         .expected = output.slicing->part_size,
                         .rule = words("part_size is {}", output.slicing->part_size)},
                        "body result {} has shape {}, but part_size is {} on axis {}", output.result, shape,
                        output.slicing->part_size, axis);
        shape[axis] = iterations * Dimension(output.slicing->part_size);
        if (context.explaining() && iterations.is_static()) {
          context.explain(static_cast<std::size_t>(output.outer), axis,
                          fmt::format("{} iterations * part_size {} = {}", iterations.value(),
                                      output.slicing->part_size, to_string(shape[axis])));
        }
      }
    } else if (const Subgraph::Input* start = first_value(body, output.result);
               start != nullptr && iterations.min() == 0) {
      // Without an iteration the value comes out as it went in.
      shape = joined(shape, context.shape(static_cast<std::size_t>(start->outer)));
    }
    context.set_output(static_cast<std::size_t>(output.outer), result.type, shape);
  }
}

std::vector<ValueInfo> outputs_of(const PrepareContext& context) {
  std::vector<ValueInfo> outputs;
  for (std::size_t i = 0; i < context.output_count(); ++i) outputs.push_back(context.output(i));
  return outputs;
}

/// A TensorIterator's slices alone end it.
LoopEnd end_of_iterator(std::span<const Tensor>) { return {}; }

/// A Loop's first inputs are the trip count and the condition.
LoopEnd end_of_loop(std::span<const Tensor> inputs) {
  return {.trips = number_in(inputs[0], "the trip count"),
          .go_on = number_in(inputs[1], "the condition") != 0};
}

PreparedKernel prepare_loop(PrepareContext& context, const Subgraph& body, std::string name,
                            LoopEnd (*end_of)(std::span<const Tensor> inputs)) {
  const std::shared_ptr<BodyRunner> runner = context.compile_body(body.body);
  PreparedKernel kernel;
  kernel.name = std::move(name);
  kernel.run_dynamic = [body, runner, outputs = outputs_of(context), end_of](std::span<const Tensor> inputs) {
    return LoopRun(body, inputs, end_of(inputs)).run(*runner, outputs);
  };
  return kernel;
}

}  // namespace

void v0::TensorIterator::infer(InferContext& context) const {
  LoopStart start = loop_start(context, body, true);
  const bool sliced = std::ranges::any_of(
      body.inputs, [](const Subgraph::Input& input) { return input.slicing.has_value(); });
  context.require(sliced, "IR-port-map",
                  {.found = "no slices",
                   .expected = "an input that is cut into slices",
                   .rule = "nothing else ends the iterations"},
                  "no input is cut into slices, so that nothing ends the iterations");
  const std::vector<ValueInfo> results = stable_results(context, body, start.parameters);
  set_loop_outputs(context, body, results, start.iterations);
}

PreparedKernel v0::TensorIterator::prepare(PrepareContext& context) const {
  return prepare_loop(context, body, "tensor_iterator", end_of_iterator);
}

void v5::Loop::infer(InferContext& context) const {
  context.require_min_inputs(2);
  context.require_type(0, {ElementType::i32, ElementType::i64});
  context.require_type(1, {ElementType::boolean});
  require_element_count_of_one(context, 0, "the trip count");
  require_element_count_of_one(context, 1, "the condition");
  LoopStart start = loop_start(context, body, false);
  const std::vector<ValueInfo> results = stable_results(context, body, start.parameters);
  // The count is known when nothing can end the loop before the trip count does.
  const auto trips = context.integer(0);
  const auto condition = context.integer(1);
  bool always = condition.value_or(0) != 0;
  for (const Subgraph::Output& output : body.outputs) {
    if (output.outer >= 0) continue;
    const auto& constant = results[output.result].constant;
    always = always && constant != nullptr && number_in(*constant, "the body's condition") != 0;
  }
  Dimension iterations;
  if (condition && *condition == 0) {
    iterations = Dimension(0);
  } else if (trips && *trips >= 0) {
    iterations = always ? Dimension(*trips) : Dimension(0, *trips);
  }
  set_loop_outputs(context, body, results, iterations);
}

PreparedKernel v5::Loop::prepare(PrepareContext& context) const {
  return prepare_loop(context, body, "loop", end_of_loop);
}

void v8::If::infer(InferContext& context) const {
  context.require(context.input_count() >= 1, "IR-input-count",
                  {.found = "no inputs", .expected = "a condition"}, "has no inputs, If takes a condition");
  context.require_type(0, {ElementType::boolean});
  require_element_count_of_one(context, 0, "the condition");
  const auto condition = context.integer(0);
  const std::size_t count = outputs_given(bodies[0]);
  context.require(
      outputs_given(bodies[1]) == count, "IR-port-map",
      {.found = outputs_given(bodies[1]), .expected = count, .rule = "both branches give all outputs"},
      "the branches give {} and {} outputs", count, outputs_given(bodies[1]));
  std::vector<std::optional<ValueInfo>> merged(count);
  for (std::size_t branch = 0; branch < bodies.size(); ++branch) {
    const Subgraph& body = bodies[branch];
    // Of both: also the branch that is never taken is rewritten and compiled.
    check_port_map(context, body);
    if (condition && (*condition != 0) != (branch == 0)) continue;
    std::vector<ValueInfo> parameters(body.body->parameters().size());
    for (const Subgraph::Input& input : body.inputs) {
      context.require(input.outer >= 0, "IR-port-map", {.found = input.outer, .expected = "at least 0"},
                      "the port map names input {}", input.outer);
      parameters[input.parameter] = context.input(static_cast<std::size_t>(input.outer));
    }
    const std::vector<ValueInfo> results = body_results(*body.body, parameters);
    for (const Subgraph::Output& output : body.outputs) {
      if (output.outer < 0) continue;
      const auto index = static_cast<std::size_t>(output.outer);
      const ValueInfo result = unknown_elements(results[output.result]);
      if (!merged[index]) {
        merged[index] = result;
        continue;
      }
      context.require(merged[index]->type == result.type, "IR-element-type",
                      {.found = result.type, .expected = merged[index]->type},
                      "the branches give {} and {} for output {}", merged[index]->type, result.type, index);
      merged[index]->shape = joined(merged[index]->shape, result.shape);
    }
  }
  for (std::size_t i = 0; i < merged.size(); ++i) context.set_output(i, merged[i].value_or(ValueInfo{}));
}

PreparedKernel v8::If::prepare(PrepareContext& context) const {
  std::array<std::shared_ptr<BodyRunner>, 2> runners;
  for (std::size_t branch = 0; branch < bodies.size(); ++branch) {
    runners[branch] = context.compile_body(bodies[branch].body);
  }
  PreparedKernel kernel;
  kernel.name = "if";
  kernel.run_dynamic = [branches = bodies, runners,
                        count = context.output_count()](std::span<const Tensor> inputs) {
    const std::size_t branch = number_in(inputs[0], "the condition") != 0 ? 0 : 1;
    const Subgraph& body = branches[branch];
    std::vector<Tensor> parameters(body.body->parameters().size());
    for (const Subgraph::Input& input : body.inputs) {
      parameters[input.parameter] = inputs[static_cast<std::size_t>(input.outer)];
    }
    const std::vector<Tensor> results = runners[branch]->run(parameters);
    std::vector<Tensor> outputs(count);
    for (const Subgraph::Output& output : body.outputs) {
      if (output.outer >= 0) {
        outputs[static_cast<std::size_t>(output.outer)] = output_of(results, output.result);
      }
    }
    return outputs;
  };
  return kernel;
}

}  // namespace ir::op
