// The softmax goes over blocks of keys, and over blocks of queries for each; what multiplies a pair of blocks
// is one of several forms.
#include "kernels/sequence/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/base/processor.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/sequence/attention_products.h"
#include "kernels/sequence/attention_rows.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

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

/// What a worker reads next, on its way to the second-level cache while rows of scores are worked on: rows of
/// one head lie too far apart for the hardware to see what comes, and packing waits for each of them.
class Ahead {
 public:
  /// In so many calls of fetch().
  void add(const MatrixRows& rows, std::size_t calls) {
    rows_[count_] = rows;
    at_once_[count_++] = divide_up(rows.rows, std::max<std::size_t>(calls, 1));
  }
  void fetch() {
    for (std::size_t i = 0; i < count_; ++i) {
      MatrixRows& left = rows_[i];
      const std::size_t count = std::min(left.rows, at_once_[i]);
      fetch_rows(left.from, left.stride, count, left.columns);
      left.from += count * left.stride;
      left.rows -= count;
    }
  }

 private:
  std::array<MatrixRows, 3> rows_;
  std::array<std::size_t, 3> at_once_ = {};
  std::size_t count_ = 0;
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

std::unique_ptr<AttentionProducts> create_products(const AttentionParams& params) {
  if (auto few_rows = create_few_row_products(params)) return few_rows;
  if (auto tiles = create_tile_products(params)) return tiles;
  return create_vector_products(params);
}

class BlockedAttention final : public Attention {
 public:
  explicit BlockedAttention(AttentionParams params)
      : rows_(attention_row_kernels()),
        params_(std::move(params)),
        products_(create_products(params_)),
        form_(products_->form()),
        elements_(batch_count(params_)),
        workers_(params_.max_threads != 0 ? params_.max_threads : static_cast<std::size_t>(thread_slots())) {
    const std::size_t most_tasks = elements_ * form_.row_blocks.parts();
    workers_ = std::min(workers_, std::max<std::size_t>(most_tasks, 1));
    groups_ = Split(form_.row_blocks.parts(),
                    std::clamp<std::size_t>(most_tasks / (kTasksPerWorker * workers_), 1, kMostRowBlocks));
    const std::size_t most_rows = std::min(params_.queries, kBlockRows);
    const std::size_t task_rows = std::min(form_.row_blocks.parts(), kMostRowBlocks) * most_rows;
    row_floats_ = round_up_to_line(task_rows * (sizeof(RunningSoftmax) / sizeof(float)));
    query_row_ = params_.query_transposed ? params_.depth : params_.query_row;
    out_row_ = params_.out_transposed ? params_.value_depth : params_.out_row;
    if (params_.query_transposed) query_floats_ = round_up_to_line(task_rows * query_row_);
    if (params_.out_transposed) out_floats_ = round_up_to_line(task_rows * out_row_);
  }

  std::string_view algorithm() const override { return form_.algorithm; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(workers_ * slot_floats()); }

  void run(const AttentionInputs& inputs, float* out, std::byte* scratch) const override {
    const std::size_t tasks = elements_ * groups_.parts;
    if (params_.value_depth == 0 || tasks == 0) return;
    const std::size_t rows = divide_up(params_.queries, groups_.parts);
    const std::size_t cost = rows * params_.keys * form_.pair_cost + 1;
    float* const floats = aligned_scratch(scratch);
    for_each_task(tasks, cost, workers_, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      products_->begin();
      for (std::size_t task = begin; task < end; ++task) {
        const std::size_t group = task % groups_.parts;
        Ahead ahead;
        if (form_.packs && task + 1 < end) ahead = ahead_of(inputs, out, task);
        attend(element(inputs, out, task / groups_.parts), groups_.begin(group), groups_.begin(group + 1),
               ahead, floats + worker * slot_floats());
      }
      products_->end();
    });
  }

 private:
  /// Memory of one worker.
  struct Slot {
    float* scores;
    float* products;
    RunningSoftmax* rows;
  };

  /// Keys that are gone through together.
  struct KeyPart {
    std::size_t begin;
    std::size_t keys;
    bool is_packed = false;
    float largest_square = -1;  ///< of a key; below 0: not known yet
  };

