#include "kernels/base/broadcast.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "kernels/base/broadcast_rows.h"
#include "kernels/base/bytes.h"
#include "kernels/base/fill.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kMaxOperands = BroadcastPlan::kMaxOperands;
/// Rows shorter than this are joined with their neighbours: a call per row would cost more than the copying.
constexpr std::size_t kShortRow = 256;
/// The same where an operand's elements are repeated for every tile and read only once.
constexpr std::size_t kShortRowOfColumns = 192;
/// Kernels that go over several rows themselves do so from this length on.
constexpr std::size_t kShortestOfRows = 24;
/// And where the rows that follow each other at even distances have this many elements.
constexpr std::size_t kSmallestOfRows = 512;
/// Elements of a tile of joined rows.
constexpr std::size_t kTile = 1024;
constexpr std::size_t kMaxElementSize = 8;

/// Memory for one operand's tile.
struct alignas(64) Tile {
  std::array<std::byte, kTile * kMaxElementSize + kRepeatSlack> bytes;
};

const std::byte* element(const BroadcastSource& source, std::size_t index) {
  return static_cast<const std::byte*>(source.data) + index * source.element_size;
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

/// Short rows: the two innermost dims are taken as matrices. A tile is some rows of a matrix or, where these
/// are small, several whole matrices.
class ShortRows {
 public:
  ShortRows(const BroadcastPlan& plan, std::span<const BroadcastSource> sources)
      : plan_(plan),
        sources_(sources),
        inner_(plan.dims().size() - 1),
        columns_(plan.dims()[inner_]),
        matrix_rows_(plan.dims()[inner_ - 1]),
        matrices_(plan.output_count() / (columns_ * matrix_rows_)),
        rows_(std::min(matrix_rows_, kTile / columns_)),
        tiles_of_matrix_((matrix_rows_ - 1) / rows_ + 1),
        matrices_of_tile_(std::min(matrices_, std::max<std::size_t>(1, kTile / (columns_ * matrix_rows_)))),
        walker_(plan, inner_ - 1) {
    for (std::size_t o = 0; o < sources.size(); ++o) ways_[o] = way_of(o);
  }

  void walk(std::size_t cost, Body body) const {
    const std::size_t tiles = ((matrices_ - 1) / matrices_of_tile_ + 1) * tiles_of_matrix_;
    const std::size_t tile_cost = matrices_of_tile_ * rows_ * columns_ * (cost + 1);
    parallel_for(tiles, grain_for_cost(tile_cost), [&](std::size_t begin, std::size_t end) {
      std::array<Tile, kMaxOperands> buffers;  // written below, where it is read
      std::array<std::size_t, kMaxOperands> known;
      known.fill(kNothing);
      for (std::size_t index = begin; index < end; ++index) {
        const std::size_t matrix = index / tiles_of_matrix_ * matrices_of_tile_;
        const std::size_t row = index % tiles_of_matrix_ * rows_;
        std::array<SpanOperand, kMaxOperands> operands;
        for (std::size_t o = 0; o < sources_.size(); ++o)
          operands[o] = operand(o, matrix, row, buffers[o].bytes.data(), known[o]);
        const std::size_t rows = std::min(rows_, matrix_rows_ - row);
        const std::size_t matrices = std::min(matrices_of_tile_, matrices_ - matrix);
        body(operands.data(), (matrix * matrix_rows_ + row) * columns_, matrices * rows * columns_);
      }
    });
  }

 private:
  /// What tiles of an operand are: its own memory, one element, or a buffer that is filled for each of them
  /// or only where rows of another offset begin.
  enum class Way { direct, scalar, filled, kept };

  static constexpr std::size_t kNothing = ~std::size_t{0};

  Way way_of(std::size_t o) const {
    const bool along_rows = plan_.stride(o, inner_) != 0;
    const bool along_columns = plan_.stride(o, inner_ - 1) != 0;
    if (matrices_of_tile_ == 1) {
      if (along_rows == along_columns) return along_rows ? Way::direct : Way::scalar;
      return along_rows ? Way::kept : Way::filled;
    }
    if (plan_.is_full(o)) return Way::direct;
    for (std::size_t d = 0; d + 1 < inner_; ++d) {
      if (plan_.stride(o, d) != 0) return Way::filled;
    }
    return along_rows || along_columns ? Way::kept : Way::scalar;
  }

  SpanOperand operand(std::size_t o, std::size_t matrix, std::size_t row, std::byte* buffer,
                      std::size_t& known) const {
    const std::size_t row_stride = plan_.stride(o, inner_ - 1);
    const std::size_t offset = walker_.offset(o, matrix) + row * row_stride;
    if (ways_[o] == Way::direct || ways_[o] == Way::scalar)
      return {element(sources_[o], offset), ways_[o] == Way::scalar};
    if (ways_[o] == Way::filled || offset != known) {
      // What is kept serves tiles of all rows and matrices, too.
      const bool kept = ways_[o] == Way::kept;
      const std::size_t rows = kept ? rows_ : std::min(rows_, matrix_rows_ - row);
      const std::size_t matrices = kept ? matrices_of_tile_ : std::min(matrices_of_tile_, matrices_ - matrix);
      const std::size_t bytes = rows * columns_ * sources_[o].element_size;
      fill_rows(o, offset, rows, buffer);
      for (std::size_t m = 1; m < matrices; ++m)
        fill_rows(o, walker_.offset(o, matrix + m), rows, buffer + m * bytes);
      known = offset;
    }
    return {buffer, false};
  }

  /// The operand's part of `rows` rows of a matrix.
  void fill_rows(std::size_t o, std::size_t offset, std::size_t rows, std::byte* to) const {
    const std::size_t size = sources_[o].element_size;
    const std::byte* from = element(sources_[o], offset);
    const bool along_columns = plan_.stride(o, inner_ - 1) != 0;
    if (plan_.stride(o, inner_) == 0) {
      repeat_elements(size, from, along_columns ? rows : 1, along_columns ? columns_ : rows * columns_, to);
    } else if (along_columns) {
      std::memcpy(to, from, rows * columns_ * size);
    } else {
      repeat_bytes(from, columns_ * size, rows, to);
    }
  }

  const BroadcastPlan& plan_;
  std::span<const BroadcastSource> sources_;
  std::size_t inner_;
  std::size_t columns_;
  std::size_t matrix_rows_;
  std::size_t matrices_;
  std::size_t rows_;  // of a tile, in each of its matrices
  std::size_t tiles_of_matrix_;
  std::size_t matrices_of_tile_;
  RowWalker walker_;
  std::array<Way, kMaxOperands> ways_{};
};

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
    ShortRows(plan, sources).walk(cost, body);
  } else {
    walk_long_rows(plan, sources, cost, body);
  }
}

