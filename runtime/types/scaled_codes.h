// What constant floats are made of when somebody reads them.
#ifndef RUNTIME_TYPES_SCALED_CODES_H_
#define RUNTIME_TYPES_SCALED_CODES_H_

#include <cstddef>
#include <mutex>
#include <utility>

#include "ir_runtime/tensor.h"

namespace ir {

/// See Tensor::of_codes.
class ScaledCodes {
 public:
  ScaledCodes(Tensor codes, Tensor scales, std::size_t per_scale)
      : codes_(std::move(codes)), scales_(std::move(scales)), per_scale_(per_scale) {}

  [[nodiscard]] const Tensor& codes() const { return codes_; }
  /// Without elements: there are none.
  [[nodiscard]] const Tensor& scales() const { return scales_; }
  [[nodiscard]] std::size_t per_scale() const { return per_scale_; }

  /// The floats, made by the first who asks. From any thread. Throws Error `IR-tensor-size` when memory runs
  /// out.
  [[nodiscard]] const Tensor& floats() const;
  [[nodiscard]] bool are_floats_made() const;
  /// Whether no other tensor shares them, should they have been made.
  [[nodiscard]] bool has_floats_alone() const;

 private:
  Tensor codes_;
  Tensor scales_;
  std::size_t per_scale_;
  mutable std::mutex mutex_;
  mutable Tensor floats_;
};

}  // namespace ir

#endif  // RUNTIME_TYPES_SCALED_CODES_H_
