#include "kernels/base/broadcast.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#include "kernels/base/fill.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kMaxOperands = BroadcastPlan::kMaxOperands;
/// Rows shorter than this are joined with their neighbours: a call per row would cost more than the copying.
constexpr std::size_t kShortRow = 256;
/// The same where an operand's elements must be written once per element, not copied row by row.
constexpr std::size_t kShortRowOfColumns = 48;
/// Elements of a tile of joined rows.
constexpr std::size_t kTile = 1024;
constexpr std::size_t kMaxElementSize = 8;

/// Memory for one operand's tile.
using Tile = std::array<std::byte, kTile * kMaxElementSize>;

const std::byte* element(const BroadcastSource& source, std::size_t index) {
  return static_cast<const std::byte*>(source.data) + index * source.element_size;
}

/// Writes each of `rows` elements `columns` times.
template <class T>
void repeat_each(const std::byte* from, std::byte* to, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kFewBytes = 24;  // which a loop over elements writes sooner
  T* next = reinterpret_cast<T*>(to);
  for (std::size_t r = 0; r < rows; ++r, from += sizeof(T)) {
    if (columns * sizeof(T) < kFewBytes) {
      T value;
      std::memcpy(&value, from, sizeof(T));
      next = std::fill_n(next, columns, value);
    } else {
      fill_elements(from, sizeof(T), columns, next);
      next += columns;
    }
  }
}

void repeat_each(std::size_t element_size, const std::byte* from, std::byte* to, std::size_t rows,
                 std::size_t columns) {
  switch (element_size) {
    case 1:
      return repeat_each<std::uint8_t>(from, to, rows, columns);
    case 2:
      return repeat_each<std::uint16_t>(from, to, rows, columns);
    case 4:
      return repeat_each<std::uint32_t>(from, to, rows, columns);
    default:
      return repeat_each<std::uint64_t>(from, to, rows, columns);
  }
}

using Body = FunctionRef<void(const SpanOperand* operands, std::size_t begin, std::size_t count)>;

/// Walks over the rows of a plan, keeping each operand's offset.
class RowWalker {
 public:
  /// `row_dims` leading dims of the plan make up the row index.
  RowWalker(const BroadcastPlan& plan, std::size_t row_dims) : plan_(plan), row_dims_(row_dims) {}

  /// Offset of an operand's first element of row `row`.
  std::size_t offset(std::size_t operand, std::size_t row) const {
    if (row_dims_ == 0) return 0;
    std::size_t sum = 0;
    for (std::size_t d = row_dims_ - 1; d > 0; row /= plan_.dims()[d--]) {
      sum += row % plan_.dims()[d] * plan_.stride(operand, d);
    }
    return sum + row * plan_.stride(operand, 0);  // most often the only dim: no division
  }

 private:
  const BroadcastPlan& plan_;
  std::size_t row_dims_;
};

/// Long rows: a span is a row, or a part of one.
void walk_long_rows(const BroadcastPlan& plan, std::span<const BroadcastSource> sources, std::size_t cost,
                    Body body) {
  const std::size_t inner = plan.dims().size() - 1;
  const std::size_t columns = plan.dims()[inner];
  const std::size_t rows = plan.output_count() / columns;
  const std::size_t piece = std::min(columns, grain_for_cost(cost));
  const std::size_t pieces = (columns - 1) / piece + 1;
  const RowWalker walker(plan, inner);
  parallel_for(rows * pieces, grain_for_cost(cost * piece), [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t row = pieces == 1 ? index : index / pieces;
      const std::size_t first = (index - row * pieces) * piece;
      std::array<SpanOperand, kMaxOperands> operands;
      for (std::size_t o = 0; o < sources.size(); ++o) {
        const std::size_t step = plan.stride(o, inner);
        operands[o] = {element(sources[o], walker.offset(o, row) + first * step), step == 0};
      }
      body(operands.data(), row * columns + first, std::min(piece, columns - first));
    }
  });
}

