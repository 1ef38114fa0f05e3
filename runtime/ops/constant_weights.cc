#include "runtime/ops/constant_weights.h"

#include "runtime/types/scaled_codes.h"

namespace ir {
namespace {

const float* floats_of(const void* constant) {
  return static_cast<const Tensor*>(constant)->data<float>().data();
}

}  // namespace

kernels::ConstantWeights constant_weights(const Tensor* constant) {
  if (constant == nullptr) return {};
  const ScaledCodes* const source = constant->codes();
  if (source == nullptr || source->codes().element_type() != ElementType::i8) return floats_of(constant);
  static constexpr float kOne = 1;
  const Tensor& scales = source->scales();
  const kernels::ScaledBytes bytes{source->codes().data<std::int8_t>().data(),
                                   scales ? scales.data<float>().data() : &kOne,
                                   scales ? static_cast<std::size_t>(scales.size()) : 1, source->per_scale()};
  return {bytes, floats_of, constant};
}

}  // namespace ir
