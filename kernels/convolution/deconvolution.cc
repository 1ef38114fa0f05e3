// A transposed convolution with stride s is s forward convolutions per axis, one for each residue of the
// output position modulo s: they use disjoint taps, have stride 1 and write every s-th output. Nothing is
// scattered or computed twice, and the fast forward algorithms do the work; several residues may be channels
// of one of them. Where channels are few, one product with all taps as its channels makes columns instead, of
// which the outputs of each residue add up theirs.
#include "kernels/convolution/deconvolution.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/convolution/deconvolution_phases.h"
#include "kernels/convolution/packed_filters.h"
#include "kernels/elementwise/binary.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

class Deconvolution final : public Convolution {
 public:
  Deconvolution(const ConvolutionParams& params, const float* weights, const Epilogue& epilogue)
      : geometry_(params),
        split_(split_phases(geometry_, weights != nullptr)),
        constant_weights_(weights != nullptr),
        is_direct_(has_one_phase(geometry_)),
        inner_does_all_(is_direct_ ||
                        (!epilogue.residual && !epilogue.post_by_channel && !split_.of_columns)),
        epilogue_(epilogue, channels()) {
    if (split_.of_columns) prepare_columns(weights);
    for (const PhaseAxis& z : split_.axes[0]) {
      for (const PhaseAxis& y : split_.axes[1]) add_rows(z, y, weights, epilogue);
    }
  }

  std::string_view algorithm() const override { return split_.of_columns ? "columns" : "phased_convolution"; }
  std::size_t scratch_bytes() const override {
    return inner_bytes_ + (result_floats_ + weight_floats_ + column_floats_) * sizeof(float) + kCacheLine - 1;
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (channels() * geometry_.out_size() == 0) return;
    float* const weights = aligned_scratch(scratch);
    float* const results = weights + weight_floats_;
    float* const columns = results + result_floats_;
    auto* const inner = reinterpret_cast<std::byte*>(columns + column_floats_);
    const std::size_t image_size = geometry_.groups * geometry_.in_channels * geometry_.in_size();
    const std::size_t out_size = channels() * geometry_.out_size();
    for (const Rows& rows : rows_) {
      for (const Part& part : rows.parts) {
        if (!constant_weights_ && part.convolution)
          gather_weights(part.phase, in.weights, weights + part.weights);
      }
    }
    for (std::size_t n = 0; n < geometry_.batch; ++n) {
      const float* const residual = epilogue_.residual() ? in.residual + n * out_size : nullptr;
      float* const n_out = out + n * out_size;
      if (columns_) columns_->run({in.image + n * image_size, nullptr, nullptr}, columns, inner);
      for (const Rows& rows : rows_) {
        for (const Part& part : rows.parts) {
          float* const to = is_direct_ ? n_out : results + part.phase[2]->first * result_stride(rows);
          if (columns_) {
            add_columns(part.phase, columns, to);
          } else if (part.convolution) {
            part.convolution->run({in.image + n * image_size, weights + part.weights, residual}, to, inner);
          } else {
            fill_empty(rows, part.phase[2]->residues(), to);
          }
        }
        if (!is_direct_) interleave(rows, results, residual, n_out);
      }
    }
  }

 private:
  /// The forward convolution of a phase.
  struct Part {
    Phase phase{};
    std::size_t weights = 0;  ///< where those that come with a run are in the scratch
    std::unique_ptr<Convolution> convolution;
  };
  /// Phases whose results meet in the same rows of the output: the residues of the last axis are
  /// result_stride() apart.
  struct Rows {
    const PhaseAxis& z;
    const PhaseAxis& y;
    std::vector<Part> parts;
  };

  [[nodiscard]] std::size_t channels() const { return geometry_.groups * geometry_.out_channels; }
  [[nodiscard]] std::size_t weight_count(const Phase& phase) const {
    const ConvolutionParams params = phase_params(geometry_, phase);
    return params.out_channels * geometry_.in_channels * params.kernel[0] * params.kernel[1] *
           params.kernel[2];
  }
  /// Rows of results of a channel of the operation and of one residue of the other axes.
  [[nodiscard]] static std::size_t plane_rows(const Rows& rows) { return rows.z.outputs * rows.y.outputs; }
  [[nodiscard]] std::size_t result_stride(const Rows& rows) const {
    return rows.z.residues() * rows.y.residues() * channels() * plane_rows(rows) * phase_columns(geometry_);
  }

