// Products of rows by columns that come in panels for matrix tiles. Internal to kernels/.
#ifndef KERNELS_MATMUL_TILE_PRODUCT_H_
#define KERNELS_MATMUL_TILE_PRODUCT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/matmul/gemm.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/owned_epilogue.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {

/// Packed panels of columns.
class TileColumns {
 public:
  TileColumns() = default;
  TileColumns(const TileColumns&) = delete;
  TileColumns& operator=(const TileColumns&) = delete;
  virtual ~TileColumns() = default;

  /// The steps of a place. `room`: memory of the worker's own to make them in.
  virtual const float* make(const TilePlace& place, float* room) const = 0;
  /// Where they lie, to be fetched; nullptr: they are made.
  [[nodiscard]] virtual const float* find(const TilePlace& place) const = 0;
};

/// Each worker splits its rows into parts of floats, a block of terms at a time where each comes once only.
/// That several split the same ones costs less than to get them from each other.
class TileProduct {
 public:
  /// How it goes through the terms of columns.
  struct Order {
    std::size_t most_steps = 0;   ///< of a block of terms; 0: as many as a cache holds of all rows
    std::size_t most_panels = 1;  ///< of which sums are kept
    std::size_t room = 0;         ///< floats that TileColumns::make needs
  };

  /// Of params, sizes, the axis of biases and the number of threads count.
  TileProduct(const GemmParams& params, const MatrixTiles& tiles, const Epilogue& epilogue,
              const Order& order);

  [[nodiscard]] const TilePanels& columns() const { return columns_; }
  [[nodiscard]] const TileSchedule& schedule() const { return schedule_; }
  /// Of the sum of a result.
  [[nodiscard]] std::size_t steps() const { return schedule_.depths.total; }

  [[nodiscard]] std::size_t scratch_bytes() const;
  void run(const float* a, const TileColumns& columns, const float* residual, float* out,
           std::byte* scratch) const;

 private:
  struct Call {
    const float* a;
    const TileColumns& columns;
    const float* residual;
    float* out;
  };
  /// Rows that are split, from a block of terms on: [block of terms][panel of rows][step].
  struct Left {
    std::size_t first_row;
    TilePanels rows;
    float* split;
    std::size_t first_step = 0;
  };

  [[nodiscard]] std::size_t slot_floats() const;
  void deal_out(bool makes_columns);
  void split(const Call& call, const Left& left, std::size_t panel, std::size_t begin, std::size_t end) const;
  void multiply(const Call& call, const GroupRange& range, float* slot) const;
  void multiply_panel(const Call& call, const Left& left, const TilePlace& place, float* sums, float* room,
                      const TilePlace* next) const;
  void finish(const Call& call, std::size_t row, std::size_t rows, std::size_t panel, float* sums) const;

  const MatrixTiles& tiles_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  TilePanels columns_;
  Split row_blocks_;  ///< of panels of rows
  TileSchedule schedule_;
  Split shares_;  ///< of panels of columns
  std::size_t workers_;
  std::size_t left_floats_ = 0;  ///< of a block of rows: all of their terms, or a block of those
  std::size_t sum_floats_ = 0;
  bool splits_late_ = false;  ///< a block of terms at a time
  std::size_t room_ = 0;
  /// Of steps of a panel of one tile, and of two.
  std::array<std::vector<std::int32_t>, MatrixTiles::kMost> offsets_;
};

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_TILE_PRODUCT_H_
