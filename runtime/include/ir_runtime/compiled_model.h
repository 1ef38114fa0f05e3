// Compile a model once, then infer as often as wanted.
#ifndef IR_RUNTIME_COMPILED_MODEL_H_
#define IR_RUNTIME_COMPILED_MODEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir_runtime/model.h"
#include "ir_runtime/variable_state.h"

namespace ir {

class Tuning;

/// As OpenVINO's hint of this name.
enum class ExecutionMode {
  /// Algorithms that save multiplications by adding up terms first may be taken: Winograd's convolution and
  /// Strassen's form of products and 1x1 convolutions. Their results differ from those of the definition by
  /// more roundings: 1e-6 to 3e-6 of a layer's relative L2 instead of some 3e-7, and small values near large
  /// ones lose most. Where the processor multiplies matrices of bfloat16 (AMX), two or three of these may
  /// take the place of a float (4.6e-6, or 2.4e-7); infinite operands then give NaN.
  /// Convolutions and products of quantised values may multiply integers, to which what is not finite is one
  /// of the levels. Products of very few rows may keep large weights in 16 or 24 bits (3e-5 of relative L2 at
  /// most). Where gates are steep (networks that scale by sigmoids of numbers above some 20), terms are added
  /// up first only where that gains much, and three of bfloat16 take the place of a float.
  performance,
  /// Only products of the definition are added up, if in some other order, and of all bits of weights.
  accuracy,
};

struct CompileOptions {
  /// Threads of the model's own pool, up to 1024; 0: the cgroup quota of the process if there is one, else
  /// the cores that it may use. Results do not depend on it, unless `tuning` has other choices for another
  /// number.
  int threads = 0;
  /// Run in the oneTBB arena of the thread that calls `infer` instead of a pool of the model's own.
  bool use_callers_arena = false;
  /// Rewrite the model (fold constants, fuse) before it is planned. Off: every layer runs as written.
  bool optimize = true;
  /// Let values whose lifetimes do not overlap share memory. Off: each has its own, to look at them.
  bool share_memory = true;
  /// Refuse inputs that would make activations, the scratch of kernels included, take more than this many
  /// bytes.
  std::int64_t max_activation_bytes = std::int64_t{64} << 30;
  /// Refuse models that would take more than this many bytes in all: constants, weights packed for kernels,
  /// and activations. 0: the memory limit of the process's cgroup if there is one, else the memory of the
  /// machine.
  std::int64_t max_memory_bytes = 0;
  /// Operations on constants whose results would take more than this in all are left for `infer` to compute.
  std::int64_t max_folded_bytes = std::int64_t{16} << 30;
  /// The process may take so much more memory than constants and activations do, in parts of these. 12 MiB of
  /// it go to code and objects; in the rest, but always in 1 MiB, weights may grow: some algorithms save time
  /// by transformed filters that are up to four times as large, and are taken where they save the most per
  /// byte. Below 0: without bounds, always the algorithm that is expected to be the fastest. What `tuning`
  /// says does not count.
  double extra_weights = 0.25;
  /// What algorithms may do for speed.
  ExecutionMode execution_mode = ExecutionMode::performance;
  /// As OpenVINO's property of this name; off by default. From 32 on: products with weights of 8 and 4 bits
  /// may quantise the rows that meet them to 8 bits while they run: five rows and more (prompts of language
  /// models) where the processor multiplies bytes (VNNI); with weights of 4 bits, from AVX2 on, fewer
  /// (tokens), and without VNNI any number. So many neighbouring elements of a row share a scale; fewer where
  /// the groups of the weights are smaller. Each such product is off by 0.5 % to 1 % of relative L2; rows
  /// with values that are not finite give NaN. Below, and with ExecutionMode::accuracy, rows stay floats.
  std::int64_t dynamic_quantization_group_size = 0;
  /// Choices between algorithms that were measured before; those for this machine's SIMD target and this
  /// number of threads are taken, a cost model chooses the rest. Null: it chooses all. Kept by the compiled
  /// model, which asks it whenever it plans for new shapes.
  std::shared_ptr<Tuning> tuning;
  /// Measure what `tuning` does not know, and add it: some 50 ms per algorithm and layer at most. Where input
  /// shapes are not static, this is done by the first `infer` for each.
  bool tune = false;
  /// End an inference whose loops go on for longer, counting the iterations of all loops.
  std::int64_t max_loop_iterations = 1'000'000;
};

/// What one step of a plan is and what it cost in the last run with profiling.
struct StepProfile {
  /// Name of the layer and type of the operation; fused layers go by the last one's name.
  std::string layer;
  std::string type;
  /// The kernel, its algorithm where there are several, and what is fused behind it:
  /// "convolution/winograd_4x4+bias"; "deferred" for one that is chosen anew whenever its data is there.
  /// Steps that only look at their input from another side are left out.
  std::string kernel;
  /// The SIMD target that runs ("AVX2"); empty for a kernel that is built once for all machines.
  std::string simd_target;
  std::vector<PartialShape> outputs;
  /// Multiplications and additions by the operation's definition, also where the algorithm does with fewer.
  double flops = 0;
  /// All inputs, constants included, and outputs, each once.
  double bytes = 0;
  /// Wall-clock time.
  double milliseconds = 0;
  /// The most threads that one of its loops was spread over.
  int threads = 0;
};

/// Runs a compiled model on tensors. One request serves one thread at a time; several requests of one model
/// may run at once: as many as it has threads (further ones wait), or any number if it has one.
class InferRequest {
 public:
  InferRequest(InferRequest&&) noexcept;
  InferRequest& operator=(InferRequest&&) noexcept;
  ~InferRequest();