  void add_rows(const PhaseAxis& z, const PhaseAxis& y, const float* weights, const Epilogue& epilogue) {
    Rows& rows = rows_.emplace_back(Rows{z, y, {}});
    for (const PhaseAxis& x : split_.axes[2]) {
      const Phase phase{&z, &y, &x};
      if (split_.of_columns || is_empty(phase)) {
        rows.parts.push_back({phase, 0, nullptr});
        ++parts_;
        continue;
      }
      const ConvolutionParams params = phase_params(geometry_, phase);
      Epilogue inner;
      if (inner_does_all_) inner = epilogue;
      std::vector<float> bias;
      for (std::size_t i = 0; epilogue.bias != nullptr && i < params.out_channels; i += channels())
        bias.insert(bias.end(), epilogue.bias, epilogue.bias + channels());
      inner.bias = bias.empty() ? nullptr : bias.data();
      AlignedFloats gathered;
      std::optional<MadeOfConstant> made;
      const std::size_t place = weight_floats_;
      if (weights != nullptr) {
        gathered = AlignedFloats(weight_count(phase));
        gather_weights(phase, weights, gathered.data());
        made.emplace(std::span(gathered.data(), weight_count(phase)),
                     std::span(weights, geometry_.weight_count()), way_of(phase));
      } else {
        weight_floats_ += round_up_to_line(weight_count(phase));
      }
      const float* const constants = weights != nullptr ? gathered.data() : nullptr;
      auto convolution = create_convolution(params, constants, inner, {}, split_.algorithms[parts_++]);
      // What turns out not to take the geometry.
      if (convolution == nullptr) convolution = create_convolution(params, constants, inner);
      inner_bytes_ = std::max(inner_bytes_, convolution->scratch_bytes());
      rows.parts.push_back({phase, place, std::move(convolution)});
    }
    if (is_direct_) return;
    const std::size_t residues = std::min(geometry_.axes[2].stride, geometry_.axes[2].out);
    result_floats_ = std::max(result_floats_, round_up_to_line(residues * result_stride(rows)));
  }

  /// [in, out, taps] of the operation -> [out, in, taps of the window], the residues as in Phase.
  void gather_weights(const Phase& phase, const float* weights, float* to) const {
    const auto& [z, y, x] = phase;
    for (const auto& x_taps : x->taps) {
      for (const auto& z_taps : z->taps) {
        for (const auto& y_taps : y->taps) {
          const std::vector<std::ptrdiff_t> taps = flat_taps(z_taps, y_taps, x_taps);
          gather_taps(taps, weights, to);
          to += channels() * geometry_.in_channels * taps.size();
        }
      }
    }
  }
  /// The way in which gather_weights makes them.
  [[nodiscard]] PackedForm way_of(const Phase& phase) const {
    PackedForm way{"phase", {}, filter_numbers(geometry_)};
    for (const PhaseAxis* axis : phase) {
      way.numbers.insert(way.numbers.end(), {axis->residues(), axis->window()});
      for (const auto& taps : axis->taps) way.numbers.insert(way.numbers.end(), taps.begin(), taps.end());
    }
    return way;
  }
  /// Indices into the kernel of the operation; -1: a weight of zero.
  [[nodiscard]] std::vector<std::ptrdiff_t> flat_taps(const std::vector<std::ptrdiff_t>& z_taps,
                                                      const std::vector<std::ptrdiff_t>& y_taps,
                                                      const std::vector<std::ptrdiff_t>& x_taps) const {
    const auto height = static_cast<std::ptrdiff_t>(geometry_.axes[1].kernel);
    const auto width = static_cast<std::ptrdiff_t>(geometry_.axes[2].kernel);
    std::vector<std::ptrdiff_t> taps;
    for (const std::ptrdiff_t z : z_taps) {
      for (const std::ptrdiff_t y : y_taps) {
        for (const std::ptrdiff_t x : x_taps)
          taps.push_back(std::min({z, y, x}) < 0 ? -1 : (z * height + y) * width + x);
      }
    }
    return taps;
  }
  void gather_taps(const std::vector<std::ptrdiff_t>& taps, const float* weights, float* to) const {
    const std::size_t filter = geometry_.in_channels * taps.size();
    parallel_for(channels(), grain_for_cost(filter * 2), [&](std::size_t begin, std::size_t end) {
      for (std::size_t channel = begin; channel < end; ++channel) {
        const std::size_t group = channel / geometry_.out_channels;
        const std::size_t o = channel % geometry_.out_channels;
        float* place = to + channel * filter;
        for (std::size_t i = 0; i < geometry_.in_channels; ++i) {
          const std::size_t at = (group * geometry_.in_channels + i) * geometry_.out_channels + o;
          const float* const from = weights + at * geometry_.taps();
          for (const std::ptrdiff_t tap : taps) *place++ = tap < 0 ? 0.0F : from[tap];
        }
      }
    });
  }

