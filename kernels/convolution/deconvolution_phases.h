// How the outputs of a transposed convolution are dealt out to forward convolutions. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_DECONVOLUTION_PHASES_H_
#define KERNELS_CONVOLUTION_DECONVOLUTION_PHASES_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/convolution/convolution_geometry.h"

namespace ir::kernels {

/// The outputs q * stride + residue of one axis for neighbouring residues, as a forward convolution of stride
/// 1 over q whose window serves all of them.
struct PhaseAxis {
  std::size_t first = 0;  ///< residue
  /// Of each residue from the first one on: which tap of the transposed kernel it has at each tap of the
  /// window; -1: none, a weight of zero.
  std::vector<std::vector<std::ptrdiff_t>> taps;
  std::size_t outputs = 0;  ///< q of the residue that has most
  std::size_t dilation = 1;
  std::ptrdiff_t pad = 0;

  [[nodiscard]] std::size_t residues() const { return taps.size(); }
  [[nodiscard]] std::size_t window() const { return taps.front().size(); }
};

/// D, H, W. The residues of all three are channels of one forward convolution: those of W outermost, then D,
/// H, and the channels of the operation.
using Phase = std::array<const PhaseAxis*, 3>;

/// Whether its outputs see no sample: the kernel is shorter than the stride.
bool is_empty(const Phase& phase);

struct PhaseSplit {
  /// D, H, W: each covers all residues of its axis.
  std::array<std::vector<PhaseAxis>, 3> axes;
  /// Of each phase, the last axis innermost, as in create_convolution.
  std::vector<std::string_view> algorithms;
  /// Instead of the phases' convolutions, one product makes what each sample adds at each tap.
  bool of_columns = false;
};

/// Residues with the same window share a convolution, which reads the image once for all of them. Those with
/// different ones do where the zeros that fill the windows up cost less than that saves. In groups, each
/// residue has a convolution of its own. No residue has one where columns are expected to take less.
PhaseSplit split_phases(const ConvolutionGeometry& geometry, bool constant_weights);

/// The product that makes columns of one image: a pointwise convolution, channels and taps of the operation
/// are its channels.
ConvolutionParams column_params(const ConvolutionGeometry& geometry);

/// Stride 1: the only phase is the result.
bool has_one_phase(const ConvolutionGeometry& geometry);

/// q along the last axis: as many for all phases, so that they lie alike.
std::size_t phase_columns(const ConvolutionGeometry& geometry);

/// The forward convolution of one image.
ConvolutionParams phase_params(const ConvolutionGeometry& geometry, const Phase& phase);

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_DECONVOLUTION_PHASES_H_
