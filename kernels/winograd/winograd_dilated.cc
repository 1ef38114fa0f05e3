// Winograd's convolution with a dilation: outputs that lie the dilation apart see samples that lie as far
// apart and no others, a phase of the plane. Phases stand side by side in a plane of their own, over which
// the filter goes as if there were no dilation; what it finds where it reaches from one phase into the next
// is dropped.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_cost.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// One axis of a plane, and how it is cut into phases: sample, or output, x is number x / count of phase
/// x % count.
struct PhasedAxis {
  ConvolutionAxis samples;  ///< every stride-th of which is of one phase
  std::size_t count = 1;
  std::size_t pitch = 0;  ///< from one phase to the next
  ConvolutionAxis dense;  ///< of the plane of phases

  explicit PhasedAxis(const ConvolutionAxis& axis) : samples(axis), pitch(axis.in), dense(axis) {
    samples.stride = 1;
    samples.pad = 0;
    if (axis.dilation == 1 || axis.kernel == 1 || axis.stride != 1) return;
    count = axis.dilation;
    pitch = divide_up(axis.out, count) + axis.kernel - 1;
    samples.stride = count;
    samples.pad = axis.pad;
    dense = {count * pitch, count * pitch - (axis.kernel - 1), axis.kernel, 1, 1, 0};
  }
  /// Which of the numbers of a phase are samples; padding is around them.
  [[nodiscard]] IndexRange inside(std::size_t phase) const {
    return samples_inside(samples, 0, phase, pitch);
  }
  /// Sample `number` of a phase, which is inside.
  [[nodiscard]] std::size_t sample(std::size_t phase, std::size_t number) const {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(number * count + phase) - samples.pad);
  }
};

struct PhasedPlane {
  PhasedAxis vertical;
  PhasedAxis horizontal;

  explicit PhasedPlane(const ConvolutionGeometry& geometry)
      : vertical(geometry.axes[1]), horizontal(geometry.axes[2]) {}
  [[nodiscard]] bool is_cut() const { return vertical.count > 1 || horizontal.count > 1; }
};

/// That of the plane of phases.
ConvolutionGeometry dense_geometry(ConvolutionGeometry geometry, const PhasedPlane& plane) {
  geometry.axes[1] = plane.vertical.dense;
  geometry.axes[2] = plane.horizontal.dense;
  return geometry;
}

/// A form of Winograd's convolution that knows no dilation.
struct DenseForm {
  double (*cost)(const ConvolutionGeometry& geometry);
  std::unique_ptr<Convolution> (*create)(const ConvolutionGeometry& geometry, const float* weights,
                                         const Epilogue& epilogue);
  /// Of a group; nullptr: as many as there are.
  std::size_t (*kept_weights)(const ConvolutionGeometry& geometry);
};

template <std::size_t kOutputs>
constexpr DenseForm plane_form() {
  return {
      [](const ConvolutionGeometry& geometry) { return winograd_convolution_cost(geometry, kOutputs); },
      [](const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue) {
        return create_winograd_convolution(geometry, kOutputs, weights, epilogue);
      },
      [](const ConvolutionGeometry& geometry) { return winograd_convolution_weights(geometry, kOutputs); }};
}
template <std::size_t kOutputs>
constexpr DenseForm compact_form() {
  return {[](const ConvolutionGeometry& geometry) { return compact_winograd_cost(geometry, kOutputs); },
          [](const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue) {
            return create_compact_winograd(geometry, kOutputs, weights, epilogue);
          },
          nullptr};
}
template <TileAxes kAxes>
constexpr DenseForm line_form() {
  return {
      [](const ConvolutionGeometry& geometry) { return winograd_lines_convolution_cost(geometry, kAxes); },
      create_winograd_lines_convolution,
      [](const ConvolutionGeometry& geometry) {
        return winograd_lines_convolution_weights(geometry, kAxes);
      }};
}
constexpr std::array kForms{plane_form<2>(), plane_form<4>(), line_form<TileAxes::vertical>(),
                            line_form<TileAxes::horizontal>()};
constexpr std::array kCompactForms{compact_form<2>(), compact_form<4>()};

struct PricedForm {
  double cost = kCannotServe;
  const DenseForm* form = nullptr;  ///< nullptr: there is none
};

/// `geometry` is a dense one.
PricedForm cheapest_form(const ConvolutionGeometry& geometry, FilterForm filters) {
  PricedForm best;
  const auto consider = [&](const DenseForm& form) {
    const double cost = form.cost(geometry);
    if (cost < best.cost) best = {cost, &form};
  };
  if (filters == FilterForm::transformed) {
    std::for_each(kForms.begin(), kForms.end(), consider);
  } else {
    std::for_each(kCompactForms.begin(), kCompactForms.end(), consider);
  }
  return best;
}

