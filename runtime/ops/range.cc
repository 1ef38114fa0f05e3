// Range and Eye: numbers out of nothing.
#include "kernels/creation/range.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir_runtime/ops/indexing.h"
#include "kernels/base/float16.h"
#include "kernels/creation/eye.h"
#include "kernels/elementwise/convert.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {
namespace {

// Steps from `low` up to `high`, which lie `step` apart in either direction; exact.
std::int64_t steps_between(std::int64_t low, std::int64_t high, std::int64_t step) {
  if (low >= high) return 0;
  const auto distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t stride =
      step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, Dimension::kUnbounded));
}

Dimension integer_length(const InferContext& context) {
  const Dimension start = elements_or_unknown(context, 0, 1)[0];
  const Dimension stop = elements_or_unknown(context, 1, 1)[0];
  const Dimension step = elements_or_unknown(context, 2, 1)[0];
  if (!step.is_static()) return {};
  context.require(step.value() != 0, "IR-value", {.found = "0", .expected = "another step", .input = 2},
                  "step is 0");
  const Dimension& low = step.value() > 0 ? start : stop;
  const Dimension& high = step.value() > 0 ? stop : start;
  if (const auto distance = high.distance_from(low)) {
    return Dimension(steps_between(0, *distance, step.value()));
  }
  const bool open = low.min() <= -Dimension::kUnbounded || high.max() == Dimension::kUnbounded;
  return {steps_between(low.max(), high.min(), step.value()),
          open ? Dimension::kUnbounded : steps_between(low.min(), high.max(), step.value())};
}

std::int64_t real_count(const InferContext& context, double start, double stop, double step) {
  context.require(std::isfinite(start) && std::isfinite(stop) && std::isfinite(step) && step != 0.0,
                  "IR-value",
                  {.found = words("{}, {} and {}", start, stop, step),
                   .expected = "finite numbers, and a step that is not 0"},
                  "start {}, stop {} and step {} give no range", start, stop, step);
  const double count = std::ceil((stop - start) / step);
  context.require(count < 0x1p62, "IR-shape", {.found = count, .expected = "less than 2^62"},
                  "start {}, stop {} and step {} give {} elements", start, stop, step, count);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

std::optional<double> real_input(const InferContext& context, std::size_t index, bool truncated) {
  const auto values = context.reals(index);
  if (!values || values->size() != 1) return std::nullopt;
  return truncated ? std::trunc(values->front()) : values->front();
}

// A number that gives no range, whatever the others are.
void require_finite(const InferContext& context, std::size_t index, std::string_view name,
                    std::optional<double> number) {
  if (!number) return;
  context.require(std::isfinite(*number), "IR-value",
                  {.found = *number, .expected = "a finite number", .input = index}, "{} {} gives no range",
                  name, *number);
}

// What is known of the number of elements.
Dimension range_length(InferContext& context, bool integral) {
  const bool integers = std::ranges::all_of(std::array<std::size_t, 3>{0, 1, 2}, [&](std::size_t index) {
    return is_integral(context.type(index));
  });
  if (integers) {
    const Dimension length = integer_length(context);
    if (context.explaining() && length.is_static()) {
      context.explain(
          0, 0,
          fmt::format("ceil(({} - {}) / {}) = {}", to_string(elements_or_unknown(context, 1, 1)[0]),
                      to_string(elements_or_unknown(context, 0, 1)[0]),
                      to_string(elements_or_unknown(context, 2, 1)[0]), length.value()));
    }
    return length;
  }
  const auto start = real_input(context, 0, integral);
  const auto stop = real_input(context, 1, integral);
  const auto step = real_input(context, 2, integral);
  if (!start || !stop || !step) {
    require_finite(context, 0, "start", start);
    require_finite(context, 1, "stop", stop);
    require_finite(context, 2, "step", step);
    return {};
  }
  const std::int64_t count = real_count(context, *start, *stop, *step);
  if (context.explaining()) {
    context.explain(0, 0, fmt::format("ceil(({} - {}) / {}) = {}", *stop, *start, *step, count));
  }
  return Dimension(count);
}

void infer_range(InferContext& context, ElementType type) {
  for (std::size_t index = 0; index < 3; ++index) {
    context.require_number(index);
    require_one_element(context, index);
  }
  context.set_output(0, type, PartialShape{range_length(context, is_integral(type))});
}

// Input `index` as a T: integers as they are, other numbers rounded toward zero for integer T.
template <class T>
T range_number(const PrepareContext& context, std::size_t index) {
  if (is_integral(context.type(index))) return static_cast<T>(context.integers(index).at(0));
  const double value = context.reals(index).at(0);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(std::clamp(value, -0x1p62, 0x1p62)));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::function<void(const StepMemory&)> range_into(T start, T step, std::size_t count) {
  return [=](const StepMemory& memory) { kernels::fill_range<T>(start, step, count, memory.out<T>(0)); };
}

template <class Half>
std::function<void(const StepMemory&)> half_range(const PrepareContext& context, std::size_t count) {
  return range_into(Half(range_number<float>(context, 0)), Half(range_number<float>(context, 2)), count);
}

PreparedKernel prepare_range(const PrepareContext& context, ElementType type) {
  PreparedKernel kernel;
  kernel.name = "range";
  require_known_outputs(context);
  const std::size_t count = volume(context.output_shape());
  const bool plain = with_arithmetic_type(type, [&]<class T>() {
    kernel.run = range_into(range_number<T>(context, 0), range_number<T>(context, 2), count);
  });
  if (plain) return kernel;
  if (type == ElementType::f16) {
    kernel.run = half_range<kernels::Float16>(context, count);
  } else if (type == ElementType::bf16) {
    kernel.run = half_range<kernels::BFloat16>(context, count);
  } else {
    const auto start = range_number<float>(context, 0);
    const auto step = range_number<float>(context, 2);
    kernel.scratch_bytes = count * sizeof(float);
    kernel.run = [=, scalar = scalar_type_of(type)](const StepMemory& memory) {
      auto* numbers = reinterpret_cast<float*>(memory.scratch);
      kernels::fill_range(start, step, count, numbers);
      kernels::convert(kernels::ScalarType::f32, numbers, scalar, memory.outputs[0], count);
    };
  }
  return kernel;
}

}  // namespace

