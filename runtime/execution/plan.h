// A model planned for given input shapes: steps in order, and where every value lies.
#ifndef RUNTIME_EXECUTION_PLAN_H_
#define RUNTIME_EXECUTION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "kernels/weights/shared_packing.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/budget.h"

namespace ir {

/// Index of a value in a plan.
using ValueId = std::size_t;

enum class Storage {
  input,     ///< the tensor that the user gave
  constant,  ///< memory of the plan
  arena,     ///< a block of the request's arena
  output,    ///< the request's output tensor
  slot,      ///< a tensor made while the plan runs; strings that a step computes are always in one
};

/// Where a value lies: `index` counts inputs, constants, outputs or slots; `offset` is in bytes.
struct Place {
  Storage storage = Storage::arena;
  std::size_t index = 0;
  std::size_t offset = 0;
};

struct PlanValue {
  ElementType type = ElementType::dynamic;
  /// Dims that are known when the plan is made.
  PartialShape shape;
  Place place;
};

enum class StepKind {
  compute,          ///< runs an operation
  read_variable,    ///< output 0 is a variable of the request, or its first value
  assign_variable,  ///< input 0 is what a variable of the request becomes
};

struct PlanStep {
  StepKind kind = StepKind::compute;
  /// The operation, for messages, profiles and steps that are prepared when the data is there.
  const Node* node = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// Empty `run` and `run_dynamic`: the step is deferred, its shapes are known only when it runs.
  PreparedKernel kernel;
  /// Where the kernel's scratch memory begins in the arena.
  std::size_t scratch_offset = 0;
  /// Of kind assign_variable: nobody else keeps or writes the memory of the input.
  bool takes_memory = false;
  /// The variable for whose first value alone the step computes; null for most. It does not run when the
  /// variable has a value.
  const std::string* first_value_of = nullptr;

  /// The variable that the step, a Concat, adds to, if its first input is the value; null for most.
  const std::string* appends_to = nullptr;

  [[nodiscard]] bool deferred() const {
    return kind == StepKind::compute && !kernel.run && !kernel.run_dynamic;
  }
};

/// What becomes of an output of the model.
struct PlanOutput {
  ValueId value = 0;
  /// The value lies somewhere else, or a variable keeps its memory, and must be copied at the end.
  bool copied = false;
};

/// Immutable after it was built; shared by all requests.
struct Plan {
  /// Outlives the kernels of the steps, whose packed constants may be those of other plans.
  std::shared_ptr<const Model> model;
  /// What all plans of a compiled model share, bodies included; never null.
  std::shared_ptr<kernels::SharedForms> forms;
  /// See PlanServices.
  bool whole_floats = false;
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps;
  std::vector<Tensor> constants;
  std::vector<PlanOutput> outputs;
  std::size_t slots = 0;
  std::size_t arena_bytes = 0;
  /// The arena, and inputs and outputs of static shape.
  std::int64_t activation_bytes = 0;
  /// For steps that learn the size of their outputs when they run.
  ByteLimit limit;
};

/// `error` with the name and the place of `node` in every diagnostic that is about no layer yet.
Error located(const Error& error, const Node& node);

/// Throws Error `IR-limit` when the value, an output of `node` of static shape, is larger than `limit`.
/// Returns its size.
std::size_t checked_bytes(const ValueInfo& value, const Node& node, const ByteLimit& limit);

/// Plans a model for inputs of these types and shapes. Constants are packed only if `forms` do not have them
/// yet; `recent` is told which of these the plan uses. Throws Error.
std::shared_ptr<const Plan> make_plan(std::shared_ptr<const Model> model, std::span<const ValueInfo> inputs,
                                      const CompileOptions& options, PlanServices& services,
                                      std::shared_ptr<kernels::SharedForms> forms,
                                      kernels::RecentForms& recent);

/// The only plan that is ever made of a model, whose inputs have static shapes. Constants that kernels keep
/// in a form of their own leave the model while the plan is made: most weights are never held twice. `forms`
/// are of constants that several nodes read, and are left to steps that wait for data, and to bodies.
std::shared_ptr<const Plan> make_only_plan(const std::shared_ptr<Model>& model, const CompileOptions& options,
                                           PlanServices& services,
                                           std::shared_ptr<kernels::SharedForms> forms);

}  // namespace ir

#endif  // RUNTIME_EXECUTION_PLAN_H_
