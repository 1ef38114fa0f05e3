#include "kernels/matmul/gemm_grouped.h"

#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/scalar_type.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"
#include "kernels/weights/packing_pieces.h"

namespace ir::kernels {
namespace {

/// Pieces of the panels of columns: as large as a cache takes, but so that all groups together give every
/// worker some.
Split column_pieces(const GemmKernels& kernels, const Split& panels, std::size_t groups,
                    std::size_t workers) {
  const std::size_t most = std::max<std::size_t>(kernels.block_vectors / kernels.max_vectors, 1);
  const std::size_t share = panels.parts * std::max<std::size_t>(groups, 1) / (4 * workers);
  return {panels.parts, std::clamp<std::size_t>(share, 1, most)};
}

}  // namespace

IndexResult group_borders(IndexView offsets, std::size_t groups, std::size_t rows, std::size_t* borders) {
  borders[0] = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    const std::int64_t end = offsets[group];
    if (end < static_cast<std::int64_t>(borders[group]) || end > static_cast<std::int64_t>(rows))
      return BadIndex{group, end};
    borders[group + 1] = static_cast<std::size_t>(end);
  }
  return {};
}

GroupedGemm::GroupedGemm(const GroupedGemmParams& params, const float* constant)
    : kernels_(gemm_kernels()),
      params_(params),
      epilogue_({}, params.n),
      depth_blocks_(params.k, kernels_.block_depth),
      columns_(kernels_.column_panels(params.n)),
      workers_(params.max_threads != 0 ? params.max_threads : static_cast<std::size_t>(thread_slots())),
      packs_(constant != nullptr && params.rows > 1) {
  depth_blocks_.parts = std::max<std::size_t>(depth_blocks_.parts, 1);
  pieces_ = column_pieces(kernels_, columns_, std::min(params.groups, params.rows), workers_);
  if (packs_) pack(constant);
}

/// Each group as [block of k][panel].
void GroupedGemm::pack(const float* constant) {
  const std::size_t matrix = params_.n * params_.k;
  const std::size_t parts = depth_blocks_.parts;
  const PackedForm form{"gemm_grouped", {&kernels_}, {params_.groups, params_.n, params_.k}};
  packed_ =
      packed_once({constant, params_.groups * matrix}, form, params_.groups * packed_group(), [&](float* to) {
        const auto source = [&](std::size_t group) -> const void* { return constant + group * matrix; };
        const auto pack_groups = [&](std::size_t first_group, std::size_t last_group) {
          parallel_for((last_group - first_group) * parts, 1, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
              const std::size_t group = first_group + i / parts;
              const std::size_t k = depth_blocks_.begin(i % parts);
              kernels_.pack_columns_transposed(constant + group * matrix + k, params_.k,
                                               depth_blocks_.size(i % parts), params_.n,
                                               to + group * packed_group() + kernels_.padded(params_.n) * k);
            }
          });
        };
        pack_in_pieces(params_.groups, source, pack_groups, Rereads::never);
      });
}

std::size_t GroupedGemm::packed_group() const {
  return round_up_to_line(kernels_.padded(params_.n) * params_.k);
}

std::size_t GroupedGemm::slot_floats() const {
  if (!reads_matrices() || params_.rows < 2) return 0;
  const std::size_t vectors = pieces_.largest() * columns_.largest();
  return worker_stride(workers_, round_up_to_line(depth_blocks_.largest() * vectors * kernels_.lanes));
}

std::size_t GroupedGemm::scratch_bytes() const {
  const std::size_t table = round_up_to_line((params_.groups + 1) * sizeof(std::size_t) / sizeof(float));
  return scratch_bytes_for(table + workers_ * slot_floats());
}

/// Of panels.
Split GroupedGemm::row_blocks(std::size_t rows) const {
  return {kernels_.row_panels(rows).parts, divide_up(kBlockRows, kernels_.max_rows)};
}

