// The two products of attention, a block of queries and a block of keys at a time. Internal to kernels/.
#ifndef KERNELS_SEQUENCE_ATTENTION_PRODUCTS_H_
#define KERNELS_SEQUENCE_ATTENTION_PRODUCTS_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "kernels/matmul/gemm_kernels.h"
#include "kernels/sequence/attention.h"

namespace ir::kernels {

/// Rows of a matrix, `stride` floats apart.
struct MatrixRows {
  const float* from = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Keys that are gone through together, and their values.
struct KeyBlock {
  const float* key = nullptr;
  const float* value = nullptr;
  std::size_t keys = 0;
  std::size_t seen = 0;    ///< the first ones, which some of the queries see
  std::size_t behind = 0;  ///< keys that lie behind those
};

/// What a block of queries gets.
struct WeighedValues {
  float* out = nullptr;
  std::size_t stride = 0;
  bool add = false;  ///< to what is there
};

class AttentionProducts {
 public:
  /// How queries and keys are cut into blocks. The last one may end before its split says so.
  struct Form {
    std::string_view algorithm;
    PanelSplit row_blocks;
    PanelSplit key_blocks;
    std::size_t score_stride = 0;  ///< from query to query
    std::size_t score_floats = 0;  ///< of a block of each
    std::size_t scratch_floats = 0;
    std::size_t pair_cost = 0;  ///< about the cycles of a query and a key
    bool packs = false;         ///< keys and values; else pack() does nothing
  };

  /// What both forms in vectors have in common, for these blocks of at most so many rows.
  static Form form_in_vectors(const AttentionParams& params, const GemmKernels& kernels,
                              const PanelSplit& row_blocks, std::size_t most_rows);

  explicit AttentionProducts(const Form& form) : form_(form) {}
  AttentionProducts(const AttentionProducts&) = delete;
  AttentionProducts& operator=(const AttentionProducts&) = delete;
  virtual ~AttentionProducts() = default;

  [[nodiscard]] const Form& form() const { return form_; }

  /// To be called before and after products by the thread that makes them.
  virtual void begin() const {}
  virtual void end() const {}
  /// All keys of a block, to `scratch`, which the products are given then.
  virtual void pack(const KeyBlock& block, float* scratch) const = 0;
  /// Of queries and the keys that they see, without the scale.
  virtual void score(const MatrixRows& queries, const KeyBlock& block, float* scratch,
                     float* scores) const = 0;
  /// Adds up the values of the keys that are seen, `scores` times each.
  virtual void weigh(const float* scores, std::size_t rows, const KeyBlock& block, float* scratch,
                     const WeighedValues& weighed) const = 0;

 private:
  Form form_;
};

// `params` must outlive what is created.

/// In vectors; of any size.
std::unique_ptr<AttentionProducts> create_vector_products(const AttentionParams& params);

/// Of a few queries, which read keys and values where they lie: those of a group of heads for the next token
/// of a language model. nullptr: there are more, or keys or values lie transposed.
std::unique_ptr<AttentionProducts> create_few_row_products(const AttentionParams& params);

/// In matrix tiles; nullptr: there are none, vectors are faster, or AttentionParams::accurate.
std::unique_ptr<AttentionProducts> create_tile_products(const AttentionParams& params);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_ATTENTION_PRODUCTS_H_
