#include "kernels/creation/random.h"

#include <atomic>
#include <memory>
#include <random>

#include "ir_runtime/ops/random.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"
#include "runtime/types/halves.h"

namespace ir::op {
namespace {

constexpr std::size_t kMaxRank = 64;

/// Where the random words of the runs of one node come from. Runs may take them at the same time.
class RandomSequence {
 public:
  RandomSequence(std::int64_t global_seed, std::int64_t op_seed, RandomAlignment alignment)
      : seeded_(global_seed != 0 || op_seed != 0) {
    first_.alignment = alignment == RandomAlignment::pytorch ? kernels::RandomAlignment::pytorch
                                                             : kernels::RandomAlignment::tensorflow;
    first_.key = static_cast<std::uint64_t>(global_seed);
    first_.counter = static_cast<std::uint64_t>(op_seed);
    if (!seeded_) {
      std::random_device device;
      first_.key = (std::uint64_t{device()} << 32) | device();
    }
  }

  [[nodiscard]] bool seeded() const { return seeded_; }
  /// What every run of a seeded sequence starts from, when it does not go on.
  [[nodiscard]] const kernels::RandomSource& first() const { return first_; }

  /// The next `positions` of the sequence.
  kernels::RandomSource next(std::uint64_t positions) {
    // As in OpenVINO, which reserves 256 positions (TensorFlow's habit) for each that is used.
    constexpr std::uint64_t kReserved = 256;
    kernels::RandomSource source = first_;
    if (first_.alignment == kernels::RandomAlignment::tensorflow) {
      source.position = used_.fetch_add(kReserved * positions, std::memory_order_relaxed);
    } else if (!seeded_) {
      source.key += used_.fetch_add(1, std::memory_order_relaxed);
    }
    return source;
  }

 private:
  bool seeded_;
  kernels::RandomSource first_;
  std::atomic<std::uint64_t> used_{0};
};

kernels::UniformType uniform_type(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return kernels::UniformType::f16;
    case ElementType::bf16:
      return kernels::UniformType::bf16;
    case ElementType::f64:
      return kernels::UniformType::f64;
    case ElementType::i32:
      return kernels::UniformType::i32;
    case ElementType::i64:
      return kernels::UniformType::i64;
    default:
      return kernels::UniformType::f32;
  }
}

/// RandomUniform with everything known but the limits and the number of elements.
class UniformNumbers {
 public:
  UniformNumbers(const v8::RandomUniform& op, ElementType stored)
      : sequence_(std::make_shared<RandomSequence>(op.global_seed, op.op_seed, op.alignment)),
        type_(uniform_type(op.output_type)),
        stored_(stored) {}

  void run(const void* low, const void* high, std::size_t count, void* out) const {
    with_one_of<float, double, std::int32_t, std::int64_t>(stored_, [&]<class T>() {
      const T least = *static_cast<const T*>(low);
      const T end = *static_cast<const T*>(high);
      if (!(least < end)) {
        throw Error("IR-value", fmt::format("min {} is not less than max {}", least, end));
      }
    });
    kernels::random_uniform(sequence_->next(kernels::positions_for(type_, count)), type_, low, high, count,
                            out);
  }

 private:
  std::shared_ptr<RandomSequence> sequence_;
  kernels::UniformType type_;
  ElementType stored_;
};

template <class T>
void require_order(const InferContext& context, const std::optional<std::vector<T>>& low,
                   const std::optional<std::vector<T>>& high) {
  if (!low || !high || low->size() != 1 || high->size() != 1) return;
  context.require(low->front() < high->front(), "IR-value",
                  {.found = low->front(),
                   .expected = words("less than {}", high->front()),
                   .rule = words("max is {}", high->front()),
                   .input = 1},
                  "min {} is not less than max {}", low->front(), high->front());
}

PartialShape shape_input(const InferContext& context, std::size_t index) {
  const Dimension length = require_integer_vector(context, index);
  if (!length.is_static()) return {};
  context.require(length.value() <= static_cast<std::int64_t>(kMaxRank), "IR-rank",
                  {.found = length, .expected = words("at most {}", kMaxRank), .input = index},
                  "input {} names {} dims; at most {} are possible", index, length.value(), kMaxRank);
  std::vector<Dimension> dims = elements_or_unknown(context, index, static_cast<std::size_t>(length.value()));
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    dims[axis] = require_size(context, index, dims[axis], "dim {} of the output is {}", axis, dims[axis]);
  }
  return PartialShape(std::move(dims));
}

}  // namespace

