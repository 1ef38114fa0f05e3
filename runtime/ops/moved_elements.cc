#include "runtime/ops/moved_elements.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "ir_runtime/diagnostics.h"
#include "kernels/elementwise/convert.h"
#include "runtime/ops/element_arithmetic.h"

namespace ir::op {
namespace {

bool is_small(const PartialShape& shape) {
  return shape.is_static() && shape.element_count().max() <= kMaxPropagatedElements;
}

// The integer type with the bits of a packed one, whose codes move as they are.
kernels::ScalarType code_type(ElementType type) {
  switch (bits_of(type)) {
    case 1:
      return kernels::ScalarType::u1;
    case 2:
      return kernels::ScalarType::u2;
    case 3:
      return kernels::ScalarType::u3;
    case 6:
      return kernels::ScalarType::u6;
    default:
      return kernels::ScalarType::u4;
  }
}

bool is_packed(ElementType type) { return bits_of(type) % 8 != 0; }

// What moves in place of a string.
using StringPosition = std::uint64_t;

}  // namespace

ElementType require_one_type(const InferContext& context, std::span<const std::size_t> indices) {
  ElementType common = ElementType::dynamic;
  std::size_t first = 0;
  for (const std::size_t index : indices) {
    const ElementType type = context.type(index);
    if (type == ElementType::dynamic) continue;
    if (common == ElementType::dynamic) {
      common = type;
      first = index;
    }
    context.require(type == common, "IR-element-type",
                    {.found = type, .expected = common, .rule = words("as input {}", first), .input = index},
                    "inputs {} and {} are of types {} and {}; one is taken", first, index, common, type);
  }
  return common;
}

void require_min_rank(const InferContext& context, std::size_t index, std::size_t min) {
  const PartialShape& shape = context.shape(index);
  context.require(!shape.has_rank() || shape.rank() >= min, "IR-rank",
                  {.found = shape, .expected = words("a rank of at least {}", min), .input = index},
                  "input {} has shape {}; it takes a rank of at least {}", index, shape, min);
}

void require_no_strings(const InferContext& context, std::size_t index, std::string_view op_type) {
  context.require(context.type(index) != ElementType::string, "IR-element-type",
                  {.found = "string", .expected = "another type", .input = index},
                  "input {} is of type string, which {} does not take", index, op_type);
}

Dimension exact_quotient(const InferContext& context, const Dimension& dim, std::int64_t divisor,
                         std::size_t axis) {
  const bool open = dim.max() == Dimension::kUnbounded;
  const Dimension quotient(dim.ceil_divided(divisor).min(), open ? dim.max() : dim.max() / divisor);
  context.require(quotient.min() <= quotient.max(), "IR-shape",
                  {.found = dim, .expected = words("a multiple of {}", divisor), .input = 0},
                  "axis {} of input 0 has {} elements, which is no multiple of {}", axis, dim, divisor);
  return quotient;
}

namespace {

// What is known of the elements of all inputs that are moved, one behind the other. Position 0 stands for a
// zero that the operation makes up.
struct MovedElements {
  std::vector<Dimension> integers{Dimension(0)};
  std::vector<KnownReal> reals{0.0};
};

template <class Element>
void append(std::vector<Element>& sources, const std::optional<std::vector<Element>>& elements,
            std::size_t count, const Element& unknown) {
  if (elements && elements->size() == count) {
    sources.insert(sources.end(), elements->begin(), elements->end());
  } else {
    sources.insert(sources.end(), count, unknown);
  }
}

template <class Element>
std::vector<Element> elements_at(std::span<const std::int64_t> positions,
                                 const std::vector<Element>& sources) {
  std::vector<Element> elements;
  elements.reserve(positions.size());
  for (const std::int64_t position : positions) {
    elements.push_back(sources[static_cast<std::size_t>(position)]);
  }
  return elements;
}

}  // namespace

void propagate_moved_elements(InferContext& context, const Op& op, std::span<const std::size_t> moved) {
  // What is all constant is evaluated by the caller of inference.
  const auto partly_known = [&](std::size_t index) { return is_partly_known(context.input(index)); };
  const auto& outputs = context.outputs();
  if (std::ranges::none_of(moved, partly_known)) return;
  if (!std::ranges::all_of(outputs, is_small, &ValueInfo::shape)) return;

  MovedElements sources;
  std::vector<Tensor> tensors;
  for (std::size_t index = 0; index < context.input_count(); ++index) {
    const ValueInfo& input = context.input(index);
    if (std::ranges::find(moved, index) == moved.end()) {
      if (!input.constant) return;
      tensors.push_back(*input.constant);
      continue;
    }
    if (!is_small(input.shape)) return;
    Tensor positions(ElementType::i64, input.shape.to_shape());
    const auto data = positions.data<std::int64_t>();
    std::iota(data.begin(), data.end(), static_cast<std::int64_t>(sources.integers.size()));
    tensors.push_back(positions);
    append(sources.integers, context.elements(index), data.size(), kUnknownElement);
    append(sources.reals, context.known_reals(index), data.size(), KnownReal());
  }

  std::vector<Tensor> results;
  try {
    results = evaluate(op, tensors);
  } catch (const Error&) {
    return;  // bad values are reported when they are computed
  } catch (const InferenceFailure&) {
    return;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto positions = results[i].data<std::int64_t>();
    if (is_real(outputs[i].type)) {
      context.set_reals(i, elements_at(positions, sources.reals));
    } else {
      context.set_elements(i, elements_at(positions, sources.integers));
    }
  }
}

void keep_elements(InferContext& context) {
  if (context.input(0).constant || !is_small(context.outputs()[0].shape)) return;
  const auto count = static_cast<std::size_t>(context.outputs()[0].shape.element_count().value());
  auto elements = context.elements(0);
  if (elements && elements->size() == count) context.set_elements(0, std::move(*elements));
  auto reals = context.known_reals(0);
  if (reals && reals->size() == count) context.set_reals(0, std::move(*reals));
}

void require_known_outputs(const PrepareContext& context) {
  if (context.outputs_static()) return;
  throw Error("IR-needs-constant", "the shape of the output is not known before the model runs");
}

std::vector<std::size_t> sizes_of(std::span<const std::int64_t> dims) { return {dims.begin(), dims.end()}; }

std::size_t volume(const Shape& shape, std::size_t first, std::size_t last) {
  std::size_t product = 1;
  for (std::size_t axis = first; axis < last; ++axis) product *= static_cast<std::size_t>(shape[axis]);
  return product;
}

std::size_t moved_bytes(const PrepareContext& context) {
  const ElementType type = context.output(0).type;
  const int bits = bits_of(type);
  if (type == ElementType::string) return sizeof(StringPosition);
  if (bits == 0) context.fail_unsupported(fmt::format("moving elements of type {}", name_of(type)));
  return is_packed(type) ? 1 : static_cast<std::size_t>(bits / 8);
}

namespace {

constexpr std::size_t kAlignment = 64;

// What stands for an input or output while its elements move, at `offset` in scratch memory.
struct StandIn {
  std::size_t port = 0;
  std::size_t count = 0;
  std::size_t offset = 0;
  // Elements of the inputs (or outputs) before this one.
  std::size_t before = 0;
};

// Scratch memory of a kernel for elements that do not move as they are: the inner kernel's, the stand-ins,
// the pointers to them.
struct StandInPlan {
  std::vector<StandIn> inputs;
  std::vector<StandIn> outputs;
  std::size_t pointers_offset = 0;
};

// `fill(memory, stand-in, input)` prepares the inputs, `take(memory, stand-in, output)` brings the outputs
// home.
template <class Fill, class Take>
void run_on_stand_ins(const StandInPlan& plan, const std::function<void(const StepMemory&)>& inner,
                      const StepMemory& memory, const Fill& fill, const Take& take) {
  std::byte* pointers = memory.scratch + plan.pointers_offset;
  const std::span in(reinterpret_cast<const void**>(pointers), memory.inputs.size());
  const std::span out(reinterpret_cast<void**>(pointers + in.size_bytes()), memory.outputs.size());
  std::ranges::copy(memory.inputs, in.begin());
  std::ranges::copy(memory.outputs, out.begin());
  for (const StandIn& input : plan.inputs) {
    fill(input, memory.scratch + input.offset);
    in[input.port] = memory.scratch + input.offset;
  }
  for (const StandIn& output : plan.outputs) out[output.port] = memory.scratch + output.offset;
  inner({in, out, memory.scratch});
  for (const StandIn& output : plan.outputs) take(output, memory.scratch + output.offset);
}

void run_unpacked(const StandInPlan& plan, kernels::ScalarType code,
                  const std::function<void(const StepMemory&)>& inner, const StepMemory& memory) {
  using kernels::ScalarType;
  run_on_stand_ins(
      plan, inner, memory,
      [&](const StandIn& input, std::byte* bytes) {
        kernels::convert(code, memory.inputs[input.port], ScalarType::u8, bytes, input.count);
      },
      [&](const StandIn& output, const std::byte* bytes) {
        kernels::convert(ScalarType::u8, bytes, code, memory.outputs[output.port], output.count);
      });
}

// The strings of all inputs are counted through, from 1 on: 0 is a zero that the operation makes up.
void run_on_positions(const StandInPlan& plan, const std::function<void(const StepMemory&)>& inner,
                      const StepMemory& memory) {
  const auto string_at = [&](StringPosition position) {
    if (position == 0) return std::string();
    const auto behind = std::ranges::upper_bound(plan.inputs, position - 1, {}, &StandIn::before);
    const StandIn& input = *std::prev(behind);
    return memory.in<std::string>(input.port)[position - 1 - input.before];
  };
  run_on_stand_ins(
      plan, inner, memory,
      [&](const StandIn& input, std::byte* bytes) {
        const std::span positions(reinterpret_cast<StringPosition*>(bytes), input.count);
        std::iota(positions.begin(), positions.end(), StringPosition{input.before} + 1);
      },
      [&](const StandIn& output, const std::byte* bytes) {
        const std::span positions(reinterpret_cast<const StringPosition*>(bytes), output.count);
        std::ranges::transform(positions, memory.out<std::string>(output.port), string_at);
      });
}

}  // namespace

PreparedKernel moving_kernel(const PrepareContext& context, std::string_view name,
                             std::span<const std::size_t> moved, std::function<void(const StepMemory&)> run,
                             std::size_t scratch_bytes) {
  PreparedKernel kernel;
  kernel.name = name;
  kernel.scratch_bytes = scratch_bytes;
  const ElementType type = context.output(0).type;
  const bool strings = type == ElementType::string;
  if (!is_packed(type) && !strings) {
    kernel.run = std::move(run);
    return kernel;
  }
  const auto reserve = [&kernel](std::size_t bytes) {
    const std::size_t offset = (kernel.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
    kernel.scratch_bytes = offset + bytes;
    return offset;
  };
  const auto add = [&, element = moved_bytes(context)](std::vector<StandIn>& list, std::size_t port,
                                                       std::size_t count) {
    const std::size_t before = list.empty() ? 0 : list.back().before + list.back().count;
    list.push_back({port, count, reserve(count * element), before});
  };
  StandInPlan plan;
  for (const std::size_t port : moved) add(plan.inputs, port, context.size(port));
  for (std::size_t port = 0; port < context.output_count(); ++port)
    add(plan.outputs, port, context.output_size(port));
  plan.pointers_offset = reserve((context.input_count() + context.output_count()) * sizeof(void*));
  if (strings) {
    kernel.run = [plan = std::move(plan), inner = std::move(run)](const StepMemory& memory) {
      run_on_positions(plan, inner, memory);
    };
  } else {
    kernel.run = [plan = std::move(plan), code = code_type(type), inner = std::move(run)](
                     const StepMemory& memory) { run_unpacked(plan, code, inner, memory); };
  }
  return kernel;
}

std::optional<std::size_t> byte_offset_of(ElementType type, std::size_t first) {
  if (type == ElementType::string) return first * sizeof(std::string);
  const auto bits = static_cast<std::size_t>(bits_of(type));
  // u3 and u6 lie in groups of three bytes.
  const std::size_t unit = bits % 3 == 0 ? 24 : 8;
  if (first * bits % unit != 0) return std::nullopt;
  return first * bits / 8;
}

std::optional<PreparedKernel> view_from(const PrepareContext& context, std::size_t first) {
  const auto offset = byte_offset_of(context.output(0).type, first);
  if (!offset) return std::nullopt;
  PreparedKernel kernel = PreparedKernel::view_of(0);
  kernel.views[0].byte_offset = *offset;
  return kernel;
}

}  // namespace ir::op
