#include "kernels/sequence/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/sequence/attention_few_rows.h"
#include "kernels/sequence/attention_rows.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// So few rows that a product with each key is the fastest. Up to as many as a vector has lanes read keys and
// values where they lie, too: packing them would cost more than it brings.
constexpr std::size_t kRowsOfDots = 2;
// Rows that share the packing of a block of keys.
constexpr std::size_t kMostRowBlocks = 16;
// Tasks that are enough to keep a worker busy until the others have finished.
constexpr std::size_t kTasksPerWorker = 4;

/// Where one element of the batch starts in each operand.
struct Offsets {
  std::size_t query = 0;
  std::size_t key = 0;
  std::size_t value = 0;
  std::size_t mask = 0;
  std::size_t sink = 0;
  std::size_t out = 0;
};

/// One element of the batch.
struct Element {
  const float* query;
  const float* key;
  const float* value;
  const float* added;
  const std::uint8_t* kept;
  const float* sink;
  float* out;
  float scale;
  // The rows that `query` and `out` begin with: those of a task, where they are copies.
  std::size_t first_query = 0;
  std::size_t first_out = 0;
};

std::size_t batch_count(const AttentionParams& params) {
  std::size_t count = 1;
  for (const AttentionBatchAxis& axis : params.batch) count *= axis.count;
  return count;
}

/// Heads that share their keys and values are more queries.
AttentionParams folded(AttentionParams params) {
  std::erase_if(params.batch, [](const AttentionBatchAxis& axis) { return axis.count == 1; });
  const auto continues = [&](std::size_t stride, std::size_t row) { return stride == row * params.queries; };
  while (!params.batch.empty() && !params.causal && !params.query_transposed && !params.out_transposed) {
    const AttentionBatchAxis& axis = params.batch.back();
    const bool one_query_row = params.query_row == 0 && params.queries > 1;
    if (axis.key != 0 || axis.value != 0 || one_query_row) break;
    if (params.queries == 1) {  // whose rows may be any number of floats apart
      params.query_row = axis.query;
      params.out_row = axis.out;
      params.mask_row = axis.mask;
      params.sink_row = axis.sink;
    }
    if (!continues(axis.query, params.query_row) || !continues(axis.out, params.out_row)) break;
    if (params.mask != AttentionMask::none && !continues(axis.mask, params.mask_row)) break;
    if (params.sink && !continues(axis.sink, params.sink_row)) break;
    params.queries *= axis.count;
    params.batch.pop_back();
  }
  return params;
}