void v8::RandomUniform::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require_type(0, {ElementType::i32, ElementType::i64});
  require_type_in(context, "output_type", output_type,
                  {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::f64, ElementType::i32,
                   ElementType::i64});
  require_one_element(context, 1);
  require_one_element(context, 2);
  const ElementType limits = context.require_same_type({1, 2});
  // In a model of halves that is computed in f32, numbers are drawn as halves and stored as f32.
  const bool widened = is_half(output_type) && limits == ElementType::f32;
  context.require(limits == ElementType::dynamic || limits == output_type || widened, "IR-element-type",
                  {.found = limits, .expected = output_type, .rule = words("output_type is {}", output_type)},
                  "inputs 1 and 2 are of type {}, but output_type is {}", limits, output_type);
  if (is_integral(output_type)) {
    require_order(context, context.integers(1), context.integers(2));
  } else {
    require_order(context, context.reals(1), context.reals(2));
  }
  context.set_output(0, widened ? ElementType::f32 : output_type, shape_input(context, 0));
}

PreparedKernel v8::RandomUniform::prepare(PrepareContext& context) const {
  const ElementType stored = context.type(1);
  if (is_half(stored)) context.fail_unsupported(name_of(stored));
  PreparedKernel kernel;
  kernel.name = alignment == RandomAlignment::pytorch ? "random_uniform/mt19937" : "random_uniform/philox";
  const UniformNumbers numbers(*this, stored);
  if (!context.outputs_static()) {
    kernel.run_dynamic = [numbers, stored](std::span<const Tensor> inputs) {
      const Shape shape = integers_of(inputs[0]);
      if (!element_count(shape)) {
        throw Error("IR-value", fmt::format("input 0 asks for shape {}", to_string(shape)));
      }
      std::vector<Tensor> outputs{Tensor(stored, shape)};
      numbers.run(inputs[1].raw(), inputs[2].raw(), static_cast<std::size_t>(outputs[0].size()),
                  outputs[0].raw());
      return outputs;
    };
    return kernel;
  }
  kernel.run = [numbers, count = context.output_size()](const StepMemory& memory) {
    numbers.run(memory.inputs[1], memory.inputs[2], count, memory.outputs[0]);
  };
  return kernel;
}

void v13::Multinomial::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_real(0);
  context.require_integer(1);
  require_type_of_indices(context, "convert_type", convert_type);
  require_one_element(context, 1);
  SharedDim batch{"the batch size", {}};
  SharedDim classes{"the number of classes", {}};
  unify(context, 0, {&batch, &classes});
  const Dimension& most = classes.value;
  context.require(most.max() > 0, "IR-shape",
                  {.found = context.shape(0), .expected = "at least one class", .input = 0},
                  "input 0 has shape {}; it takes at least one class", context.shape(0));
  const Dimension given = elements_or_unknown(context, 1, 1)[0];
  const Dimension samples = require_size(context, 1, given, "the number of samples is {}", given);
  context.require(with_replacement || samples.min() <= most.max(), "IR-value",
                  {.found = samples,
                   .expected = words("at most {}", most),
                   .rule = "samples are drawn without replacement",
                   .input = 1},
                  "{} samples cannot be drawn from {} classes without replacement", samples, most);
  context.set_output(0, convert_type, PartialShape{batch.value, samples});
}

PreparedKernel v13::Multinomial::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  kernels::MultinomialParams params;
  params.batch = static_cast<std::size_t>(context.shape(0)[0]);
  params.classes = static_cast<std::size_t>(context.shape(0)[1]);
  params.samples = static_cast<std::size_t>(context.output_shape()[1]);
  params.with_replacement = with_replacement;
  params.log_probs = log_probs;
  PreparedKernel kernel;
  kernel.name = "multinomial";
  const auto sequence = std::make_shared<RandomSequence>(global_seed, op_seed, RandomAlignment::tensorflow);
  with_real_type(context.type(0), [&]<class T>() {
    kernel.scratch_bytes = kernels::multinomial_scratch(params) * sizeof(T);
    with_index_type(convert_type, [&]<class Index>() {
      kernel.run = [params, sequence](const StepMemory& memory) {
        const kernels::RandomSource source =
            sequence->seeded() ? sequence->first() : sequence->next(params.batch * params.samples);
        kernels::multinomial(params, source, memory.in<T>(0), memory.out<Index>(0),
                             reinterpret_cast<T*>(memory.scratch));
      };
    });
  });
  if (!kernel.run) context.fail_unsupported(name_of(context.type(0)));
  return kernel;
}

}  // namespace ir::op
