#include "kernels/strassen/strassen_block.h"

#include <type_traits>

namespace ir::kernels {
namespace {

/// What all products of a block have in common.
struct Context {
  const GemmKernels& kernels;
  const StrassenKernels& strassen;
  const RowPanels& panels;
  const StrassenBlock& block;

  [[nodiscard]] std::size_t width() const { return block.vectors * kernels.lanes; }
  [[nodiscard]] std::size_t panel_floats() const { return block.depth * width(); }
  [[nodiscard]] std::size_t tile_floats() const { return panels.rows() * width(); }
};

/// A panel of columns; with `minus`, it is made on first use: `values` - `minus`, at `to`.
struct Panel {
  const float* values = nullptr;
  const float* minus = nullptr;
  float* to = nullptr;

  /// The one so many floats behind it.
  [[nodiscard]] Panel from(std::size_t floats) const {
    return minus == nullptr ? Panel{values + floats} : Panel{values + floats, minus + floats, to + floats};
  }
  /// What it is, once it has been made.
  [[nodiscard]] const float* made() const { return minus == nullptr ? values : to; }
};

/// The same for a pair of panels, one behind the other, of both halves of the terms.
struct PanelPairs {
  Panel upper, lower;

  [[nodiscard]] PanelPairs from(std::size_t floats) const { return {upper.from(floats), lower.from(floats)}; }
};

Panel difference(const Panel& x, const Panel& y, float* to) { return {x.made(), y.made(), to}; }
PanelPairs difference(const PanelPairs& x, const PanelPairs& y, const std::array<float*, 2>& to) {
  return {difference(x.upper, y.upper, to[0]), difference(x.lower, y.lower, to[1])};
}

/// The quarters of a right operand; b12 or t1.
template <class Columns>
struct RightQuarters {
  Columns b11, b12, b21, b22;
};

/// Of a pair for each half of the terms, `floats` apart.
template <class Columns>
RightQuarters<Columns> quarters(const Columns& upper, const Columns& lower, std::size_t floats) {
  return {upper, upper.from(floats), lower, lower.from(floats)};
}

/// Of the output.
enum class Quarter { c11, c12, c21, c22 };
constexpr Quarter kQuarters[] = {Quarter::c11, Quarter::c12, Quarter::c21, Quarter::c22};
constexpr bool is_lower(Quarter quarter) { return quarter == Quarter::c21 || quarter == Quarter::c22; }
constexpr bool is_right(Quarter quarter) { return quarter == Quarter::c12 || quarter == Quarter::c22; }

/// Where the room of a level is: for t2, for t3 and then t4, and for results.
template <class Columns>
struct Rooms {
  Columns t2, t;
  float *u, *u3, *z;
};

/// The seven products, by what adds up and multiplies. Quarters have been made when they are subtracted.
template <class Products, class Rows, class Columns>
void multiply(Products& products, const SevenOperands<Rows>& a, const RightQuarters<Columns>& b) {
  const auto& [t2_room, room, u, u3, z] = products.rooms();
  products.store(a.a11, b.b11, u);
  products.finish(u, a.a12, b.b21, products.output(Quarter::c11));
  products.store(a.s1, b.b12, z);
  products.fetch_lower();
  const Columns b22 = products.make(b.b22);
  const Columns t2 = difference(b22, b.b12, t2_room);
  products.add(a.s2, t2, u);
  products.store_sum(u, a.s3, difference(t2, b.b11, room), u3);
  products.finish(u3, a.a22, difference(b.b21, t2, room), products.output(Quarter::c21));
  products.add_results(z, u3);
  products.finish(u3, products.output(Quarter::c22));
  products.add_results(z, u);
  products.finish(u, a.s4, b22, products.output(Quarter::c12));
}

/// The same for rows that are not added to others.
template <class Products, class Rows, class Columns>
void multiply(Products& products, const HalvedRows<Rows>& a, const RightQuarters<Columns>& b) {
  float* const u = products.rooms().u;
  products.store(a.a1, b.b11, u);
  products.finish(u, a.a2, b.b21, products.output(Quarter::c11));
  if (products.columns_alike()) {
    products.add(a.a1, b.b12, u);
  } else {
    products.store(a.a1, b.b12, u);
  }
  products.finish(u, a.a2, b.b22, products.output(Quarter::c12));
}

/// The products of one level, of rows and single panels of columns.
class PanelProducts {
 public:
  PanelProducts(const Context& context, const StrassenOutput& output, float* room,
                const std::array<const float*, 2>& next)
      : context_(context),
        output_(output),
        rooms_{room + 3 * context.tile_floats(), room + 3 * context.tile_floats() + context.panel_floats(),
               room, room + context.tile_floats(), room + 2 * context.tile_floats()},
        next_lower_(next[1]),
        fetch_(next[0]) {}

