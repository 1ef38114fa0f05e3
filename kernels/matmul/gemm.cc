#include "kernels/matmul/gemm.h"

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_batch.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_integer.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/gemm_narrow.h"
#include "kernels/matmul/gemm_packed.h"
#include "kernels/matmul/gemm_tiles.h"
#include "kernels/matmul/gemm_vector.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/strassen/gemm_strassen.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {
namespace {

/// The form that takes any product.
std::string_view plain_name(const GemmParams& params) { return params.m == 1 ? "gemv" : "gemm"; }

/// Packed panels of columns, in blocks; rows packed ahead (constant A), packed on the way (transposed A) or
/// read in place.
class PackedGemm final : public Gemm {
 public:
  PackedGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue,
             const GemmKernels& kernels)
      : kernels_(kernels),
        params_(params),
        epilogue_(epilogue, params),
        rows_(kernels_.row_panels(params.m)),
        row_blocks_(rows_.parts, divide_up(kBlockRows, kernels_.max_rows)),
        depth_blocks_(params.k, kernels_.block_depth),
        workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())),
        column_blocks_(kernels_.column_panels(params.n), panels_per_block()),
        pieces_(pieces_per_block()) {
    depth_blocks_.parts = std::max<std::size_t>(depth_blocks_.parts, 1);
    if (params.constant == GemmConstant::a) {
      pack_constant({constant, params.m * params.k}, &GemmBatchAxis::a_stride, params.m * params.k,
                    {"gemm_a", {&kernels_}, {params.m, params.k, params.transpose_a ? 1U : 0U}},
                    [this](const float* from, float* to) { pack_a(from, to); });
    } else if (params.constant == GemmConstant::b) {
      // Rows are nowhere in it: products of any number of them share it.
      pack_constant({constant, params.k * params.n}, &GemmBatchAxis::b_stride,
                    kernels_.padded(params.n) * params.k,
                    {"gemm_b", {&kernels_}, {params.k, params.n, params.transpose_b ? 1U : 0U}},
                    [this](const float* from, float* to) { pack_b(from, to); });
    }
    const std::size_t depth = std::min(params.k, kernels_.block_depth);
    if (params.constant != GemmConstant::b) {
      column_floats_ = round_up_to_line(
          depth * std::min(kernels_.padded(params.n), kernels_.block_vectors * kernels_.lanes));
    }
    if (packs_rows()) {
      row_floats_ =
          round_up_to_line(depth * kernels_.max_rows * std::min(rows_.parts, most_panels_per_chunk()));
    }
    const std::size_t tasks = batch_count(params_.batch) * column_pieces() * row_blocks_.parts;
    workers_ = std::min(workers_, std::max<std::size_t>(tasks, 1));
  }

  std::string_view algorithm() const override { return plain_name(params_); }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const float* a, const float* b, const float* residual, float* out,
           std::byte* scratch) const override {
    if (params_.m == 0 || params_.n == 0) return;
    const std::size_t groups = batch_count(params_.batch) * column_pieces();
    // For few rows it is the other operand's way from memory that takes time.
    const std::size_t cost = std::max(params_.m, kernels_.lanes) * params_.n * params_.k /
                                 (column_pieces() * row_blocks_.parts) / kernels_.lanes +
                             1;
    float* const floats = scratch == nullptr ? nullptr : aligned_scratch(scratch);
    const Call call{a, b, epilogue_.residual() ? residual : nullptr, out};
    for_each_group(groups, row_blocks_.parts, cost, workers_, [&](const GroupRange& range) {
      multiply(call, range.group / column_pieces(), range.group % column_pieces(),
               row_blocks_.begin(range.first), row_blocks_.begin(range.last),
               floats == nullptr ? nullptr : floats + range.worker * slot_floats());
    });
  }

 private:
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(workers_, column_floats_ + row_floats_);
  }

  struct Call {
    const float* a;
    const float* b;
    const float* residual;
    float* out;
  };

  /// Of columns. Where there are few rows, workers share the columns. What is packed ahead does not depend on
  /// them.
  [[nodiscard]] std::size_t panels_per_block() const {
    const std::size_t most = kernels_.block_vectors / kernels_.max_vectors;
    const std::size_t share = divide_up(kernels_.column_panels(params_.n).parts, workers_);
    return rows_.parts > 1 || params_.constant == GemmConstant::b ? most : std::min(most, share);
  }
  /// Into how many pieces to cut blocks that were packed ahead: few, but so that all workers get as many,
  /// and few rows leave the busiest worker as few panels as can be.
  [[nodiscard]] std::size_t pieces_per_block() const {
    if (params_.constant != GemmConstant::b || packs_rows()) return 1;
    const std::size_t blocks = column_blocks_.parts();
    const std::size_t panels =
        divide_up(kernels_.column_panels(params_.n).parts, std::max<std::size_t>(blocks, 1));
    if (rows_.parts > 1) {
      const std::size_t groups = batch_count(params_.batch) * blocks * row_blocks_.parts;
      return groups >= 4 * workers_ ? 1 : std::clamp<std::size_t>(panels, 1, even_parts(groups, workers_));
    }
    const auto most_panels = [&](std::size_t pieces) {
      return divide_up(blocks * pieces, workers_) * divide_up(panels, pieces);
    };
    std::size_t best = 1;
    for (std::size_t pieces = 2; pieces <= panels; ++pieces) {
      if (most_panels(pieces) < most_panels(best)) best = pieces;
    }
    return best;
  }
  [[nodiscard]] std::size_t column_pieces() const { return column_blocks_.parts() * pieces_; }

  [[nodiscard]] bool packs_rows() const {
    return params_.constant != GemmConstant::a && params_.transpose_a && params_.m > 1;
  }

  /// Blocks of k differ by one in depth.
  [[nodiscard]] std::size_t most_panels_per_chunk() const {
    return panels_per_chunk(kernels_, params_.k / depth_blocks_.parts);
  }

  /// Packs every distinct matrix of the constant, of which `matrix` is the first; its batch strides become
  /// those of the packed ones.
  template <class Pack>
  void pack_constant(std::span<const float> matrix, std::size_t GemmBatchAxis::*stride,
                     std::size_t packed_size, PackedForm form, const Pack& pack) {
    packed_size = round_up_to_line(packed_size);
    std::vector<GemmBatchAxis> distinct;
    for (const GemmBatchAxis& axis : params_.batch) {
      if (axis.*stride == 0) continue;
      distinct.push_back({axis.count, axis.*stride, 0});
      form.numbers.insert(form.numbers.end(), {axis.count, axis.*stride});
    }
    const std::size_t count = batch_count(distinct);
    const std::size_t reach = count == 0 ? 0 : batch_offsets(distinct, count - 1).a + matrix.size();
    packed_ = packed_once({matrix.data(), reach}, std::move(form), packed_size * count, [&](float* to) {
      for (std::size_t i = 0; i < count; ++i)
        pack(matrix.data() + batch_offsets(distinct, i).a, to + i * packed_size);
    });
    std::size_t packed_stride = packed_size;
    for (auto axis = params_.batch.rbegin(); axis != params_.batch.rend(); ++axis) {
      if ((*axis).*stride == 0) continue;
      (*axis).*stride = packed_stride;
      packed_stride *= axis->count;
    }
  }

  void pack_a(const float* from, float* to) const {
    const std::size_t row_stride = params_.transpose_a ? 1 : params_.k;
    const std::size_t k_stride = params_.transpose_a ? params_.m : 1;
    parallel_for(depth_blocks_.parts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const std::size_t k = depth_blocks_.begin(part);
        kernels_.pack_rows(from + k * k_stride, row_stride, k_stride, depth_blocks_.size(part), rows_,
                           to + params_.m * k);
      }
    });
  }

  void pack_b(const float* from, float* to) const {
    const auto column = [&](std::size_t block) { return column_blocks_.begin(block) * kernels_.lanes; };
    const auto term = [&](std::size_t part) { return depth_blocks_.begin(part); };
    pack_operand_in_pieces(
        from, params_.transpose_b, {column_blocks_.parts(), params_.n, column},
        {depth_blocks_.parts, params_.k, term},
        [&](const PartRange& columns, const PartRange& depths) { pack_b_blocks(from, columns, depths, to); },
        Rereads::never);
  }

  void pack_b_blocks(const float* from, const PartRange& columns, const PartRange& depths, float* to) const {
    parallel_for(columns.last - columns.first, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t block = columns.first + begin; block < columns.first + end; ++block) {
        for (std::size_t part = depths.first; part < depths.last; ++part) {
          pack_b_columns(from, column_blocks_.begin(block) * kernels_.lanes, column_count(block), part,
                         to + packed_offset(block, part));
        }
      }
    });
  }

  [[nodiscard]] std::size_t packed_offset(std::size_t block, std::size_t part) const {
    return kernels_.lanes *
           (column_blocks_.begin(block) * params_.k + column_blocks_.size(block) * depth_blocks_.begin(part));
  }

  /// From `column` of the block on, which begins a panel.
  [[nodiscard]] const float* packed_columns(std::size_t offset, std::size_t block, std::size_t part,
                                            std::size_t column) const {
    return packed_.get() + offset + packed_offset(block, part) + column * depth_blocks_.size(part);
  }

  [[nodiscard]] std::size_t column_count(std::size_t block) const {
    return std::min(params_.n, column_blocks_.begin(block + 1) * kernels_.lanes) -
           column_blocks_.begin(block) * kernels_.lanes;
  }
  /// The panels of a piece among those of its block.
  [[nodiscard]] PanelRange panels_of(std::size_t block, std::size_t piece) const {
    const Split panels = kernels_.column_panels(column_count(block));
    return {panels, panels.parts * piece / pieces_, panels.parts * (piece + 1) / pieces_};
  }

  /// Packs columns [column, column + count) of one block of k.
  void pack_b_columns(const float* from, std::size_t column, std::size_t count, std::size_t part,
                      float* to) const {
    const std::size_t k = depth_blocks_.begin(part);
    const std::size_t depth = depth_blocks_.size(part);
    if (params_.transpose_b) {
      kernels_.pack_columns_transposed(from + column * params_.k + k, params_.k, depth, count, to);
    } else {
      kernels_.pack_columns(from + k * params_.n + column, params_.n, depth, count, to);
    }
  }

  /// The columns of a piece.
  struct Columns {
    std::size_t block = 0;
    PanelRange panels;        ///< of the block
    std::size_t skipped = 0;  ///< of the block
    std::size_t first = 0;    ///< of all columns
    std::size_t count = 0;
  };
  [[nodiscard]] Columns columns_of(std::size_t piece) const {
    Columns columns;
    columns.block = piece / pieces_;
    columns.panels = panels_of(columns.block, piece % pieces_);
    if (columns.panels.first == columns.panels.last) return columns;
    columns.skipped = columns.panels.panels.begin(columns.panels.first) * kernels_.lanes;
    columns.first = column_blocks_.begin(columns.block) * kernels_.lanes + columns.skipped;
    const std::size_t end = columns.panels.panels.begin(columns.panels.last) * kernels_.lanes;
    columns.count = std::min(end, column_count(columns.block)) - columns.skipped;
    return columns;
  }

  /// What all blocks of k have in common.
  [[nodiscard]] Block block_of(const Call& call, std::size_t product, const Columns& columns) const {
    const std::size_t origin = product * params_.m * params_.n + columns.first;
    Block block;
    block.panels = columns.panels;
    block.columns = columns.count;
    block.fetch_columns = params_.constant == GemmConstant::b;
    block.tile.out = call.out + origin;
    block.tile.stride = params_.n;
    if (call.residual != nullptr) block.tile.residual = call.residual + origin;
    epilogue_.set_up(block.tile, params_.bias_axis, 0, columns.first);
    return block;
  }

  /// Row panels [first, last) of one piece of the columns of one product of the batch.
  void multiply(const Call& call, std::size_t product, std::size_t piece, std::size_t first, std::size_t last,
                float* slot) const {
    const Columns columns = columns_of(piece);
    if (columns.count == 0) return;
    const BatchOffsets offsets = batch_offsets(params_.batch, product);
    const bool constant = params_.constant == GemmConstant::b;
    // Rows of columns are far apart, and read the faster the longer the stretch of each: all panels at once.
    const bool at_once = !constant && !params_.transpose_b;
    const bool direct = params_.constant != GemmConstant::a && !packs_rows();
    const RowRange range{rows_, first, last, direct ? std::max<std::size_t>(params_.k, 1) : 0};
    Block block = block_of(call, product, columns);
    for (std::size_t part = 0; part < depth_blocks_.parts; ++part) {
      const std::size_t depth = depth_blocks_.size(part);
      block.depth = depth;
      block.tile.accumulate = part > 0;
      block.tile.finish = part + 1 == depth_blocks_.parts;
      if (at_once) pack_b_columns(call.b + offsets.b, columns.first, columns.count, part, slot);
      const float* const packed_b =
          constant ? packed_columns(offsets.b, columns.block, part, columns.skipped) : nullptr;
      // Behind the panels of a piece are those of another one.
      block.next_columns = pieces_ > 1 && !block.tile.finish
                               ? packed_columns(offsets.b, columns.block, part + 1, columns.skipped)
                               : nullptr;
      const bool once = !at_once && visits_columns_once(kernels_, range, depth);
      multiply_part(call, offsets, part, range, block, slot,
                    [&](std::size_t column, std::size_t count, bool is_new) -> const float* {
                      if (constant) return packed_b + column * depth;
                      // A panel that is not needed again leaves its place, warm in the first-level cache, to
                      // the next one.
                      float* const to = slot + (once ? 0 : column * depth);
                      if (is_new && !at_once)
                        pack_b_columns(call.b + offsets.b, columns.first + column, count, part, to);
                      return to;
                    });
    }
  }

  /// One block of k, with the rows as they are, packed here, or packed ahead.
  template <class ColumnPanel>
  void multiply_part(const Call& call, const BatchOffsets& offsets, std::size_t part, const RowRange& range,
                     const Block& block, float* slot, const ColumnPanel& column_panel) const {
    const std::size_t k = depth_blocks_.begin(part);
    const std::size_t depth = block.depth;
    const auto multiply = [&](const auto& row_panel) {
      multiply_block(kernels_, range, block, epilogue_, row_panel, column_panel);
    };
    if (params_.constant == GemmConstant::a) {
      const float* const packed = packed_.get() + offsets.a + params_.m * k;
      multiply([&](const RowPanel& panel) { return packed + panel.row * depth; });
    } else if (packs_rows()) {
      const float* const rows = call.a + offsets.a + k * params_.m;
      float* const packed = slot + column_floats_;
      multiply([&](const RowPanel& panel) {
        float* const to = packed + (panel.row - panel.chunk_row) * depth;
        if (panel.is_new)
          kernels_.pack_rows(rows + panel.row, 1, params_.m, depth, Split(panel.rows, panel.rows), to);
        return to;
      });
    } else {
      const float* const rows = call.a + offsets.a + k;
      multiply([&](const RowPanel& panel) { return rows + panel.row * params_.k; });
    }
  }

  const GemmKernels& kernels_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  Split rows_;
  Split row_blocks_;  ///< of panels
  Split depth_blocks_;
  std::size_t workers_;
  PanelSplit column_blocks_;  ///< of vectors
  std::size_t pieces_;        ///< of such a block
  std::size_t column_floats_ = 0;
  std::size_t row_floats_ = 0;
  PackedFloats packed_;
};

