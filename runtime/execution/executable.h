// A lowered model with its plans, one per set of input shapes, and the state of one run.
#ifndef RUNTIME_EXECUTION_EXECUTABLE_H_
#define RUNTIME_EXECUTION_EXECUTABLE_H_

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "kernels/weights/shared_packing.h"
#include "runtime/execution/growing_dims.h"
#include "runtime/execution/plan.h"
#include "runtime/execution/variables.h"
#include "runtime/types/memory_pool.h"

namespace ir {

inline bool is_accurate(const CompileOptions& options) {
  return options.execution_mode == ExecutionMode::accuracy;
}

inline std::size_t quantised_terms_of(const CompileOptions& options) {
  const std::int64_t terms = options.dynamic_quantization_group_size;
  return is_accurate(options) || terms < 0 ? 0 : static_cast<std::size_t>(terms);
}

/// Shared by all requests of a compiled model, and by all runs of a body. Thread-safe.
class Executable final : public PlanServices {
 public:
  /// `model` is looked at for gates at once, as passes hide them, and lowered (halves widened, passes run)
  /// before the first plan is made. `forms` are those of the model that it is a body of.
  Executable(std::shared_ptr<const Model> model, const CompileOptions& options,
             std::shared_ptr<kernels::SharedForms> forms = std::make_shared<kernels::SharedForms>());

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const CompileOptions& options() const { return options_; }
  /// What kernels of all plans have made of constants.
  [[nodiscard]] const std::shared_ptr<kernels::SharedForms>& forms() const { return forms_; }
  /// The plan for inputs of these shapes; made on first use, some are kept. Two threads that ask for a new
  /// one at once may both make it.
  std::shared_ptr<const Plan> plan_for(std::span<const Shape> inputs);

  [[nodiscard]] bool accurate() const override { return is_accurate(options_); }
  [[nodiscard]] bool whole_floats() const override { return whole_floats_; }
  [[nodiscard]] std::size_t quantised_terms() const override { return quantised_terms_of(options_); }
  [[nodiscard]] bool has_other_plans() const override { return !has_static_inputs_; }
  std::unique_ptr<BodyRunner> compile(const std::shared_ptr<const Model>& body) override;

 private:
  /// What forms of constants may take: those that plans use while there are more than a few of these, and
  /// those that no plan uses any more.
  struct FormBytes {
    FormBytes(const Model& model, const CompileOptions& options);
    double most = 0;
    double spare = 0;
  };
  struct CachedPlan {
    std::vector<PartialShape> inputs;
    std::shared_ptr<const Plan> plan;
  };

  std::shared_ptr<const Plan> kept_plan(std::span<const Shape> inputs);
  std::vector<PartialShape> shapes_to_plan(std::span<const Shape> inputs);

  std::shared_ptr<const Model> model_;
  CompileOptions options_;
  std::shared_ptr<kernels::SharedForms> forms_;
  /// Of this model's own constants alone, whose forms must not outlive them.
  kernels::RecentForms recent_forms_;
  const FormBytes form_bytes_;
  std::once_flag pages_provided_;
  const bool has_static_inputs_;
  const bool whole_floats_;
  // Guards plans_ and growing_.
  std::mutex mutex_;
  /// Most recently used first.
  std::list<CachedPlan> plans_;
  GrowingDims growing_;
};

/// Memory and intermediate results of one run at a time of one plan.
class RunState {
 public:
  /// `variables` may be null when the plan neither reads nor assigns any; else they must outlive the state.
  /// `arena` is used where it is large enough.
  RunState(std::shared_ptr<const Plan> plan, const CompileOptions& options, Variables* variables,
           Tensor arena = {});

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  /// For a state that does not run any more: the next one may have it, whatever its plan.
  [[nodiscard]] Tensor take_arena() { return std::move(arena_); }
  /// Runs the plan on these inputs, whose types and shapes are those of the plan.
  void run(std::span<const Tensor> inputs);
  /// Output of the last run. Static outputs keep their memory from run to run.
  [[nodiscard]] const Tensor& output(std::size_t index) const { return outputs_[index]; }