  [[nodiscard]] const Rooms<float*>& rooms() const { return rooms_; }
  [[nodiscard]] bool columns_alike() const { return context_.block.columns_alike; }
  /// From now on, the other half of what is read next is fetched.
  void fetch_lower() { fetch_ = next_lower_; }

  /// The panel for more than one product.
  [[nodiscard]] Panel make(const Panel& b) const {
    if (b.minus != nullptr) context_.strassen.subtract(b.values, b.minus, b.to, context_.panel_floats());
    return {b.made()};
  }
  void add_results(const float* x, float* to) const {
    context_.strassen.add(to, x, to, context_.tile_floats());
  }

  /// To a room, or added to what is there.
  template <class Rows>
  void store(const Rows& a, const Panel& b, float* to) {
    inner(a, b, nullptr, to, false);
  }
  template <class Rows>
  void add(const Rows& a, const Panel& b, float* to) {
    inner(a, b, nullptr, to, true);
  }
  void store_sum(const float* addend, const PackedRows& a, const Panel& b, float* to) {
    inner(a, b, addend, to, false);
  }
  /// To a quarter of the output, `addend` included.
  template <class Rows>
  void finish(const float* addend, const Rows& a, const Panel& b, Tile tile) {
    multiply(a, b, addend, tile);
  }
  /// The same without a product.
  void finish(const float* sum, Tile tile) const {
    tile.addend = sum;
    multiply_panels(context_.kernels, context_.panels, 0, context_.block.vectors, PackedRows{}, nullptr,
                    tile);
  }

  [[nodiscard]] Tile output(Quarter quarter) const {
    Tile tile = output_.tile;
    const bool right = is_right(quarter);
    const std::size_t row = is_lower(quarter) ? output_.lower_row : 0;
    const std::size_t offset = row * tile.stride + (right ? output_.right : 0);
    tile.out += offset;
    if (tile.residual != nullptr) tile.residual += offset;
    if (tile.row_bias != nullptr) tile.row_bias += row;
    if (tile.column_bias != nullptr && right) tile.column_bias += output_.right;
    tile.columns = right ? output_.right_columns : context_.width();
    return tile;
  }

 private:
  template <class Rows>
  void inner(const Rows& a, const Panel& b, const float* addend, float* to, bool accumulate) {
    Tile tile;
    tile.out = to;
    tile.stride = context_.width();
    tile.columns = context_.width();
    tile.accumulate = accumulate;
    multiply(a, b, addend, tile);
  }
  void multiply(const OperandRows& a, const Panel& b, const float* addend, Tile& tile) const {
    tile.addend = addend;
    multiply_panels(context_.kernels, context_.panels, context_.block.depth, context_.block.vectors, a,
                    b.values, tile);
  }
  void multiply(const PackedRows& a, const Panel& b, const float* addend, Tile& tile) {
    const StrassenBlock& block = context_.block;
    const RowPanels& panels = context_.panels;
    tile.addend = addend;
    tile.fetch = fetch_;
    tile.fetch_step = block.fetch_step;
    const float* columns = b.values;
    if (context_.kernels.subtracts(panels.panels.size(panels.first), block.vectors)) {
      tile.minus = b.minus;
      tile.difference = b.to;
    } else {
      columns = make(b).values;
    }
    multiply_panels(context_.kernels, panels, block.depth, block.vectors, a, columns, tile);
    fetch_ = tile.fetch;
  }

  const Context& context_;
  const StrassenOutput& output_;
  Rooms<float*> rooms_;
  const float* next_lower_;
  const float* fetch_;
};

/// The products of the outer one of two levels, each of which is made of those of a level of panels. Results
/// in rooms are four tiles, one behind the other; rows that are not added to others have no lower two.
template <class Rows>
class PairProducts {
 public:
  explicit PairProducts(const Context& context) : context_(context) {
    const std::size_t tiles = 4 * context.tile_floats();
    float* const room = context.block.room;
    float* const t = room + 3 * tiles;
    const std::size_t pair = pair_floats();
    rooms_ = {{t, t + pair}, {t + 2 * pair, t + 3 * pair}, room, room + tiles, room + 2 * tiles};
    inner_room_ = t + 4 * pair;
  }

