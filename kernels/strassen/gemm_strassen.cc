#include "kernels/strassen/gemm_strassen.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/strassen/strassen.h"
#include "kernels/strassen/strassen_block.h"
#include "kernels/strassen/strassen_columns.h"
#include "kernels/strassen/strassen_cost.h"
#include "kernels/strassen/strassen_shape.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

/// How results are stored: a row for each row of the product, or for each column.
enum class Results { as_rows, turned };

class StrassenGemm final : public Gemm {
 public:
  StrassenGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue, std::size_t slices,
               Results results)
      : kernels_(gemm_kernels()),
        strassen_(strassen_kernels()),
        params_(params),
        turned_(results == Results::turned),
        epilogue_(epilogue, params),
        shape_(kernels_, params, slices),
        columns_(kernels_, strassen_, params, shape_, constant),
        workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())) {
    row_blocks_ = shared_row_blocks(kernels_, shape_, params, workers_);
    workers_ = std::min(workers_, row_blocks_.parts * shape_.columns.count());
    const std::size_t panels = row_blocks_.largest();
    const std::size_t rows = panels * shape_.most_rows();
    const std::size_t depth = shape_.most_depth();
    operand_floats_ = round_up_to_line(rows * depth);
    const std::size_t operands = left_operands(shape_, row_blocks_) * shape_.depths.parts;
    kept_parts_ = operands <= kMostLeftOperands ? shape_.depths.parts : 1;
    // Where they are not kept, each stretch makes its own.
    const std::size_t groups = shape_.columns.count();
    stretches_ = {groups, kept_parts_ == shape_.depths.parts ? 1 : divide_up(groups, workers_)};
    flag_floats_ = round_up_to_line(divide_up(panels * kept_parts_, sizeof(float)));
    room_floats_ = round_up_to_line(strassen_room(slices, depth, kernels_.max_vectors * kernels_.lanes,
                                                  std::max(rows, shape_.single_rows)));
    const std::size_t all_rows = slices * rows + shape_.single_rows;
    const std::size_t group_columns = slices * kernels_.max_vectors * kernels_.lanes;
    // Where left operands are not kept, as many as are worth making them.
    const bool few = turned_ && kept_parts_ == shape_.depths.parts;
    const std::size_t columns = few ? std::min(kMostColumns, kMostTurned / all_rows) : kMostColumns;
    most_groups_ = std::max<std::size_t>(columns / group_columns, 1);
    if (turned_) {
      const std::size_t most = most_groups_ * group_columns + kernels_.padded(shape_.single_columns);
      // An odd number of lines, so that a column of results does not meet itself in the first-level cache.
      result_stride_ =
          (divide_up(std::min(most, kernels_.padded(params.n)), kFloatsPerLine) | 1) * kFloatsPerLine;
      result_floats_ = round_up_to_line(all_rows * result_stride_);
    }
  }

  std::string_view algorithm() const override { return shape_.slices == 2 ? "strassen" : "strassen_twice"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    const std::size_t tasks = row_blocks_.parts * stretches_.parts;
    const std::size_t cost = params_.m * params_.n * params_.k / tasks / kernels_.lanes + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_group(row_blocks_.parts, stretches_.parts, cost, workers_, [&](const GroupRange& range) {
      multiply({a,
                epilogue_.residual() ? residual : nullptr,
                out,
                floats + range.worker * slot_floats(),
                {shape_.rows, row_blocks_.begin(range.group), row_blocks_.begin(range.group + 1)}},
               range);
    });
  }

 private:
  /// One block of rows for one worker.
  struct Call {
    const float* a;
    const float* residual;
    float* out;
    float* slot;
    RowPanels panels;
    std::size_t first_column = 0;  ///< of the results in the slot
  };

  /// A group of column panels and a block of terms.
  struct Place {
    std::size_t part = 0;
    std::size_t panel = 0;
    std::size_t next_part = 0;  ///< what is read after these
    std::size_t next_panel = 0;
  };

  /// Left operands of all blocks of terms are kept, if they are no more than kMostLeftOperands; else those of
  /// one.
  [[nodiscard]] std::size_t kept(std::size_t part) const { return kept_parts_ == 1 ? 0 : part; }

  /// Results that stay in the second-level cache: columns from block to block of terms, and floats until they
  /// are turned round.
  static constexpr std::size_t kMostColumns = 1024;
  static constexpr std::size_t kMostTurned = 1 << 14;

  // A slot: packed left operands by block of terms and product; room for a block; by block of terms and row
  // panel, whether slices are alike; results that are to be turned round.
  [[nodiscard]] std::size_t room_offset() const {
    return kept_parts_ * products_of(shape_.slices) * operand_floats_;
  }
  [[nodiscard]] std::size_t flag_offset() const { return room_offset() + room_floats_; }
  [[nodiscard]] std::size_t result_offset() const { return flag_offset() + flag_floats_; }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(workers_, result_offset() + result_floats_);
  }
  [[nodiscard]] std::uint8_t& alike_flag(const Call& call, std::size_t part, std::size_t panel) const {
    auto* const flags = reinterpret_cast<std::uint8_t*>(call.slot + flag_offset());
    return flags[kept(part) * call.panels.count() + panel - call.panels.first];
  }
  /// The left operand of a product, from row `row` of a slice on.
  [[nodiscard]] float* operand_at(const Call& call, std::size_t part, std::size_t product,
                                  std::size_t row) const {
    const std::size_t first = shape_.rows.begin(call.panels.first);
    return call.slot + (kept(part) * products_of(shape_.slices) + product) * operand_floats_ +
           (row - first) * shape_.depths.size(part);
  }

  /// In the slot, the slices of a block of rows lie one behind the other.
  [[nodiscard]] std::size_t slice_distance(const Call& call) const {
    return turned_ ? call.panels.rows() : shape_.rows.total;
  }
  [[nodiscard]] float* result_at(const Call& call, std::size_t row, std::size_t column) const {
    const std::size_t slice = std::min(row / shape_.rows.total, shape_.slices);
    const std::size_t first = slice == shape_.slices ? 0 : shape_.rows.begin(call.panels.first);
    const std::size_t result_row = slice * slice_distance(call) + row - slice * shape_.rows.total - first;
    return call.slot + result_offset() + result_row * result_stride_ + column - call.first_column;
  }

  [[nodiscard]] Tile tile_at(const Call& call, std::size_t row, std::size_t column, std::size_t part) const {
    Tile tile;
    if (turned_) {
      tile.out = result_at(call, row, column);
      tile.stride = result_stride_;
      tile.accumulate = part > 0;
      return tile;
    }
    tile.out = call.out + row * params_.n + column;
    tile.stride = params_.n;
    if (call.residual != nullptr) tile.residual = call.residual + row * params_.n + column;
    epilogue_.set_up(tile, params_.bias_axis, row, column);
    tile.accumulate = part > 0;
    tile.finish = part + 1 == shape_.depths.parts;
    return tile;
  }

  /// The groups of column panels of stretches [range.first, range.last).
  void multiply(Call call, const GroupRange& range) const {
    bool packed = range.continues && kept_parts_ == shape_.depths.parts;
    const std::size_t end = stretches_.begin(range.last);
    for (std::size_t first = stretches_.begin(range.first); first < end; first += most_groups_) {
      const std::size_t last = std::min(first + most_groups_, end);
      call.first_column = shape_.column(first);
      for (std::size_t part = 0; part < shape_.depths.parts; ++part) {
        if (!packed) pack_rows(call, part);
        for (std::size_t panel = first; panel < last; ++panel) {
          const bool turns = panel + 1 == last && part + 1 < shape_.depths.parts;
          multiply_group(call, {part, panel, turns ? part + 1 : part, turns ? first : panel + 1});
        }
        if (last == shape_.columns.count() && shape_.single_columns != 0) multiply_single_columns(call, part);
      }
      packed = kept_parts_ == shape_.depths.parts;
      finish(call, last == shape_.columns.count() ? params_.n : shape_.column(last));
    }
  }

  /// Calls `body(row, panels)` for the stretches of rows: all slices of the block, and with the last one the
  /// rows without a slice.
  template <class Body>
  void for_stretches(const Call& call, const Body& body) const {
    const std::size_t row = shape_.rows.begin(call.panels.first);
    for (std::size_t i = 0; i < shape_.slices; ++i) body(row + i * shape_.rows.total, call.panels);
    for_single_rows(call, body);
  }
  template <class Body>
  void for_single_rows(const Call& call, const Body& body) const {
    if (call.panels.last != shape_.rows.parts || shape_.single_rows == 0) return;
    const Split panels(shape_.single_rows, kernels_.max_rows);
    body(shape_.slices * shape_.rows.total, RowPanels{panels, 0, panels.parts});
  }

  /// What is left to be done for columns up to `end`.
  void finish(const Call& call, std::size_t end) const {
    if (turned_) {
      // All rows lie in the slot as in the output where there is one block of them.
      if (row_blocks_.parts == 1) return turn(call, 0, params_.m, end);
      for_stretches(call,
                    [&](std::size_t row, const RowPanels& panels) { turn(call, row, panels.rows(), end); });
    } else if (epilogue_.has_post()) {
      for_stretches(call, [&](std::size_t row, const RowPanels& panels) {
        epilogue_.post_rows(call.out + row * params_.n + call.first_column, params_.n, panels.rows(),
                            end - call.first_column, 0);
      });
    }
  }
  /// Results from the slot to rows of the output, one per column.
  void turn(const Call& call, std::size_t row, std::size_t rows, std::size_t end) const {
    const std::size_t columns = end - call.first_column;
    for (std::size_t i = 0; i < rows; i += GemmKernels::kPlaneLimit) {
      const std::size_t offset = call.first_column * params_.m + row + i;
      Tile tile;
      tile.out = call.out + offset;
      tile.stride = params_.m;
      tile.columns = std::min(rows - i, GemmKernels::kPlaneLimit);
      if (call.residual != nullptr) tile.residual = call.residual + offset;
      epilogue_.set_up(tile, BiasAxis::row, call.first_column, 0);
      kernels_.finish_transposed(result_at(call, row, call.first_column) + i * result_stride_, result_stride_,
                                 columns, tile);
      epilogue_.post_channels(tile.out, tile.stride, columns, tile.columns, call.first_column);
    }
  }

  /// Rows `row` of A from the block of terms on.
  [[nodiscard]] OperandRows rows_at(const Call& call, std::size_t row, std::size_t part) const {
    const OperandRows rows = params_.transpose_a ? OperandRows{call.a + row, 1, params_.m}
                                                 : OperandRows{call.a + row * params_.k, params_.k};
    return rows.from(shape_.term(part));
  }

  /// What `operand` makes of seven products, the first of which is `first`.
  template <class Operand>
  static SevenOperands<Operand> seven(std::size_t first, std::size_t step, const auto& operand) {
    const auto at = [&](std::size_t i) { return Operand{operand(first + i * step)}; };
    return {at(0), at(1), at(2), at(3), at(4), at(5), at(6)};
  }
  /// The products that begin with the quarters of their left operands; the place of a21 becomes that of s3.
  static constexpr std::size_t kQuarters[2][2] = {{0, 1}, {5, 2}};
  /// The same for slices of rows and terms.
  [[nodiscard]] std::size_t operand_of(std::size_t of_rows, std::size_t of_terms) const {
    if (shape_.slices == 2) return kQuarters[of_rows][of_terms];
    return 7 * kQuarters[of_rows / 2][of_terms / 2] + kQuarters[of_rows % 2][of_terms % 2];
  }

  /// By slice, of the rows of a panel.
  using RowSquares = std::array<std::array<float, GemmKernels::kRowsLimit>, kMostSlices>;
  [[nodiscard]] bool are_alike(const RowSquares& squares, std::size_t rows) const {
    for (std::size_t row = 0; row < rows; ++row) {
      AlikeSquares alike;
      for (std::size_t i = 0; i < shape_.slices; ++i) alike.add(squares[i][row]);
      if (!alike) return false;
    }
    return true;
  }

  /// s1, s2 and s4 of quarters of `count` floats, and s3 in the place of a21.
  void add_up(const SevenOperands<float*>& a, std::size_t count) const {
    strassen_.add(a.s3, a.a22, a.s1, count);
    strassen_.subtract(a.s1, a.a11, a.s2, count);
    strassen_.subtract(a.a12, a.s2, a.s4, count);
    strassen_.subtract(a.a11, a.s3, a.s3, count);
  }

  /// The left operands of a block of terms. Panels do not know of each other, or results would depend on how
  /// they are dealt out.
  void pack_rows(const Call& call, std::size_t part) const {
    const std::size_t depth = shape_.depths.size(part);
    for (std::size_t panel = call.panels.first; panel < call.panels.last; ++panel) {
      const std::size_t row = shape_.rows.begin(panel);
      const std::size_t rows = shape_.rows.size(panel);
      const auto operand = [&](std::size_t product) { return operand_at(call, part, product, row); };
      RowSquares squares = {};
      for (std::size_t i = 0; i < shape_.slices; ++i) {
        const OperandRows slice = rows_at(call, row + i * shape_.rows.total, part);
        if (!params_.transpose_a) {
          strassen_.row_squares(slice.rows, slice.row_stride, rows, shape_.slices * depth, squares[i].data());
        }
        for (std::size_t j = 0; j < shape_.slices; ++j) {
          float* const to = operand(operand_of(i, j));
          kernels_.pack_rows(slice.from(j * depth).rows, slice.row_stride, slice.term_stride, depth,
                             {rows, kernels_.max_rows}, to);
          if (params_.transpose_a) strassen_.packed_row_squares(to, depth, rows, squares[i].data());
        }
      }
      alike_flag(call, part, panel) = are_alike(squares, rows) ? 1 : 0;
      if (shape_.slices == 4) {
        for (const auto& [left, right] : kQuarters) {
          for (const std::size_t first : {left, right})
            add_up(seven<float*>(first, 7, operand), rows * depth);
        }
      }
      for (std::size_t first = 0; first < products_of(shape_.slices); first += 7)
        add_up(seven<float*>(first, 1, operand), rows * depth);
    }
  }

  /// For runs of row panels that are alike, or are not.
  void multiply_group(const Call& call, const Place& place) const {
    const bool columns_alike = columns_.alike(place.part, place.panel);
    for (std::size_t begin = call.panels.first; begin < call.panels.last;) {
      const std::uint8_t alike = alike_flag(call, place.part, begin);
      std::size_t end = begin + 1;
      while (end < call.panels.last && alike_flag(call, place.part, end) == alike) ++end;
      const RowPanels run{shape_.rows, begin, end};
      const std::size_t row = shape_.rows.begin(begin);
      if (alike != 0 && columns_alike) {
        multiply_alike(call, run, place);
      } else {
        for (std::size_t i = 0; i < shape_.slices; ++i)
          multiply_as_usual(call, run, row + i * shape_.rows.total, place);
      }
      begin = end;
    }
    for_single_rows(
        call, [&](std::size_t row, const RowPanels& panels) { multiply_as_usual(call, panels, row, place); });
  }

  [[nodiscard]] StrassenBlock block_for(const Call& call, std::size_t row, const Place& place) const {
    StrassenBlock block;
    block.slices = shape_.slices;
    block.depth = shape_.depths.size(place.part);
    block.vectors = shape_.columns.size(place.panel);
    for (std::size_t i = 0; i < shape_.slices; ++i) block.b[i] = columns_.group(place.part, i, place.panel);
    block.columns_alike = columns_.alike(place.part, place.panel);
    const std::size_t width = shape_.width(place.panel);
    const std::size_t column = shape_.column(place.panel);
    const std::size_t before = (shape_.slices - 1) * width;
    block.output = {tile_at(call, row, column, place.part), std::min(width, params_.n - column - before),
                    shape_.slices / 2 * width, shape_.slices / 2 * slice_distance(call)};
    block.room = call.slot + room_offset();
    return block;
  }

  void multiply_alike(const Call& call, const RowPanels& run, const Place& place) const {
    const std::size_t row = shape_.rows.begin(run.first);
    StrassenBlock block = block_for(call, row, place);
    // Every panel of rows fetches its share of the next group of panels.
    for (std::size_t i = 0; i < shape_.slices; ++i)
      block.next[i] = columns_.group(place.next_part, i, place.next_panel);
    block.fetch_step = strassen_fetch_step(block, run.count(), kernels_.lanes);
    const auto operand = [&](std::size_t product) { return operand_at(call, place.part, product, row); };
    const auto level = [&](std::size_t first) { return seven<PackedRows>(first, 1, operand); };
    if (shape_.slices == 2) {
      multiply_block(kernels_, strassen_, run, level(0), block);
    } else {
      multiply_block(kernels_, strassen_, run, seven<SevenOperands<PackedRows>>(0, 7, level), block);
    }
  }

  /// Rows from row `row` on, which are not added to others.
  void multiply_as_usual(const Call& call, const RowPanels& run, std::size_t row, const Place& place) const {
    multiply_block_as_usual(kernels_, strassen_, run, rows_at(call, row, place.part),
                            block_for(call, row, place));
  }

  /// Columns without a group.
  void multiply_single_columns(const Call& call, std::size_t part) const {
    const Split panels = kernels_.column_panels(shape_.single_columns);
    for (std::size_t panel = 0; panel < panels.parts; ++panel) {
      const std::size_t vectors = panels.size(panel);
      const std::size_t column = shape_.grouped_columns + panels.begin(panel) * kernels_.lanes;
      const float* const b = columns_.single(panels.begin(panel), vectors, shape_.term(part));
      for_stretches(call, [&](std::size_t row, const RowPanels& rows) {
        Tile tile = tile_at(call, row, column, part);
        tile.columns = std::min(vectors * kernels_.lanes, params_.n - column);
        multiply_panels(kernels_, rows, shape_.slices * shape_.depths.size(part), vectors,
                        rows_at(call, row, part), b, tile);
      });
    }
  }

  const GemmKernels& kernels_;
  const StrassenKernels& strassen_;
  GemmParams params_;
  bool turned_;  ///< results are to be transposed
  OwnedEpilogue epilogue_;
  StrassenShape shape_;
  StrassenColumns columns_;
  Split row_blocks_;  ///< of panels
  Split stretches_;   ///< of groups of columns
  std::size_t workers_;
  std::size_t operand_floats_ = 0;
  std::size_t kept_parts_ = 1;
  std::size_t room_floats_ = 0;
  std::size_t flag_floats_ = 0;
  std::size_t most_groups_ = 1;  ///< of columns, at once
  std::size_t result_stride_ = 0;
  std::size_t result_floats_ = 0;
};

}  // namespace

bool takes_strassen(const GemmParams& params, std::size_t slices) {
  const GemmKernels& kernels = gemm_kernels();
  return params.constant == GemmConstant::b && params.batch.empty() &&
         params.m >= slices * kernels.max_rows && params.n > (slices - 1) * kernels.lanes && params.k > 0 &&
         params.k % slices == 0;
}

std::unique_ptr<Gemm> create_strassen_gemm(const GemmParams& params, const float* constant,
                                           const Epilogue& epilogue, std::size_t slices) {
  return std::make_unique<StrassenGemm>(params, constant, epilogue, slices, Results::as_rows);
}

std::unique_ptr<Gemm> create_turned_strassen_gemm(const GemmParams& params, const float* constant,
                                                  const Epilogue& epilogue, std::size_t slices) {
  return std::make_unique<StrassenGemm>(params, constant, epilogue, slices, Results::turned);
}

}  // namespace ir::kernels
