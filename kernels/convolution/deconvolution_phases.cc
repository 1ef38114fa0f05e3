#include "kernels/convolution/deconvolution_phases.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {
namespace {

/// Floats that meet before they become rows of the output: more is read from memory again, so then residues
/// meet only within rows.
constexpr std::size_t kMostResults = std::size_t{1} << 23;

/// Which residues share a convolution.
enum class Merging { none, same_window, all };

/// The samples that a residue sees: q + begin, and so on in steps of the dilation.
struct Window {
  std::ptrdiff_t begin = 0;
  std::vector<std::ptrdiff_t> taps;  ///< of the transposed kernel; may be empty

  Window(const ConvolutionAxis& axis, std::size_t residue) {
    const auto stride = static_cast<std::ptrdiff_t>(axis.stride);
    const std::ptrdiff_t origin = static_cast<std::ptrdiff_t>(residue) + axis.pad;
    // Output q reads sample q + (origin - tap * dilation) / stride, where that divides.
    for (std::size_t tap = axis.kernel; tap-- > 0;) {
      const std::ptrdiff_t distance = origin - static_cast<std::ptrdiff_t>(tap * axis.dilation);
      if (distance % stride != 0) continue;
      if (taps.empty()) begin = distance / stride;
      taps.push_back(static_cast<std::ptrdiff_t>(tap));
    }
  }
  [[nodiscard]] bool is_same(const Window& other) const {
    return begin == other.begin && taps.size() == other.taps.size();
  }
};

/// The samples that some windows see together.
struct Reach {
  std::ptrdiff_t begin = std::numeric_limits<std::ptrdiff_t>::max();
  std::ptrdiff_t last = std::numeric_limits<std::ptrdiff_t>::min();
  std::ptrdiff_t dilation = 1;