class TiledAttention final : public Attention {
 public:
  explicit TiledAttention(const AttentionParams& params)
      : gemm_(gemm_kernels()),
        rows_(attention_row_kernels()),
        params_(folded(params)),
        row_blocks_(gemm_.row_panels(params_.queries), kBlockRows / gemm_.max_rows),
        // Panels of values are narrow, so that more keys fit the first-level cache than GemmKernels says.
        key_blocks_(params_.keys, 2 * gemm_.block_depth),
        elements_(batch_count(params_)),
        workers_(params_.max_threads != 0 ? params_.max_threads : static_cast<std::size_t>(thread_slots())) {
    const std::size_t most_tasks = elements_ * row_blocks_.parts();
    workers_ = std::min(workers_, std::max<std::size_t>(most_tasks, 1));
    groups_ = Split(row_blocks_.parts(),
                    std::clamp<std::size_t>(most_tasks / (kTasksPerWorker * workers_), 1, kMostRowBlocks));
    const std::size_t most_keys = key_blocks_.parts == 0 ? 0 : divide_up(params_.keys, key_blocks_.parts);
    const std::size_t most_rows = std::min(params_.queries, kBlockRows);
    score_stride_ = gemm_.padded(most_keys);
    score_floats_ = round_up_to_line(most_rows * score_stride_);
    if (!few_rows()) {
      key_floats_ = round_up_to_line(score_stride_ * params_.depth);
      value_floats_ = round_up_to_line(most_keys * gemm_.padded(params_.value_depth));
    } else if (params_.queries > kRowsOfDots) {
      key_floats_ = round_up_to_line(few_rows_scratch(gemm_, params_.depth));
    }
    const std::size_t task_rows = std::min(row_blocks_.parts(), kMostRowBlocks) * most_rows;
    row_floats_ = round_up_to_line(task_rows * (sizeof(RunningSoftmax) / sizeof(float)));
    query_row_ = params_.query_transposed ? params_.depth : params_.query_row;
    out_row_ = params_.out_transposed ? params_.value_depth : params_.out_row;
    if (params_.query_transposed) query_floats_ = round_up_to_line(task_rows * query_row_);
    if (params_.out_transposed) out_floats_ = round_up_to_line(task_rows * out_row_);
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const AttentionInputs& inputs, float* out, std::byte* scratch) const override {
    const std::size_t tasks = elements_ * groups_.parts;
    if (params_.value_depth == 0 || tasks == 0) return;
    const std::size_t rows = divide_up(params_.queries, groups_.parts);
    const std::size_t cost =
        rows * params_.keys * ((params_.depth + params_.value_depth) / gemm_.lanes + 4) + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_task(tasks, cost, workers_, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      for (std::size_t task = begin; task < end; ++task) {
        const std::size_t group = task % groups_.parts;
        attend(element(inputs, out, task / groups_.parts), groups_.begin(group), groups_.begin(group + 1),
               floats + worker * slot_floats());
      }
    });
  }

 private:
  /// Memory of one worker.
  struct Slot {
    float* scores;
    float* keys;
    float* values;
    RunningSoftmax* rows;
  };

  /// Keys that are gone through together.
  struct KeyBlock {
    std::size_t begin;
    std::size_t keys;
    bool is_packed = false;
    float largest_square = -1;  ///< of a key; below 0: not known yet
  };

  [[nodiscard]] bool few_rows() const {
    return params_.queries <= gemm_.lanes && !params_.key_transposed && !params_.value_transposed;
  }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(
        workers_, score_floats_ + key_floats_ + value_floats_ + row_floats_ + query_floats_ + out_floats_);
  }
  [[nodiscard]] const float* query_at(const Element& element, std::size_t row) const {
    return element.query + (row - element.first_query) * query_row_;
  }
  [[nodiscard]] float* out_at(const Element& element, std::size_t row) const {
    return element.out + (row - element.first_out) * out_row_;
  }

  [[nodiscard]] Element element(const AttentionInputs& inputs, float* out, std::size_t index) const {
    Offsets at;
    for (auto axis = params_.batch.rbegin(); axis != params_.batch.rend(); ++axis) {
      const std::size_t i = index % axis->count;
      index /= axis->count;
      at.query += i * axis->query;
      at.key += i * axis->key;
      at.value += i * axis->value;
      at.mask += i * axis->mask;
      at.sink += i * axis->sink;
      at.out += i * axis->out;
    }
    Element element{inputs.query + at.query,
                    inputs.key + at.key,
                    inputs.value + at.value,
                    nullptr,
                    nullptr,
                    nullptr,
                    out + at.out,
                    inputs.scale};
    if (params_.mask == AttentionMask::additive) {
      element.added = static_cast<const float*>(inputs.mask) + at.mask;
    } else if (params_.mask == AttentionMask::boolean) {
      element.kept = static_cast<const std::uint8_t*>(inputs.mask) + at.mask;
    }
    if (params_.sink) element.sink = inputs.sink + at.sink;
    return element;
  }

  /// Row blocks [first, last) of one element.
  void attend(Element element, std::size_t first, std::size_t last, float* floats) const {
    const Slot slot{floats + row_floats_, floats + row_floats_ + score_floats_,
                    floats + row_floats_ + score_floats_ + key_floats_,
                    reinterpret_cast<RunningSoftmax*>(floats)};
    const std::size_t first_row = row_blocks_.begin(first);
    const std::size_t last_row = row_blocks_.begin(last);
    float* const queries = floats + row_floats_ + score_floats_ + key_floats_ + value_floats_;
    if (params_.query_transposed) {
      rows_.transpose(element.query + first_row, params_.query_row, params_.depth, last_row - first_row,
                      queries, query_row_);
      element.query = queries;
      element.first_query = first_row;
    }
    float* const out = element.out;
    if (params_.out_transposed) {
      element.out = queries + query_floats_;
      element.first_out = first_row;
    }
    for (std::size_t row = first_row; row < last_row; ++row) {
      RunningSoftmax& state = *new (&slot.rows[row - first_row]) RunningSoftmax();
      if (element.sink != nullptr) state = {element.sink[row * params_.sink_row], 1.0F};
    }
    for (std::size_t part = 0; part < key_blocks_.parts; ++part) {
      const std::size_t begin = key_blocks_.begin(part);
      if (params_.causal && begin >= last_row) break;
      KeyBlock keys_of_part{begin, key_blocks_.size(part)};
      for (std::size_t block = first; block < last; ++block) {
        const std::size_t block_end = row_blocks_.begin(block + 1);
        const std::size_t visible = params_.causal ? std::max(block_end, begin) - begin : params_.keys;
        const std::size_t block_row = row_blocks_.begin(block);
        const Slot block_slot{slot.scores, slot.keys, slot.values, slot.rows + (block_row - first_row)};
        const std::size_t keys = visible_keys(element, block_row, block_end - block_row, block_slot.rows,
                                              std::min(key_blocks_.size(part), visible), keys_of_part);
        if (keys == 0) continue;
        if (!few_rows() && !keys_of_part.is_packed) pack(element, begin, key_blocks_.size(part), slot);
        keys_of_part.is_packed = true;
        add_keys(element, block_row, block_end - block_row, begin, keys, key_blocks_.size(part), block_slot);
      }
    }
    for (std::size_t row = first_row; row < last_row; ++row) {
      float* const values = out_at(element, row);
      if (params_.keys == 0) {
        std::fill_n(values, params_.value_depth, 0.0F);
      } else {
        rows_.scale(values, params_.value_depth, 1.0F / slot.rows[row - first_row].sum);
      }
    }
    if (params_.out_transposed) {
      rows_.transpose(element.out, out_row_, last_row - first_row, params_.value_depth, out + first_row,
                      params_.out_row);
    }
  }

  /// Of the first `keys` keys of the block, how many there are up to the last one that the mask lets any of
  /// the rows see; at least one of the first block. What is left out would have weighed nothing: its scores
  /// are so far below another one of the row that e^(score - maximum) is 0. (Values that are not finite would
  /// have made NaN of that.)
  std::size_t visible_keys(const Element& element, std::size_t row, std::size_t rows,
                           const RunningSoftmax* states, std::size_t keys, KeyBlock& block) const {
    constexpr float kFarBelow = 110;  // e^-104 is 0
    constexpr float kHidden = -1000;  // masks above that are not worth a closer look
    const bool masked = element.added != nullptr || element.kept != nullptr;
    if (!masked || params_.mask_column == 0 || params_.key_transposed || keys == 0) return keys;
    const std::size_t first = row * params_.mask_row + block.begin;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t last = first + i * params_.mask_row + keys - 1;
      if (element.added != nullptr ? element.added[last] > kHidden : element.kept[last] != 0) return keys;
    }
    if (block.largest_square < 0) {
      block.largest_square = rows_.largest_square(element.key + block.begin * params_.key_row,
                                                  params_.key_row, block.keys, params_.depth);
    }
    const float largest_query = rows_.largest_square(query_at(element, row), query_row_, rows, params_.depth);
    // No score is larger, or smaller than its negative.
    const float bound = 1.01F * std::abs(element.scale) * std::sqrt(block.largest_square * largest_query);
    if (!(bound < 1e30F)) return keys;
    std::size_t visible = block.begin == 0 ? 1 : 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t at = first + i * params_.mask_row;
      if (element.added != nullptr) {
        const float reached = std::max(states[i].maximum, element.added[at] - bound);
        visible = rows_.visible_added(element.added + at, visible, keys, reached - bound - kFarBelow);
      } else {
        const bool sees_some = states[i].maximum > -1e30F || element.kept[at] != 0;
        if (!sees_some) return keys;
        visible = rows_.visible_kept(element.kept + at, visible, keys);
      }
    }
    return visible;
  }

  void pack(const Element& element, std::size_t begin, std::size_t keys, const Slot& slot) const {
    if (params_.key_transposed) {
      gemm_.pack_columns(element.key + begin, params_.key_row, params_.depth, keys, slot.keys);
    } else {
      gemm_.pack_columns_transposed(element.key + begin * params_.key_row, params_.key_row, params_.depth,
                                    keys, slot.keys);
    }
    if (params_.value_transposed) {
      gemm_.pack_columns_transposed(element.value + begin, params_.value_row, keys, params_.value_depth,
                                    slot.values);
    } else {
      gemm_.pack_columns(element.value + begin * params_.value_row, params_.value_row, keys,
                         params_.value_depth, slot.values);
    }
  }

  /// Takes keys [begin, begin + keys) into `rows` rows from `row` on; `packed_keys`: how many were packed.
  void add_keys(const Element& element, std::size_t row, std::size_t rows, std::size_t begin,
                std::size_t keys, std::size_t packed_keys, const Slot& slot) const {
    score(element, row, rows, begin, keys, packed_keys, slot);
    for (std::size_t i = 0; i < rows; ++i) {
      float* const scores = slot.scores + i * score_stride_;
      const std::size_t seen = params_.causal ? std::min(keys, std::max(row + i + 1, begin) - begin) : keys;
      std::fill(scores + seen, scores + keys, 0.0F);
      const float factor = rows_.add_scores(scores, seen, rule(element, row + i, begin), slot.rows[i]);
      if (begin > 0 && factor != 1.0F) {
        rows_.scale(out_at(element, row + i), params_.value_depth, factor);
      }
    }
    weigh(element, row, rows, begin, keys, packed_keys, slot);
  }

  [[nodiscard]] ScoreRule rule(const Element& element, std::size_t row, std::size_t begin) const {
    ScoreRule rule{element.scale, 0, nullptr, nullptr};
    const std::size_t at = row * params_.mask_row + begin * params_.mask_column;
    const bool per_key = params_.mask_column != 0;
    if (element.added != nullptr) {
      if (per_key) {
        rule.added = element.added + at;
      } else {
        rule.bias = element.added[at];
      }
    } else if (element.kept != nullptr) {
      if (per_key) {
        rule.kept = element.kept + at;
      } else if (element.kept[at] == 0) {
        rule.bias = std::numeric_limits<float>::lowest();
      }
    }
    return rule;
  }

  /// Raw scores of rows and keys.
  void score(const Element& element, std::size_t row, std::size_t rows, std::size_t begin, std::size_t keys,
             std::size_t packed_keys, const Slot& slot) const {
    const float* const query = query_at(element, row);
    Tile tile;
    tile.stride = score_stride_;
    if (few_rows() && rows > kRowsOfDots) {
      score_few_rows(gemm_, rows_, {query, query_row_, rows, params_.depth},
                     {element.key + begin * params_.key_row, params_.key_row, keys, params_.depth},
                     params_.keys - begin - keys, slot.keys, slot.scores, score_stride_);
      return;
    }
    if (few_rows()) {
      tile.low = -kInfinity;
      tile.high = kInfinity;
      tile.columns = keys;
      for (std::size_t i = 0; i < rows; ++i) {
        tile.out = slot.scores + i * score_stride_;
        gemm_.gemv_transposed(query + i * query_row_, element.key + begin * params_.key_row, params_.key_row,
                              params_.depth, tile);
      }
      return;
    }
    tile.out = slot.scores;
    multiply(query, query_row_, rows, params_.depth, slot.keys, params_.depth, packed_keys, keys, tile);
  }

  /// Adds the values, weighted.
  void weigh(const Element& element, std::size_t row, std::size_t rows, std::size_t begin, std::size_t keys,
             std::size_t packed_keys, const Slot& slot) const {
    Tile tile;
    tile.out = out_at(element, row);
    tile.stride = out_row_;
    if (few_rows()) {
      std::size_t column = 0;
      if (rows > kRowsOfDots) {
        column = weigh_few_rows(
            gemm_, {slot.scores, score_stride_, rows, keys},
            {element.value + begin * params_.value_row, params_.value_row, keys, params_.value_depth},
            params_.keys - begin - keys, slot.keys, tile.out, out_row_, begin > 0);
      }
      if (column == params_.value_depth) return;
      tile.low = -kInfinity;
      tile.high = kInfinity;
      tile.columns = params_.value_depth - column;
      for (std::size_t i = 0; i < rows; ++i) {
        tile.out = out_at(element, row + i) + column;
        tile.residual = begin > 0 ? tile.out : nullptr;
        gemm_.gemv(slot.scores + i * score_stride_, element.value + begin * params_.value_row + column,
                   params_.value_row, keys, tile);
      }
      return;
    }
    tile.accumulate = begin > 0;
    multiply(slot.scores, score_stride_, rows, keys, slot.values, packed_keys, params_.value_depth,
             params_.value_depth, tile);
  }

  /// rows x depth, in place, times packed panels of `packed_depth` >= depth and `packed_columns`, of which at
  /// least the first `columns` are wanted.
  void multiply(const float* a, std::size_t stride, std::size_t rows, std::size_t depth, const float* packed,
                std::size_t packed_depth, std::size_t packed_columns, std::size_t columns, Tile tile) const {
    const Split row_panels = gemm_.row_panels(rows);
    const Split column_panels = gemm_.column_panels(packed_columns);
    const PartWalk first_rows(row_panels);
    PartWalk vectors(column_panels);
    float* const out = tile.out;
    for (std::size_t panel = 0; panel < column_panels.parts; ++panel, vectors.next()) {
      const std::size_t first = vectors.begin() * gemm_.lanes;
      if (first >= columns) break;
      tile.columns = std::min(vectors.size() * gemm_.lanes, packed_columns - first);
      PartWalk panel_rows = first_rows;
      for (std::size_t part = 0; part < row_panels.parts; ++part, panel_rows.next()) {
        const std::size_t row = panel_rows.begin();
        tile.out = out + row * tile.stride + first;
        gemm_.direct[panel_rows.size() - 1][vectors.size() - 1](depth, a + row * stride, stride,
                                                                packed + first * packed_depth, tile);
      }
    }
  }

  const GemmKernels& gemm_;
  const AttentionRowKernels& rows_;
  AttentionParams params_;
  PanelSplit row_blocks_;
  Split groups_;  ///< of row blocks: one is a task
  Split key_blocks_;
  std::size_t elements_;
  std::size_t workers_;
  std::size_t score_stride_ = 0;
  // Of a worker's memory.
  std::size_t score_floats_ = 0;
  std::size_t key_floats_ = 0;
  std::size_t value_floats_ = 0;
  std::size_t row_floats_ = 0;
  // Of a task's rows, where those of the tensors lie transposed:
  std::size_t query_floats_ = 0;
  std::size_t out_floats_ = 0;
  // From row to row of what is read and written.
  std::size_t query_row_ = 0;
  std::size_t out_row_ = 0;
};

}  // namespace

std::unique_ptr<Attention> create_attention(const AttentionParams& params) {
  return std::make_unique<TiledAttention>(params);
}

}  // namespace ir::kernels
