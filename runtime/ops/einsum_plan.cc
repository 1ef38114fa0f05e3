#include "runtime/ops/einsum_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "ir_runtime/diagnostics.h"
#include "kernels/elementwise/binary.h"
#include "kernels/matmul/gemm.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/reduction/reduce.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxCopyRank = 32;        // of StridedCopy
constexpr std::size_t kMaxSearchedInputs = 16;  // beyond, inputs are multiplied from left to right

bool contains(const EinsumLabels& labels, EinsumLabel label) {
  return std::ranges::find(labels, label) != labels.end();
}

// Where a tensor is while the steps run.
struct Place {
  enum class Kind { input, scratch, output } kind = Kind::output;
  std::size_t index = 0;  // of the input, or offset in the scratch memory

  [[nodiscard]] void* in(const StepMemory& memory) const {
    switch (kind) {
      case Kind::input:
        return const_cast<void*>(memory.inputs[index]);
      case Kind::scratch:
        return memory.scratch + index;
      case Kind::output:
        break;
    }
    return memory.outputs[0];
  }
};

// A tensor in memory: labels of its axes, none twice, and steps between elements along them. Axes of one
// element are left out.
struct Operand {
  EinsumLabels labels;
  std::vector<std::size_t> dims;
  std::vector<std::size_t> strides;
  Place place;

  [[nodiscard]] std::size_t dim(EinsumLabel label) const { return dims[position(label)]; }
  [[nodiscard]] std::size_t stride(EinsumLabel label) const { return strides[position(label)]; }
  [[nodiscard]] bool is_dense() const {
    std::size_t stride = 1;
    for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
      if (strides[i] != stride) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::size_t position(EinsumLabel label) const {
    return static_cast<std::size_t>(std::ranges::find(labels, label) - labels.begin());
  }
};

std::size_t checked_product(const std::vector<std::size_t>& dims) {
  const Shape shape(dims.begin(), dims.end());
  const auto count = element_count(shape);
  if (!count || *count > std::int64_t{1} << 48) {
    throw Error("IR-tensor-size", fmt::format("a product of shape {} inside of the sum has more elements "
                                              "than memory can hold",
                                              to_string(shape)));
  }
  return static_cast<std::size_t>(*count);
}

Operand dense_operand(const EinsumLabels& labels, std::vector<std::size_t> dims, Place place) {
  Operand operand{labels, std::move(dims), {}, place};
  operand.strides.resize(operand.dims.size());
  std::size_t stride = 1;
  for (std::size_t i = operand.dims.size(); i-- > 0; stride *= operand.dims[i]) operand.strides[i] = stride;
  return operand;
}

// The labels of two operands by what becomes of them.
struct Roles {
  EinsumLabels batch;    // in both and in the product
  EinsumLabels rows;     // in the left one only
  EinsumLabels columns;  // in the right one only
  EinsumLabels summed;   // in both and in nothing else

  [[nodiscard]] EinsumLabels product() const {
    EinsumLabels labels = batch;
    labels.insert(labels.end(), rows.begin(), rows.end());
    labels.insert(labels.end(), columns.begin(), columns.end());
    return labels;
  }
};

// What a plan's steps call for elements of a type; all else goes by the size of an element.
struct TypeFunctions {
  std::size_t size = 0;
  void (*sum)(const kernels::AxesPlan& plan, const void* in, void* out) = nullptr;
  void (*multiply)(const kernels::BroadcastPlan& plan, const void* a, const void* b, void* out) = nullptr;
  // Not for f32, whose products are prepared.
  void (*matmul)(const kernels::GemmParams& params, const void* a, const void* b, void* out) = nullptr;
};

template <class T>
TypeFunctions functions_for() {
  TypeFunctions functions;
  functions.size = sizeof(T);
  functions.sum = [](const kernels::AxesPlan& plan, const void* in, void* out) {
    kernels::reduce(kernels::ReduceOp::sum, plan, static_cast<const T*>(in), static_cast<T*>(out));
  };
  functions.multiply = [](const kernels::BroadcastPlan& plan, const void* a, const void* b, void* out) {
    kernels::binary(kernels::BinaryOp::multiply, plan, static_cast<const T*>(a), static_cast<const T*>(b),
                    static_cast<T*>(out));
  };
  if constexpr (!std::is_same_v<T, float>) {
    functions.matmul = [](const kernels::GemmParams& params, const void* a, const void* b, void* out) {
      kernels::gemm_generic(params, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out));
    };
  }
  return functions;
}

