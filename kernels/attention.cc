#include "kernels/attention.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>

#include "kernels/aligned_floats.h"
#include "kernels/attention_rows.h"
#include "kernels/gemm_kernels.h"
#include "kernels/parallel.h"
#include "kernels/task_queue.h"

namespace ir::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Few rows read keys and values in place: packing them would cost more than it brings.
constexpr std::size_t kFewRows = 4;
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
  while (!params.batch.empty() && !params.causal) {
    const AttentionBatchAxis& axis = params.batch.back();
    const bool one_query_row = params.query_row == 0 && params.queries > 1;
    if (axis.key != 0 || axis.value != 0 || one_query_row) break;
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
    }
    const std::size_t task_rows = std::min(row_blocks_.parts(), kMostRowBlocks) * most_rows;
    row_floats_ = round_up_to_line(task_rows * (sizeof(RunningSoftmax) / sizeof(float)));
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

  [[nodiscard]] bool few_rows() const { return params_.queries <= kFewRows && !params_.key_transposed; }
  [[nodiscard]] std::size_t slot_floats() const {
    return score_floats_ + key_floats_ + value_floats_ + row_floats_;
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
  void attend(const Element& element, std::size_t first, std::size_t last, float* floats) const {
    const Slot slot{floats + row_floats_, floats + row_floats_ + score_floats_,
                    floats + row_floats_ + score_floats_ + key_floats_,
                    reinterpret_cast<RunningSoftmax*>(floats)};
    const std::size_t first_row = row_blocks_.begin(first);
    const std::size_t last_row = row_blocks_.begin(last);
    for (std::size_t row = first_row; row < last_row; ++row) {
      RunningSoftmax& state = *new (&slot.rows[row - first_row]) RunningSoftmax();
      if (element.sink != nullptr) state = {element.sink[row * params_.sink_row], 1.0F};
    }
    for (std::size_t part = 0; part < key_blocks_.parts; ++part) {
      const std::size_t begin = key_blocks_.begin(part);
      if (params_.causal && begin >= last_row) break;
      if (!few_rows()) pack(element, begin, key_blocks_.size(part), slot);
      for (std::size_t block = first; block < last; ++block) {
        const std::size_t block_end = row_blocks_.begin(block + 1);
        const std::size_t visible = params_.causal ? std::max(block_end, begin) - begin : params_.keys;
        const std::size_t keys = std::min(key_blocks_.size(part), visible);
        if (keys == 0) continue;
        const std::size_t block_row = row_blocks_.begin(block);
        const Slot block_slot{slot.scores, slot.keys, slot.values, slot.rows + (block_row - first_row)};
        add_keys(element, block_row, block_end - block_row, begin, keys, key_blocks_.size(part), block_slot);
      }
    }
    for (std::size_t row = first_row; row < last_row; ++row) {
      float* const out = element.out + row * params_.out_row;
      if (params_.keys == 0) {
        std::fill_n(out, params_.value_depth, 0.0F);
      } else {
        rows_.scale(out, params_.value_depth, 1.0F / slot.rows[row - first_row].sum);
      }
    }
  }

  void pack(const Element& element, std::size_t begin, std::size_t keys, const Slot& slot) const {
    if (params_.key_transposed) {
      gemm_.pack_columns(element.key + begin, params_.key_row, params_.depth, keys, slot.keys);
    } else {
      gemm_.pack_columns_transposed(element.key + begin * params_.key_row, params_.key_row, params_.depth,
                                    keys, slot.keys);
    }
    gemm_.pack_columns(element.value + begin * params_.value_row, params_.value_row, keys,
                       params_.value_depth, slot.values);
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
        rows_.scale(element.out + (row + i) * params_.out_row, params_.value_depth, factor);
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
    const float* const query = element.query + row * params_.query_row;
    Tile tile;
    tile.stride = score_stride_;
    if (few_rows()) {
      tile.low = -kInfinity;
      tile.high = kInfinity;
      tile.columns = keys;
      for (std::size_t i = 0; i < rows; ++i) {
        tile.out = slot.scores + i * score_stride_;
        gemm_.gemv_transposed(query + i * params_.query_row, element.key + begin * params_.key_row,
                              params_.key_row, params_.depth, tile);
      }
      return;
    }
    tile.out = slot.scores;
    multiply(query, params_.query_row, rows, params_.depth, slot.keys, params_.depth, packed_keys, keys,
             tile);
  }

  /// Adds the values, weighted.
  void weigh(const Element& element, std::size_t row, std::size_t rows, std::size_t begin, std::size_t keys,
             std::size_t packed_keys, const Slot& slot) const {
    Tile tile;
    tile.out = element.out + row * params_.out_row;
    tile.stride = params_.out_row;
    if (few_rows()) {
      tile.low = -kInfinity;
      tile.high = kInfinity;
      tile.columns = params_.value_depth;
      for (std::size_t i = 0; i < rows; ++i) {
        tile.out = element.out + (row + i) * params_.out_row;
        tile.residual = begin > 0 ? tile.out : nullptr;
        gemm_.gemv(slot.scores + i * score_stride_, element.value + begin * params_.value_row,
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
};

}  // namespace

std::unique_ptr<Attention> create_attention(const AttentionParams& params) {
  return std::make_unique<TiledAttention>(params);
}

}  // namespace ir::kernels