  [[nodiscard]] std::size_t first_row(std::size_t block) const {
    return std::min(params_.queries, form_.row_blocks.begin(block));
  }
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(
        workers_, row_floats_ + form_.score_floats + form_.scratch_floats + query_floats_ + out_floats_);
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

  /// What the task behind this one begins with.
  Ahead ahead_of(const AttentionInputs& inputs, float* out, std::size_t task) const {
    const auto lines = [](const float* from, std::size_t stride, bool transposed, std::size_t rows,
                          std::size_t columns) {
      return transposed ? MatrixRows{from, stride, columns, rows} : MatrixRows{from, stride, rows, columns};
    };
    const std::size_t group = task % groups_.parts;
    const std::size_t next = (task + 1) % groups_.parts;
    const std::size_t rows = first_row(groups_.begin(group + 1)) - first_row(groups_.begin(group));
    const std::size_t calls = rows * form_.key_blocks.parts();
    const Element of_next = element(inputs, out, (task + 1) / groups_.parts);
    const std::size_t next_row = first_row(groups_.begin(next));
    const std::size_t next_rows = first_row(groups_.begin(next + 1)) - next_row;
    Ahead ahead;
    ahead.add(lines(of_next.query + next_row * (params_.query_transposed ? 1 : params_.query_row),
                    params_.query_row, params_.query_transposed, next_rows, params_.depth),
              calls);
    if (next != 0 || params_.keys == 0) return ahead;
    const std::size_t keys = std::min(params_.keys, form_.key_blocks.begin(1));
    // Beside what is worked on.
    const std::size_t most_floats = second_level_cache() / 4 / sizeof(float);
    if (keys * (params_.depth + params_.value_depth) > most_floats) return ahead;
    ahead.add(lines(of_next.key, params_.key_row, params_.key_transposed, keys, params_.depth), calls);
    ahead.add(lines(of_next.value, params_.value_row, params_.value_transposed, keys, params_.value_depth),
              calls);
    return ahead;
  }

  /// Row blocks [first, last) of one element.
  void attend(Element element, std::size_t first, std::size_t last, Ahead& ahead, float* floats) const {
    const Slot slot{floats + row_floats_, floats + row_floats_ + form_.score_floats,
                    reinterpret_cast<RunningSoftmax*>(floats)};
    const std::size_t begin_row = first_row(first);
    const std::size_t end_row = first_row(last);
    float* const queries = slot.products + form_.scratch_floats;
    if (params_.query_transposed) {
      rows_.transpose(element.query + begin_row, params_.query_row, params_.depth, end_row - begin_row,
                      queries, query_row_);
      element.query = queries;
      element.first_query = begin_row;
    }
    float* const out = element.out;
    if (params_.out_transposed) {
      element.out = queries + query_floats_;
      element.first_out = begin_row;
    }
    for (std::size_t row = begin_row; row < end_row; ++row) {
      RunningSoftmax& state = *new (&slot.rows[row - begin_row]) RunningSoftmax();
      if (element.sink != nullptr) state = {element.sink[row * params_.sink_row], 1.0F};
    }
    for (std::size_t part = 0; part < form_.key_blocks.parts(); ++part) {
      const std::size_t begin = form_.key_blocks.begin(part);
      if (params_.causal && begin >= end_row) break;
      KeyPart keys{begin, std::min(params_.keys, form_.key_blocks.begin(part + 1)) - begin};
      for (std::size_t block = first; block < last; ++block) {
        const std::size_t row = first_row(block);
        const Slot rows_slot{slot.scores, slot.products, slot.rows + (row - begin_row)};
        add_keys(element, row, first_row(block + 1) - row, keys, ahead, rows_slot);
      }
    }
    for (std::size_t row = begin_row; row < end_row; ++row) {
      float* const values = out_at(element, row);
      if (params_.keys == 0) {
        std::fill_n(values, params_.value_depth, 0.0F);
      } else {
        rows_.scale(values, params_.value_depth, 1.0F / slot.rows[row - begin_row].sum);
      }
    }
    if (params_.out_transposed) {
      rows_.transpose(element.out, out_row_, end_row - begin_row, params_.value_depth, out + begin_row,
                      params_.out_row);
    }
  }

