#include "kernels/gemm_strassen.h"

#include <algorithm>
#include <cstddef>

#include "kernels/aligned_floats.h"
#include "kernels/gemm_block.h"
#include "kernels/gemm_kernels.h"
#include "kernels/packing_pieces.h"
#include "kernels/parallel.h"
#include "kernels/strassen.h"
#include "kernels/strassen_block.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

/// How a product is cut. Rows and columns without another half are multiplied as usual.
struct StrassenShape {
  StrassenShape(const GemmKernels& kernels, const GemmParams& params)
      : rows(half_of_rows(kernels, params.m), kernels.max_rows),
        columns(divide_up(params.n, kernels.lanes) / 2, kernels.max_vectors),
        depths(params.k / 2, std::min(kernels.block_depth, kMostDepth)),
        row_blocks(rows.parts, kMostSums / most(depths) / kernels.max_rows),
        single_rows(params.m - 2 * rows.total),
        paired_columns(2 * columns.total * kernels.lanes) {}

  /// Pairs of whole panels and a rest of up to one panel, or all rows but an odd one.
  static std::size_t half_of_rows(const GemmKernels& kernels, std::size_t rows) {
    const std::size_t whole = rows / (2 * kernels.max_rows) * kernels.max_rows;
    return rows - 2 * whole <= kernels.max_rows ? whole : rows / 2;
  }

  static std::size_t most(const Split& split) { return divide_up(split.total, split.parts); }

  /// Sums of rows are kept for a block of them: with what they are made of, and results, they should fit the
  /// second-level cache.
  static constexpr std::size_t kMostDepth = 256;
  static constexpr std::size_t kMostSums = 96 * kMostDepth;

  Split rows;        ///< of a half
  Split columns;     ///< of a half, in vectors
  Split depths;      ///< terms of a half
  Split row_blocks;  ///< of panels; one meets each panel of columns, and the sums that are made of it
  std::size_t single_rows;
  std::size_t paired_columns;
};

