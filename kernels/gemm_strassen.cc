#include "kernels/gemm_strassen.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/aligned_floats.h"
#include "kernels/gemm_block.h"
#include "kernels/gemm_kernels.h"
#include "kernels/packing_pieces.h"
#include "kernels/parallel.h"
#include "kernels/shared_packing.h"
#include "kernels/strassen.h"
#include "kernels/strassen_block.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

/// Panels of one half of the columns, in vectors: full ones, but for the last.
struct HalfPanels {
  std::size_t vectors = 0;
  std::size_t most = 1;

  [[nodiscard]] std::size_t count() const { return divide_up(vectors, most); }
  [[nodiscard]] std::size_t begin(std::size_t panel) const { return std::min(panel * most, vectors); }
  [[nodiscard]] std::size_t size(std::size_t panel) const { return begin(panel + 1) - begin(panel); }
};

/// How a product is cut. Rows and columns without another half are multiplied as usual.
struct StrassenShape {
  StrassenShape(const GemmKernels& kernels, const GemmParams& params)
      : rows(half_of_rows(kernels, params.m), kernels.max_rows),
        columns{divide_up(params.n, kernels.lanes) / 2, kernels.max_vectors},
        depths(params.k / 2, std::min(kernels.block_depth, kMostDepth)),
        single_rows(params.m - 2 * rows.total),
        paired_columns(2 * columns.vectors * kernels.lanes) {}

  /// Pairs of whole panels and a rest of up to one panel, or all rows but an odd one.
  static std::size_t half_of_rows(const GemmKernels& kernels, std::size_t rows) {
    const std::size_t whole = rows / (2 * kernels.max_rows) * kernels.max_rows;
    return rows - 2 * whole <= kernels.max_rows ? whole : rows / 2;
  }

  static std::size_t most(const Split& split) { return divide_up(split.total, split.parts); }

  /// Blocks of row panels, each of which meets every panel of columns, and the sums that are made of it.
  [[nodiscard]] Split row_blocks(const GemmKernels& kernels) const {
    const std::size_t most_rows = std::min(kMostSums / most(depths), kMostSumsInAll / (2 * depths.total));
    return {rows.parts, std::max<std::size_t>(most_rows / kernels.max_rows, 1)};
  }

  /// Sums of rows are kept for a block of them. Those of a block of terms should fit the second-level cache
  /// with what they are made of, and results; all of them should not take too much memory.
  static constexpr std::size_t kMostDepth = 256;
  static constexpr std::size_t kMostSums = 96 * kMostDepth;
  static constexpr std::size_t kMostSumsInAll = 16 * kMostSums;

  Split rows;  ///< of a half
  HalfPanels columns;
  Split depths;  ///< terms of a half
  std::size_t single_rows;
  std::size_t paired_columns;
};

// What sums take besides the products: cycles per float that is added up.
constexpr double kRowSums = 1;
constexpr double kColumnSums = 0.75;

/// Into how many blocks to cut the row panels at least, for workers that share those times the pairs of
/// column panels.
Split shared_row_blocks(const GemmKernels& kernels, const StrassenShape& shape, std::size_t workers) {
  const auto lanes = static_cast<double>(kernels.lanes);
  // Of a block of terms, about the cycles until the last worker is done.
  const auto cost = [&](const Split& blocks) {
    const auto rows = static_cast<double>(StrassenShape::most(blocks) * StrassenShape::most(shape.rows));
    const auto vectors = static_cast<double>(kernels.max_vectors);
    const auto pairs = static_cast<double>(divide_up(blocks.parts * shape.columns.count(), workers));
    return pairs * vectors * (3.5 * rows + kColumnSums * lanes) +
           kRowSums * rows * static_cast<double>(divide_up(blocks.parts, workers));
  };
  Split best = shape.row_blocks(kernels);
  Split more = best;
  while (workers > 1 && ++more.parts <= std::min(shape.rows.parts, best.parts + 2 * workers)) {
    if (cost(more) < cost(best)) best = more;
  }
  return best;
}

