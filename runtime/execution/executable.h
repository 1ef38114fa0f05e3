// A lowered model with its plans, one per set of input shapes.
#ifndef RUNTIME_EXECUTION_EXECUTABLE_H_
#define RUNTIME_EXECUTION_EXECUTABLE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/weights/shared_packing.h"
#include "runtime/execution/growing_dims.h"
#include "runtime/execution/memory_need.h"
#include "runtime/execution/plan.h"

namespace ir {

inline bool is_accurate(const CompileOptions& options) {
  return options.execution_mode == ExecutionMode::accuracy;
}

inline std::size_t quantised_terms_of(const CompileOptions& options) {
  const std::int64_t terms = options.dynamic_quantization_group_size;
  return is_accurate(options) || terms < 0 ? 0 : static_cast<std::size_t>(terms);
}

std::vector<Shape> shapes_of(std::span<const Tensor> tensors);

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
  [[nodiscard]] ByteLimit table_limit() const override { return activation_limit(options_); }
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

}  // namespace ir

#endif  // RUNTIME_EXECUTION_EXECUTABLE_H_
