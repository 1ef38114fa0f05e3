#include "kernels/movement/space.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/base/dims.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Between a space and the batch of its blocks: offset j inside of the blocks of axis i belongs to batch
/// sum(j) * batches + n, and point d of that part is the element d * block + j - margin of the space.
/// Calls f(part dims, first element in the batches, first element in the space) for each part that is not
/// empty.
template <class F>
void for_each_block_part(std::span<const std::size_t> batched_dims, std::span<const std::size_t> space_dims,
                         std::span<const std::size_t> block, std::span<const std::size_t> margin,
                         const F& f) {
  const std::size_t rank = space_dims.size();
  const std::vector<std::ptrdiff_t> batched_strides = dense_strides(batched_dims);
  const std::vector<std::ptrdiff_t> space_strides = dense_strides(space_dims);
  const std::size_t parts = product(block);
  std::vector<std::size_t> dims(rank);
  for (std::size_t part = 0; part < parts; ++part) {
    dims[0] = space_dims[0];
    std::ptrdiff_t batched = static_cast<std::ptrdiff_t>(part * space_dims[0]) * batched_strides[0];
    std::ptrdiff_t space = 0;
    bool empty = space_dims[0] == 0;
    std::size_t rest = part;
    for (std::size_t a = rank; a-- > 1;) {
      const std::size_t j = rest % block[a];
      rest /= block[a];
      // Points with 0 <= d * block + j - margin < space_dims.
      const std::size_t first = margin[a] > j ? (margin[a] - j + block[a] - 1) / block[a] : 0;
      const std::size_t end_position = space_dims[a] + margin[a];
      const std::size_t last =
          end_position > j ? std::min(batched_dims[a], (end_position - j + block[a] - 1) / block[a]) : 0;
      dims[a] = last > first ? last - first : 0;
      empty = empty || dims[a] == 0;
      batched += static_cast<std::ptrdiff_t>(first) * batched_strides[a];
      space += (static_cast<std::ptrdiff_t>(first * block[a] + j) - static_cast<std::ptrdiff_t>(margin[a])) *
               space_strides[a];
    }
    if (!empty) f(dims, static_cast<std::size_t>(batched), static_cast<std::size_t>(space));
  }
}

std::vector<std::ptrdiff_t> block_strides(std::span<const std::size_t> dims,
                                          std::span<const std::size_t> block) {
  std::vector<std::ptrdiff_t> strides = dense_strides(dims);
  for (std::size_t a = 1; a < dims.size(); ++a) strides[a] *= static_cast<std::ptrdiff_t>(block[a]);
  return strides;
}

}  // namespace

Transpose make_depth_to_space(std::span<const std::size_t> dims, std::size_t block, DepthMode mode,
                              std::size_t element_size) {
  const std::size_t spatial = dims.size() - 2;
  std::size_t blocks = 1;
  for (std::size_t i = 0; i < spatial; ++i) blocks *= block;
  // [N, (C,) block ..., (C,) D ...] -> [N, C, D1, block, D2, block, ...]
  const bool depth_first = mode == DepthMode::depth_first;
  const std::size_t channel = depth_first ? 1 : 1 + spatial;
  const std::size_t first_block = depth_first ? 2 : 1;
  std::vector<std::size_t> split(2 + 2 * spatial, block);
  split[0] = dims[0];
  split[channel] = dims[1] / blocks;
  std::vector<std::size_t> order{0, channel};
  for (std::size_t i = 0; i < spatial; ++i) {
    split[2 + spatial + i] = dims[2 + i];
    order.insert(order.end(), {2 + spatial + i, first_block + i});
  }
  return {split, order, element_size};
}

Transpose make_space_to_depth(std::span<const std::size_t> dims, std::size_t block, DepthMode mode,
                              std::size_t element_size) {
  // [N, C, D1, block, D2, block, ...] -> [N, (C,) block ..., (C,) D ...]
  const std::size_t spatial = dims.size() - 2;
  std::vector<std::size_t> split{dims[0], dims[1]};
  for (std::size_t i = 0; i < spatial; ++i) split.insert(split.end(), {dims[2 + i] / block, block});
  std::vector<std::size_t> order{0};
  if (mode == DepthMode::depth_first) order.push_back(1);
  for (std::size_t i = 0; i < spatial; ++i) order.push_back(3 + 2 * i);
  if (mode == DepthMode::blocks_first) order.push_back(1);
  for (std::size_t i = 0; i < spatial; ++i) order.push_back(2 + 2 * i);
  return {split, order, element_size};
}

Transpose make_shuffle_channels(std::span<const std::size_t> dims, std::size_t axis, std::size_t group,
                                std::size_t element_size) {
  const std::vector<std::size_t> split{product(dims.first(axis)), group, dims[axis] / group,
                                       product(dims.subspan(axis + 1))};
  const std::vector<std::size_t> order{0, 2, 1, 3};
  return {split, order, element_size};
}

void batch_to_space(std::span<const std::size_t> dims, std::span<const std::size_t> block,
                    std::span<const std::size_t> crops_begin, std::span<const std::size_t> crops_end,
                    std::size_t element_size, const void* in, void* out) {
  std::vector<std::size_t> out_dims(dims.size());
  out_dims[0] = dims[0] / product(block);
  for (std::size_t a = 1; a < dims.size(); ++a)
    out_dims[a] = dims[a] * block[a] - crops_begin[a] - crops_end[a];
  const std::vector<std::ptrdiff_t> in_strides = dense_strides(dims);
  const std::vector<std::ptrdiff_t> out_strides = block_strides(out_dims, block);
  for_each_block_part(dims, out_dims, block, crops_begin,
                      [&](const std::vector<std::size_t>& part, std::size_t batched, std::size_t space) {
                        StridedCopy(part, in_strides, out_strides, element_size)
                            .run(static_cast<const char*>(in) + batched * element_size,
                                 static_cast<char*>(out) + space * element_size);
                      });
}

