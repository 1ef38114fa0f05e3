// Weights that are known when a kernel is prepared.
#ifndef KERNELS_WEIGHTS_CONSTANT_WEIGHTS_H_
#define KERNELS_WEIGHTS_CONSTANT_WEIGHTS_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// Weights of 8 bits: the one of codes[i] is codes[i] * scales[i / per_scale % scale_count].
struct ScaledBytes {
  const std::int8_t* codes = nullptr;
  const float* scales = nullptr;
  std::size_t scale_count = 1;
  std::size_t per_scale = 1;

  /// The scale of `count` codes from `first` on, a multiple of `count`; nullptr if they have several.
  [[nodiscard]] const float* scale_of(std::size_t first, std::size_t count) const {
    const bool have_one = scale_count == 1 || per_scale % count == 0;
    return have_one ? scales + first / per_scale % scale_count : nullptr;
  }
};

/// Floats, or bytes of which somebody else makes floats for who wants these.
class ConstantWeights {
 public:
  ConstantWeights() = default;
  ConstantWeights(const float* floats) : floats_(floats) {}  // what they mostly are; nullptr: not known
  /// Bytes that nobody wants floats of.
  explicit ConstantWeights(const ScaledBytes& bytes) : bytes_(bytes) {}
  /// make_floats(context) returns them, as often as it is called.
  ConstantWeights(const ScaledBytes& bytes, const float* (*make_floats)(const void* context),
                  const void* context)
      : bytes_(bytes), make_floats_(make_floats), context_(context) {}

  [[nodiscard]] bool are_known() const { return floats_ != nullptr || bytes_.codes != nullptr; }
  [[nodiscard]] const float* floats() const {
    return make_floats_ != nullptr ? make_floats_(context_) : floats_;
  }
  /// nullptr for floats.
  [[nodiscard]] const ScaledBytes* bytes() const { return bytes_.codes != nullptr ? &bytes_ : nullptr; }

 private:
  const float* floats_ = nullptr;
  ScaledBytes bytes_;
  const float* (*make_floats_)(const void* context) = nullptr;
  const void* context_ = nullptr;
};

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_CONSTANT_WEIGHTS_H_