  /// False, and nothing changes, when the steps of the window lie between those of the others.
  bool take(const Window& window) {
    if (window.taps.empty()) return true;
    if (begin <= last && (window.begin - begin) % dilation != 0) return false;
    begin = std::min(begin, window.begin);
    last = std::max(last, window.begin + static_cast<std::ptrdiff_t>(window.taps.size() - 1) * dilation);
    return true;
  }
};

PhaseAxis phase_axis(const ConvolutionAxis& axis, std::size_t first, std::span<const Window> windows,
                     const Reach& reach) {
  PhaseAxis phase;
  phase.first = first;
  phase.outputs = (axis.out - first - 1) / axis.stride + 1;
  phase.dilation = static_cast<std::size_t>(reach.dilation);
  const bool is_empty = reach.begin > reach.last;
  // Without taps: one that lies before the image for every output.
  phase.pad = is_empty ? static_cast<std::ptrdiff_t>(phase.outputs) : -reach.begin;
  const std::ptrdiff_t count = is_empty ? 1 : (reach.last - reach.begin) / reach.dilation + 1;
  for (const Window& window : windows) {
    auto& taps = phase.taps.emplace_back(static_cast<std::size_t>(count), -1);
    const std::ptrdiff_t at = window.taps.empty() ? 0 : (window.begin - reach.begin) / reach.dilation;
    std::copy(window.taps.begin(), window.taps.end(), taps.begin() + at);
  }
  return phase;
}

std::vector<PhaseAxis> phase_axes(const ConvolutionAxis& axis, Merging merging) {
  std::vector<Window> windows;
  for (std::size_t residue = 0; residue < std::min(axis.stride, axis.out); ++residue)
    windows.emplace_back(axis, residue);
  std::vector<PhaseAxis> phases;
  for (std::size_t first = 0; first < windows.size();) {
    Reach reach;
    reach.dilation = static_cast<std::ptrdiff_t>(axis.dilation / std::gcd(axis.dilation, axis.stride));
    (void)reach.take(windows[first]);
    std::size_t end = first + 1;
    const auto joins = [&](const Window& window) {
      if (merging == Merging::all) return reach.take(window);
      return merging == Merging::same_window && window.is_same(windows[first]);
    };
    while (end < windows.size() && joins(windows[end])) ++end;
    phases.push_back(phase_axis(axis, first, std::span(windows).subspan(first, end - first), reach));
    first = end;
  }
  return phases;
}

/// Calls f(phase) for each, the last axis innermost.
template <class F>
void for_each_phase(const PhaseSplit& split, const F& f) {
  for (const PhaseAxis& z : split.axes[0]) {
    for (const PhaseAxis& y : split.axes[1]) {
      for (const PhaseAxis& x : split.axes[2]) f(Phase{&z, &y, &x});
    }
  }
}

/// Floats of the results that meet in the rows of the output, where there are most.
std::size_t most_results(const ConvolutionGeometry& geometry, const PhaseSplit& split) {
  std::size_t most = 0;
  for_each_phase(split, [&](const Phase& phase) {
    const auto& [z, y, x] = phase;
    most = std::max(most, z->residues() * z->outputs * y->residues() * y->outputs);
  });
  return most * geometry.axes[2].stride * phase_columns(geometry) * geometry.out_channels;
}

/// The fastest algorithm that keeps little more than the weights that there are. Filling windows up for
/// Winograd's transforms can take nine times as much.
std::optional<ConvolutionAlgorithm> best_algorithm(const ConvolutionGeometry& geometry, const Phase& phase,
                                                   bool constant_weights) {
  constexpr double kMostGrowth = 1.25;
  constexpr double kFreeBytes = 1 << 20;  // of the operation
  constexpr double kFreeBytesOfPhase = 1 << 16;
  double share = 1;
  for (std::size_t i = 0; i < 3; ++i)
    share *= static_cast<double>(phase[i]->residues()) / static_cast<double>(geometry.axes[i].stride);
  const double weights =
      static_cast<double>(geometry.in_channels * geometry.out_channels * geometry.taps() * sizeof(float));
  const double most = share * (kMostGrowth * weights + kFreeBytes) + kFreeBytesOfPhase;
  for (const ConvolutionAlgorithm& algorithm :
       convolution_algorithms(phase_params(geometry, phase), constant_weights)) {
    if (static_cast<double>(algorithm.weight_bytes) <= most) return algorithm;
  }
  return std::nullopt;
}

/// The least cycles that any split has taken so far, and that split.
struct Best {
  double cycles = std::numeric_limits<double>::infinity();
  PhaseSplit split;
};

void try_split(const ConvolutionGeometry& geometry, bool constant_weights, PhaseSplit split, Best& best) {
  double cycles = 0;
  bool fits = true;
  for_each_phase(split, [&](const Phase& phase) {
    if (is_empty(phase)) {
      split.algorithms.emplace_back();
      return;
    }
    const auto algorithm = best_algorithm(geometry, phase, constant_weights);
    fits = fits && algorithm.has_value();
    if (algorithm) cycles += algorithm->cycles;
    split.algorithms.push_back(algorithm ? algorithm->name : "");
  });
  if (best.split.algorithms.empty() || (fits && cycles < best.cycles))
    best = {fits ? cycles : std::numeric_limits<double>::infinity(), std::move(split)};
}

/// Of columns: their product, and adding them up, row by row. Few channels fill no panel of a phase, but with
/// all taps they may fill several.
double column_cycles(const ConvolutionGeometry& geometry) {
  constexpr double kOfRow = 30;
  constexpr double kOfFloat = 0.3;
  constexpr double kCannot = std::numeric_limits<double>::infinity();
  const std::size_t channels = geometry.groups * geometry.out_channels;
  const std::size_t floats = channels * geometry.taps() * geometry.in_size();
  // Phases without taps would be made of zeros row by row.
  const bool has_all_phases =
      std::all_of(geometry.axes.begin(), geometry.axes.end(),
                  [](const ConvolutionAxis& axis) { return axis.kernel >= axis.stride; });
  if (geometry.in_channels == 1 || floats > kMostResults || !has_all_phases) return kCannot;
  const auto algorithms = convolution_algorithms(column_params(geometry), true);
  if (algorithms.empty()) return kCannot;
  const auto width = static_cast<double>(geometry.axes[2].in);
  return algorithms.front().cycles + static_cast<double>(floats) / width * (kOfRow + kOfFloat * width);
}

}  // namespace