  /// What is less than `reached` by `distance`, also after sums of such numbers were rounded: a mask of
  /// -FLT_MAX swallows the scores that it is added to.
  static float below(float reached, float distance) {
    constexpr double kRoundings = 2 * std::numeric_limits<float>::epsilon();
    const double value = double{reached} - double{distance} - kRoundings * std::abs(double{reached});
    return value < std::numeric_limits<float>::lowest() ? -std::numeric_limits<float>::infinity()
                                                        : static_cast<float>(value);
  }

  /// Of the first `keys` keys of the block, how many there are up to the last one that the mask lets any of
  /// the rows see; at least one of the first block. What is left out would have weighed nothing: its scores
  /// are so far below another one of the row that e^(score - maximum) is 0. (Values that are not finite would
  /// have made NaN of that.)
  std::size_t visible_keys(const Element& element, std::size_t row, std::size_t rows,
                           const RunningSoftmax* states, std::size_t keys, KeyPart& block) const {
    constexpr float kFarBelow = 110;  // e^-104 is 0
    constexpr float kHidden = -1000;  // masks above that are not worth a closer look
    const bool masked = element.added != nullptr || element.kept != nullptr;
    if (!masked || params_.mask_column == 0 || params_.key_transposed || keys == 0) return keys;
    const std::size_t first = row * params_.mask_row + block.begin;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t last = first + i * params_.mask_row + keys - 1;
      const bool is_seen = element.added != nullptr
                               ? element.added[last] > kHidden
                               : element.kept[last] != 0 || params_.hidden_score > kHidden;
      if (is_seen) return keys;
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
        visible = rows_.visible_added(element.added + at, visible, keys, below(reached, bound + kFarBelow));
      } else {
        const float first_score = element.kept[at] != 0 ? -bound : params_.hidden_score;
        const float reached = std::max(states[i].maximum, first_score);
        if (!(params_.hidden_score < below(reached, kFarBelow))) return keys;
        visible = rows_.visible_kept(element.kept + at, visible, keys);
      }
    }
    return visible;
  }

  /// Takes a part of the keys into `rows` rows from `row` on.
  void add_keys(const Element& element, std::size_t row, std::size_t rows, KeyPart& part, Ahead& ahead,
                const Slot& slot) const {
    const std::size_t begin = part.begin;
    const std::size_t visible =
        std::min(part.keys, params_.causal ? std::max(row + rows, begin) - begin : params_.keys);
    KeyBlock block;
    block.key = element.key + (params_.key_transposed ? begin : begin * params_.key_row);
    block.value = element.value + (params_.value_transposed ? begin : begin * params_.value_row);
    block.keys = part.keys;
    block.seen = visible_keys(element, row, rows, slot.rows, visible, part);
    block.behind = params_.keys - begin - block.seen;
    if (block.seen == 0) return;
    if (!part.is_packed) products_->pack(block, slot.products);
    part.is_packed = true;
    products_->score({query_at(element, row), query_row_, rows, params_.depth}, block, slot.products,
                     slot.scores);
    for (std::size_t i = 0; i < rows; ++i) {
      ahead.fetch();
      float* const scores = slot.scores + i * form_.score_stride;
      const std::size_t seen =
          params_.causal ? std::min(block.seen, std::max(row + i + 1, begin) - begin) : block.seen;
      std::fill(scores + seen, scores + block.seen, 0.0F);
      const float factor = rows_.add_scores(scores, seen, rule(element, row + i, begin), slot.rows[i]);
      if (begin > 0 && factor != 1.0F) {
        rows_.scale(out_at(element, row + i), params_.value_depth, factor);
      }
    }
    products_->weigh(slot.scores, rows, block, slot.products, {out_at(element, row), out_row_, begin > 0});
  }

  [[nodiscard]] ScoreRule rule(const Element& element, std::size_t row, std::size_t begin) const {
    ScoreRule rule;
    rule.scale = element.scale;
    rule.hidden = params_.hidden_score;
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
      } else {
        rule.hides_all = element.kept[at] == 0;
      }
    }
    return rule;
  }

  const AttentionRowKernels& rows_;
  AttentionParams params_;
  std::unique_ptr<AttentionProducts> products_;
  const AttentionProducts::Form& form_;
  Split groups_;  ///< of row blocks: one is a task
  std::size_t elements_;
  std::size_t workers_;
  // Of a worker's memory.
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
  return std::make_unique<BlockedAttention>(folded(params));
}

}  // namespace ir::kernels