void v0::Range::infer(InferContext& context) const {
  context.require_inputs(3);
  infer_range(context, context.require_same_type({0, 1, 2}));
}
PreparedKernel v0::Range::prepare(PrepareContext& context) const {
  return prepare_range(context, context.type(0));
}

void v4::Range::infer(InferContext& context) const {
  context.require_inputs(3);
  context.require(is_integral(output_type) || is_real(output_type), "IR-attribute-value",
                  {.found = output_type, .expected = "a numeric type"},
                  "output_type is {}; it takes a numeric type", output_type);
  infer_range(context, output_type);
}
PreparedKernel v4::Range::prepare(PrepareContext& context) const {
  return prepare_range(context, output_type);
}

void v9::Eye::infer(InferContext& context) const {
  context.require_inputs(3, 4);
  context.require(output_type != ElementType::dynamic && output_type != ElementType::string,
                  "IR-attribute-value", {.found = output_type, .expected = "a numeric type"},
                  "output_type is {}; it takes a numeric type", output_type);
  for (std::size_t index = 0; index < 3; ++index) {
    context.require_integer(index);
    require_one_element(context, index);
  }
  std::vector<Dimension> dims;
  if (context.input_count() == 4) {
    const Dimension length = require_integer_vector(context, 3);
    if (!length.is_static() || length.value() > kMaxPropagatedElements) {
      context.set_output(0, output_type, PartialShape());
      return;
    }
    dims = elements_or_unknown(context, 3, static_cast<std::size_t>(length.value()));
  }
  dims.push_back(elements_or_unknown(context, 0, 1)[0]);
  dims.push_back(elements_or_unknown(context, 1, 1)[0]);
  const std::size_t batch = dims.size() - 2;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    dims[axis] = require_size(context, axis < batch ? 3 : axis - batch, dims[axis],
                              "dim {} of the output is {}", axis, dims[axis]);
  }
  context.set_output(0, output_type, PartialShape(std::move(dims)));
}

PreparedKernel v9::Eye::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  const std::int64_t diagonal = context.integers(2).at(0);
  if (context.output_size() == 0) return nothing_to_do("eye");
  const Shape& shape = context.output_shape();
  const std::size_t rank = shape.size();
  const std::size_t batch = volume(shape, 0, rank - 2);
  const auto rows = static_cast<std::size_t>(shape[rank - 2]);
  const auto columns = static_cast<std::size_t>(shape[rank - 1]);
  const auto type = scalar_type_of(output_type);
  PreparedKernel kernel;
  kernel.name = "eye";
  // Where zero is the number 0: the bits of a one are put down. Else zeros and ones are converted.
  const bool zero_is_zero = kernels::bits_of(type) >= 8 && output_type != ElementType::f8e8m0;
  if (zero_is_zero) {
    std::array<std::byte, 8> one{};
    const float number = 1.0F;
    kernels::convert(kernels::ScalarType::f32, &number, type, one.data(), 1);
    kernel.run = [=, size = kernels::bits_of(type) / 8](const StepMemory& memory) {
      kernels::eye(batch, rows, columns, diagonal, one.data(), size, memory.outputs[0]);
    };
    return kernel;
  }
  const std::size_t count = context.output_size();
  kernel.scratch_bytes = count;
  kernel.run = [=](const StepMemory& memory) {
    constexpr std::uint8_t kOne = 1;
    kernels::eye(batch, rows, columns, diagonal, &kOne, 1, memory.scratch);
    kernels::convert(kernels::ScalarType::u8, memory.scratch, type, memory.outputs[0], count);
  };
  return kernel;
}

}  // namespace ir::op