class StrassenGemm final : public Gemm {
 public:
  StrassenGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        strassen_(strassen_kernels()),
        params_(params),
        epilogue_(epilogue, params),
        shape_(kernels_, params),
        workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())) {
    row_blocks_ = shared_row_blocks(kernels_, shape_, workers_);
    workers_ = std::min(workers_, row_blocks_.parts * shape_.columns.count());
    const std::size_t panels = StrassenShape::most(row_blocks_);
    const std::size_t rows = panels * StrassenShape::most(shape_.rows);
    const std::size_t depth = StrassenShape::most(shape_.depths);
    const std::size_t width = kernels_.max_vectors * kernels_.lanes;
    sum_stride_ = round_up_to_line(depth);
    sum_floats_ = rows * sum_stride_;
    flag_floats_ = round_up_to_line(divide_up(panels * shape_.depths.parts, sizeof(float)));
    panel_floats_ = round_up_to_line(depth * width);
    result_floats_ = round_up_to_line(std::max(rows, shape_.single_rows) * width);
    pack(constant);
  }

  std::string_view algorithm() const override { return "strassen"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    const std::size_t tasks = row_blocks_.parts * shape_.columns.count();
    const std::size_t cost = params_.m * params_.n * params_.k / tasks / kernels_.lanes + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_group(row_blocks_.parts, shape_.columns.count(), cost, workers_, [&](const GroupRange& range) {
      multiply({a,
                epilogue_.residual() ? residual : nullptr,
                out,
                floats + range.worker * slot_floats(),
                {shape_.rows, row_blocks_.begin(range.group), row_blocks_.begin(range.group + 1)}},
               range);
    });
  }

 private:
  /// From `first` up to, not with, `last`.
  struct Blocks {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  /// One block of rows for one worker.
  struct Call {
    const float* a;
    const float* residual;
    float* out;
    float* slot;
    RowPanels panels;
  };

  /// A pair of column panels and a block of terms.
  struct Place {
    std::size_t part = 0;
    std::size_t panel = 0;
    std::size_t next_part = 0;  ///< what is read after these
    std::size_t next_panel = 0;
  };

  // A slot: s1 to s4 of each block of terms; a panel, results; by block of terms and row panel, whether its
  // halves are alike.
  [[nodiscard]] std::size_t panel_offset() const { return 4 * shape_.depths.parts * sum_floats_; }
  [[nodiscard]] std::size_t flag_offset() const {
    return panel_offset() + panel_floats_ + 3 * result_floats_;
  }
  [[nodiscard]] std::size_t slot_floats() const { return flag_offset() + flag_floats_; }
  [[nodiscard]] float* sum(const Call& call, std::size_t part, std::size_t i, std::size_t row) const {
    const std::size_t first = shape_.rows.begin(call.panels.first);
    return call.slot + (4 * part + i) * sum_floats_ + (row - first) * sum_stride_;
  }
  [[nodiscard]] std::uint8_t& alike_flag(const Call& call, std::size_t part, std::size_t panel) const {
    auto* const flags = reinterpret_cast<std::uint8_t*>(call.slot + flag_offset());
    return flags[part * call.panels.count() + panel - call.panels.first];
  }

  [[nodiscard]] std::size_t column(std::size_t panel) const {
    return 2 * shape_.columns.begin(panel) * kernels_.lanes;
  }
  /// Of one pair of panels, b11 and t1 or b12, one behind the other, or b21 and b22. By blocks of terms, by
  /// halves of them, by pairs.
  [[nodiscard]] std::size_t packed_offset(std::size_t part, std::size_t panel, std::size_t half) const {
    const std::size_t depth = shape_.depths.size(part);
    const std::size_t terms = 2 * shape_.depths.begin(part) + half * depth;
    return terms * shape_.paired_columns + column(panel) * depth;
  }
  [[nodiscard]] const float* packed_at(std::size_t part, std::size_t panel, std::size_t half) const {
    return packed_.get() + packed_offset(part, panel, half);
  }
  /// Behind all columns: by block of terms and pair of panels, whether t1 has the place of b12.
  [[nodiscard]] std::size_t columns_alike_offset() const {
    const bool has_rest = params_.n > shape_.paired_columns;
    return (shape_.paired_columns + (has_rest ? kernels_.lanes : 0)) * params_.k;
  }
  [[nodiscard]] bool columns_alike(std::size_t part, std::size_t panel) const {
    return packed_.get()[columns_alike_offset() + part * shape_.columns.count() + panel] != 0;
  }

  void pack(const float* from) {
    // Rows are nowhere in it: products of any number of them share it.
    packed_ = packed_once(
        {from, params_.k * params_.n},
        {"strassen", {&kernels_, &strassen_}, {params_.k, params_.n, params_.transpose_b ? 1U : 0U}},
        columns_alike_offset() + shape_.depths.parts * shape_.columns.count(),
        [&](float* to) { pack(from, to); });
  }
  void pack(const float* from, float* to) const {
    float* const rest = to + shape_.paired_columns * params_.k;
    // Long stretches of rows; what lies together is packed together: columns where B is transposed, else
    // rows.
    constexpr std::size_t kPanels = 8;
    const Split stretches(shape_.columns.count(), kPanels);
    const auto pack_all = [&](const Blocks& parts, const Blocks& columns) {
      const std::size_t count = columns.last - columns.first;
      parallel_for((parts.last - parts.first) * count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t stretch = columns.first + i % count;
          pack_pairs(from, parts.first + i / count, stretches.begin(stretch), stretches.begin(stretch + 1),
                     to);
        }
      });
    };
    // First, because it lies between what is told to be packed.
    if (params_.n > shape_.paired_columns)
      pack_columns(from, 0, params_.k, shape_.paired_columns, kernels_.lanes, rest);
    if (params_.transpose_b) {
      const auto source = [&](std::size_t i) { return from + column(stretches.begin(i)) * params_.k; };
      pack_in_pieces(stretches.parts, source, [&](std::size_t first, std::size_t last) {
        pack_all({0, shape_.depths.parts}, {first, last});
      });
    } else {
      const auto source = [&](std::size_t i) { return from + 2 * shape_.depths.begin(i) * params_.n; };
      pack_in_pieces(shape_.depths.parts, source, [&](std::size_t first, std::size_t last) {
        pack_all({first, last}, {0, stretches.parts});
      });
    }
  }
  void pack_pairs(const float* from, std::size_t part, std::size_t first, std::size_t last,
                  float* packed) const {
    const std::size_t depth = shape_.depths.size(part);
    // All panels of a stretch have to be of one width.
    const bool narrow = shape_.columns.size(last - 1) != shape_.columns.most;
    for (const std::size_t half : {0U, 1U}) {
      const std::size_t k = 2 * shape_.depths.begin(part) + half * depth;
      const std::size_t end = column(narrow ? last - 1 : last);
      pack_columns(from, k, depth, column(first), end - column(first),
                   packed + packed_offset(part, first, half));
      if (!narrow) continue;
      const std::size_t width = shape_.columns.size(last - 1) * kernels_.lanes;
      float* const to = packed + packed_offset(part, last - 1, half);
      pack_columns(from, k, depth, end, width, to);
      pack_columns(from, k, depth, end + width, width, to + width * depth);
    }
    for (std::size_t panel = first; panel < last; ++panel) {
      const std::size_t width = shape_.columns.size(panel) * kernels_.lanes;
      const std::size_t quarter = width * depth;
      float* const upper = packed + packed_offset(part, panel, 0);
      float* const lower = packed + packed_offset(part, panel, 1);
      const std::size_t right = std::min(width, params_.n - column(panel) - width);
      const bool alike =
          strassen_.columns_alike({upper, upper + quarter, lower, lower + quarter}, depth, width, right);
      packed[columns_alike_offset() + part * shape_.columns.count() + panel] = alike ? 1.0F : 0.0F;
      if (alike) strassen_.subtract(upper + quarter, upper, upper + quarter, quarter);
    }
  }
  /// As far as there are `count` columns.
  void pack_columns(const float* from, std::size_t k, std::size_t depth, std::size_t first, std::size_t count,
                    float* to) const {
    count = std::min(count, params_.n - first);
    if (params_.transpose_b) {
      kernels_.pack_columns_transposed(from + first * params_.k + k, params_.k, depth, count, to);
    } else {
      kernels_.pack_columns(from + k * params_.n + first, params_.n, depth, count, to);
    }
  }

  [[nodiscard]] Tile tile_at(const Call& call, std::size_t row, std::size_t column, std::size_t part) const {
    Tile tile;
    tile.out = call.out + row * params_.n + column;
    tile.stride = params_.n;
    if (call.residual != nullptr) tile.residual = call.residual + row * params_.n + column;
    epilogue_.set_up(tile, params_.bias_axis, row, column);
    tile.accumulate = part > 0;
    tile.finish = part + 1 == shape_.depths.parts;
    return tile;
  }

  /// Pairs of column panels [range.first, range.last), few enough at once that their results stay in the
  /// second-level cache from block to block of terms.
  void multiply(const Call& call, const GroupRange& range) const {
    constexpr std::size_t kMostColumns = 1024;
    const std::size_t most = kMostColumns / (2 * kernels_.max_vectors * kernels_.lanes);
    bool summed = range.continues;
    for (std::size_t first = range.first; first < range.last; first += most) {
      const std::size_t last = std::min(first + most, range.last);
      for (std::size_t part = 0; part < shape_.depths.parts; ++part) {
        if (!summed) sum_rows(call, part);
        for (std::size_t panel = first; panel < last; ++panel) {
          const bool turns = panel + 1 == last && part + 1 < shape_.depths.parts;
          multiply_pair_of_panels(call, {part, panel, turns ? part + 1 : part, turns ? first : panel + 1});
        }
        if (last == shape_.columns.count() && shape_.paired_columns < params_.n) multiply_rest(call, part);
      }
      summed = true;
      if (epilogue_.has_post()) post(call, first, last);
    }
  }

  /// Calls `body(row, panels)` for the stretches of rows: both halves of the block, and with the last one
  /// those that have no other half.
  template <class Body>
  void for_stretches(const Call& call, const Body& body) const {
    const std::size_t row = shape_.rows.begin(call.panels.first);
    body(row, call.panels);
    body(row + shape_.rows.total, call.panels);
    if (call.panels.last == shape_.rows.parts && shape_.single_rows != 0) for_single_rows(body);
  }
  template <class Body>
  void for_single_rows(const Body& body) const {
    const Split panels(shape_.single_rows, kernels_.max_rows);
    body(2 * shape_.rows.total, RowPanels{panels, 0, panels.parts});
  }

  void post(const Call& call, std::size_t first, std::size_t last) const {
    const std::size_t begin = column(first);
    const std::size_t end = last == shape_.columns.count() ? params_.n : column(last);
    for_stretches(call, [&](std::size_t row, const RowPanels& panels) {
      epilogue_.post_rows(call.out + row * params_.n + begin, params_.n, panels.rows(), end - begin, 0);
    });
  }

  /// s1 to s4 of a block of terms. Panels do not know of each other, or results would depend on how they are
  /// dealt out.
  void sum_rows(const Call& call, std::size_t part) const {
    for (std::size_t panel = call.panels.first; panel < call.panels.last; ++panel) {
      const std::size_t row = shape_.rows.begin(panel);
      const OperandRows upper = rows_at(call, row, part);
      const OperandRows lower = rows_at(call, row + shape_.rows.total, part);
      const auto to = [&](std::size_t i) { return sum(call, part, i, row); };
      const bool alike = strassen_.left_sums(
          {upper.rows, second_half(upper, part).rows, lower.rows, second_half(lower, part).rows}, params_.k,
          shape_.rows.size(panel), shape_.depths.size(part), {to(0), to(1), to(2), to(3)}, sum_stride_);
      alike_flag(call, part, panel) = alike ? 1 : 0;
    }
  }

  /// Rows `row` of A from the block of terms on.
  [[nodiscard]] OperandRows rows_at(const Call& call, std::size_t row, std::size_t part) const {
    return {call.a + row * params_.k + 2 * shape_.depths.begin(part), params_.k};
  }
  [[nodiscard]] OperandRows second_half(const OperandRows& rows, std::size_t part) const {
    return {rows.rows + shape_.depths.size(part), rows.stride};
  }

  /// For runs of row panels that are alike, or are not.
  void multiply_pair_of_panels(const Call& call, const Place& place) const {
    const bool columns_alike = this->columns_alike(place.part, place.panel);
    for (std::size_t begin = call.panels.first; begin < call.panels.last;) {
      const std::uint8_t alike = alike_flag(call, place.part, begin);
      std::size_t end = begin + 1;
      while (end < call.panels.last && alike_flag(call, place.part, end) == alike) ++end;
      const RowPanels run{shape_.rows, begin, end};
      if (alike != 0 && columns_alike) {
        multiply_alike(call, run, place);
      } else {
        const std::size_t row = shape_.rows.begin(begin);
        multiply_as_usual(call, run, row, place);
        multiply_as_usual(call, run, row + shape_.rows.total, place);
      }
      begin = end;
    }
    if (call.panels.last != shape_.rows.parts || shape_.single_rows == 0) return;
    for_single_rows(
        [&](std::size_t row, const RowPanels& panels) { multiply_as_usual(call, panels, row, place); });
  }

  [[nodiscard]] StrassenBlock block_for(const Call& call, std::size_t row, const Place& place) const {
    StrassenBlock block;
    block.depth = shape_.depths.size(place.part);
    block.vectors = shape_.columns.size(place.panel);
    const std::size_t width = block.vectors * kernels_.lanes;
    const std::size_t quarter = block.depth * width;
    const bool alike = columns_alike(place.part, place.panel);
    block.b11 = packed_at(place.part, place.panel, 0);
    (alike ? block.t1 : block.b12) = block.b11 + quarter;
    block.b21 = packed_at(place.part, place.panel, 1);
    block.b22 = block.b21 + quarter;
    block.right_columns = std::min(width, params_.n - column(place.panel) - width);
    block.tile = tile_at(call, row, column(place.panel), place.part);
    block.t = call.slot + panel_offset();
    block.u = block.t + panel_floats_;
    block.u3 = block.u + result_floats_;
    block.z = block.u3 + result_floats_;
    return block;
  }

  void multiply_alike(const Call& call, const RowPanels& run, const Place& place) const {
    const std::size_t row = shape_.rows.begin(run.first);
    const auto sums = [&](std::size_t i) { return OperandRows{sum(call, place.part, i, row), sum_stride_}; };
    StrassenBlock block = block_for(call, row, place);
    block.a11 = rows_at(call, row, place.part);
    block.a12 = second_half(block.a11, place.part);
    block.a22 = second_half(rows_at(call, row + shape_.rows.total, place.part), place.part);
    block.s1 = sums(0);
    block.s2 = sums(1);
    block.s3 = sums(2);
    block.s4 = sums(3);
    block.lower_row = shape_.rows.total;
    // Every panel of rows fetches its share of the next pair of panels.
    const std::size_t width = block.vectors * kernels_.lanes;
    block.next_upper = packed_at(place.next_part, place.next_panel, 0);
    block.next_lower = packed_at(place.next_part, place.next_panel, 1);
    block.tile.fetch_step = divide_up(2 * width, 3 * run.count());
    multiply_seven(kernels_, strassen_, run, block);
  }

  /// Rows from row `row` on, which are not added to others.
  void multiply_as_usual(const Call& call, const RowPanels& run, std::size_t row, const Place& place) const {
    const OperandRows rows = rows_at(call, row, place.part);
    multiply_single(kernels_, run, rows, second_half(rows, place.part), block_for(call, row, place));
  }

  /// The same for the columns of the last vector, if it has no other half.
  void multiply_rest(const Call& call, std::size_t part) const {
    const float* const b =
        packed_.get() + shape_.paired_columns * params_.k + 2 * shape_.depths.begin(part) * kernels_.lanes;
    for_stretches(call, [&](std::size_t row, const RowPanels& panels) {
      Tile tile = tile_at(call, row, shape_.paired_columns, part);
      tile.columns = params_.n - shape_.paired_columns;
      multiply_panels(kernels_, panels, 2 * shape_.depths.size(part), 1, rows_at(call, row, part), b, tile);
    });
  }

  const GemmKernels& kernels_;
  const StrassenKernels& strassen_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  StrassenShape shape_;
  Split row_blocks_;  ///< of panels
  std::size_t workers_;
  std::size_t sum_stride_ = 0;  ///< between rows of s1 to s4
  std::size_t sum_floats_ = 0;
  std::size_t panel_floats_ = 0;
  std::size_t result_floats_ = 0;
  std::size_t flag_floats_ = 0;
  PackedFloats packed_;
};

}  // namespace