PhaseSplit split_phases(const ConvolutionGeometry& geometry, bool constant_weights) {
  const auto axes_of = [&](std::size_t axis, Merging merging) {
    return phase_axes(geometry.axes[axis], merging);
  };
  const PhaseSplit single{{axes_of(0, Merging::none), axes_of(1, Merging::none), axes_of(2, Merging::none)},
                          {}};
  if (has_one_phase(geometry)) {
    PhaseSplit split = single;
    split.algorithms.emplace_back();
    return split;
  }
  const auto or_columns = [&](double cycles, PhaseSplit split) {
    if (!constant_weights || column_cycles(geometry) >= cycles) return split;
    split = single;
    split.of_columns = true;
    return split;
  };
  if (geometry.groups > 1) {
    PhaseSplit split = single;
    double cycles = 0;
    for_each_phase(single, [&](const Phase& phase) {
      split.algorithms.emplace_back();
      if (is_empty(phase)) return;
      const auto algorithms = convolution_algorithms(phase_params(geometry, phase), constant_weights);
      if (!algorithms.empty()) cycles += algorithms.front().cycles;
    });
    return or_columns(cycles, std::move(split));
  }
  const auto merged = [&](std::size_t axis) {
    std::vector<std::vector<PhaseAxis>> ways{axes_of(axis, Merging::same_window)};
    // Of other windows, some residues multiply what others see by 0.
    if (geometry.accurate) return ways;
    auto all = axes_of(axis, Merging::all);
    if (all.size() != ways.front().size()) ways.push_back(std::move(all));
    return ways;
  };
  Best best;
  for (const auto& z : merged(0)) {
    for (const auto& y : merged(1)) {
      for (const auto& x : merged(2)) {
        PhaseSplit split{{z, y, x}, {}};
        if (most_results(geometry, split) <= kMostResults)
          try_split(geometry, constant_weights, std::move(split), best);
      }
    }
  }
  if (!best.split.algorithms.empty()) return or_columns(best.cycles, std::move(best.split));
  for (const auto& x : merged(2)) {
    try_split(geometry, constant_weights, {{single.axes[0], single.axes[1], x}, {}}, best);
  }
  return best.split;
}

bool is_empty(const Phase& phase) {
  return std::any_of(phase.begin(), phase.end(), [](const PhaseAxis* axis) {
    return std::all_of(axis->taps.begin(), axis->taps.end(), [](const auto& taps) {
      return std::all_of(taps.begin(), taps.end(), [](std::ptrdiff_t tap) { return tap < 0; });
    });
  });
}

ConvolutionParams column_params(const ConvolutionGeometry& geometry) {
  ConvolutionParams params;
  params.groups = geometry.groups;
  params.in_channels = geometry.groups * geometry.in_channels;
  params.out_channels = geometry.groups * geometry.out_channels * geometry.taps();
  params.spatial_rank = 1;
  params.in_dims[0] = params.out_dims[0] = geometry.in_size();
  params.accurate = geometry.accurate;
  params.whole_floats = geometry.whole_floats;
  params.max_threads = geometry.workers;
  return params;
}

bool has_one_phase(const ConvolutionGeometry& geometry) {
  return std::all_of(geometry.axes.begin(), geometry.axes.end(),
                     [](const ConvolutionAxis& axis) { return axis.stride == 1; });
}

std::size_t phase_columns(const ConvolutionGeometry& geometry) {
  return divide_up(geometry.axes[2].out, geometry.axes[2].stride);
}

ConvolutionParams phase_params(const ConvolutionGeometry& geometry, const Phase& phase) {
  ConvolutionParams params;
  params.groups = geometry.groups;
  params.in_channels = geometry.groups * geometry.in_channels;
  params.out_channels = geometry.groups * geometry.out_channels;
  params.spatial_rank = 3;
  params.accurate = geometry.accurate;
  params.whole_floats = geometry.whole_floats;
  params.max_threads = geometry.workers;
  for (std::size_t i = 0; i < 3; ++i) {
    params.out_channels *= phase[i]->residues();
    params.in_dims[i] = geometry.axes[i].in;
    params.out_dims[i] = phase[i]->outputs;
    params.kernel[i] = phase[i]->window();
    params.dilations[i] = phase[i]->dilation;
    params.pads_begin[i] = phase[i]->pad;
  }
  params.out_dims[2] = phase_columns(geometry);
  return params;
}

}  // namespace ir::kernels