  /// Gives input `index` its data, which is read when `infer` runs and shared until then. Throws Error
  /// `IR-input-type` or `IR-input-shape` when the model does not take such a tensor, `IR-input-missing` when
  /// the tensor has no memory, `IR-port-unknown` when the model has no such input.
  void set_input_tensor(std::size_t index, Tensor tensor);
  /// The same for the input that has this name among its names. Throws Error `IR-port-ambiguous`, too, when
  /// several inputs have it.
  void set_tensor(std::string_view name, Tensor tensor);
  /// The memory that input `index` reads, to be filled in place. Throws Error `IR-input-shape` when the
  /// input's shape is not static and no tensor was set, `IR-port-unknown` when there is no such input.
  [[nodiscard]] Tensor input_tensor(std::size_t index);

  /// Runs the model. Throws Error `IR-input-missing` when an input was not given, `IR-limit` or `IR-memory`
  /// when it takes more than there may be or is, and what an operation reports of the data; variables then
  /// keep the values that they had before.
  void infer();
  /// Runs the model on another thread and returns at once. While it runs, all functions but `wait` and
  /// `wait_for` throw Error `IR-request-busy`, states that were queried must be left alone, and who destroys
  /// the request waits. Throws Error `IR-limit` when there can be no more threads.
  void start_async();
  /// Returns when the inference that was started is done, at once when there is none. Throws what `infer`
  /// would have thrown, once.
  void wait();
  /// The same, for `most` at most; whether it is done.
  bool wait_for(std::chrono::milliseconds most);

  /// The variables of a stateful model (ReadValue, Assign), of which each request has its own.
  [[nodiscard]] std::vector<VariableState> query_state() const;
  /// Resets all variables, as VariableState::reset does one.
  void reset_state();

  /// Output `index` of the last `infer`; valid until the next one, which may write the same memory. Throws
  /// Error `IR-output-missing` when none has run to its end, `IR-port-unknown` when there is no such output.
  [[nodiscard]] Tensor output_tensor(std::size_t index) const;
  /// The first output that has this name, else the memory of the input that has it. Throws as output_tensor
  /// and input_tensor do, and `IR-port-ambiguous` when several inputs and no output have the name.
  [[nodiscard]] Tensor tensor(std::string_view name) const;

  /// Whether `infer` measures its steps; it does not at first.
  void set_profiling(bool on);
  /// The steps in the order in which they run, with what they took when they were last measured (0: never).
  /// Empty as long as there is no plan, which models with inputs of unknown shape get when they first run.
  [[nodiscard]] std::vector<StepProfile> profile() const;

  struct Impl;

 private:
  friend class CompiledModel;
  explicit InferRequest(std::unique_ptr<Impl> impl);
  /// Throws Error `IR-request-busy` while the model runs.
  [[nodiscard]] Impl& idle() const;
  std::unique_ptr<Impl> impl_;
};

/// A model that is ready to run. Copies share the plan and the packed weights.
class CompiledModel {
 public:
  /// Those of the model that was compiled, in its order.
  [[nodiscard]] const std::vector<Port>& inputs() const;
  [[nodiscard]] const std::vector<Port>& outputs() const;
  /// Where all shapes are static, this allocates what the request needs. Throws Error `IR-memory` or
  /// `IR-tensor-size` when there is not as much.
  [[nodiscard]] InferRequest create_infer_request() const;
  /// How many threads share the work of one `infer` at most.
  [[nodiscard]] int threads() const;
  /// Bytes of activation memory that a request holds, the scratch of kernels included, when all shapes are
  /// static; else 0.
  [[nodiscard]] std::size_t activation_bytes() const;
  /// Multiplications and additions of one `infer`, as StepProfile counts them, when all shapes of inputs are
  /// static; else 0. Steps that are deferred do not count. No request has to be made for it.
  [[nodiscard]] double flops() const;

  struct Impl;

 private:
  friend CompiledModel compile_model(const Model& model, const CompileOptions& options);
  friend CompiledModel compile_model(Model&& model, const CompileOptions& options);
  explicit CompiledModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Plans `model` for execution. The model is not needed afterwards. Throws Error when an operation cannot
/// run, `IR-limit` or `IR-memory` when it takes more memory than there may be or is, `IR-port-unknown` when a
/// layer, or one of a body, reads a node of another model.
CompiledModel compile_model(const Model& model, const CompileOptions& options = {});
/// The same with less memory, as the model's own nodes are rewritten and given up on the way: what is left of
/// it is valid and unspecified.
CompiledModel compile_model(Model&& model, const CompileOptions& options = {});

}  // namespace ir

#endif  // IR_RUNTIME_COMPILED_MODEL_H_
