#include "runtime/ops/loop_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/ops/infer.h"
#include "runtime/ops/zeros.h"
#include "runtime/types/budget.h"

namespace ir::op {
namespace {

// An output of a loop that did not run and that nothing went into: what inference knows of it, and zeros.
Tensor never_computed(const ValueInfo& declared) { return zeros_of(declared.type, declared.shape); }

}  // namespace

std::int64_t number_in(const Tensor& tensor, std::string_view what) {
  const std::vector<std::int64_t> numbers = integers_of(tensor);
  if (numbers.size() != 1) {
    throw Error("IR-value",
                fmt::format("{} has shape {}; it takes one element", what, to_string(tensor.shape())));
  }
  return numbers.front();
}

Tensor output_of(std::span<const Tensor> results, std::size_t result) {
  const Tensor& value = results[result];
  return value.is_sole_owner() ? value : value.clone();
}

const Subgraph::Input* first_value(const Subgraph& body, std::size_t result) {
  const auto found = std::ranges::find_if(body.inputs, [result](const Subgraph::Input& input) {
    return input.back_edge == result && input.outer >= 0;
  });
  return found == body.inputs.end() ? nullptr : &*found;
}

LoopRun::LoopRun(const Subgraph& body, std::span<const Tensor> inputs, LoopEnd end)
    : body_(body),
      inputs_(inputs),
      end_(end),
      parameters_(body.body->parameters().size()),
      slices_(body.inputs.size()) {
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const Subgraph::Input& input = body.inputs[i];
    if (input.outer < 0) continue;
    const Tensor& outer = inputs[static_cast<std::size_t>(input.outer)];
    parameters_[input.parameter] = outer;
    if (!input.slicing) continue;
    const std::size_t axis = axis_in(input.slicing->axis, outer.shape().size());
    if (!lies_in(*input.slicing, outer.shape()[axis])) {
      throw Error("IR-value",
                  fmt::format("the slices of input {} go from {} to {}, axis {} has {} elements", input.outer,
                              input.slicing->start, input.slicing->end, axis, outer.shape()[axis]));
    }
    slices_[i] = slices_of(*input.slicing, axis, outer.shape()[axis]);
    if (end_.trips < 0) end_.trips = slices_[i]->iterations;
    Shape part = outer.shape();
    part[axis] = slices_[i]->part;
    parameters_[input.parameter] = Tensor(outer.element_type(), part);
  }
}

std::vector<Tensor> LoopRun::run(BodyRunner& runner, std::span<const ValueInfo> outputs) {
  std::vector<std::vector<Tensor>> collected(body_.outputs.size());
  for (std::int64_t iteration = 0; end_.go_on && (end_.trips < 0 || iteration < end_.trips); ++iteration) {
    Budget::count_iteration();
    set_parameters(iteration);
    results_ = runner.run(parameters_);
    for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
      const Tensor& result = results_[body_.outputs[i].result];
      if (body_.outputs[i].outer < 0) {
        end_.go_on = number_in(result, "the body's condition") != 0;
      } else if (body_.outputs[i].slicing) {
        keep(result);
        collected[i].push_back(result);
      }
    }
  }
  std::vector<Tensor> values(outputs.size());
  for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
    if (body_.outputs[i].outer < 0) continue;
    const auto outer = static_cast<std::size_t>(body_.outputs[i].outer);
    values[outer] = output(body_.outputs[i], collected[i], outputs[outer]);
  }
  return values;
}

// Each result counts with what a tensor takes by itself: an endless loop may collect empty ones.
void LoopRun::keep(const Tensor& result) {
  constexpr std::int64_t kTensor = 256;
  kept_bytes_ += static_cast<std::int64_t>(result.byte_size()) + kTensor;
  Budget::require_kept(kept_bytes_);
}

void LoopRun::set_parameters(std::int64_t iteration) {
  for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
    const Subgraph::Input& input = body_.inputs[i];
    Tensor& parameter = parameters_[input.parameter];
    if (input.outer < 0) {
      const ValueInfo& declared = body_.body->parameters()[input.parameter]->output(0);
      const Shape shape = declared.shape.is_static() ? declared.shape.to_shape() : Shape{};
      parameter = Tensor::of<std::int64_t>({}, {iteration}).converted(declared.type).reshaped(shape);
    } else if (slices_[i]) {
      if (iteration >= slices_[i]->iterations) {
        throw Error("IR-value", fmt::format("iteration {} wants a slice of input {}, which has {}", iteration,
                                            input.outer, slices_[i]->iterations));
      }
      take_slice(*slices_[i], iteration, inputs_[static_cast<std::size_t>(input.outer)], parameter);
    } else if (iteration > 0 && input.back_edge) {
      parameter = results_[*input.back_edge];
    }
  }
}

Tensor LoopRun::output(const Subgraph::Output& output, std::span<const Tensor> parts,
                       const ValueInfo& declared) const {
  if (output.slicing) return parts.empty() ? never_computed(declared) : concatenated(parts, *output.slicing);
  if (!results_.empty()) return output_of(results_, output.result);
  const Subgraph::Input* start = first_value(body_, output.result);
  // A copy: the input's memory may be another value's before this one is read.
  return start != nullptr ? inputs_[static_cast<std::size_t>(start->outer)].clone()
                          : never_computed(declared);
}

}  // namespace ir::op
