#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/integer_kernels.h"
#include "kernels/matmul/quantised_rows.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packed_codes.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kTermsOfLane = lane_terms(LaneForm::quads);
// So many lanes of codes, whole groups or parts of one, are unpacked at once: lines of memory are read as a
// whole.
constexpr std::size_t kLanesAtOnce = 128;
// Results of so many rows, of one panel of columns, stay in the caches while the groups go by.
constexpr std::size_t kRowsOfTask = 256;

/// The lanes of a row, cut into parts: groups, or pieces of one that are summed in registers. Those that
/// pack_code_bytes() packs together stay together.
class LaneParts {
 public:
  LaneParts(const CompressedForm& form, std::size_t group, std::size_t most_lanes)
      : groups_(form.terms / group),
        unit_(terms_together(form.code) / kTermsOfLane),
        of_group_(group / terms_together(form.code), std::max<std::size_t>(most_lanes / unit_, 1)) {}
  [[nodiscard]] std::size_t groups() const { return groups_; }
  [[nodiscard]] std::size_t count() const { return groups_ * of_group_.parts; }
  [[nodiscard]] std::size_t largest() const { return of_group_.largest() * unit_; }
  [[nodiscard]] std::size_t group_of(std::size_t part) const { return part / of_group_.parts; }
  /// The end of the one before.
  [[nodiscard]] std::size_t begin(std::size_t part) const {
    return (group_of(part) * of_group_.total + of_group_.begin(part % of_group_.parts)) * unit_;
  }
  [[nodiscard]] std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }

 private:
  std::size_t groups_;
  std::size_t unit_;  ///< lanes
  Split of_group_;    ///< in units
};

/// The rows of A as bytes, packed in panels, block of rows by block of rows. All of it lies in scratch.
class QuantisedRows {
 public:
  QuantisedRows(std::size_t rows, const CompressedForm& form, std::size_t group, const LaneParts& parts)
      : kernels_(gemm_kernels()),
        form_(form),
        group_(group),
        groups_per_sum_(form.group / group),
        parts_(parts),
        lanes_(form.terms / kTermsOfLane),
        blocks_(rows, kRowsOfTask) {}

  [[nodiscard]] const Split& blocks() const { return blocks_; }
  [[nodiscard]] Split panels(std::size_t block) const { return kernels_.row_panels(blocks_.size(block)); }
  [[nodiscard]] std::size_t scratch_floats() const {
    return 2 * lane_floats() + scale_floats() + 2 * sum_floats();
  }

  [[nodiscard]] std::size_t group_of_weights(std::size_t group) const { return group / groups_per_sum_; }

  /// Rows of form.terms floats.
  void quantise(const float* a, float* scratch) const {
    for (std::size_t block = 0; block < blocks_.parts; ++block) {
      const Split rows = panels(block);
      parallel_for(rows.parts, grain_for_cost(kernels_.max_rows * form_.terms),
                   [&](std::size_t begin, std::size_t end) {
                     for (std::size_t panel = begin; panel < end; ++panel)
                       quantise_panel(a, block, rows.begin(panel), rows.size(panel), scratch);
                   });
    }
  }

  /// Panels of one part, of what 1 is worth in each of its rows, and of the sums of groups of weights.
  [[nodiscard]] float* packed(float* scratch, std::size_t block, std::size_t part) const {
    return scratch + lane_floats() + blocks_.begin(block) * lanes_ + blocks_.size(block) * parts_.begin(part);
  }
  [[nodiscard]] float* scale(float* scratch, std::size_t block, std::size_t group) const {
    return scratch + 2 * lane_floats() + blocks_.begin(block) * parts_.groups() + blocks_.size(block) * group;
  }
  [[nodiscard]] float* packed_sums(float* scratch, std::size_t block) const {
    return scratch + 2 * lane_floats() + scale_floats() + blocks_.begin(block) * form_.groups();
  }

 private:
  [[nodiscard]] std::size_t lane_floats() const { return round_up_to_line(blocks_.total * lanes_); }
  [[nodiscard]] std::size_t scale_floats() const { return round_up_to_line(blocks_.total * parts_.groups()); }
  [[nodiscard]] std::size_t sum_floats() const { return round_up_to_line(blocks_.total * form_.groups()); }