/// A product with its operands exchanged: a column of results is a row of the transposed product.
class SwappedGemm final : public Gemm {
 public:
  explicit SwappedGemm(std::unique_ptr<Gemm> gemm) : gemm_(std::move(gemm)) {}
  std::string_view algorithm() const override { return gemm_->algorithm(); }
  std::size_t scratch_bytes() const override { return gemm_->scratch_bytes(); }
  bool reads_constant() const override { return gemm_->reads_constant(); }
  void run(const float* a, const float* b, const float* residual, float* out,
           std::byte* scratch) const override {
    gemm_->run(b, a, residual, out, scratch);
  }

 private:
  std::unique_ptr<Gemm> gemm_;
};

GemmParams exchange_operands(const GemmParams& params) {
  GemmParams exchanged = params;
  std::swap(exchanged.m, exchanged.n);
  exchanged.transpose_a = !params.transpose_b;
  exchanged.transpose_b = !params.transpose_a;
  if (params.constant != GemmConstant::none) {
    exchanged.constant = params.constant == GemmConstant::a ? GemmConstant::b : GemmConstant::a;
  }
  exchanged.bias_axis = params.bias_axis == BiasAxis::row ? BiasAxis::column : BiasAxis::row;
  for (GemmBatchAxis& axis : exchanged.batch) std::swap(axis.a_stride, axis.b_stride);
  return exchanged;
}

}  // namespace