void GroupedGemm::run(const float* a, const float* b, const std::size_t* borders, float* out,
                      std::byte* scratch) const {
  std::fill(out + borders[params_.groups] * params_.n, out + params_.rows * params_.n, 0.0F);
  if (params_.n == 0) return;
  // Which tasks are those of a group: each piece of its columns meets all of its blocks of rows in turn.
  float* const floats = aligned_scratch(scratch);
  auto* const first_tasks = reinterpret_cast<std::size_t*>(floats);
  first_tasks[0] = 0;
  for (std::size_t group = 0; group < params_.groups; ++group) {
    first_tasks[group + 1] =
        first_tasks[group] + pieces_.parts * row_blocks(borders[group + 1] - borders[group]).parts;
  }
  const std::size_t tasks = first_tasks[params_.groups];
  if (tasks == 0) return;
  const Call call{a, b, borders, out, nullptr};
  float* const slots = floats + round_up_to_line((params_.groups + 1) * sizeof(std::size_t) / sizeof(float));
  const std::size_t rows = divide_up(borders[params_.groups] * pieces_.parts, tasks);  // of a task
  const std::size_t cost =
      std::max(rows, kernels_.lanes) * params_.n * params_.k / (pieces_.parts * kernels_.lanes) + 1;
  for_each_task(tasks, cost, workers_, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    for (std::size_t task = begin; task < end;) {
      const auto* const after = std::upper_bound(first_tasks, first_tasks + params_.groups + 1, task);
      const std::size_t group = static_cast<std::size_t>(after - first_tasks) - 1;
      const std::size_t blocks = (first_tasks[group + 1] - first_tasks[group]) / pieces_.parts;
      const std::size_t place = task - first_tasks[group];
      const std::size_t first = place % blocks;
      const std::size_t last = std::min(blocks, first + end - task);
      multiply(call, {group, place / blocks, first, last}, slots + worker * slot_floats());
      task += last - first;
    }
  });
}

void GroupedGemm::multiply(const Call& call, const Stretch& stretch, float* slot) const {
  const std::size_t first_row = call.borders[stretch.group];
  const std::size_t rows = call.borders[stretch.group + 1] - first_row;
  const PanelRange panels{columns_, pieces_.begin(stretch.piece), pieces_.begin(stretch.piece + 1)};
  const std::size_t column = columns_.begin(panels.first) * kernels_.lanes;
  Block block;
  block.panels = panels;
  block.columns = std::min(columns_.begin(panels.last) * kernels_.lanes, params_.n) - column;
  block.fetch_columns = !reads_matrices();
  block.tile = epilogue_.row_tile(BiasAxis::column, column, block.columns, nullptr,
                                  call.out + first_row * params_.n + column);
  block.tile.stride = params_.n;
  if (reads_matrices() && rows == 1) return multiply_row(call, stretch.group, block.tile, column);

  const Split row_panels = kernels_.row_panels(rows);
  const Split blocks = row_blocks(rows);
  const RowRange range{row_panels, blocks.begin(stretch.first), blocks.begin(stretch.last),
                       std::max<std::size_t>(params_.k, 1)};
  for (std::size_t part = 0; part < depth_blocks_.parts; ++part) {
    const std::size_t k = depth_blocks_.begin(part);
    const std::size_t depth = depth_blocks_.size(part);
    block.depth = depth;
    block.tile.accumulate = part > 0;
    block.tile.finish = part + 1 == depth_blocks_.parts;
    const bool once = visits_columns_once(kernels_, range, depth);
    multiply_block(
        kernels_, range, block, epilogue_,
        [&](const RowPanel& panel) { return call.a + (first_row + panel.row) * params_.k + k; },
        [&](std::size_t begin, std::size_t count, bool is_new) -> const float* {
          if (!reads_matrices()) {
            return packed_.get() + stretch.group * packed_group() + kernels_.padded(params_.n) * k +
                   (column + begin) * depth;
          }
          float* const to = slot + (once ? 0 : begin * depth);
          if (is_new) {
            const float* const from = call.b + (stretch.group * params_.n + column + begin) * params_.k + k;
            kernels_.pack_columns_transposed(from, params_.k, depth, count, to);
          }
          return to;
        });
  }
}

void GroupedGemm::multiply_row(const Call& call, std::size_t group, const Tile& tile,
                               std::size_t column) const {
  kernels_.gemv_transposed(call.a + call.borders[group] * params_.k,
                           call.b + (group * params_.n + column) * params_.k, params_.k, params_.k, tile);
}

template <class T>
void grouped_gemm_generic(const GroupedGemmParams& params, const T* a, const T* b, const std::size_t* borders,
                          T* out) {
  GemmParams product;
  product.n = params.n;
  product.k = params.k;
  product.transpose_b = true;
  for (std::size_t group = 0; group < params.groups; ++group) {
    product.m = borders[group + 1] - borders[group];
    gemm_generic(product, a + borders[group] * params.k, b + group * params.n * params.k,
                 out + borders[group] * params.n);
  }
  std::fill(out + borders[params.groups] * params.n, out + params.rows * params.n, T{0});
}

#define IR_GROUPED_GEMM_GENERIC(T) \
  template void grouped_gemm_generic(const GroupedGemmParams&, const T*, const T*, const std::size_t*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_GROUPED_GEMM_GENERIC)
#undef IR_GROUPED_GEMM_GENERIC

}  // namespace ir::kernels
