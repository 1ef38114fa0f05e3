// What recurrent sequences leave to vectors: products of a few rows with packed weights, and gates. One set
// of functions per SIMD target. Internal to kernels/.
#ifndef KERNELS_SEQUENCE_RNN_KERNELS_H_
#define KERNELS_SEQUENCE_RNN_KERNELS_H_

#include <array>
#include <cstddef>
#include <span>

#include "kernels/sequence/rnn.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {

struct RnnKernels;

/// Columns of a matrix [columns, depth]. They come in blocks, of which `order` says where they stand there.
struct ColumnBlocks {
  const float* matrix = nullptr;
  std::span<const std::size_t> order;
  std::size_t block = 0;  ///< columns of one
  std::size_t depth = 0;

  [[nodiscard]] std::size_t columns() const { return order.size() * block; }
  [[nodiscard]] std::size_t block_floats() const { return block * depth; }
};

/// Columns as panels of a few vectors of them: what a step along depth needs is adjacent. Columns beyond the
/// last one are zero.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(const RnnKernels& kernels, const ColumnBlocks& columns);

  [[nodiscard]] std::size_t panels() const { return panels_; }
  [[nodiscard]] std::size_t depth() const { return depth_; }

  /// Those of some panels.
  struct Columns {
    std::size_t first = 0;
    std::size_t count = 0;  ///< of them that exist
    const float* data = nullptr;
    const float* next = nullptr;  ///< the panel that comes next: the first one after the last
  };
  [[nodiscard]] Columns columns_of(std::size_t panel, std::size_t panels) const;

 private:
  std::size_t columns_ = 0;
  std::size_t depth_ = 0;
  std::size_t panels_ = 0;
  std::size_t panel_width_ = 0;
  // Aligned: where it is not in the first-level cache, its way from the second takes all the time.
  PackedFloats data_;
};

/// What a product adds to which rows: out[i] = init[i] + a[i] * matrix. `out` may be `init`.
struct ProductRows {
  static constexpr std::size_t kMost = 6;  ///< of any target

  void add(const float* row, const float* row_init, float* row_out) {
    a[count] = row;
    init[count] = row_init;
    out[count++] = row_out;
  }

  std::size_t count = 0;
  std::array<const float*, kMost> a{};
  std::array<const float*, kMost> init{};
  std::array<float*, kMost> out{};
};

struct RnnPanels {
  std::size_t begin = 0;
  std::size_t end = 0;
  /// The next panel comes into the second-level cache while one is multiplied.
  bool fetches_next = false;
};

/// Of a GRU's row: the update gate, the sums of the new gate, and what linear_before_reset adds to these.
struct GruGates {
  const float* z;
  const float* new_gate;
  const float* reset;
  const float* product;
};

struct RnnKernels {
  std::size_t most_rows;  ///< of one product
  std::size_t vectors;    ///< of a panel
  std::size_t panel_width;

  /// To the panels of a PackedMatrix. Tells PackingListener of every block that has been packed.
  void (*pack)(const ColumnBlocks& columns, float* to);
  /// Does the columns of some panels for 1 .. most_rows rows.
  void (*multiply)(const PackedMatrix& matrix, const ProductRows& rows, const RnnPanels& panels);

  // The element-wise part of a cell for one row (one batch element at one step): hidden_size of each.

  /// h = f(gate).
  void (*rnn)(const RnnParams& params, const float* gate, float* h);
  /// gates = f i c o; replaces c and h.
  void (*lstm)(const RnnParams& params, const float* gates, float* c, float* h);
  /// gates = z r: z in place, and r into `reset`, times h unless linear_before_reset.
  void (*gru_update_and_reset)(const RnnParams& params, float* gates, const float* h, float* reset);
  /// h = (1 - z) g(new) + z h, where new = new_gate, with linear_before_reset plus reset * product.
  void (*gru_state)(const RnnParams& params, const GruGates& gates, float* h);
};

/// Those of the SIMD target of the moment.
const RnnKernels& rnn_kernels();

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_RNN_KERNELS_H_