  void set_profiling(bool on) { profiling_ = on; }
  [[nodiscard]] std::vector<StepProfile> profile() const;

 private:
  void* address_of(const Place& place, std::span<const Tensor> inputs);
  Tensor tensor_of(ValueId id, std::span<const Tensor> inputs);
  void part_from(std::span<const Tensor> inputs);
  void run_step(std::size_t index, std::span<const Tensor> inputs);
  void run_fixed(const PlanStep& step, std::span<const Tensor> inputs);
  void run_with_data(const PlanStep& step, std::size_t index, std::span<const Tensor> inputs);
  void read_variable(const PlanStep& step, std::span<const Tensor> inputs);
  void assign_variable(const PlanStep& step, std::span<const Tensor> inputs);
  Tensor first_value(const PlanStep& step, std::span<const Tensor> inputs);
  void finish_outputs(std::span<const Tensor> inputs);
  [[nodiscard]] double bytes_of(ValueId id) const;

  // Makes bodies that work on the same variables, and share packed constants with the plan.
  class Bodies final : public PlanServices {
   public:
    Bodies(const CompileOptions& options, Variables* variables, const Plan& plan)
        : options_(options), variables_(variables), whole_floats_(plan.whole_floats), forms_(plan.forms) {}
    [[nodiscard]] bool accurate() const override { return is_accurate(options_); }
    [[nodiscard]] bool whole_floats() const override { return whole_floats_; }
    [[nodiscard]] std::size_t quantised_terms() const override { return quantised_terms_of(options_); }
    [[nodiscard]] bool has_other_plans() const override { return true; }
    std::unique_ptr<BodyRunner> compile(const std::shared_ptr<const Model>& body) override;

   private:
    CompileOptions options_;
    Variables* variables_;
    bool whole_floats_;
    std::shared_ptr<kernels::SharedForms> forms_;
  };

  // A deferred step as it was prepared for the shapes it met last.
  struct Prepared {
    std::vector<Shape> inputs;
    std::vector<ValueInfo> outputs;
    PreparedKernel kernel;
  };
  struct Results {
    std::vector<Tensor> tensors;
    bool shared = false;  ///< their memory is the inputs'
  };
  Results run_deferred(const PlanStep& step, Prepared& prepared, std::span<const Tensor> inputs);
  std::vector<Tensor> append(const PlanStep& step, const Prepared& prepared, std::span<const Tensor> inputs);
  std::vector<Tensor> run_once(const PlanStep& step, std::span<const Tensor> inputs);
  [[nodiscard]] std::vector<Tensor> views_of(const PlanStep& step, const Prepared& prepared,
                                             std::span<const Tensor> inputs) const;
  void put_in_slot(std::size_t slot, Tensor value, bool shared);
  void check_sizes(const Node& node, std::span<const ValueInfo> outputs) const;

  std::shared_ptr<const Plan> plan_;
  Variables* variables_;
  Bodies bodies_;
  /// For values in slots; null where memory is limited.
  std::unique_ptr<MemoryPool> pool_;
  Tensor arena_;
  std::vector<Tensor> outputs_;
  std::vector<Tensor> slots_;
  /// Whether the memory of a slot is that of another one, or of a variable: who takes it must copy.
  std::vector<bool> slot_shares_;
  std::int64_t slot_bytes_ = 0;
  std::vector<Prepared> prepared_;
  std::vector<const void*> in_addresses_;
  std::vector<void*> out_addresses_;
  bool profiling_ = false;
  // Of each step, in the last run with profiling.
  struct Cost {
    double milliseconds = 0;
    int threads = 0;
  };
  std::vector<Cost> costs_;
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_EXECUTABLE_H_