class StrassenGemm final : public Gemm {
 public:
  StrassenGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue)
      : kernels_(gemm_kernels()),
        strassen_(strassen_kernels()),
        params_(params),
        epilogue_(epilogue, params.bias_axis == BiasAxis::row ? params.m : params.n),
        shape_(kernels_, params),
        products_(params.batch.empty() ? 1 : params.batch.front().count),
        workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())) {
    column_blocks_ = Split(shape_.columns.parts, panels_per_block());
    workers_ = std::clamp<std::size_t>(tasks(), 1, workers_);
    const std::size_t depth = StrassenShape::most(shape_.depths);
    const std::size_t width = kernels_.max_vectors * kernels_.lanes;
    const std::size_t rows = std::max(
        StrassenShape::most(shape_.row_blocks) * StrassenShape::most(shape_.rows), shape_.single_rows);
    sum_stride_ = round_up_to_line(depth);
    sum_floats_ = rows * sum_stride_;
    panel_floats_ = round_up_to_line(depth * width);
    result_floats_ = round_up_to_line(rows * width);
    pack(constant);
  }

  std::string_view algorithm() const override { return "strassen"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    const std::size_t cost = products_ * params_.m * params_.n * params_.k / tasks() / kernels_.lanes + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_group(products_ * column_blocks_.parts, shape_.row_blocks.parts, cost, workers_,
                   [&](const GroupRange& range) {
                     const std::size_t product = range.group / column_blocks_.parts;
                     const std::size_t origin = product * params_.m * params_.n;
                     const Call call{a + product * params_.m * params_.k,
                                     epilogue_.residual() ? residual + origin : nullptr, out + origin,
                                     floats + range.worker * slot_floats()};
                     for (std::size_t block = range.first; block < range.last; ++block)
                       multiply(call, range.group % column_blocks_.parts, block);
                   });
  }

 private:
  /// One product of the batch for one worker.
  struct Call {
    const float* a;
    const float* residual;
    float* out;
    float* slot;
  };

  /// Rows of a block of both halves, and those that have none.
  struct Rows {
    RowPanels panels;
    std::size_t first = 0;
    std::size_t single = 0;
  };

  /// Of columns. Few enough that their results stay in the second-level cache from block to block of k, and
  /// that there is something to share; many enough that it is worth to make the sums of A for them.
  [[nodiscard]] std::size_t panels_per_block() const {
    const std::size_t width = 2 * kernels_.max_vectors * kernels_.lanes;
    const std::size_t parts = divide_up(4 * workers_, products_ * shape_.row_blocks.parts);
    const std::size_t share = workers_ == 1 ? kMostColumns : divide_up(shape_.columns.parts, parts) * width;
    return divide_up(std::clamp(share, kLeastColumns, kMostColumns), width);
  }
  [[nodiscard]] std::size_t tasks() const {
    return products_ * column_blocks_.parts * shape_.row_blocks.parts;
  }
  [[nodiscard]] std::size_t slot_floats() const {
    return 4 * sum_floats_ + panel_floats_ + 3 * result_floats_;
  }

  [[nodiscard]] std::size_t column(std::size_t panel) const {
    return 2 * shape_.columns.begin(panel) * kernels_.lanes;
  }
  /// Of b11, t1, b21, b22 of one pair of panels and one block of k, which lie one behind the other.
  [[nodiscard]] std::size_t packed_offset(std::size_t part, std::size_t panel) const {
    return 2 * (shape_.depths.begin(part) * shape_.paired_columns + column(panel) * shape_.depths.size(part));
  }

  void pack(const float* from) {
    const bool has_rest = params_.n > shape_.paired_columns;
    packed_ = AlignedFloats((shape_.paired_columns + (has_rest ? kernels_.lanes : 0)) * params_.k);
    const auto pack_panels = [&](std::size_t begin, std::size_t end) {
      for (std::size_t panel = begin; panel < end; ++panel) {
        for (std::size_t part = 0; part < shape_.depths.parts; ++part) pack_quarters(from, part, panel);
      }
    };
    if (params_.transpose_b) {
      const auto source = [&](std::size_t panel) { return from + column(panel) * params_.k; };
      pack_in_pieces(shape_.columns.parts, source, [&](std::size_t first, std::size_t last) {
        parallel_for(last - first, 1,
                     [&](std::size_t begin, std::size_t end) { pack_panels(first + begin, first + end); });
      });
    } else {
      parallel_for(shape_.columns.parts, 1, pack_panels);
    }
    if (has_rest) {
      pack_columns(from, 0, params_.k, shape_.paired_columns, kernels_.lanes,
                   packed_.data() + shape_.paired_columns * params_.k);
    }
  }
  void pack_quarters(const float* from, std::size_t part, std::size_t panel) {
    const std::size_t depth = shape_.depths.size(part);
    const std::size_t width = shape_.columns.size(panel) * kernels_.lanes;
    const std::size_t quarter = depth * width;
    float* const to = packed_.data() + packed_offset(part, panel);
    for (std::size_t i = 0; i < 4; ++i) {
      pack_columns(from, 2 * shape_.depths.begin(part) + i / 2 * depth, depth, column(panel) + i % 2 * width,
                   width, to + i * quarter);
    }
    strassen_.subtract(to + quarter, to, to + quarter, quarter);
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
    if (epilogue_.bias() != nullptr) {
      if (params_.bias_axis == BiasAxis::row) {
        tile.row_bias = epilogue_.bias() + row;
      } else {
        tile.column_bias = epilogue_.bias() + column;
      }
    }
    tile.accumulate = part > 0;
    tile.finish = part + 1 == shape_.depths.parts;
    tile.low = epilogue_.low();
    tile.high = epilogue_.high();
    return tile;
  }

  /// Calls `body(row, count)` for the stretches of consecutive rows.
  template <class Body>
  void for_stretches(const Rows& rows, const Body& body) const {
    body(rows.first, rows.panels.rows());
    body(rows.first + shape_.rows.total, rows.panels.rows());
    if (rows.single != 0) body(params_.m - rows.single, rows.single);
  }

  void multiply(const Call& call, std::size_t column_block, std::size_t row_block) const {
    const Split& blocks = shape_.row_blocks;
    const RowPanels panels{shape_.rows, blocks.begin(row_block), blocks.begin(row_block + 1)};
    const Rows rows{panels, shape_.rows.begin(panels.first),
                    row_block + 1 == blocks.parts ? shape_.single_rows : 0};
    const std::size_t first = column_blocks_.begin(column_block);
    const std::size_t last = column_blocks_.begin(column_block + 1);
    const bool is_last = last == shape_.columns.parts;
    for (std::size_t part = 0; part < shape_.depths.parts; ++part) {
      StrassenBlock block = sum_rows(call, rows, part);
      for (std::size_t panel = first; panel < last; ++panel) multiply_pair(call, rows, part, panel, block);
      if (is_last && shape_.paired_columns < params_.n) multiply_rest(call, rows, part);
    }
    if (!epilogue_.has_post()) return;
    const std::size_t begin = column(first);
    const std::size_t end = is_last ? params_.n : column(last);
    for_stretches(rows, [&](std::size_t row, std::size_t count) {
      epilogue_.post_rows(call.out + row * params_.n + begin, params_.n, count, end - begin, 0);
    });
  }

  /// The left operand for all columns.
  [[nodiscard]] StrassenBlock sum_rows(const Call& call, const Rows& rows, std::size_t part) const {
    const std::size_t k = params_.k;
    const std::size_t depth = shape_.depths.size(part);
    const float* const a11 = call.a + rows.first * k + 2 * shape_.depths.begin(part);
    const float* const a21 = a11 + shape_.rows.total * k;
    const auto sum = [&](std::size_t i) { return call.slot + i * sum_floats_; };
    strassen_.left_sums({a11, a11 + depth, a21, a21 + depth}, k, rows.panels.rows(), depth,
                        {sum(0), sum(1), sum(2), sum(3)}, sum_stride_);
    StrassenBlock block;
    block.depth = depth;
    block.a11 = {a11, k};
    block.a12 = {a11 + depth, k};
    block.a22 = {a21 + depth, k};
    block.s1 = {sum(0), sum_stride_};
    block.s2 = {sum(1), sum_stride_};
    block.s3 = {sum(2), sum_stride_};
    block.s4 = {sum(3), sum_stride_};
    block.lower_row = shape_.rows.total;
    block.t = call.slot + 4 * sum_floats_;
    block.u = block.t + panel_floats_;
    block.u3 = block.u + result_floats_;
    block.z = block.u3 + result_floats_;
    return block;
  }

  void multiply_pair(const Call& call, const Rows& rows, std::size_t part, std::size_t panel,
                     StrassenBlock& block) const {
    block.vectors = shape_.columns.size(panel);
    const std::size_t width = block.vectors * kernels_.lanes;
    const std::size_t quarter = block.depth * width;
    block.b11 = packed_.data() + packed_offset(part, panel);
    block.t1 = block.b11 + quarter;
    block.b21 = block.t1 + quarter;
    block.b22 = block.b21 + quarter;
    block.right_columns = std::min(width, params_.n - column(panel) - width);
    block.tile = tile_at(call, rows.first, column(panel), part);
    // Every panel of rows fetches its share of the next pair of panels.
    block.tile.fetch = block.b22 + quarter;
    block.tile.fetch_step = divide_up(4 * width, 7 * (rows.panels.last - rows.panels.first));
    multiply_seven(kernels_, strassen_, rows.panels, block);
    if (rows.single == 0) return;
    const std::size_t row = params_.m - rows.single;
    block.tile = tile_at(call, row, column(panel), part);
    const float* const a = call.a + row * params_.k + 2 * shape_.depths.begin(part);
    const Split panels(rows.single, kernels_.max_rows);
    multiply_single(kernels_, {panels, 0, panels.parts}, {a, params_.k}, {a + block.depth, params_.k}, block);
  }

  /// The columns of the last vector, if it has no other half.
  void multiply_rest(const Call& call, const Rows& rows, std::size_t part) const {
    const std::size_t term = 2 * shape_.depths.begin(part);
    const float* const b = packed_.data() + shape_.paired_columns * params_.k + term * kernels_.lanes;
    for_stretches(rows, [&](std::size_t row, std::size_t count) {
      Tile tile = tile_at(call, row, shape_.paired_columns, part);
      tile.columns = params_.n - shape_.paired_columns;
      const Split panels(count, kernels_.max_rows);
      multiply_panels(kernels_, {panels, 0, panels.parts}, 2 * shape_.depths.size(part), 1,
                      {call.a + row * params_.k + term, params_.k}, b, tile);
    });
  }

  static constexpr std::size_t kLeastColumns = 128;
  static constexpr std::size_t kMostColumns = 1024;

  const GemmKernels& kernels_;
  const StrassenKernels& strassen_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  StrassenShape shape_;
  std::size_t products_;
  Split column_blocks_;  ///< of pairs of panels
  std::size_t workers_;
  std::size_t sum_stride_ = 0;  ///< between rows of s1 to s4
  std::size_t sum_floats_ = 0;
  std::size_t panel_floats_ = 0;
  std::size_t result_floats_ = 0;
  AlignedFloats packed_;
};

}  // namespace

