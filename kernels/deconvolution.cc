// A transposed convolution with stride s is s forward convolutions per axis, one for each residue of the
// output position modulo s: they use disjoint taps, have stride 1 and write every s-th output. Nothing is
// scattered or computed twice, and the fast forward algorithms do the work.
#include "kernels/deconvolution.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/aligned_floats.h"
#include "kernels/convolution_geometry.h"
#include "kernels/gemm_block.h"
#include "kernels/parallel.h"

namespace ir::kernels {
namespace {

/// The outputs q * stride + residue of one axis, as a forward convolution over q.
struct PhaseAxis {
  std::size_t outputs = 0;
  std::vector<std::size_t> taps;  ///< of the transposed kernel, in the order of the forward one; may be empty
  std::size_t dilation = 1;
  std::ptrdiff_t pad = 0;

  PhaseAxis(const ConvolutionAxis& axis, std::size_t residue)
      : outputs(residue < axis.out ? (axis.out - residue - 1) / axis.stride + 1 : 0) {
    const auto stride = static_cast<std::ptrdiff_t>(axis.stride);
    const std::ptrdiff_t origin = static_cast<std::ptrdiff_t>(residue) + axis.pad;
    // Output q reads sample q + (origin - tap * dilation) / stride, where that divides.
    for (std::size_t tap = axis.kernel; tap-- > 0;) {
      const std::ptrdiff_t distance = origin - static_cast<std::ptrdiff_t>(tap * axis.dilation);
      if (distance % stride != 0) continue;
      if (taps.empty()) pad = -(distance / stride);
      taps.push_back(tap);
    }
    dilation = axis.dilation / std::gcd(axis.dilation, axis.stride);
    // No tap: one that lies before the image for every output.
    if (taps.empty()) pad = static_cast<std::ptrdiff_t>(outputs);
  }
};

/// All outputs of one combination of residues.
struct Phase {
  std::array<std::size_t, 3> residue{};
  std::array<std::size_t, 3> outputs{};
  std::vector<std::ptrdiff_t> taps;  ///< flat indices into the kernel of the operation; -1: a weight of zero
  std::unique_ptr<Convolution> convolution;

  [[nodiscard]] std::size_t size() const { return outputs[0] * outputs[1] * outputs[2]; }
};

class Deconvolution final : public Convolution {
 public:
  Deconvolution(const ConvolutionParams& params, const float* weights, const Epilogue& epilogue)
      : geometry_(params), epilogue_(epilogue, params.out_channels), constant_weights_(weights != nullptr) {
    const auto& axes = geometry_.axes;
    for (std::size_t z = 0; z < axes[0].stride; ++z) {
      for (std::size_t y = 0; y < axes[1].stride; ++y) {
        for (std::size_t x = 0; x < axes[2].stride; ++x) add_phase({z, y, x}, weights, epilogue);
      }
    }
    for (const Phase& phase : phases_) {
      if (!is_direct())
        result_floats_ = std::max(result_floats_, round_up_to_line(channels() * phase.size()));
      if (!constant_weights_)
        weight_floats_ = std::max(weight_floats_, round_up_to_line(weight_count(phase)));
      inner_bytes_ = std::max(inner_bytes_, phase.convolution->scratch_bytes());
    }
    result_floats_ *= axes[2].stride;
  }

  std::string_view algorithm() const override { return "phased_convolution"; }
  std::size_t scratch_bytes() const override {
    return inner_bytes_ + (result_floats_ + weight_floats_) * sizeof(float) + kCacheLine - 1;
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (channels() * geometry_.out_size() == 0) return;
    float* const phase_weights = aligned_scratch(scratch);
    float* const results = phase_weights + weight_floats_;
    auto* const inner = reinterpret_cast<std::byte*>(results + result_floats_);
    const std::size_t image_size = geometry_.groups * geometry_.in_channels * geometry_.in_size();
    const std::size_t out_size = channels() * geometry_.out_size();
    for (std::size_t n = 0; n < geometry_.batch; ++n) {
      const float* const n_residual = epilogue_.residual() ? in.residual + n * out_size : nullptr;
      // The phases of one row of outputs are neighbours in the list; they meet in that row.
      const std::size_t row_phases = geometry_.axes[2].stride;
      for (std::size_t first = 0; first < phases_.size(); first += row_phases) {
        for (std::size_t x = 0; x < row_phases; ++x) {
          const Phase& phase = phases_[first + x];
          if (phase.size() == 0) continue;
          if (!constant_weights_) gather_weights(phase, in.weights, phase_weights);
          float* const to = is_direct() ? out + n * out_size : results + x * (result_floats_ / row_phases);
          phase.convolution->run({in.image + n * image_size, phase_weights, n_residual}, to, inner);
        }
        if (!is_direct()) interleave(first, results, n_residual, out + n * out_size);
      }
    }
  }

 private:
  /// Stride 1: the only phase is the result.
  [[nodiscard]] bool is_direct() const { return phases_.size() == 1; }
  [[nodiscard]] std::size_t channels() const { return geometry_.groups * geometry_.out_channels; }
  [[nodiscard]] std::size_t weight_count(const Phase& phase) const {
    return channels() * geometry_.in_channels * phase.taps.size();
  }

