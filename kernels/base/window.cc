#include "kernels/base/window.h"

#include <algorithm>

namespace ir::kernels {
namespace {

/// How many of the taps start, start + dilation, ... (`kernel` of them) lie below `bound`.
std::size_t taps_below(std::int64_t start, std::int64_t bound, std::size_t kernel, std::size_t dilation) {
  if (start >= bound) return 0;
  return std::min(kernel, (static_cast<std::size_t>(bound - start) - 1) / dilation + 1);
}

}  // namespace

WindowAxis sliding_windows(const WindowParams& params, Divisor divisor) {
  WindowAxis axis{params.in, params.dilation, {}, true, params};
  axis.windows.reserve(params.out);
  const auto in = static_cast<std::int64_t>(params.in);
  const auto padded_end = static_cast<std::int64_t>(params.in + params.pad_end);
  for (std::size_t o = 0; o < params.out; ++o) {
    const std::int64_t start =
        static_cast<std::int64_t>(o * params.stride) - static_cast<std::int64_t>(params.pad_begin);
    const std::size_t before = taps_below(start, 0, params.kernel, params.dilation);
    const std::size_t below = taps_below(start, in, params.kernel, params.dilation);
    Window window;
    window.count = below - before;
    if (window.count > 0) {
      window.first = static_cast<std::size_t>(start + static_cast<std::int64_t>(before * params.dilation));
    }
    switch (divisor) {
      case Divisor::image:
        window.divisor = window.count;
        break;
      case Divisor::padded:
        window.divisor = taps_below(start, padded_end, params.kernel, params.dilation);
        break;
      case Divisor::kernel:
        window.divisor = params.kernel;
        break;
    }
    axis.windows.push_back(window);
  }
  return axis;
}

WindowAxis adaptive_windows(std::size_t in, std::size_t out) {
  WindowAxis axis{in, 1, {}, false, {}};
  axis.windows.reserve(out);
  // o * in / out with o = 0, 1, ... kept as quotient and remainder, so that no product can overflow.
  const std::size_t step = in / out;
  const std::size_t step_remainder = in % out;
  std::size_t begin = 0;
  std::size_t remainder = 0;
  for (std::size_t o = 0; o < out; ++o) {
    std::size_t next = begin + step;
    std::size_t next_remainder = remainder;
    if (step_remainder >= out - next_remainder) {
      ++next;
      next_remainder -= out - step_remainder;
    } else {
      next_remainder += step_remainder;
    }
    const std::size_t count = next + (next_remainder > 0 ? 1 : 0) - begin;
    axis.windows.push_back({begin, count, count});
    begin = next;
    remainder = next_remainder;
  }
  return axis;
}

}  // namespace ir::kernels