class Planner {
 public:
  Planner(const PrepareContext& context, const std::vector<EinsumLabels>& inputs, const EinsumLabels& output,
          const TypeFunctions& functions)
      : context_(context), functions_(functions) {
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (context.output_shape()[i] != 1) output_.push_back(output[i]);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) operands_.push_back(input_operand(i, inputs[i]));
  }

  PreparedKernel plan() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      // An input is read as it is by the products; only what is summed in it alone goes first.
      operands_[i] = summed(operands_[i], i);
    }
    while (operands_.size() > 1) multiply_best_pair();
    const Operand& result = operands_.front();
    if (result.place.kind != Place::Kind::output) copy(result, output_, {});
    PreparedKernel prepared;
    prepared.name = "einsum";
    prepared.scratch_bytes = scratch_bytes_;
    prepared.flops = flops_;
    prepared.run = [steps = std::move(steps_)](const StepMemory& memory) {
      for (const auto& step : steps) step(memory);
    };
    return prepared;
  }

 private:
  // Axes of one element are dropped, and axes with the same label become their diagonal.
  Operand input_operand(std::size_t index, const EinsumLabels& labels) const {
    const std::vector<std::size_t> dims = sizes_of(context_.shape(index));
    const Operand whole = dense_operand(labels, dims, {Place::Kind::input, index});
    Operand operand{{}, {}, {}, whole.place};
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      if (dims[axis] == 1) continue;
      const auto known = std::ranges::find(operand.labels, labels[axis]);
      if (known != operand.labels.end()) {
        operand.strides[static_cast<std::size_t>(known - operand.labels.begin())] += whole.strides[axis];
        continue;
      }
      operand.labels.push_back(labels[axis]);
      operand.dims.push_back(dims[axis]);
      operand.strides.push_back(whole.strides[axis]);
    }
    return operand;
  }

  [[nodiscard]] bool needed(EinsumLabel label, std::size_t but_first, std::size_t but_second) const {
    if (contains(output_, label)) return true;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (i != but_first && i != but_second && contains(operands_[i].labels, label)) return true;
    }
    return false;
  }

  Place scratch(const std::vector<std::size_t>& dims) {
    const std::size_t offset = (scratch_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    scratch_bytes_ = offset + checked_product(dims) * functions_.size;
    return {Place::Kind::scratch, offset};
  }

  static std::vector<std::size_t> dims_of(const Operand& operand, const EinsumLabels& labels) {
    std::vector<std::size_t> dims;
    for (const EinsumLabel label : labels) dims.push_back(operand.dim(label));
    return dims;
  }

  // `operand` dense, with its axes in this order, at `place`.
  Operand copy(const Operand& operand, const EinsumLabels& order, Place place) {
    if (order.size() > kMaxCopyRank) context_.fail_unsupported("Einsum of so many axes");
    Operand result = dense_operand(order, dims_of(operand, order), place);
    std::vector<std::ptrdiff_t> in_strides;
    for (const EinsumLabel label : order) {
      in_strides.push_back(static_cast<std::ptrdiff_t>(operand.stride(label)));
    }
    const std::vector<std::ptrdiff_t> out_strides(result.strides.begin(), result.strides.end());
    steps_.push_back([copy = kernels::StridedCopy(result.dims, in_strides, out_strides, functions_.size),
                      from = operand.place,
                      to = place](const StepMemory& memory) { copy.run(from.in(memory), to.in(memory)); });
    return result;
  }

  Operand dense(const Operand& operand, const EinsumLabels& order) {
    if (operand.labels == order && operand.is_dense()) return operand;
    return copy(operand, order, scratch(dims_of(operand, order)));
  }

  // `operand` without the labels that nothing else has.
  Operand summed(const Operand& operand, std::size_t index) {
    EinsumLabels kept;
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < operand.labels.size(); ++axis) {
      if (needed(operand.labels[axis], index, index)) {
        kept.push_back(operand.labels[axis]);
      } else {
        axes.push_back(axis);
      }
    }
    if (axes.empty()) return operand;
    const Operand whole = dense(operand, operand.labels);
    const bool last = operands_.size() == 1 && kept == output_;
    const Place place = last ? Place{} : scratch(dims_of(operand, kept));
    steps_.push_back([sum = functions_.sum, plan = kernels::AxesPlan(whole.dims, axes), from = whole.place,
                      place](const StepMemory& memory) { sum(plan, from.in(memory), place.in(memory)); });
    return dense_operand(kept, dims_of(operand, kept), place);
  }

  [[nodiscard]] Roles roles_of(std::size_t left, std::size_t right) const {
    Roles roles;
    const Operand& a = operands_[left];
    const Operand& b = operands_[right];
    for (const EinsumLabel label : a.labels) {
      if (!contains(b.labels, label)) {
        roles.rows.push_back(label);
      } else if (needed(label, left, right)) {
        roles.batch.push_back(label);
      } else {
        roles.summed.push_back(label);
      }
    }
    for (const EinsumLabel label : b.labels) {
      if (!contains(a.labels, label)) roles.columns.push_back(label);
    }
    // In the output's order, so that the last product needs no copy where that is possible.
    const auto place = [&](EinsumLabel label) { return std::ranges::find(output_, label) - output_.begin(); };
    std::ranges::stable_sort(roles.batch, {}, place);
    std::ranges::stable_sort(roles.rows, {}, place);
    std::ranges::stable_sort(roles.columns, {}, place);
    return roles;
  }

  [[nodiscard]] double product_size(std::size_t left, std::size_t right) const {
    double size = 1;
    const Roles roles = roles_of(left, right);
    for (const EinsumLabel label : roles.batch) size *= static_cast<double>(operands_[left].dim(label));
    for (const EinsumLabel label : roles.rows) size *= static_cast<double>(operands_[left].dim(label));
    for (const EinsumLabel label : roles.columns) size *= static_cast<double>(operands_[right].dim(label));
    return size;
  }

  void multiply_best_pair() {
    std::size_t left = 0;
    std::size_t right = 1;
    if (operands_.size() > 2 && operands_.size() <= kMaxSearchedInputs) {
      double best = product_size(left, right);
      for (std::size_t i = 0; i < operands_.size(); ++i) {
        for (std::size_t j = i + 1; j < operands_.size(); ++j) {
          const double size = product_size(i, j);
          if (size < best) {
            best = size;
            left = i;
            right = j;
          }
        }
      }
    }
    Operand product = multiplied(left, right);
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(right));
    operands_[left] = std::move(product);
  }

  Operand multiplied(std::size_t left, std::size_t right) {
    Roles roles = roles_of(left, right);
    const bool last = operands_.size() == 2;
    if (roles.summed.empty()) return multiplied_elements(operands_[left], operands_[right], roles, last);
    if (last && roles.product() != output_) {
      std::swap(left, right);
      std::swap(roles.rows, roles.columns);
    }
    return multiplied_matrices(operands_[left], operands_[right], roles, last);
  }

  std::vector<std::size_t> product_dims(const Operand& a, const Operand& b, const EinsumLabels& order) const {
    std::vector<std::size_t> dims;
    for (const EinsumLabel label : order)
      dims.push_back(contains(a.labels, label) ? a.dim(label) : b.dim(label));
    return dims;
  }

  Operand multiplied_elements(const Operand& a, const Operand& b, const Roles& roles, bool last) {
    const EinsumLabels order = last ? output_ : roles.product();
    const std::vector<std::size_t> dims = product_dims(a, b, order);
    const Place place = last ? Place{} : scratch(dims);
    std::vector<std::size_t> spread[2];
    Place places[2];
    for (const bool second : {false, true}) {
      const Operand& operand = second ? b : a;
      EinsumLabels own;
      for (const EinsumLabel label : order) {
        const bool has = contains(operand.labels, label);
        spread[second ? 1 : 0].push_back(has ? operand.dim(label) : 1);
        if (has) own.push_back(label);
      }
      places[second ? 1 : 0] = dense(operand, own).place;
    }
    steps_.push_back([multiply = functions_.multiply,
                      plan = kernels::BroadcastPlan(dims, {spread[0], spread[1]}), from_a = places[0],
                      from_b = places[1], place](const StepMemory& memory) {
      multiply(plan, from_a.in(memory), from_b.in(memory), place.in(memory));
    });
    flops_ += static_cast<double>(checked_product(dims));
    return dense_operand(order, dims, place);
  }

  // A factor of a matrix product: the operand, copied when its matrices are not dense in memory.
  struct Factor {
    Operand operand;
    bool transposed;  // whether `second` runs slower than `first`
  };

  // Whether these axes, in this order, are one axis with steps of `step`.
  static bool continues(const Operand& operand, const EinsumLabels& labels, std::size_t step) {
    for (std::size_t i = labels.size(); i-- > 0; step *= operand.dim(labels[i])) {
      if (operand.stride(labels[i]) != step) return false;
    }
    return true;
  }

  Factor factor(const Operand& operand, const EinsumLabels& batch, const EinsumLabels& first,
                const EinsumLabels& second) {
    const std::size_t first_size = checked_product(dims_of(operand, first));
    const std::size_t second_size = checked_product(dims_of(operand, second));
    if (continues(operand, second, 1) && continues(operand, first, second_size)) return {operand, false};
    if (continues(operand, first, 1) && continues(operand, second, first_size)) return {operand, true};
    EinsumLabels order = batch;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    return {copy(operand, order, scratch(dims_of(operand, order))), false};
  }

  Operand multiplied_matrices(const Operand& left, const Operand& right, const Roles& roles, bool last) {
    const Factor a = factor(left, roles.batch, roles.rows, roles.summed);
    const Factor b = factor(right, roles.batch, roles.summed, roles.columns);
    kernels::GemmParams params;
    params.m = checked_product(dims_of(left, roles.rows));
    params.n = checked_product(dims_of(right, roles.columns));
    params.k = checked_product(dims_of(left, roles.summed));
    params.transpose_a = a.transposed;
    params.transpose_b = b.transposed;
    for (const EinsumLabel label : roles.batch) {
      params.batch.push_back({left.dim(label), a.operand.stride(label), b.operand.stride(label)});
    }
    const EinsumLabels order = roles.product();
    const std::vector<std::size_t> dims = product_dims(left, right, order);
    const Place place = last && order == output_ ? Place{} : scratch(dims);
    add_gemm(params, a.operand.place, b.operand.place, place);
    flops_ += 2.0 * static_cast<double>(checked_product(dims)) * static_cast<double>(params.k);
    return dense_operand(order, dims, place);
  }

  // The elements of an operand of f32 that is a constant input as it came, else null.
  [[nodiscard]] const float* constant(Place place) const {
    if (place.kind != Place::Kind::input) return nullptr;
    const Tensor* tensor = context_.constant(place.index);
    return tensor != nullptr ? static_cast<const float*>(tensor->raw()) : nullptr;
  }

  void add_gemm(kernels::GemmParams params, Place from_a, Place from_b, Place place) {
    if (functions_.matmul != nullptr) {
      steps_.push_back([matmul = functions_.matmul, params, from_a, from_b, place](const StepMemory& memory) {
        matmul(params, from_a.in(memory), from_b.in(memory), place.in(memory));
      });
      return;
    }
    const float* known = constant(from_b);
    params.constant = kernels::GemmConstant::b;
    if (known == nullptr) {
      known = constant(from_a);
      params.constant = known != nullptr ? kernels::GemmConstant::a : kernels::GemmConstant::none;
    }
    params.accurate = context_.accurate();
    params.whole_floats = context_.whole_floats();
    const std::shared_ptr<const kernels::Gemm> gemm = kernels::create_gemm(params, known, {});
    const std::size_t offset = (scratch_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    scratch_bytes_ = offset + gemm->scratch_bytes();
    steps_.push_back([gemm, from_a, from_b, place, offset](const StepMemory& memory) {
      gemm->run(static_cast<const float*>(from_a.in(memory)), static_cast<const float*>(from_b.in(memory)),
                nullptr, static_cast<float*>(place.in(memory)), memory.scratch + offset);
    });
  }

  const PrepareContext& context_;
  const TypeFunctions& functions_;
  EinsumLabels output_;
  std::vector<Operand> operands_;
  std::vector<std::function<void(const StepMemory&)>> steps_;
  std::size_t scratch_bytes_ = 0;
  double flops_ = 0;
};

}  // namespace

template <class T>
PreparedKernel prepare_einsum(const PrepareContext& context, const std::vector<EinsumLabels>& inputs,
                              const EinsumLabels& output) {
  return Planner(context, inputs, output, functions_for<T>()).plan();
}

#define IR_INSTANTIATE(T)                                                                            \
  template PreparedKernel prepare_einsum<T>(const PrepareContext&, const std::vector<EinsumLabels>&, \
                                            const EinsumLabels&);
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::op