void for_each_rows(
    const BroadcastPlan& plan, std::span<const BroadcastSource> sources, std::size_t cost, std::size_t most,
    FunctionRef<void(const RowsOperand* operands, std::size_t begin, std::size_t rows, std::size_t columns)>
        body) {
  const std::size_t inner = plan.dims().size() - 1;
  const std::size_t columns = plan.dims()[inner];
  const std::size_t matrix_rows = inner == 0 ? 1 : plan.dims()[inner - 1];
  if (matrix_rows == 1 || columns < kShortestOfRows || columns * 2 > most ||
      columns * matrix_rows < kSmallestOfRows) {
    const auto one_row = [&](const SpanOperand* spans, std::size_t begin, std::size_t count) {
      std::array<RowsOperand, kMaxOperands> operands;
      for (std::size_t o = 0; o < sources.size(); ++o) operands[o] = {spans[o].data, spans[o].scalar, 0};
      body(operands.data(), begin, 1, count);
    };
    return for_each_span(plan, sources, cost, one_row, 2);
  }
  if (plan.output_count() == 0) return;
  const std::size_t matrices = plan.output_count() / (columns * matrix_rows);
  const std::size_t block_rows = std::min(matrix_rows, most / columns);
  const std::size_t blocks = (matrix_rows - 1) / block_rows + 1;
  const RowWalker walker(plan, inner - 1);
  const std::size_t grain = grain_for_cost(block_rows * columns * cost);
  parallel_for(matrices * blocks, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t matrix = index / blocks;
      const std::size_t row = index % blocks * block_rows;
      std::array<RowsOperand, kMaxOperands> operands;
      for (std::size_t o = 0; o < sources.size(); ++o) {
        const std::size_t step = plan.stride(o, inner - 1);
        operands[o] = {element(sources[o], walker.offset(o, matrix) + row * step), plan.stride(o, inner) == 0,
                       step};
      }
      body(operands.data(), (matrix * matrix_rows + row) * columns, std::min(block_rows, matrix_rows - row),
           columns);
    }
  });
}

}  // namespace ir::kernels
