#include "kernels/convolution/convolution_prologue.h"

namespace ir::kernels {

OwnedPrologue::OwnedPrologue(const Prologue& prologue, std::size_t channels)
    : channels_(channels), repeats_scale_(prologue.repeats_scale), low_(prologue.low), high_(prologue.high) {
  if (prologue.is_empty()) return;
  if (prologue.scale != nullptr) {
    scale_.assign(prologue.scale, prologue.scale + channels);
  } else if (!prologue.runtime_scale) {
    scale_.assign(channels, 1.0F);
  }
  if (prologue.shift != nullptr) {
    shift_.assign(prologue.shift, prologue.shift + channels);
  } else {
    shift_.assign(channels, 0.0F);
  }
}

bool takes_prologue(const ConvolutionGeometry& geometry, const Prologue& prologue) {
  const bool packs = !(geometry.groups == 1 && geometry.is_full()) && geometry.in_channels != 1;
  return geometry.is_pointwise() && packs && !prologue.repeats_image;
}

}  // namespace ir::kernels