class DilatedWinograd final : public Convolution {
 public:
  DilatedWinograd(const ConvolutionGeometry& geometry, const ConvolutionGeometry& dense,
                  const PhasedPlane& plane, FilterForm filters, bool has_residual,
                  std::unique_ptr<Convolution> convolution)
      : kernels_(gemm_kernels()),
        vertical_(plane.vertical),
        horizontal_(plane.horizontal),
        in_planes_(geometry.batch * geometry.groups * geometry.in_channels * geometry.axes[0].in),
        out_planes_(geometry.planes() * geometry.out_channels),
        filters_(filters),
        has_residual_(has_residual),
        convolution_(std::move(convolution)) {
    image_bytes_ = scratch_bytes_for(in_planes_ * dense.axes[1].in * dense.axes[2].in);
    result_bytes_ = scratch_bytes_for(out_planes_ * dense.axes[1].out * dense.axes[2].out);
  }

  std::string_view algorithm() const override {
    return filters_ == FilterForm::transformed ? "winograd_dilated" : "winograd_dilated_compact";
  }
  std::size_t scratch_bytes() const override {
    return image_bytes_ + (has_residual_ ? 2 : 1) * result_bytes_ + convolution_->scratch_bytes();
  }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    float* const image = aligned_scratch(scratch);
    scratch += image_bytes_;
    float* const result = aligned_scratch(scratch);
    scratch += result_bytes_;
    to_phases(in.image, image);
    ConvolutionInputs of_phases{image, nullptr, nullptr};
    if (has_residual_) {
      float* const residual = aligned_scratch(scratch);
      scratch += result_bytes_;
      residual_to_phases(in.residual, residual);
      of_phases.residual = residual;
    }
    convolution_->run(of_phases, result, scratch);
    from_phases(result, out);
  }

 private:
  /// The samples of all planes, with their padding.
  void to_phases(const float* image, float* phases) const {
    const std::size_t from_plane = vertical_.samples.in * horizontal_.samples.in;
    const std::size_t to_plane = vertical_.dense.in * horizontal_.dense.in;
    parallel_for(in_planes_, grain_for_cost(to_plane), [&](std::size_t begin, std::size_t end) {
      for (std::size_t phase = 0; phase < vertical_.count; ++phase) {
        stage_rows(phase, {end - begin, from_plane, to_plane}, image + begin * from_plane,
                   phases + begin * to_plane);
      }
    });
  }
  /// One phase of rows of some planes.
  void stage_rows(std::size_t phase, const StagedChannels& planes, const float* from, float* to) const {
    const std::size_t width = horizontal_.dense.in;
    const IndexRange rows = vertical_.inside(phase);
    to += phase * vertical_.pitch * width;
    for (std::size_t plane = 0; plane < planes.count; ++plane) {
      float* const first = to + plane * planes.to_stride;
      std::fill_n(first, rows.begin * width, 0.0F);
      std::fill_n(first + rows.end * width, (vertical_.pitch - rows.end) * width, 0.0F);
    }
    if (rows.count() == 0) return;
    from += vertical_.sample(phase, rows.begin) * horizontal_.samples.in;
    to += rows.begin * width;
    StagedRows staged;
    staged.count = rows.count();
    staged.from_stride = vertical_.count * horizontal_.samples.in;
    staged.to_stride = width;
    staged.stride = horizontal_.count;
    for (std::size_t column_phase = 0; column_phase < horizontal_.count; ++column_phase) {
      const IndexRange columns = horizontal_.inside(column_phase);
      staged.before = columns.begin;
      staged.samples = columns.count();
      staged.after = horizontal_.pitch - columns.end;
      const std::size_t sample = staged.samples == 0 ? 0 : horizontal_.sample(column_phase, columns.begin);
      kernels_.stage_rows(from + sample, staged, planes, to + column_phase * horizontal_.pitch);
    }
  }

  /// The rows of the phases of all outputs: f(row of phases, row of outputs), or f(row of phases, kBetween)
  /// where it is none of an output.
  template <class F>
  void for_each_row(const F& f) const {
    const std::size_t height = vertical_.dense.out;
    parallel_for(
        out_planes_, grain_for_cost(height * horizontal_.dense.out), [&](std::size_t begin, std::size_t end) {
          for (std::size_t row = begin * height; row < end * height; ++row) {
            const std::size_t at = row % height;
            // Rows that are in no phases may be more than those of the image.
            const bool is_cut = vertical_.count > 1;
            const std::size_t y = is_cut ? at % vertical_.pitch * vertical_.count + at / vertical_.pitch : at;
            const bool is_output = y < vertical_.samples.out;
            f(row * horizontal_.dense.out,
              is_output ? (row / height * vertical_.samples.out + y) * horizontal_.samples.out : kBetween);
          }
        });
  }
  void from_phases(const float* phases, float* out) const {
    const std::size_t width = horizontal_.samples.out;
    const std::size_t whole = width / horizontal_.count;  // numbers that all phases have
    for_each_row([&](std::size_t from_row, std::size_t to_row) {
      if (to_row == kBetween) return;
      float* const to = out + to_row;
      const float* const from = phases + from_row;
      if (horizontal_.count == 1) {
        std::copy_n(from, width, to);
        return;
      }
      interleave_rows(from, horizontal_.pitch, horizontal_.count, whole, to);
      for (std::size_t x = whole * horizontal_.count; x < width; ++x) to[x] = from[place_in_row(x)];
    });
  }
  /// What is added to outputs; zeros between them.
  void residual_to_phases(const float* residual, float* phases) const {
    for_each_row([&](std::size_t to_row, std::size_t from_row) {
      float* const to = phases + to_row;
      std::fill_n(to, horizontal_.dense.out, 0.0F);
      if (from_row == kBetween) return;
      for (std::size_t x = 0; x < horizontal_.samples.out; ++x) to[place_in_row(x)] = residual[from_row + x];
    });
  }
  /// Of output x.
  [[nodiscard]] std::size_t place_in_row(std::size_t x) const {
    return x % horizontal_.count * horizontal_.pitch + x / horizontal_.count;
  }

  static constexpr std::size_t kBetween = std::numeric_limits<std::size_t>::max();

  const GemmKernels& kernels_;
  PhasedAxis vertical_;
  PhasedAxis horizontal_;
  std::size_t in_planes_;
  std::size_t out_planes_;
  FilterForm filters_;
  bool has_residual_;
  std::size_t image_bytes_ = 0;
  std::size_t result_bytes_ = 0;
  std::unique_ptr<Convolution> convolution_;
};

}  // namespace

