#include "kernels/pooling/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/pooling/pooling_lines.h"
#include "kernels/pooling/pooling_planes.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

// Columns whose accumulators live on the stack at a time.
constexpr std::size_t kBlock = 64;

template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

// Unsigned sums wrap without undefined behaviour and are right modulo 2^64 for signed values too.
template <class T>
T mean(Sum<T> sum, std::size_t divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return sum / static_cast<T>(divisor);
  } else if constexpr (sizeof(T) == 1) {
    const auto value = static_cast<double>(static_cast<std::int64_t>(sum)) / static_cast<double>(divisor);
    return static_cast<T>(std::nearbyint(value));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(sum) / static_cast<std::int64_t>(divisor));
  } else {
    return static_cast<T>(sum / divisor);
  }
}

template <class T>
T value_from_double(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return T{0};
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  }
}

/// Some columns of an output line.
struct Block {
  const PoolLines::Line& line;
  std::size_t first;                // output element
  std::span<const Window> windows;  // of each column: at most kBlock
};

// One loop for all types: what is called goes over a block.
void for_each_block(std::size_t rows, const PoolLines& lines, FunctionRef<void(const Block&)> work) {
  const std::span<const Window> windows = lines.columns().windows;
  parallel_for(rows * lines.lines(), grain_for_cost(lines.line_cost()),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t n = begin; n < end; ++n) {
                   const PoolLines::Line line = lines.line(n);
                   for (std::size_t x = 0; x < windows.size(); x += kBlock) {
                     const std::size_t count = std::min(kBlock, windows.size() - x);
                     work({line, n * windows.size() + x, windows.subspan(x, count)});
                   }
                 }
               });
}

/// Calls f with the offset of every input line under the block.
void for_each_tap(const PoolLines& lines, const Block& block, FunctionRef<void(std::size_t)> f) {
  lines.for_each_tap(block.line, f);
}

template <class T>
void average_any(std::size_t rows, const PoolLines& lines, double empty_window_value, const T* in, T* out) {
  const T empty = value_from_double<T>(empty_window_value);
  for_each_block(rows, lines, [&](const Block& block) {
    std::array<Sum<T>, kBlock> sums{};
    const auto add_line = [&sums, windows = block.windows, step = lines.columns().dilation,
                           in](std::size_t offset) {
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window window = windows[i];
        const T* from = in + offset + window.first;
        Sum<T> sum = sums[i];
        for (std::size_t k = 0; k < window.count; ++k) sum += static_cast<Sum<T>>(from[k * step]);
        sums[i] = sum;
      }
    };
    for_each_tap(lines, block, add_line);
    for (std::size_t i = 0; i < block.windows.size(); ++i) {
      const std::size_t divisor = block.line.divisor * block.windows[i].divisor;
      out[block.first + i] = divisor == 0 ? empty : mean<T>(sums[i], divisor);
    }
  });
}

template <class T>
constexpr T kBelowAll = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::lowest();

template <class T>
void store_largest(const Block& block, const std::array<T, kBlock>& best, T* out) {
  for (std::size_t i = 0; i < block.windows.size(); ++i) {
    const bool empty = block.line.taps == 0 || block.windows[i].count == 0;
    out[block.first + i] = empty ? std::numeric_limits<T>::lowest() : best[i];
  }
}

template <class T>
void max_any(std::size_t rows, const PoolLines& lines, const T* in, T* out) {
  for_each_block(rows, lines, [&](const Block& block) {
    std::array<T, kBlock> best;
    best.fill(kBelowAll<T>);
    const auto look_at_line = [&best, windows = block.windows, step = lines.columns().dilation,
                               in](std::size_t offset) {
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window window = windows[i];
        const T* from = in + offset + window.first;
        T largest = best[i];
        for (std::size_t k = 0; k < window.count; ++k)
          largest = from[k * step] > largest ? from[k * step] : largest;
        best[i] = largest;
      }
    };
    for_each_tap(lines, block, look_at_line);
    store_largest(block, best, out);
  });
}

template <class Index>
struct StoredIndices {
  Index* indices;
  std::size_t period;

  void operator()(std::size_t i, std::span<const std::size_t> where) const {
    for (const std::size_t place : where)
      indices[i++] = static_cast<Index>(place < period ? place : place % period);
  }
};

/// Calls store(i, where) with where the outputs from i on were found.
template <class T>
void max_with_indices(std::size_t rows, const PoolLines& lines, const T* in, T* out,
                      FunctionRef<void(std::size_t i, std::span<const std::size_t> where)> store) {
  for_each_block(rows, lines, [&](const Block& block) {
    std::array<T, kBlock> best;
    std::array<std::size_t, kBlock> where;
    best.fill(kBelowAll<T>);
    where.fill(block.line.image_offset);
    auto look_at_line = [&best, &where, windows = block.windows, step = lines.columns().dilation, in,
                         is_first = true](std::size_t offset) mutable {
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window window = windows[i];
        const std::size_t from = offset + window.first;
        T largest = best[i];
        std::size_t place = is_first && window.count > 0 ? from : where[i];
        for (std::size_t k = 0; k < window.count; ++k) {
          const T element = in[from + k * step];
          // Chosen, not jumped to: which one it will be nobody can predict.
          place = element > largest ? from + k * step : place;
          largest = element > largest ? element : largest;
        }
        best[i] = largest;
        where[i] = place;
      }
      is_first = false;
    };
    for_each_tap(lines, block, look_at_line);
    store_largest(block, best, out);
    store(block.first, std::span(where).first(block.windows.size()));
  });
}