  [[nodiscard]] const Rooms<std::array<float*, 2>>& rooms() const { return rooms_; }
  [[nodiscard]] bool columns_alike() const { return context_.block.columns_alike; }
  void fetch_lower() {}  // read_next() says what, product by product

  /// The quarters of the outer level are there.
  [[nodiscard]] static PanelPairs make(const PanelPairs& b) { return b; }
  void add_results(const float* x, float* to) const {
    context_.strassen.add(to, x, to, 4 * context_.tile_floats());
  }

  void store(const Rows& a, const PanelPairs& b, float* to) { multiply_pairs(a, b, room_output(to, false)); }
  void add(const Rows& a, const PanelPairs& b, float* to) { multiply_pairs(a, b, room_output(to, true)); }
  void store_sum(const float* addend, const Rows& a, const PanelPairs& b, float* to) {
    store(a, b, to);
    add_results(addend, to);
  }
  /// `addend` goes ahead.
  void finish(const float* addend, const Rows& a, const PanelPairs& b, StrassenOutput output) {
    const bool last = output.tile.finish;
    output.tile.finish = false;
    finish(addend, output);
    output.tile.finish = last;
    output.tile.accumulate = true;
    multiply_pairs(a, b, output);
  }
  void finish(const float* sum, const StrassenOutput& output) const {
    const PanelProducts products(context_, output, inner_room_, {});
    for (const Quarter quarter : kQuarters) {
      if (is_lower(quarter) && !kHasLowerRows) return;
      products.finish(sum, products.output(quarter));
      sum += context_.tile_floats();
    }
  }

  [[nodiscard]] StrassenOutput output(Quarter quarter) const {
    const StrassenOutput& whole = context_.block.output;
    const PanelProducts outer(context_, whole, inner_room_, {});
    return {outer.output(quarter), is_right(quarter) ? whole.right_columns : context_.width(),
            context_.width(), whole.lower_row / 2};
  }

 private:
  static constexpr bool kHasLowerRows = std::is_same_v<Rows, SevenOperands<PackedRows>>;

  [[nodiscard]] std::size_t pair_floats() const { return 2 * context_.panel_floats(); }

  [[nodiscard]] StrassenOutput room_output(float* to, bool accumulate) const {
    StrassenOutput output;
    output.tile.out = to;
    output.tile.stride = context_.width();
    output.tile.accumulate = accumulate;
    output.right_columns = context_.width();
    output.right = context_.tile_floats();
    output.lower_row = 2 * context_.panels.rows();
    return output;
  }

  /// What is read first in the next of seven products, as far as it has not been before. Sooner, it would be
  /// gone again: sums of rows pass by meanwhile.
  [[nodiscard]] std::array<const float*, 2> read_next() const {
    const StrassenBlock& block = context_.block;
    if (block.fetch_step == 0) return {};
    const auto quarter = [&](const std::array<const float*, kMostSlices>& b, std::size_t slice,
                             std::size_t pair) {
      const std::size_t offset = pair * pair_floats();
      return std::array<const float*, 2>{b[slice] + offset, b[slice + 1] + offset};
    };
    switch (done_) {
      case 0:
        return quarter(block.b, 2, 0);
      case 1:
        return quarter(block.b, 0, 1);
      case 2:
        return quarter(block.b, 2, 1);
      case 6:
        return quarter(block.next, 0, 0);
      default:
        return {};
    }
  }

  void multiply_pairs(const Rows& a, const PanelPairs& b, const StrassenOutput& output) {
    PanelProducts products(context_, output, inner_room_, read_next());
    ++done_;
    multiply(products, a, quarters(b.upper, b.lower, context_.panel_floats()));
  }