bool takes_strassen(const GemmParams& params) {
  const GemmKernels& kernels = gemm_kernels();
  const bool one_matrix =
      params.batch.empty() ||
      (params.batch.size() == 1 && params.batch.front().count > 0 &&
       params.batch.front().a_stride == params.m * params.k && params.batch.front().b_stride == 0);
  return params.constant == GemmConstant::b && !params.transpose_a && one_matrix &&
         params.m >= 2 * kernels.max_rows && params.n > kernels.lanes && params.k > 0 && params.k % 2 == 0;
}

double usual_gemm_cost(const GemmParams& params) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t results = params.m * divide_up(params.n, kernels.lanes);
  return static_cast<double>(kernels.product_cost(params.m, params.n) * params.k) +
         1.5 * static_cast<double>(results * divide_up(params.k, kernels.block_depth));
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
  const std::size_t results = shape.rows.total * shape.columns.total * shape.depths.parts;
  // Sums are paid for by the byte.
  const std::size_t row_sums = shape.rows.total * shape.depths.total;
  const std::size_t column_sums = shape.depths.total * shape.paired_columns / 2 * shape.row_blocks.parts;
  return static_cast<double>((seven + 2 * usual) * shape.depths.total) + 16.0 * static_cast<double>(results) +
         1.0 * static_cast<double>(row_sums) + 0.75 * static_cast<double>(column_sums);
}

std::unique_ptr<Gemm> create_strassen_gemm(const GemmParams& params, const float* constant,
                                           const Epilogue& epilogue) {
  return std::make_unique<StrassenGemm>(params, constant, epilogue);
}

}  // namespace ir::kernels
