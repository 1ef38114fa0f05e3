// From an operation with known shapes to something that runs.
#ifndef RUNTIME_OPS_PREPARE_H_
#define RUNTIME_OPS_PREPARE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/model.h"
#include "runtime/types/budget.h"

namespace ir {

/// The memory of one run of a step. Inputs and outputs are dense and in the order of the operation's ports.
struct StepMemory {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  /// `PreparedKernel::scratch_bytes` bytes, aligned to 64; not initialised.
  std::byte* scratch = nullptr;

  template <class T>
  const T* in(std::size_t index) const {
    return static_cast<const T*>(inputs[index]);
  }
  template <class T>
  T* out(std::size_t index) const {
    return static_cast<T*>(outputs[index]);
  }
};

/// An output that is (part of) an input's memory, so that nothing runs.
struct View {
  std::size_t input = 0;
  std::size_t byte_offset = 0;
};

/// A step of a plan: everything that could be decided before the data is there.
struct PreparedKernel {
  /// What runs, for profiles: "convolution/implicit_gemm".
  std::string name;
  /// Runs with the static shapes that it was prepared for. Thread-safe; allocates nothing. Empty for views
  /// and for `run_dynamic`.
  std::function<void(const StepMemory&)> run;
  std::size_t scratch_bytes = 0;
  /// What PrepareContext::require_table was asked for.
  std::int64_t table_bytes = 0;
  /// One per output when all outputs are views; else empty.
  std::vector<View> views;
  /// Where each input lies in output 0, in bytes, when output 0 is nothing but its inputs one behind the
  /// other: where they are put there from the start, there is nothing to run. Else empty.
  std::vector<std::size_t> assembled;
  /// Inputs of which output 0 may take over the memory: same element size and count, read before written.
  std::vector<std::size_t> in_place;
  /// Whether output 0 is input 0 as it is, for these elements of the others; empty: never, as far as is
  /// known.
  std::function<bool(const StepMemory&)> is_unchanged;
  /// Constant inputs that the kernel keeps in a form of its own: `run` does not read them.
  std::vector<std::size_t> absorbed;
  /// For outputs whose shape depends on the data, and for bodies: takes the inputs, returns the outputs.
  std::function<std::vector<Tensor>(std::span<const Tensor>)> run_dynamic;
  /// Multiplications and additions of one run; 0 when it moves data only.
  double flops = 0;
  /// Its inner loops are built once per SIMD target, and the machine's best one runs.
  bool per_target = false;

  static PreparedKernel view_of(std::size_t input) {
    PreparedKernel kernel;
    kernel.name = "view";
    kernel.views.push_back({input, 0});
    return kernel;
  }
};

/// A kernel for empty outputs.
PreparedKernel nothing_to_do(std::string_view name);

/// Runs the body of a control-flow operation. Shapes may differ from call to call.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  /// Inputs in the order of the body's parameters; outputs in the order of its results.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs) = 0;
};

/// What operations ask of who plans them, so that they know nothing of plans.
class PlanServices {
 public:
  virtual ~PlanServices() = default;
  /// See CompileOptions::execution_mode.
  [[nodiscard]] virtual bool accurate() const = 0;
  /// Whether all bits of products' operands count more than usual (has_steep_gates).
  [[nodiscard]] virtual bool whole_floats() const = 0;
  /// See CompileOptions::dynamic_quantization_group_size; 0 as well where all is to be accurate.
  [[nodiscard]] virtual std::size_t quantised_terms() const = 0;
  /// Whether the same operation may be planned for other shapes, too.
  [[nodiscard]] virtual bool has_other_plans() const = 0;
  /// What the tables of a kernel may take, as part of the activations.
  [[nodiscard]] virtual ByteLimit table_limit() const = 0;
  virtual std::unique_ptr<BodyRunner> compile(const std::shared_ptr<const Model>& body) = 0;
};

/// What one of several kernels is expected to take.
struct KernelEstimate {
  std::string_view algorithm;
  double cycles = 0;              ///< about, of one core; 0 for all of a choice: not known
  std::int64_t weight_bytes = 0;  ///< of constants in the form that the kernel keeps them in
};

/// Kernels that do the same, of which one is to be prepared. They are named "KIND/ALGORITHM". Functions: most
/// plans take what is expected to be the fastest, and ask for no more.
struct KernelChoice {
  /// The kind of step and its geometry, in the words of ir_runtime/tuning.h: all that the kernels' speed
  /// depends on besides the machine.
  std::function<std::string()> key;
  /// The one that is expected to be the fastest first. Some may turn out not to take the geometry.
  std::function<std::vector<KernelEstimate>()> algorithms;
  /// "": the algorithm that is expected to be the fastest, always something; nothing for other names that it
  /// does not know, or that cannot be taken.
  std::function<std::optional<PreparedKernel>(std::string_view algorithm)> prepare;
};