  void add_phase(const std::array<std::size_t, 3>& residue, const float* weights, const Epilogue& epilogue) {
    Phase phase;
    phase.residue = residue;
    ConvolutionParams params;
    params.groups = geometry_.groups;
    params.in_channels = geometry_.groups * geometry_.in_channels;
    params.out_channels = channels();
    params.spatial_rank = 3;
    params.max_threads = geometry_.workers;
    phase.taps.assign(1, 0);
    for (std::size_t i = 0; i < 3; ++i) {
      const ConvolutionAxis& axis = geometry_.axes[i];
      const PhaseAxis part(axis, residue[i]);
      phase.outputs[i] = part.outputs;
      params.in_dims[i] = axis.in;
      params.out_dims[i] = part.outputs;
      params.kernel[i] = std::max<std::size_t>(part.taps.size(), 1);
      params.dilations[i] = part.dilation;
      params.pads_begin[i] = part.pad;
      std::vector<std::ptrdiff_t> taps;
      for (const std::ptrdiff_t outer : phase.taps) {
        if (part.taps.empty() || outer < 0) {
          taps.insert(taps.end(), params.kernel[i], -1);
          continue;
        }
        for (const std::size_t tap : part.taps) {
          taps.push_back(outer * static_cast<std::ptrdiff_t>(axis.kernel) + static_cast<std::ptrdiff_t>(tap));
        }
      }
      phase.taps = std::move(taps);
    }
    Epilogue inner = epilogue;
    if (geometry_.axes[0].stride * geometry_.axes[1].stride * geometry_.axes[2].stride != 1) {
      inner = {};
      inner.bias = epilogue.bias;
    }
    std::vector<float> phase_weights;
    if (weights != nullptr) {
      phase_weights.resize(weight_count(phase));
      gather_weights(phase, weights, phase_weights.data());
    }
    phase.convolution =
        create_convolution(params, weights == nullptr ? nullptr : phase_weights.data(), inner);
    phases_.push_back(std::move(phase));
  }

  /// [in, out, taps] of the operation -> [out, in, taps of the phase].
  void gather_weights(const Phase& phase, const float* weights, float* to) const {
    const std::size_t taps = geometry_.taps();
    for (std::size_t channel = 0; channel < channels(); ++channel) {
      const std::size_t group = channel / geometry_.out_channels;
      const std::size_t o = channel % geometry_.out_channels;
      for (std::size_t i = 0; i < geometry_.in_channels; ++i) {
        const float* from =
            weights + ((group * geometry_.in_channels + i) * geometry_.out_channels + o) * taps;
        for (const std::ptrdiff_t tap : phase.taps) *to++ = tap < 0 ? 0.0F : from[tap];
      }
    }
  }

  /// Merges the results of the phases of one (z, y) residue, and does what is left of the epilogue.
  void interleave(std::size_t first_phase, const float* results, const float* residual, float* out) const {
    const ConvolutionAxis& depth = geometry_.axes[0];
    const ConvolutionAxis& vertical = geometry_.axes[1];
    const ConvolutionAxis& horizontal = geometry_.axes[2];
    const Phase& first = phases_[first_phase];
    const std::size_t rows = first.outputs[0] * first.outputs[1];
    const std::size_t phase_floats = result_floats_ / horizontal.stride;
    parallel_for(channels() * rows, grain_for_cost(horizontal.out), [&](std::size_t begin, std::size_t end) {
      for (std::size_t index = begin; index < end; ++index) {
        const std::size_t row = index % rows;
        const std::size_t z = row / first.outputs[1] * depth.stride + first.residue[0];
        const std::size_t y = row % first.outputs[1] * vertical.stride + first.residue[1];
        const std::size_t offset = ((index / rows * depth.out + z) * vertical.out + y) * horizontal.out;
        float* const to = out + offset;
        for (std::size_t x = 0; x < horizontal.stride; ++x) {
          const std::size_t count = phases_[first_phase + x].outputs[2];
          const float* from = results + x * phase_floats + index * count;
          const float low = epilogue_.low();
          const float high = epilogue_.high();
          for (std::size_t q = 0; q < count; ++q) {
            const std::size_t at = q * horizontal.stride + x;
            float value = from[q];
            if (residual != nullptr) value += residual[offset + at];
            // Comparisons that a NaN passes through.
            value = value < low ? low : value;
            to[at] = value > high ? high : value;
          }
        }
        epilogue_.post_rows(to, horizontal.out, 1, horizontal.out, index / rows);
      }
    });
  }

  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  bool constant_weights_;
  std::vector<Phase> phases_;  ///< last axis innermost
  std::size_t result_floats_ = 0;
  std::size_t weight_floats_ = 0;
  std::size_t inner_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Convolution> create_deconvolution(const ConvolutionParams& params, const float* weights,
                                                  const Epilogue& epilogue) {
  return std::make_unique<Deconvolution>(params, weights, epilogue);
}

}  // namespace ir::kernels
