#include "runtime/ops/computed_in_f32.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/elementwise/convert.h"

namespace ir::op {
namespace {

constexpr std::size_t kMaxPorts = 8;
constexpr std::size_t kAlignment = 64;

// A tensor that is kept twice: f64 outside, f32 at `offset` of the scratch memory.
struct Twin {
  std::size_t port = 0;
  std::size_t count = 0;
  std::size_t offset = 0;
};

class TwinList {
 public:
  void add(std::size_t port, std::size_t count, std::size_t& scratch) {
    scratch = (scratch + kAlignment - 1) / kAlignment * kAlignment;
    twins_[size_++] = {port, count, scratch};
    scratch += count * sizeof(float);
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const Twin* begin() const { return twins_.data(); }
  [[nodiscard]] const Twin* end() const { return twins_.data() + size_; }

 private:
  std::array<Twin, kMaxPorts> twins_{};
  std::size_t size_ = 0;
};

bool has_wide_values(const PrepareContext& context) {
  bool found = false;
  for (std::size_t i = 0; i < context.input_count(); ++i)
    found = found || context.type(i) == ElementType::f64;
  for (std::size_t i = 0; i < context.output_count(); ++i)
    found = found || context.output(i).type == ElementType::f64;
  return found;
}

}  // namespace

Tensor in_f32(const Tensor& tensor) {
  return tensor.element_type() == ElementType::f32 ? tensor : tensor.converted(ElementType::f32);
}

PreparedKernel computed_in_f32(const PrepareContext& context, PreparedKernel kernel) {
  if (!has_wide_values(context)) return kernel;
  if (context.input_count() > kMaxPorts || context.output_count() > kMaxPorts)
    context.fail_unsupported(fmt::format("f64 with more than {} inputs or outputs", kMaxPorts));
  TwinList inputs;
  TwinList outputs;
  std::size_t scratch = kernel.scratch_bytes;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const bool is_read = std::ranges::find(kernel.absorbed, i) == kernel.absorbed.end();
    if (is_read && context.type(i) == ElementType::f64) inputs.add(i, context.size(i), scratch);
  }
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    if (context.output(i).type == ElementType::f64) outputs.add(i, context.output_size(i), scratch);
  }
  if (inputs.empty() && outputs.empty()) return kernel;

  kernel.scratch_bytes = scratch;
  kernel.in_place.clear();
  kernel.run = [inner = std::move(kernel.run), inputs, outputs](const StepMemory& memory) {
    using kernels::ScalarType;
    std::array<const void*, kMaxPorts> in{};
    std::array<void*, kMaxPorts> out{};
    std::ranges::copy(memory.inputs, in.begin());
    std::ranges::copy(memory.outputs, out.begin());
    for (const Twin& twin : inputs) {
      std::byte* narrow = memory.scratch + twin.offset;
      kernels::convert(ScalarType::f64, in[twin.port], ScalarType::f32, narrow, twin.count);
      in[twin.port] = narrow;
    }
    for (const Twin& twin : outputs) out[twin.port] = memory.scratch + twin.offset;
    inner({std::span(in).first(memory.inputs.size()), std::span(out).first(memory.outputs.size()),
           memory.scratch});
    for (const Twin& twin : outputs) {
      kernels::convert(ScalarType::f32, out[twin.port], ScalarType::f64, memory.outputs[twin.port],
                       twin.count);
    }
  };
  return kernel;
}

}  // namespace ir::op