/// Knows which algorithms are fast; the plan builder provides it.
class KernelChooser {
 public:
  virtual ~KernelChooser() = default;
  virtual PreparedKernel choose(const KernelChoice& choice, std::span<const ValueInfo> inputs,
                                std::span<const ValueInfo> outputs) = 0;
};

/// What `T::prepare` sees: static input shapes, the outputs that `T::infer` gave, and constant inputs.
class PrepareContext {
 public:
  PrepareContext(std::span<const ValueInfo> inputs, std::span<const ValueInfo> outputs,
                 PlanServices* services, KernelChooser* chooser = nullptr);

  /// For a part of the operation, in the same plan. It gets the kernel that is expected to be the fastest.
  [[nodiscard]] PrepareContext part(std::span<const ValueInfo> inputs,
                                    std::span<const ValueInfo> outputs) const {
    return {inputs, outputs, services_};
  }

  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
  [[nodiscard]] std::size_t output_count() const { return outputs_.size(); }
  [[nodiscard]] const ValueInfo& input(std::size_t index) const { return inputs_[index]; }
  [[nodiscard]] const ValueInfo& output(std::size_t index) const { return outputs_[index]; }
  [[nodiscard]] ElementType type(std::size_t input) const { return inputs_[input].type; }
  /// Static shape of an input or output.
  [[nodiscard]] const Shape& shape(std::size_t input) const { return input_shapes_[input]; }
  [[nodiscard]] const Shape& output_shape(std::size_t output = 0) const { return output_shapes_[output]; }
  /// Elements of an input or output.
  [[nodiscard]] std::size_t size(std::size_t input) const;
  [[nodiscard]] std::size_t output_size(std::size_t output = 0) const;
  /// Whether the shapes of all outputs are known; if not, the kernel must set `run_dynamic`.
  [[nodiscard]] bool outputs_static() const { return outputs_static_; }

  /// The tensor behind a constant input, else null.
  [[nodiscard]] const Tensor* constant(std::size_t input) const { return inputs_[input].constant.get(); }
  /// Elements of a constant integer or real input. Throws Error `IR-needs-constant` when it is not constant:
  /// the plan then runs the step with the data at hand, when every input counts as constant.
  [[nodiscard]] std::vector<std::int64_t> integers(std::size_t input) const;
  [[nodiscard]] std::vector<double> reals(std::size_t input) const;

  [[nodiscard]] std::unique_ptr<BodyRunner> compile_body(const std::shared_ptr<const Model>& body) const;

  /// Whether sums are to be those of the definition: no algorithm that multiplies what it has added up.
  [[nodiscard]] bool accurate() const { return services_ != nullptr && services_->accurate(); }
  /// Whether products keep all bits of their operands.
  [[nodiscard]] bool whole_floats() const {
    return accurate() || (services_ != nullptr && services_->whole_floats());
  }
  /// How many neighbouring elements of a row may share a scale if the row is quantised; 0: it must not be.
  [[nodiscard]] std::size_t quantised_terms() const {
    return services_ == nullptr ? 0 : services_->quantised_terms();
  }
  [[nodiscard]] bool has_other_plans() const { return services_ != nullptr && services_->has_other_plans(); }

  /// Before a table is made, such as one with an entry for each position of an axis: throws Error `IR-limit`
  /// when it, with those asked for before, takes more than there may be. Small ones need not ask.
  void require_table(std::size_t entries, std::size_t bytes_of_entry);
  [[nodiscard]] std::int64_t table_bytes() const { return table_bytes_; }

  /// One of several kernels: what the chooser says, else the expected one.
  [[nodiscard]] PreparedKernel choose(const KernelChoice& choice) const;

  /// For an operation without a kernel for this element type.
  [[noreturn]] void fail_unsupported(std::string_view what) const;

 private:
  std::span<const ValueInfo> inputs_;
  std::span<const ValueInfo> outputs_;
  std::vector<Shape> input_shapes_;
  std::vector<Shape> output_shapes_;
  bool outputs_static_ = true;
  PlanServices* services_;
  KernelChooser* chooser_;
  std::int64_t table_bytes_ = 0;
};

/// Prepares `op` for inputs whose shapes are static. Throws Error.
PreparedKernel prepare_kernel(const Op& op, std::span<const ValueInfo> inputs,
                              std::span<const ValueInfo> outputs, PlanServices* services = nullptr,
                              KernelChooser* chooser = nullptr);

/// Runs one operation on tensors, without a plan: for constant folding and for steps whose shapes are known
/// only when the data is there. Throws Error or InferenceFailure.
std::vector<Tensor> evaluate(const Op& op, std::span<const Tensor> inputs, PlanServices* services = nullptr);

/// The same on constants, whose results are constants: they may be parts of a mapped file, and must not be
/// written. Inputs of which there are no copies elsewhere are used up: the result may take their memory.
std::vector<Tensor> evaluate_constants(const Op& op, std::span<const Tensor> inputs);

/// `tensor` as a known value.
ValueInfo value_of(const Tensor& tensor);

}  // namespace ir

#endif  // RUNTIME_OPS_PREPARE_H_