/// Short rows: the two innermost dims are taken as a matrix, whose rows are joined to spans. Operands are
/// whole there (already joined), constant, or repeat a row or each element of a column, which goes through a
/// tile.
void walk_short_rows(const BroadcastPlan& plan, std::span<const BroadcastSource> sources, std::size_t cost,
                     Body body) {
  const std::size_t inner = plan.dims().size() - 1;
  const std::size_t columns = plan.dims()[inner];
  const std::size_t matrix_rows = plan.dims()[inner - 1];
  const std::size_t matrices = plan.output_count() / (columns * matrix_rows);
  const std::size_t rows_per_tile = std::min(matrix_rows, kTile / columns);
  const std::size_t tiles = (matrix_rows - 1) / rows_per_tile + 1;
  const RowWalker walker(plan, inner - 1);
  const std::size_t tile_cost = rows_per_tile * columns * (cost + 1);
  parallel_for(matrices * tiles, grain_for_cost(tile_cost), [&](std::size_t begin, std::size_t end) {
    alignas(64) std::array<Tile, kMaxOperands> buffers;  // written below, where it is read
    std::array<SpanOperand, kMaxOperands> operands;
    std::size_t known_matrix = matrices;  // whose repeated rows are in the buffers
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t matrix = index / tiles;
      const std::size_t row = index % tiles * rows_per_tile;
      const std::size_t rows = std::min(rows_per_tile, matrix_rows - row);
      for (std::size_t o = 0; o < sources.size(); ++o) {
        const std::size_t size = sources[o].element_size;
        const bool along_rows = plan.stride(o, inner) != 0;
        const std::size_t row_stride = plan.stride(o, inner - 1);
        const std::byte* from = element(sources[o], walker.offset(o, matrix) + row * row_stride);
        if (along_rows && row_stride == 0) {
          if (matrix != known_matrix) {
            std::byte* to = buffers[o].data();
            for (std::size_t r = 0; r < rows_per_tile; ++r)
              std::memcpy(to + r * columns * size, from, columns * size);
          }
          operands[o] = {buffers[o].data(), false};
        } else if (!along_rows && row_stride != 0) {
          repeat_each(size, from, buffers[o].data(), rows, columns);
          operands[o] = {buffers[o].data(), false};
        } else {
          operands[o] = {from, !along_rows};
        }
      }
      known_matrix = matrix;
      body(operands.data(), (matrix * matrix_rows + row) * columns, rows * columns);
    }
  });
}

}  // namespace

BroadcastPlan::BroadcastPlan(Dims output, std::span<const Dims> operands)
    : output_count_(std::accumulate(output.begin(), output.end(), std::size_t{1}, std::multiplies<>())),
      operand_count_(std::min(operands.size(), kMaxOperands)) {
  // From the innermost dim outwards; reversed at the end. An operand's stride is its size so far, or 0.
  std::vector<std::array<std::size_t, kMaxOperands>> strides;
  std::array<std::size_t, kMaxOperands> sizes;
  sizes.fill(1);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::size_t dim = output[output.size() - 1 - i];
    if (dim == 1) continue;
    std::array<std::size_t, kMaxOperands> stride{};
    for (std::size_t o = 0; o < operand_count_; ++o) {
      const bool repeated = i >= operands[o].size() || operands[o][operands[o].size() - 1 - i] == 1;
      stride[o] = repeated ? 0 : sizes[o];
      if (!repeated) sizes[o] *= dim;
    }
    const auto continues = [&](std::size_t o) { return stride[o] == strides.back()[o] * dims_.back(); };
    bool merge = !dims_.empty();
    for (std::size_t o = 0; merge && o < operand_count_; ++o) merge = continues(o);
    if (merge) {
      dims_.back() *= dim;
    } else {
      dims_.push_back(dim);
      strides.push_back(stride);
    }
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    strides.emplace_back();
  }
  std::reverse(dims_.begin(), dims_.end());
  std::reverse(strides.begin(), strides.end());
  strides_.resize(operand_count_ * dims_.size());
  for (std::size_t o = 0; o < operand_count_; ++o) {
    for (std::size_t d = 0; d < dims_.size(); ++d) strides_[o * dims_.size() + d] = strides[d][o];
  }
}

bool BroadcastPlan::is_full(std::size_t operand) const {
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d] > 1 && stride(operand, d) == 0) return false;
  }
  return true;
}

void for_each_span(const BroadcastPlan& plan, std::span<const BroadcastSource> sources, std::size_t cost,
                   Body body, std::size_t loops) {
  if (plan.output_count() == 0) return;
  const std::size_t inner = plan.dims().size() - 1;
  std::size_t short_row = inner > 0 ? kShortRow : 0;
  for (std::size_t o = 0; inner > 0 && o < sources.size(); ++o) {
    if (plan.stride(o, inner) == 0 && plan.stride(o, inner - 1) != 0)
      short_row = loops > 1 ? kShortRow : kShortRowOfColumns;
  }
  if (plan.dims().back() < short_row) {
    walk_short_rows(plan, sources, cost, body);
  } else {
    walk_long_rows(plan, sources, cost, body);
  }
}

}  // namespace ir::kernels