  /// Some rows of a block: first as rows, then packed.
  void quantise_panel(const float* a, std::size_t block, std::size_t first, std::size_t count,
                      float* scratch) const {
    const std::size_t row = blocks_.begin(block) + first;
    const std::size_t sum_count = form_.groups();
    float* const lanes = scratch + row * lanes_;
    float* const sums = packed_sums(scratch, 0) + sum_floats() + row * sum_count;
    for (std::size_t r = 0; r < count; ++r) {
      quantise_row(a + (row + r) * form_.terms, form_.terms, group_, form_.code,
                   {reinterpret_cast<std::int8_t*>(lanes + r * lanes_), scale(scratch, block, 0) + first + r,
                    blocks_.size(block), sums + r * sum_count, groups_per_sum_});
    }
    const Split panel(count, kernels_.max_rows);
    for (std::size_t part = 0; part < parts_.count(); ++part) {
      const std::size_t depth = parts_.size(part);
      kernels_.pack_rows(lanes + parts_.begin(part), lanes_, 1, depth, panel,
                         packed(scratch, block, part) + first * depth);
    }
    kernels_.pack_rows(sums, sum_count, 1, sum_count, panel, packed_sums(scratch, block) + first * sum_count);
  }

  const GemmKernels& kernels_;
  const CompressedForm& form_;
  std::size_t group_;           ///< terms
  std::size_t groups_per_sum_;  ///< in a group of weights
  const LaneParts& parts_;
  std::size_t lanes_;  ///< of a row
  Split blocks_;
};