GemmParams folded_batch(GemmParams params, const Epilogue& epilogue) {
  const bool has_row_bias = epilogue.bias != nullptr && params.bias_axis == BiasAxis::row;
  std::erase_if(params.batch, [](const GemmBatchAxis& axis) { return axis.count == 1; });
  while (!params.batch.empty() && params.batch.back().b_stride == 0 &&
         params.batch.back().a_stride == params.m * params.k && (!params.transpose_a || params.m == 1) &&
         !has_row_bias) {
    params.transpose_a = false;
    params.m *= params.batch.back().count;
    params.batch.pop_back();
  }
  return params;
}

double packed_gemm_cost(const GemmParams& params) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t results = params.m * divide_up(params.n, kernels.lanes);
  return static_cast<double>(kernels.product_cost(params.m, params.n) * params.k) +
         1.5 * static_cast<double>(results * divide_up(params.k, kernels.block_depth));
}

std::unique_ptr<Gemm> create_packed_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue, const GemmKernels& kernels) {
  return std::make_unique<PackedGemm>(params, constant, epilogue, kernels);
}

namespace {

/// Whether it is one row, and a constant B is read where it lies.
bool reads_b_in_place(const GemmParams& params) {
  return params.m == 1 && params.constant == GemmConstant::b && params.constant_stays && params.transpose_b;
}

/// For a folded batch.
std::vector<GemmAlgorithm> algorithms_for(const GemmParams& params) {
  std::vector<GemmAlgorithm> algorithms;
  if (params.accurate) return algorithms;
  // A few percent are not worth another form of the weights, which products of fewer rows do not take.
  const double reserve = (params.shares_packing ? 1.03 : 1) * (params.whole_floats ? kPriceOfSums : 1);
  for (const auto& [name, slices] : kStrassenForms) {
    if (takes_strassen(params, slices))
      algorithms.push_back({name, reserve * strassen_gemm_cost(params, slices)});
  }
  const bool narrows = takes_narrow(params);
  // What so few rows take at least, with whole floats.
  const double reading = narrows ? row_cost(params, 32) : 0;
  if (takes_tiles(params)) {
    const double multiplying = tiles_gemm_cost(params, *matrix_tiles(params.whole_floats));
    algorithms.push_back({kMatrixTiles, std::max(multiplying, reading)});
  }
  if (takes_integers(params)) algorithms.push_back({kInteger, integer_gemm_cost(params, nullptr)});
  if (const MatrixTiles* const tiles = tiles_of_integers(params))
    algorithms.push_back({kIntegerTiles, integer_gemm_cost(params, tiles)});
  if (narrows) {
    const bool waits_to_be_asked = params.k * params.n > kMostUnasked && reads_b_in_place(params);
    algorithms.push_back({kNarrow, waits_to_be_asked ? reading : row_cost(params, 17)});
  }
  if (algorithms.empty()) return algorithms;
  const double plain = params.m == 1 ? row_cost(params, 32) : std::max(packed_gemm_cost(params), reading);
  algorithms.insert(algorithms.begin(), {plain_name(params), plain});
  std::stable_sort(algorithms.begin(), algorithms.end(),
                   [](const GemmAlgorithm& a, const GemmAlgorithm& b) { return a.cycles < b.cycles; });
  return algorithms;
}

}  // namespace