  /// The results of so many residues of the last axis whose outputs see no sample.
  void fill_empty(const Rows& rows, std::size_t residues, float* results) const {
    const std::size_t floats = plane_rows(rows) * phase_columns(geometry_);
    for (std::size_t i = 0; i < residues; ++i) {
      float* to = results + i * result_stride(rows);
      for (std::size_t plane = 0; plane < rows.z.residues() * rows.y.residues() * channels(); ++plane) {
        const std::size_t channel = plane % channels();
        const float bias = epilogue_.bias() != nullptr ? epilogue_.bias()[channel] : 0.0F;
        std::fill_n(to, floats, bias);
        if (inner_does_all_) finish_elements(to, floats, channel);
        to += floats;
      }
    }
  }

  /// [in, out, taps] of the operation -> [out, taps, in], for the product of columns.
  void prepare_columns(const float* weights) {
    const std::size_t rows = channels() * geometry_.taps();
    const std::array<std::size_t, 3> dims{geometry_.groups, geometry_.in_channels, rows / geometry_.groups};
    const std::array<std::size_t, 3> order{0, 2, 1};
    AlignedFloats turned(rows * geometry_.in_channels);
    Transpose(dims, order, sizeof(float)).run(weights, turned.data());
    const std::span<const float> all(turned.data(), rows * geometry_.in_channels);
    const MadeOfConstant made(all, std::span(weights, geometry_.weight_count()),
                              {"columns", {}, filter_numbers(geometry_)});
    columns_ = create_convolution(column_params(geometry_), turned.data(), {});
    inner_bytes_ = columns_->scratch_bytes();
    column_floats_ = round_up_to_line(rows * geometry_.in_size());
  }

