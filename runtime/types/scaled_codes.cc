#include "runtime/types/scaled_codes.h"

#include <array>
#include <utility>

#include "kernels/elementwise/binary.h"

namespace ir {

const Tensor& ScaledCodes::floats() const {
  const std::lock_guard lock(mutex_);
  if (floats_) return floats_;
  Tensor floats = codes_.converted(ElementType::f32, Tensor::Memory::pages);
  if (scales_) {
    const auto count = static_cast<std::size_t>(scales_.size());
    const std::array<std::size_t, 3> all{static_cast<std::size_t>(floats.size()) / (count * per_scale_),
                                         count, per_scale_};
    const std::array<std::size_t, 3> scales{1, count, 1};
    const auto elements = floats.data<float>();
    kernels::binary(kernels::BinaryOp::multiply, kernels::BroadcastPlan(all, {all, scales}), elements.data(),
                    std::as_const(scales_).data<float>().data(), elements.data());
  }
  codes_.release_pages();  // seldom read again, and then from the file
  floats_ = std::move(floats);
  return floats_;
}

bool ScaledCodes::are_floats_made() const {
  const std::lock_guard lock(mutex_);
  return static_cast<bool>(floats_);
}

bool ScaledCodes::has_floats_alone() const {
  const std::lock_guard lock(mutex_);
  return !floats_ || floats_.is_sole_owner();
}

}  // namespace ir
