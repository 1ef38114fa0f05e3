#include "runtime/passes/folded_codes.h"

#include <algorithm>
#include <cstddef>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/types/halves.h"
#include "runtime/types/scaled_codes.h"

namespace ir::passes {
namespace {

bool is_code(ElementType type) { return type == ElementType::i8 || is_half(type); }

// How many neighbours share a scale; nullopt where scales of this shape do not spread over `all` like that.
std::optional<std::size_t> elements_per_scale(const Shape& all, Shape scales) {
  if (scales.size() > all.size()) return std::nullopt;
  scales.insert(scales.begin(), all.size() - scales.size(), 1);
  std::size_t last = scales.size();
  while (last > 0 && scales[last - 1] == 1) --last;
  std::size_t first = 0;
  while (first < last && scales[first] == 1) ++first;
  if (!std::equal(scales.begin() + static_cast<std::ptrdiff_t>(first),
                  scales.begin() + static_cast<std::ptrdiff_t>(last),
                  all.begin() + static_cast<std::ptrdiff_t>(first))) {
    return std::nullopt;
  }
  std::size_t count = 1;
  for (std::size_t axis = last; axis < all.size(); ++axis) count *= static_cast<std::size_t>(all[axis]);
  return count;
}

std::optional<Tensor> scaled(const Tensor& floats, const Tensor& scales) {
  const ScaledCodes* const source = floats.codes();
  if (source == nullptr || source->scales() || floats.size() == 0) return std::nullopt;
  const auto per_scale = elements_per_scale(floats.shape(), scales.shape());
  if (!per_scale) return std::nullopt;
  return Tensor::of_codes(source->codes(), scales.in_memory(), *per_scale).reshaped(floats.shape());
}

}  // namespace

std::optional<Tensor> folded_codes(const Op& op, std::span<const Tensor> inputs) {
  if (const auto* convert = op.as<op::v0::Convert>()) {
    if (convert->destination_type != ElementType::f32 || !is_code(inputs[0].element_type()))
      return std::nullopt;
    return Tensor::of_codes(inputs[0]);
  }
  const auto* multiply = op.as<op::v1::Multiply>();
  if (multiply == nullptr || multiply->auto_broadcast != op::AutoBroadcast::numpy) return std::nullopt;
  auto result = scaled(inputs[0], inputs[1]);
  return result ? result : scaled(inputs[1], inputs[0]);
}

}  // namespace ir::passes
