#include "kernels/matmul/owned_epilogue.h"

#include <cstdint>

namespace ir::kernels {

OwnedEpilogue::OwnedEpilogue(OwnedEpilogue&& other) noexcept = default;
OwnedEpilogue::~OwnedEpilogue() = default;

OwnedEpilogue::OwnedEpilogue(const Epilogue& epilogue, std::size_t bias_count, std::size_t scale_count)
    : values_(epilogue), levels_(epilogue.levels.begin(), epilogue.levels.end()) {
  if (epilogue.bias != nullptr) bias_.assign(epilogue.bias, epilogue.bias + bias_count);
  if (epilogue.scale != nullptr) scale_.assign(epilogue.scale, epilogue.scale + scale_count);
}

void OwnedEpilogue::put_levels(const FloatRows& results, std::size_t channel, float* out, std::size_t first,
                               std::size_t out_stride) const {
  std::uint8_t* const levels = reinterpret_cast<std::uint8_t*>(out) + first;
  const auto& [from, stride, rows, columns] = results;
  if (levels_.size() != 1) {
    for (std::size_t row = 0; row < rows; ++row)
      levels_of_span(levels_[channel + row], from + row * stride, levels + row * out_stride, columns);
  } else if (stride == columns && out_stride == columns) {
    levels_of_span(levels_[0], from, levels, rows * columns);
  } else {
    levels_of_rows(levels_[0], results, levels, out_stride);
  }
}

void OwnedEpilogue::post(float* out, std::size_t stride, std::size_t rows, std::size_t columns,
                         std::size_t channel, std::size_t channel_step) const {
  if (values_.post == nullptr || rows * columns == 0) return;
  if (stride == columns && channel_step == 0) {
    columns *= rows;
    rows = 1;
  }
  for (std::size_t row = 0; row < rows; ++row)
    values_.post(out + row * stride, columns, channel + row * channel_step, values_.post_context);
}

}  // namespace ir::kernels