bool takes_strassen(const GemmParams& params) {
  const GemmKernels& kernels = gemm_kernels();
  return params.constant == GemmConstant::b && !params.transpose_a && params.batch.empty() &&
         params.m >= 2 * kernels.max_rows && params.n > kernels.lanes && params.k > 0 && params.k % 2 == 0;
}

// Fitted to products of 32 to 3136 rows, 64 to 3072 columns and 64 to 3072 terms, with AVX2 and AVX-512,
// whose weights are not in a core's own caches.
double strassen_gemm_cost(const GemmParams& params) {
  const GemmKernels& kernels = gemm_kernels();
  const StrassenShape shape(kernels, params);
  const std::size_t rest = params.n - std::min(params.n, shape.paired_columns);
  const std::size_t seven = kernels.product_cost(shape.rows.total, shape.paired_columns / 2) * 7;
  const std::size_t usual = kernels.product_cost(shape.single_rows, shape.paired_columns) +
                            (rest == 0 ? 0 : kernels.product_cost(params.m, rest));
  const std::size_t results = shape.rows.total * shape.columns.vectors * shape.depths.parts;
  const std::size_t summed_columns = shape.columns.vectors * kernels.lanes * shape.row_blocks(kernels).parts;
  const double sums =
      kRowSums * static_cast<double>(shape.rows.total) + kColumnSums * static_cast<double>(summed_columns);
  return (static_cast<double>(seven + 2 * usual) + sums) * static_cast<double>(shape.depths.total) +
         16.0 * static_cast<double>(results);
}

std::unique_ptr<Gemm> create_strassen_gemm(const GemmParams& params, const float* constant,
                                           const Epilogue& epilogue) {
  return std::make_unique<StrassenGemm>(params, constant, epilogue);
}

}  // namespace ir::kernels