double dilated_winograd_cost(const ConvolutionGeometry& geometry, FilterForm filters) {
  const PhasedPlane plane(geometry);
  if (geometry.is_empty() || !plane.is_cut()) return kCannotServe;
  const ConvolutionGeometry dense = dense_geometry(geometry, plane);
  // Cycles to put samples in their places, and results back.
  constexpr double kPiece = 18;  // of a row, which is of one phase
  const std::size_t phases = plane.horizontal.count;
  const double of_float = 0.15 + 0.03 * static_cast<double>(std::max<std::size_t>(phases, 2) - 2);
  const auto moving = [&](std::size_t channels, std::size_t pieces, std::size_t rows, std::size_t columns) {
    return static_cast<double>(channels * rows) *
           (kPiece * static_cast<double>(pieces) + of_float * static_cast<double>(columns));
  };
  return cheapest_form(dense, filters).cost +
         moving(dense.in_channels, phases, dense.axes[1].in, dense.axes[2].in) +
         moving(dense.out_channels, 1, dense.axes[1].out, dense.axes[2].out);
}

std::size_t dilated_winograd_weights(const ConvolutionGeometry& geometry, FilterForm filters) {
  const ConvolutionGeometry dense = dense_geometry(geometry, PhasedPlane(geometry));
  const DenseForm* const form = cheapest_form(dense, filters).form;
  if (form == nullptr) return 0;
  return form->kept_weights != nullptr ? form->kept_weights(dense) : dense.weight_count() / dense.groups;
}

std::unique_ptr<Convolution> create_dilated_winograd(const ConvolutionGeometry& geometry, FilterForm filters,
                                                     const float* weights, const Epilogue& epilogue) {
  const PhasedPlane plane(geometry);
  if (weights == nullptr || geometry.is_empty() || !plane.is_cut()) return nullptr;
  const ConvolutionGeometry dense = dense_geometry(geometry, plane);
  const DenseForm* const form = cheapest_form(dense, filters).form;
  if (form == nullptr) return nullptr;
  auto convolution = form->create(dense, weights, epilogue);
  if (convolution == nullptr) return nullptr;
  return std::make_unique<DilatedWinograd>(geometry, dense, plane, filters, epilogue.residual,
                                           std::move(convolution));
}

}  // namespace ir::kernels
