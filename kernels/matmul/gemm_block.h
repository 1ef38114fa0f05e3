// The two inner loops of every blocked product: row panels x column panels of one block. Internal to
// kernels/.
#ifndef KERNELS_MATMUL_GEMM_BLOCK_H_
#define KERNELS_MATMUL_GEMM_BLOCK_H_

#include <algorithm>
#include <cstddef>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/owned_epilogue.h"

namespace ir::kernels {

/// Some panels of columns.
struct PanelRange {
  Split panels;  ///< all of them, in vectors
  std::size_t first = 0;
  std::size_t last = 0;
};

/// One block of columns of one product and one block of k.
struct Block {
  std::size_t depth = 0;
  std::size_t columns = 0;
  /// The columns, where they are only some of the panels that pack_columns has made.
  PanelRange panels;
  /// `tile.out`, `.residual` and biases of row 0 and of the block's first column.
  Tile tile;
  /// The output channel that row 0 is, where rows are channels.
  std::size_t channel = 0;
  /// 0: the panels of columns are packed; else they are row-major, their rows this far apart.
  std::size_t column_stride = 0;
  /// Panels of columns lie one behind the other in memory that has not been read lately: the next one is
  /// fetched during each.
  bool fetch_columns = false;
  /// Packed rows that are read after the last panel, if they are known and do not lie behind it.
  const float* next_rows = nullptr;
  /// The same for fetched columns.
  const float* next_columns = nullptr;
};

/// Row panels of one call of multiply_block.
struct RowRange {
  const Split& panels;
  std::size_t first = 0;
  std::size_t last = 0;
  /// 0: the panels are packed; else they are rows, this far apart.
  std::size_t stride = 0;
};

/// Whether tiles of quads can store the levels of so many rows.
inline bool can_store_levels(const GemmKernels& kernels, std::size_t rows) {
  constexpr std::size_t kPanel = 8;
  return kernels.max_rows == kPanel && rows % kPanel == 0;
}

/// Rows that are gone through with each panel of columns: they come from the second-level cache again and
/// again.
inline std::size_t panels_per_chunk(const GemmKernels& kernels, std::size_t depth) {
  constexpr std::size_t kChunkFloats = 32768;
  return std::max<std::size_t>(1, kChunkFloats / (std::max<std::size_t>(depth, 1) * kernels.max_rows));
}

/// Whether multiply_block asks for every panel of columns only once.
inline bool visits_columns_once(const GemmKernels& kernels, const RowRange& rows, std::size_t depth) {
  return rows.last - rows.first <= panels_per_chunk(kernels, depth);
}

/// The kernels for operands of which at most one is not packed.
inline const auto& multiply_kernels(const GemmKernels& kernels, const RowRange& rows, const Block& block) {
  if (block.column_stride != 0) return kernels.direct_columns;
  return rows.stride == 0 ? kernels.packed : kernels.direct;
}

/// One panel of the rows of multiply_block.
struct RowPanel {
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t chunk_row = 0;  ///< the first row of its chunk of at most panels_per_chunk panels
  bool is_new = false;        ///< it is asked for for the first time
};

/// Multiplies `rows` with the block. `row_panel(panel)` gives the floats of a RowPanel;
/// `column_panel(first, count, is_new)` the packed panel of columns [first, first + count) of the block.
template <class RowPanels, class ColumnPanel>
void multiply_block(const GemmKernels& kernels, const RowRange& rows, const Block& block,
                    const OwnedEpilogue& epilogue, const RowPanels& row_panel,
                    const ColumnPanel& column_panel) {
  const Split all = kernels.column_panels(block.columns);
  const PanelRange columns = block.panels.last != 0 ? block.panels : PanelRange{all, 0, all.parts};
  const PartWalk first_vectors(columns.panels, columns.first);
  const std::size_t chunk = panels_per_chunk(kernels, block.depth);
  const auto& multiply = multiply_kernels(kernels, rows, block);
  const std::size_t stride = std::max(rows.stride, block.column_stride);
  // One for all panels: what has just been written cannot be copied at once.
  Tile tile = block.tile;
  for (std::size_t first = rows.first; first < rows.last; first += chunk) {
    const std::size_t last = std::min(rows.last, first + chunk);
    const PartWalk chunk_rows(rows.panels, first);
    PartWalk vectors = first_vectors;
    // Rows inside: a panel of columns, the larger one, stays in the first-level cache.
    for (std::size_t part = columns.first; part < columns.last; ++part, vectors.next()) {
      const std::size_t width = vectors.size() * kernels.lanes;
      const std::size_t begin = (vectors.begin() - first_vectors.begin()) * kernels.lanes;
      tile.columns = std::min(width, block.columns - begin);
      if (block.tile.column_bias != nullptr) tile.column_bias = block.tile.column_bias + begin;
      if (block.tile.column_scale != nullptr) tile.column_scale = block.tile.column_scale + begin;
      const float* const packed = column_panel(begin, tile.columns, first == rows.first);
      // Every panel of rows fetches its share of the next panel of columns.
      if (block.fetch_columns) tile.fetch_step = divide_up(width, last - first);
      const float* const next_columns = part + 1 == columns.last && block.next_columns != nullptr
                                            ? block.next_columns
                                            : packed + width * block.depth;
      PartWalk walk = chunk_rows;
      for (std::size_t panel = first; panel < last; ++panel, walk.next()) {
        const RowPanel row{walk.begin(), walk.size(), chunk_rows.begin(), part == columns.first};
        const std::size_t offset = row.row * tile.stride + begin;
        tile.out = block.tile.out + offset;
        if (block.tile.residual != nullptr) tile.residual = block.tile.residual + offset;
        if (block.tile.row_bias != nullptr) tile.row_bias = block.tile.row_bias + row.row;
        if (block.tile.row_scale != nullptr) tile.row_scale = block.tile.row_scale + row.row;
        if (block.tile.levels != nullptr)
          tile.levels = block.tile.levels + row.row * tile.levels_stride + begin;
        const float* const a = row_panel(row);
        if (block.fetch_columns) {
          tile.fetch = next_columns + (panel - first) * tile.fetch_step * block.depth;
        } else {
          // Packed rows are weights, which come from far away once per chunk.
          const bool fetches = rows.stride == 0 && part == columns.first;
          const float* const next = panel + 1 == rows.last && block.next_rows != nullptr
                                        ? block.next_rows
                                        : a + row.rows * block.depth;
          tile.fetch = fetches ? next : nullptr;
          tile.fetch_step = fetches ? row.rows : 0;
        }
        multiply[row.rows - 1][vectors.size() - 1](block.depth, a, stride, packed, tile);
      }
    }
    if (block.tile.finish) {
      const std::size_t row = chunk_rows.begin();
      epilogue.post_channels(block.tile.out + row * block.tile.stride, block.tile.stride,
                             rows.panels.begin(last) - row, block.columns, block.channel + row);
    }
  }
}

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_BLOCK_H_
