// Scaled dot-product attention that never holds the matrix of scores.
#ifndef KERNELS_SEQUENCE_ATTENTION_H_
#define KERNELS_SEQUENCE_ATTENTION_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace ir::kernels {

/// One axis of the batch (batch elements, heads). Strides are in elements; 0 broadcasts the operand along it.
struct AttentionBatchAxis {
  std::size_t count = 1;
  std::size_t query = 0;
  std::size_t key = 0;
  std::size_t value = 0;
  std::size_t mask = 0;
  std::size_t sink = 0;
  std::size_t out = 0;
};

/// What is done to scores before the softmax.
enum class AttentionMask {
  none,
  additive,  ///< floats that are added
  boolean,   ///< bytes: a pair of query and key with a zero one has the score `hidden_score`
};

/// softmax(scale * query x key^T + mask) x value, for matrices query [queries, depth], key [keys, depth] and
/// value [keys, value_depth] of each element of the batch. Elements of a row lie side by side (but for those
/// that lie transposed); row strides let heads be slices of wider rows. Any size may be 0; without keys the
/// result is 0.
struct AttentionParams {
  std::size_t queries = 0;
  std::size_t keys = 0;
  std::size_t depth = 0;
  std::size_t value_depth = 0;
  std::size_t query_row = 0;  ///< elements from row to row; 0: one row for all queries
  std::size_t key_row = 0;
  std::size_t value_row = 0;
  std::size_t out_row = 0;
  /// Stored as [depth, queries], [depth, keys], [value_depth, keys] and [value_depth, queries], elements of
  /// these rows side by side; query_row etc. are the distances of these rows.
  bool query_transposed = false;
  bool key_transposed = false;
  bool value_transposed = false;
  bool out_transposed = false;
  bool causal = false;  ///< query i sees keys 0 to i only
  AttentionMask mask = AttentionMask::none;
  float hidden_score = std::numeric_limits<float>::lowest();  ///< may be -inf
  std::size_t mask_row = 0;                                   ///< 0: one row for all queries
  std::size_t mask_column = 1;                                ///< 1; 0: one element for all keys
  bool sink = false;                                          ///< one more score per query, whose value is 0
  std::size_t sink_row = 0;                                   ///< 0: one for all queries
  /// Only add up the products of the definition, with all bits.
  bool accurate = false;
  /// Keep all bits of weights and values in matrix tiles, as of queries and keys.
  bool whole_floats = false;
  /// Outermost axis first. Empty: one element.
  std::vector<AttentionBatchAxis> batch;
  /// Most threads that one `run` uses, which bounds the scratch; 0: thread_slots() of the preparing thread.
  std::size_t max_threads = 0;
};

struct AttentionInputs {
  const float* query = nullptr;
  const float* key = nullptr;
  const float* value = nullptr;
  const void* mask = nullptr;  ///< float or bytes, as AttentionParams::mask says
  const float* sink = nullptr;
  float scale = 1;
};

/// Attention, prepared for sizes and strides and for the SIMD target of the moment. `run` is const and may be
/// called from several threads with different scratch.
///
/// The softmax is computed on the way over blocks of some hundred keys, with sums in float: relative to
/// sum(softmax * |value|), the error is below 1e-5 for scores whose own error is small (their sums have
/// `depth` terms in one chain), and below 6e-5 in matrix tiles, in practice a tenth of that. A query whose
/// scores are all -inf gives NaN; one whose keys are all masked by booleans gives the mean of all values
/// where the hidden score is finite, as OpenVINO computes it. Bits do not depend on the number of threads.
class Attention {
 public:
  Attention() = default;
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;
  virtual ~Attention() = default;

  /// `tiled`; `matrix_tiles`, where an infinite operand gives NaN.
  [[nodiscard]] virtual std::string_view algorithm() const = 0;
  /// Bytes that `scratch` must have; any alignment. Grows with depths and threads, hardly with queries, not
  /// with keys.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// `out` must not overlap the inputs.
  virtual void run(const AttentionInputs& inputs, float* out, std::byte* scratch) const = 0;
};

/// ScaledDotProductAttention-13, and products of matrices around a softmax, are the definition.
std::unique_ptr<Attention> create_attention(const AttentionParams& params);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_ATTENTION_H_