std::vector<GemmAlgorithm> gemm_algorithms(const GemmParams& params) {
  return algorithms_for(folded_batch(params));
}

std::unique_ptr<Gemm> create_gemm(const GemmParams& params, const ConstantWeights& constant,
                                  const Epilogue& epilogue, std::string_view algorithm) {
  const GemmParams folded = folded_batch(params, epilogue);
  const std::vector<GemmAlgorithm> algorithms = algorithms_for(folded);
  if (algorithm.empty() && !algorithms.empty()) algorithm = algorithms.front().name;
  const bool is_plain = algorithm.empty() || algorithm == plain_name(folded);
  const auto is_asked_for = [&](const GemmAlgorithm& known) { return known.name == algorithm; };
  if (!is_plain && std::none_of(algorithms.begin(), algorithms.end(), is_asked_for)) return nullptr;
  if (algorithm == kInteger || algorithm == kIntegerTiles) {
    const MatrixTiles* const tiles = algorithm == kInteger ? nullptr : tiles_of_integers(folded);
    return create_integer_gemm(folded, tiles, constant, epilogue);
  }
  const float* const floats = constant.floats();
  if (!is_plain) {
    for (const auto& [name, slices] : kStrassenForms) {
      if (algorithm == name) return create_strassen_gemm(folded, floats, epilogue, slices);
    }
    return algorithm == kNarrow
               ? create_narrow_gemm(folded, floats, epilogue)
               : create_tiles_gemm(folded, *matrix_tiles(folded.whole_floats), floats, epilogue);
  }
  if (folded.n == 1 && folded.m > 1) {
    return std::make_unique<SwappedGemm>(create_gemm(exchange_operands(folded), floats, epilogue));
  }
  if (reads_b_in_place(folded) || (folded.m == 1 && folded.constant != GemmConstant::b)) {
    return create_vector_gemm(folded, floats, epilogue);
  }
  return create_packed_gemm(folded, floats, epilogue, gemm_kernels());
}

}  // namespace ir::kernels