  const Context& context_;
  Rooms<std::array<float*, 2>> rooms_;
  float* inner_room_;
  std::size_t done_ = 0;
};

}  // namespace

std::size_t strassen_room(std::size_t slices, std::size_t depth, std::size_t width, std::size_t rows) {
  const std::size_t level = 3 * rows * width + 2 * depth * width;
  return slices == 2 ? level : 5 * level;
}

std::size_t strassen_fetch_step(const StrassenBlock& block, std::size_t panels, std::size_t lanes) {
  // The fewer ones of seven products bring half of a pair of panels.
  return divide_up(2 * block.vectors * lanes, 3 * panels);
}

namespace {

/// Calls `multiply(size)` for the tile of each panel of rows in turn.
template <class Multiply>
void for_tiles(const GemmKernels& kernels, const RowPanels& panels, std::size_t vectors, Tile& tile,
               const Multiply& multiply) {
  PartWalk walk(panels.panels, panels.first);
  for (std::size_t panel = panels.first; panel < panels.last; ++panel, walk.next()) {
    const std::size_t size = walk.size();
    multiply(size);
    tile.out += size * tile.stride;
    if (tile.addend != nullptr) tile.addend += size * vectors * kernels.lanes;
    if (tile.residual != nullptr) tile.residual += size * tile.stride;
    if (tile.row_bias != nullptr) tile.row_bias += size;
  }
}

}  // namespace

void multiply_panels(const GemmKernels& kernels, const RowPanels& panels, std::size_t depth,
                     std::size_t vectors, const OperandRows& a, const float* b, Tile& tile) {
  const bool rows_apart = a.term_stride == 1;
  const auto& multiply = rows_apart ? kernels.direct : kernels.packed;
  const std::size_t stride = rows_apart ? a.row_stride : a.term_stride;
  const float* rows = a.rows;
  for_tiles(kernels, panels, vectors, tile, [&](std::size_t size) {
    multiply[size - 1][vectors - 1](depth, rows, stride, b, tile);
    rows += size * a.row_stride;
  });
}

void multiply_panels(const GemmKernels& kernels, const RowPanels& panels, std::size_t depth,
                     std::size_t vectors, const PackedRows& a, const float* b, Tile& tile) {
  const float* rows = a.rows;
  for_tiles(kernels, panels, vectors, tile, [&](std::size_t size) {
    kernels.packed[size - 1][vectors - 1](depth, rows, 0, b, tile);
    rows += size * depth;
    if (tile.minus != nullptr) {
      b = tile.difference;
      tile.minus = nullptr;
    }
    if (tile.fetch != nullptr) tile.fetch += depth * tile.fetch_step;
  });
}

namespace {

template <class Rows>
void multiply_panels_of(const Context& context, const Rows& a) {
  const StrassenBlock& block = context.block;
  PanelProducts products(context, block.output, block.room, {block.next[0], block.next[1]});
  multiply(products, a, quarters(Panel{block.b[0]}, Panel{block.b[1]}, context.panel_floats()));
}

template <template <class> class Operands, class Rows>
void multiply_pairs_of(const Context& context, const Operands<Rows>& a) {
  const auto& b = context.block.b;
  PairProducts<Rows> products(context);
  multiply(products, a,
           quarters(PanelPairs{{b[0]}, {b[1]}}, PanelPairs{{b[2]}, {b[3]}}, 2 * context.panel_floats()));
}

}  // namespace

void multiply_block(const GemmKernels& kernels, const StrassenKernels& strassen, const RowPanels& panels,
                    const SevenOperands<PackedRows>& a, const StrassenBlock& block) {
  multiply_panels_of({kernels, strassen, panels, block}, a);
}

void multiply_block(const GemmKernels& kernels, const StrassenKernels& strassen, const RowPanels& panels,
                    const SevenOperands<SevenOperands<PackedRows>>& a, const StrassenBlock& block) {
  multiply_pairs_of({kernels, strassen, panels, block}, a);
}

void multiply_block_as_usual(const GemmKernels& kernels, const StrassenKernels& strassen,
                             const RowPanels& panels, const OperandRows& a, const StrassenBlock& block) {
  const Context context{kernels, strassen, panels, block};
  const auto halves = [&](std::size_t slice) {
    return HalvedRows<OperandRows>{a.from(slice * block.depth), a.from((slice + 1) * block.depth)};
  };
  if (block.slices == 2) {
    multiply_panels_of(context, halves(0));
  } else {
    multiply_pairs_of(context, HalvedRows<HalvedRows<OperandRows>>{halves(0), halves(2)});
  }
}

}  // namespace ir::kernels