/// With rows a = sa * qa, weights w = (c - o) * s and groups g: sum of a * w = sum over g of
/// sa[g] * s[g] * (sum of qa * c) - (sum of a) * o[g] * s[g]. The second half is a small product of floats,
/// with which results begin; the first one is made by integers.
class QuantisedGemm final : public CompressedGemm {
 public:
  QuantisedGemm(std::size_t rows, const CompressedForm& form, std::size_t group, const Epilogue& epilogue)
      : floats_(gemm_kernels()),
        integers_(gemm_kernels_of(LaneForm::quads)),
        form_(form),
        epilogue_(epilogue, product_of(rows, form)),
        parts_(form, group, integers_.block_depth),
        parts_at_once_(std::max<std::size_t>(kLanesAtOnce / parts_.largest(), 1)),
        rows_(rows, form_, group, parts_),
        columns_(integers_.column_panels(form.rows)),
        workers_(std::min(static_cast<std::size_t>(thread_slots()), columns_.parts * rows_.blocks().parts)) {}

  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(rows_.scratch_floats() + workers_ * worker_floats());
  }

  std::string_view algorithm() const override { return kQuantised; }

  void run(const float* a, const CompressedRows& weights, const float* residual, float* out,
           std::byte* scratch) const override {
    float* const rows = aligned_scratch(scratch);
    rows_.quantise(a, rows);
    const std::size_t blocks = rows_.blocks().parts;
    const std::size_t cost =
        rows_.blocks().total * columns_.largest() * form_.terms / kTermsOfLane / blocks + 1;
    for_each_group(columns_.parts, blocks, cost, workers_, [&](const GroupRange& range) {
      for (std::size_t block = range.first; block < range.last; ++block) {
        multiply({rows, weights, epilogue_.residual() ? residual : nullptr, out}, range.group, block,
                 rows + rows_.scratch_floats() + range.worker * worker_floats());
      }
    });
  }

 private:
  struct Call {
    float* rows;
    const CompressedRows& weights;
    const float* residual;
    float* out;
  };

  /// Memory of a worker, for one panel of columns.
  struct Slot {
    float* scales;   ///< [groups of weights][width]
    float* less;     ///< what 1 in a sum of rows takes away: [groups of weights][width]
    float* codes;    ///< as rows
    float* packed;   ///< codes as bytes, in a panel
    float* results;  ///< [rows of a block][width]: in the output, they may be so far apart that they share
                     ///< few sets of the caches
  };

  [[nodiscard]] std::size_t packed_floats(std::size_t width) const {
    return width * parts_at_once_ * parts_.largest();
  }
  [[nodiscard]] std::size_t worker_floats() const {
    const std::size_t width = columns_.largest() * integers_.lanes;
    return worker_stride(workers_, round_up_to_line(2 * width * form_.groups() + 2 * packed_floats(width) +
                                                    width * rows_.blocks().largest()));
  }
  [[nodiscard]] Slot slot_at(float* floats, std::size_t width) const {
    float* const less = floats + width * form_.groups();
    float* const codes = less + width * form_.groups();
    float* const packed = codes + packed_floats(width);
    return {floats, less, codes, packed, packed + packed_floats(width)};
  }

  /// Of the columns that are the part's rows, for all terms.
  void pack_numbers(const CompressedRows& weights, const CompressedPart& part, std::size_t width,
                    const Slot& slot) const {
    pack_group_numbers(form_, weights, part, slot.scales, slot.less);
    const float bias = unsigned_bias(form_.code);
    for (std::size_t i = 0; i < form_.groups() * width; ++i)
      slot.less[i] = -(slot.less[i] + bias) * slot.scales[i];
  }

  /// What is probably packed after `part`: the next terms of these columns, or the first ones of the next.
  [[nodiscard]] CompressedPart next_part(const CompressedPart& part) const {
    const std::size_t term = part.term + part.terms;
    if (term < form_.terms) return {part.row, part.rows, term, std::min(part.terms, form_.terms - term)};
    const std::size_t row = part.row + part.rows;
    return {row, std::min(part.rows, form_.rows - row), 0, part.terms};
  }

  /// What sums are added to: biases and residual, for columns that are the part's rows.
  void start_results(const Call& call, const CompressedPart& part, std::size_t first, std::size_t count,
                     std::size_t width, float* results) const {
    for (std::size_t row = first; row < first + count; ++row, results += width) {
      if (epilogue_.bias() == nullptr) {
        std::fill(results, results + part.rows, 0.0F);
      } else {
        std::copy_n(epilogue_.bias() + part.row, part.rows, results);
      }
      if (call.residual == nullptr) continue;
      const float* const residual = call.residual + row * form_.rows + part.row;
      for (std::size_t i = 0; i < part.rows; ++i) results[i] += residual[i];
    }
  }

  /// One panel of columns for a block of rows.
  void multiply(const Call& call, std::size_t column_panel, std::size_t row_block, float* floats) const {
    const std::size_t width = columns_.size(column_panel) * integers_.lanes;
    const std::size_t column = columns_.begin(column_panel) * integers_.lanes;
    const std::size_t first_row = rows_.blocks().begin(row_block);
    const std::size_t row_count = rows_.blocks().size(row_block);
    const Split panels = rows_.panels(row_block);
    const RowRange rows{panels, 0, panels.parts};
    const Slot slot = slot_at(floats, width);
    const CompressedPart part{column, std::min(width, form_.rows - column), 0, form_.terms};
    pack_numbers(call.weights, part, width, slot);
    start_results(call, part, first_row, row_count, width, slot.results);
    Block block;
    block.columns = part.rows;
    block.tile.out = slot.results;
    block.tile.stride = width;
    block.tile.accumulate = true;
    block.tile.low = epilogue_.low();
    block.tile.high = epilogue_.high();
    block.depth = form_.groups();
    const float* const sums = rows_.packed_sums(call.rows, row_block);
    multiply_block(
        floats_, rows, block, epilogue_,
        [&](const RowPanel& panel) { return sums + panel.row * block.depth; },
        [&](std::size_t, std::size_t, bool) { return slot.less; });
    add_integers(call, row_block, rows, part, slot, block);
    for (std::size_t row = 0; row < row_count; ++row)
      std::copy_n(slot.results + row * width, part.rows, call.out + (first_row + row) * form_.rows + column);
  }

  /// The products of all parts, with the columns that are the rows of `part`; the block goes to the results.
  void add_integers(const Call& call, std::size_t row_block, const RowRange& rows, CompressedPart part,
                    const Slot& slot, Block block) const {
    const std::size_t width = block.tile.stride;
    CodesAhead ahead(form_, call.weights);
    for (std::size_t first = 0; first < parts_.count(); first += parts_at_once_) {
      const std::size_t last = std::min(parts_.count(), first + parts_at_once_);
      const std::size_t begin = parts_.begin(first);
      part.term = begin * kTermsOfLane;
      part.terms = (parts_.begin(last) - begin) * kTermsOfLane;
      pack_code_bytes(form_, call.weights, part, slot.codes, slot.packed);
      ahead.start(next_part(part), rows.panels.parts * (last - first));
      for (std::size_t i = first; i < last; ++i) {
        const std::size_t group = parts_.group_of(i);
        const float* const packed = slot.packed + (parts_.begin(i) - begin) * width;
        const float* const packed_rows = rows_.packed(call.rows, row_block, i);
        block.depth = parts_.size(i);
        block.tile.finish = i + 1 == parts_.count();
        block.tile.row_scale = rows_.scale(call.rows, row_block, group);
        block.tile.column_scale = slot.scales + rows_.group_of_weights(group) * width;
        multiply_block(
            integers_, rows, block, epilogue_,
            [&](const RowPanel& panel) {
              ahead.fetch_share();
              return packed_rows + panel.row * block.depth;
            },
            [&](std::size_t, std::size_t, bool) { return packed; });
      }
    }
  }

  const GemmKernels& floats_;
  const GemmKernels& integers_;
  CompressedForm form_;
  OwnedEpilogue epilogue_;
  LaneParts parts_;
  std::size_t parts_at_once_;
  QuantisedRows rows_;
  Split columns_;  ///< in vectors
  std::size_t workers_;
};

}  // namespace

std::unique_ptr<CompressedGemm> create_quantised_gemm(std::size_t rows, const CompressedForm& form,
                                                      std::size_t group, const Epilogue& epilogue) {
  return std::make_unique<QuantisedGemm>(rows, form, group, epilogue);
}

}  // namespace ir::kernels