constexpr std::size_t kLineCost = 60;  // however short

/// Calls work(begin, end) for lines of planes, of elements of which a vector holds `times` as many as of
/// floats.
void over_planes(std::size_t rows, const PoolLines& lines, std::size_t times,
                 FunctionRef<void(std::size_t begin, std::size_t end)> work) {
  // Long stretches of lines: each begins with a buffer to fill.
  for_each_task(rows * lines.lines(), lines.line_cost() * 3 / 8 / times + kLineCost / 2,
                static_cast<std::size_t>(loop_threads()),
                [&](std::size_t begin, std::size_t end, std::size_t) { work(begin, end); });
}

/// The paths that exist for float only. False: not taken.
bool pool_f32(std::size_t rows, const std::vector<WindowAxis>& axes, const PoolLines& lines,
              const float* column_divisors, double empty_window_value, const float* in, float* out) {
  if (is_global(axes)) {
    std::size_t divisor = 1;
    for (const WindowAxis& axis : axes) divisor *= axis.windows[0].divisor;
    parallel_for(rows, grain_for_cost(lines.image() / 4 + 1), [&](std::size_t begin, std::size_t end) {
      pool_global_f32(column_divisors != nullptr, lines.image(), static_cast<float>(divisor), in, out, begin,
                      end);
    });
    return true;
  }
  if (slides_over_planes(axes)) {
    over_planes(rows, lines, 1, [&](std::size_t begin, std::size_t end) {
      pool_planes_f32(axes, column_divisors, {in, in + rows * lines.image(), out, begin, end});
    });
    return true;
  }
  if (!fits_line_buffer(lines.columns())) return false;
  parallel_for(rows * lines.lines(), grain_for_cost(lines.line_cost() * 3 / 4 + kLineCost),
               [&](std::size_t begin, std::size_t end) {
                 pool_lines_f32(lines, column_divisors, static_cast<float>(empty_window_value), in, out,
                                begin, end);
               });
  return true;
}

}  // namespace

AveragePool::AveragePool(std::size_t rows, std::vector<WindowAxis> axes, double empty_window_value)
    : rows_(rows), axes_(std::move(axes)), empty_window_value_(empty_window_value) {
  for (const Window& window : axes_.back().windows)
    column_divisors_.push_back(static_cast<float>(window.divisor));
  column_divisors_.resize(column_divisors_.size() + kDivisorPadding, 1.0F);
}

template <class T>
void AveragePool::run(const T* in, T* out) const {
  const PoolLines lines(axes_);
  if constexpr (std::is_same_v<T, float>) {
    if (pool_f32(rows_, axes_, lines, column_divisors_.data(), empty_window_value_, in, out)) return;
  }
  average_any(rows_, lines, empty_window_value_, in, out);
}

MaxPool::MaxPool(std::size_t rows, std::vector<WindowAxis> axes)
    : rows_(rows), axes_(std::move(axes)), flat_(axes_) {}

template <class T>
void MaxPool::run(const T* in, T* out) const {
  const PoolLines lines(axes_);
  if constexpr (std::is_same_v<T, float>) {
    if (pool_f32(rows_, axes_, lines, nullptr, 0.0, in, out)) return;
  }
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (const FlatPoolOfBytes pool = flat_pool_of_bytes(flat_)) {
      return for_each_task(
          rows_, flat_.cost(), static_cast<std::size_t>(loop_threads()),
          [&](std::size_t begin, std::size_t end, std::size_t) { pool(flat_, in, out, begin, end); });
    }
    if (const PoolOfBytes pool = pool_of_bytes(axes_)) {
      return over_planes(rows_, lines, sizeof(float), [&](std::size_t begin, std::size_t end) {
        pool(axes_, {in, in + rows_ * lines.image(), out, begin, end});
      });
    }
  }
  max_any(rows_, lines, in, out);
}

template <class T, class Index>
void MaxPool::run(const T* in, T* out, Index* indices, std::size_t index_period) const {
  max_with_indices(rows_, PoolLines(axes_), in, out, StoredIndices<Index>{indices, index_period});
}

#define IR_INSTANTIATE(T)                                                                      \
  template void AveragePool::run<T>(const T*, T*) const;                                       \
  template void MaxPool::run<T>(const T*, T*) const;                                           \
  template void MaxPool::run<T, std::int32_t>(const T*, T*, std::int32_t*, std::size_t) const; \
  template void MaxPool::run<T, std::int64_t>(const T*, T*, std::int64_t*, std::size_t) const;
IR_INSTANTIATE(float)
IR_INSTANTIATE(double)
IR_INSTANTIATE(std::int8_t)
IR_INSTANTIATE(std::int16_t)
IR_INSTANTIATE(std::int32_t)
IR_INSTANTIATE(std::int64_t)
IR_INSTANTIATE(std::uint8_t)
IR_INSTANTIATE(std::uint16_t)
IR_INSTANTIATE(std::uint32_t)
IR_INSTANTIATE(std::uint64_t)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
