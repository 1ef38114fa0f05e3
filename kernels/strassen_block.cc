#include "kernels/strassen_block.h"

namespace ir::kernels {
namespace {

/// The rows' own products of one block, each with where it goes.
class PanelProducts {
 public:
  PanelProducts(const GemmKernels& kernels, const RowPanels& panels, const StrassenBlock& block)
      : kernels_(kernels),
        panels_(panels),
        block_(block),
        width_(block.vectors * kernels.lanes),
        fetch_(block.next_upper) {}

  /// From now on, the other half of what is read next is fetched.
  void fetch_lower() { fetch_ = block_.next_lower; }

  /// To a buffer of the block, or added to what is there.
  void store(const OperandRows& a, const float* b, float* to) { inner(a, b, nullptr, to, false); }
  void add(const OperandRows& a, const float* b, float* to) { inner(a, b, nullptr, to, true); }
  void store_sum(const float* addend, const OperandRows& a, const float* b, float* to) {
    inner(a, b, addend, to, false);
  }
  /// To a quarter of the output, `addend` included.
  void finish(const float* addend, const OperandRows& a, const float* b, Tile tile) {
    multiply(a, b, addend, tile);
  }
  /// The same without a product.
  void finish(const float* sum, Tile tile) {
    tile.addend = sum;
    tile.fetch = nullptr;
    multiply_panels(kernels_, panels_, 0, block_.vectors, block_.a22, block_.b22, tile);
  }

  [[nodiscard]] Tile left(bool lower) const {
    Tile tile = block_.tile;
    if (lower) {
      tile.out += block_.lower_row * tile.stride;
      if (tile.residual != nullptr) tile.residual += block_.lower_row * tile.stride;
      if (tile.row_bias != nullptr) tile.row_bias += block_.lower_row;
    }
    tile.columns = width_;
    return tile;
  }
  [[nodiscard]] Tile right(bool lower) const {
    Tile tile = left(lower);
    tile.out += width_;
    if (tile.residual != nullptr) tile.residual += width_;
    if (tile.column_bias != nullptr) tile.column_bias += width_;
    tile.columns = block_.right_columns;
    return tile;
  }

 private:
  void inner(const OperandRows& a, const float* b, const float* addend, float* to, bool accumulate) {
    Tile tile;
    tile.out = to;
    tile.stride = width_;
    tile.columns = width_;
    tile.accumulate = accumulate;
    tile.fetch_step = block_.tile.fetch_step;
    multiply(a, b, addend, tile);
  }
  void multiply(const OperandRows& a, const float* b, const float* addend, Tile& tile) {
    tile.addend = addend;
    tile.fetch = fetch_;
    multiply_panels(kernels_, panels_, block_.depth, block_.vectors, a, b, tile);
    fetch_ = tile.fetch;
  }

  const GemmKernels& kernels_;
  const RowPanels& panels_;
  const StrassenBlock& block_;
  std::size_t width_;
  const float* fetch_;
};

}  // namespace

void multiply_panels(const GemmKernels& kernels, const RowPanels& panels, std::size_t depth,
                     std::size_t vectors, const OperandRows& a, const float* b, Tile& tile) {
  const float* rows = a.rows;
  PartWalk walk(panels.panels, panels.first);
  for (std::size_t panel = panels.first; panel < panels.last; ++panel, walk.next()) {
    const std::size_t size = walk.size();
    kernels.direct[size - 1][vectors - 1](depth, rows, a.stride, b, tile);
    rows += size * a.stride;
    tile.out += size * tile.stride;
    if (tile.addend != nullptr) tile.addend += size * vectors * kernels.lanes;
    if (tile.residual != nullptr) tile.residual += size * tile.stride;
    if (tile.row_bias != nullptr) tile.row_bias += size;
    if (tile.fetch != nullptr) tile.fetch += depth * tile.fetch_step;
  }
}

void multiply_seven(const GemmKernels& kernels, const StrassenKernels& strassen, const RowPanels& panels,
                    const StrassenBlock& block) {
  const std::size_t width = block.vectors * kernels.lanes;
  const std::size_t quarter = block.depth * width;
  PanelProducts products(kernels, panels, block);
  products.store(block.a11, block.b11, block.u);
  products.finish(block.u, block.a12, block.b21, products.left(false));
  products.store(block.s1, block.t1, block.z);
  products.fetch_lower();
  strassen.subtract(block.b22, block.t1, block.t, quarter);
  products.add(block.s2, block.t, block.u);
  strassen.subtract(block.t, block.b11, block.t, quarter);
  products.store_sum(block.u, block.s3, block.t, block.u3);
  strassen.subtract_sum(block.b21, block.b11, block.t, block.t, quarter);
  products.finish(block.u3, block.a22, block.t, products.left(true));
  const std::size_t results = panels.rows() * width;
  strassen.add(block.u3, block.z, block.u3, results);
  products.finish(block.u3, products.right(true));
  strassen.add(block.u, block.z, block.u, results);
  products.finish(block.u, block.s4, block.b22, products.right(false));
}

void multiply_single(const GemmKernels& kernels, const RowPanels& panels, const OperandRows& a1,
                     const OperandRows& a2, const StrassenBlock& block) {
  PanelProducts products(kernels, panels, block);
  products.store(a1, block.b11, block.u);
  products.finish(block.u, a2, block.b21, products.left(false));
  if (block.t1 != nullptr) {
    products.add(a1, block.t1, block.u);
  } else {
    products.store(a1, block.b12, block.u);
  }
  products.finish(block.u, a2, block.b22, products.right(false));
}

}  // namespace ir::kernels