  /// What a phase of one residue per axis gets of `columns` [out, taps, samples].
  void add_columns(const Phase& phase, const float* columns, float* results) const {
    const auto axis = [&](std::size_t i) {
      return ConvolutionAxis{geometry_.axes[i].in, i < 2 ? phase[i]->outputs : phase_columns(geometry_),
                             phase[i]->window(),   1,
                             phase[i]->dilation,   phase[i]->pad};
    };
    const std::array<ConvolutionAxis, 3> axes{axis(0), axis(1), axis(2)};
    const ConvolutionAxis& depth = axes[0];
    const ConvolutionAxis& height = axes[1];
    const ConvolutionAxis& width = axes[2];
    // Calls f(tap of the kernel, sample) for those that output q of an axis sees.
    const auto for_each_seen = [&](std::size_t i, std::size_t q, const auto& f) {
      for (std::size_t k = 0; k < axes[i].kernel; ++k) {
        const auto sample = static_cast<std::ptrdiff_t>(q + k * axes[i].dilation) - axes[i].pad;
        const std::ptrdiff_t tap = phase[i]->taps.front()[k];
        if (tap >= 0 && sample >= 0 && sample < static_cast<std::ptrdiff_t>(axes[i].in))
          f(static_cast<std::size_t>(tap), static_cast<std::size_t>(sample));
      }
    };
    const auto add_row = [&](const float* from, float* row) {
      for (std::size_t k = 0; k < width.kernel; ++k) {
        const std::ptrdiff_t tap = phase[2]->taps.front()[k];
        const IndexRange outputs = outputs_inside(width, k);
        if (tap < 0 || outputs.begin >= outputs.end) continue;
        const std::ptrdiff_t shift = static_cast<std::ptrdiff_t>(k * width.dilation) - width.pad;
        const float* const samples = from + static_cast<std::size_t>(tap) * geometry_.in_size();
        float* const to = row + outputs.begin;
        binary_span(BinaryOp::add, {to, false},
                    {samples + (static_cast<std::ptrdiff_t>(outputs.begin) + shift), false}, to,
                    outputs.count());
      }
    };
    const std::size_t cost = (depth.kernel * height.kernel * width.kernel + 1) * (width.out / 8 + 8);
    parallel_for(
        channels() * depth.out * height.out, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
          for (std::size_t index = begin; index < end; ++index) {
            const std::size_t channel = index / height.out / depth.out;
            float* const row = results + index * width.out;
            std::fill_n(row, width.out, epilogue_.bias() != nullptr ? epilogue_.bias()[channel] : 0.0F);
            for_each_seen(0, index / height.out % depth.out, [&](std::size_t z_tap, std::size_t z) {
              for_each_seen(1, index % height.out, [&](std::size_t y_tap, std::size_t y) {
                const std::size_t line =
                    (z_tap * geometry_.axes[1].kernel + y_tap) * geometry_.axes[2].kernel;
                add_row(columns + (channel * geometry_.taps() + line) * geometry_.in_size() +
                            (z * height.in + y) * width.in,
                        row);
              });
            });
          }
        });
  }

  /// Merges the results into rows of the output, and does what is left of the epilogue.
  void interleave(const Rows& rows, const float* results, const float* residual, float* out) const {
    const ConvolutionAxis& depth = geometry_.axes[0];
    const ConvolutionAxis& vertical = geometry_.axes[1];
    const ConvolutionAxis& horizontal = geometry_.axes[2];
    const std::size_t z_residues = rows.z.residues();
    const std::size_t y_residues = rows.y.residues();
    const std::size_t slice_rows = rows.y.outputs * y_residues;
    const std::size_t slices = rows.z.outputs * z_residues;
    const std::size_t columns = phase_columns(geometry_);
    const auto finish_rows = [&](std::size_t slice, std::size_t first, std::size_t last) {
      const std::size_t channel = slice / slices;
      const std::size_t z_output = slice % slices / z_residues;
      const std::size_t z_residue = slice % slices % z_residues;
      const std::size_t z = z_output * depth.stride + rows.z.first + z_residue;
      std::size_t y_output = first / y_residues;
      std::size_t y_residue = first % y_residues;
      for (std::size_t row = first; row < last && z < depth.out; ++row) {
        const std::size_t y = y_output * vertical.stride + rows.y.first + y_residue;
        // The last residues may have one row less.
        if (y < vertical.out) {
          const std::size_t plane = (z_residue * y_residues + y_residue) * channels() + channel;
          const std::size_t from =
              ((plane * rows.z.outputs + z_output) * rows.y.outputs + y_output) * columns;
          const std::size_t to = ((channel * depth.out + z) * vertical.out + y) * horizontal.out;
          finish_row(results + from, result_stride(rows), residual != nullptr ? residual + to : nullptr,
                     out + to, channel);
        }
        if (++y_residue < y_residues) continue;
        y_residue = 0;
        ++y_output;
      }
    };
    parallel_for(channels() * slices * slice_rows, grain_for_cost(horizontal.out / 4 + 8),
                 [&](std::size_t begin, std::size_t end) {
                   while (begin < end) {
                     const std::size_t slice = begin / slice_rows;
                     const std::size_t last = std::min(end, (slice + 1) * slice_rows);
                     finish_rows(slice, begin - slice * slice_rows, last - slice * slice_rows);
                     begin = last;
                   }
                 });
  }

  void finish_row(const float* from, std::size_t stride, const float* residual, float* to,
                  std::size_t channel) const {
    const std::size_t length = geometry_.axes[2].out;
    const std::size_t residues = geometry_.axes[2].stride;
    const std::size_t whole_columns = length / residues;
    const auto result = [&](std::size_t i) { return from[i % residues * stride + i / residues]; };
    if (residual == to) {
      for (std::size_t i = 0; i < length; ++i) to[i] += result(i);
    } else {
      interleave_rows(from, stride, residues, whole_columns, to);
      for (std::size_t i = whole_columns * residues; i < length; ++i) to[i] = result(i);
      for (std::size_t i = 0; residual != nullptr && i < length; ++i) to[i] += residual[i];
    }
    if (!inner_does_all_) finish_elements(to, length, channel);
  }

  /// What of the epilogue comes after the sums.
  void finish_elements(float* to, std::size_t count, std::size_t channel) const {
    const float low = epilogue_.low();
    const float high = epilogue_.high();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::size_t clamped = low == -kInfinity && high == kInfinity ? 0 : count;
    for (std::size_t i = 0; i < clamped; ++i) {
      // Comparisons that a NaN passes through.
      const float value = to[i] < low ? low : to[i];
      to[i] = value > high ? high : value;
    }
    epilogue_.post_rows(to, count, 1, count, channel);
  }

  ConvolutionGeometry geometry_;
  PhaseSplit split_;
  bool constant_weights_;
  bool is_direct_;       ///< the only phase writes the output
  bool inner_does_all_;  ///< of the epilogue
  OwnedEpilogue epilogue_;
  std::vector<Rows> rows_;
  std::unique_ptr<Convolution> columns_;  ///< in the place of those of the phases
  std::size_t parts_ = 0;                 ///< in all rows
  std::size_t result_floats_ = 0;
  std::size_t column_floats_ = 0;
  std::size_t weight_floats_ = 0;
  std::size_t inner_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Convolution> create_deconvolution(const ConvolutionParams& params, const float* weights,
                                                  const Epilogue& epilogue) {
  return std::make_unique<Deconvolution>(params, weights, epilogue);
}

}  // namespace ir::kernels