void space_to_batch(std::span<const std::size_t> dims, std::span<const std::size_t> block,
                    std::span<const std::size_t> pads_begin, std::span<const std::size_t> pads_end,
                    std::size_t element_size, const void* in, void* out) {
  std::vector<std::size_t> out_dims(dims.size());
  out_dims[0] = dims[0] * product(block);
  bool padded = false;
  for (std::size_t a = 1; a < dims.size(); ++a) {
    out_dims[a] = (dims[a] + pads_begin[a] + pads_end[a]) / block[a];
    padded = padded || pads_begin[a] + pads_end[a] > 0;
  }
  if (padded) std::memset(out, 0, product(out_dims) * element_size);
  const std::vector<std::ptrdiff_t> in_strides = block_strides(dims, block);
  const std::vector<std::ptrdiff_t> out_strides = dense_strides(out_dims);
  for_each_block_part(out_dims, dims, block, pads_begin,
                      [&](const std::vector<std::size_t>& part, std::size_t batched, std::size_t space) {
                        StridedCopy(part, in_strides, out_strides, element_size)
                            .run(static_cast<const char*>(in) + space * element_size,
                                 static_cast<char*>(out) + batched * element_size);
                      });
}

IndexResult reverse_sequence(std::span<const std::size_t> dims, std::size_t batch_axis, std::size_t seq_axis,
                             std::size_t element_size, const void* in, IndexView lengths, void* out) {
  for (std::size_t b = 0; b < dims[batch_axis]; ++b) {
    if (lengths[b] < 0 || static_cast<std::size_t>(lengths[b]) > dims[seq_axis])
      return BadIndex{b, lengths[b]};
  }
  // [outer][first axis][between][second axis][unit]
  const bool batch_first = batch_axis < seq_axis;
  const std::size_t first_axis = std::min(batch_axis, seq_axis);
  const std::size_t second_axis = std::max(batch_axis, seq_axis);
  const std::size_t first = dims[first_axis];
  const std::size_t second = dims[second_axis];
  const std::size_t outer = product(dims.first(first_axis));
  const std::size_t between = product(dims.subspan(first_axis + 1, second_axis - first_axis - 1));
  const std::size_t unit = product(dims.subspan(second_axis + 1)) * element_size;
  const auto reversed = [&](std::size_t batch, std::size_t step) {
    const auto length = static_cast<std::size_t>(lengths[batch]);
    return step < length ? length - 1 - step : step;
  };
  with_unit_copy(unit, [&](auto copy) {
    parallel_for(outer * first * between, grain_for_cost(second * cost_of_bytes(unit)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row) {
                     const std::size_t i = row / between % first;
                     char* to = static_cast<char*>(out) + row * second * unit;
                     for (std::size_t k = 0; k < second; ++k, to += unit) {
                       const std::size_t source_i = batch_first ? i : reversed(k, i);
                       const std::size_t source_k = batch_first ? reversed(i, k) : k;
                       const std::size_t source_row = row - i * between + source_i * between;
                       copy(static_cast<const char*>(in) + (source_row * second + source_k) * unit, to);
                     }
                   }
                 });
  });
  return {};
}

Roll::Roll(std::span<const std::size_t> dims, std::span<const std::size_t> axes,
           std::span<const std::int64_t> shifts, std::size_t element_size) {
  if (product(dims) == 0) return;
  std::vector<std::size_t> shift(dims.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(dims[axes[i]]);
    const std::int64_t forward = (shifts[i] % dim + dim) % dim;
    shift[axes[i]] = (shift[axes[i]] + static_cast<std::size_t>(forward)) % dims[axes[i]];
  }
  // Each rolled axis cuts the box in two: [0, dim - shift) moves up by shift, the rest to the front.
  struct Box {
    std::vector<std::size_t> dims;
    std::size_t in_offset;
    std::size_t out_offset;
  };
  const std::vector<std::ptrdiff_t> strides = dense_strides(dims);
  std::vector<Box> boxes{{{dims.begin(), dims.end()}, 0, 0}};
  for (std::size_t a = 0; a < dims.size(); ++a) {
    if (shift[a] == 0) continue;
    const auto stride = static_cast<std::size_t>(strides[a]);
    std::vector<Box> cut;
    for (const Box& box : boxes) {
      Box low = box;
      low.dims[a] = dims[a] - shift[a];
      low.out_offset += shift[a] * stride;
      Box high = box;
      high.dims[a] = shift[a];
      high.in_offset += (dims[a] - shift[a]) * stride;
      cut.push_back(std::move(low));
      cut.push_back(std::move(high));
    }
    boxes = std::move(cut);
  }
  for (const Box& box : boxes) {
    parts_.push_back({StridedCopy(box.dims, strides, strides, element_size), box.in_offset * element_size,
                      box.out_offset * element_size});
  }
}

void Roll::run(const void* in, void* out) const {
  for (const Part& part : parts_) {
    part.copy.run(static_cast<const char*>(in) + part.in_offset, static_cast<char*>(out) + part.out_offset);
  }
}

}  // namespace ir::kernels
