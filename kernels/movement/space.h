// Data movement between dims: depth, space, batch, groups of channels, sequences. Elements are bytes.
#ifndef KERNELS_MOVEMENT_SPACE_H_
#define KERNELS_MOVEMENT_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/indices.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/movement/transpose.h"

namespace ir::kernels {

enum class DepthMode { blocks_first, depth_first };

/// DepthToSpace-1: [N, C * block^k, D1..Dk] -> [N, C, D1 * block, ..]. `dims` are the input's, rank >= 3.
Transpose make_depth_to_space(std::span<const std::size_t> dims, std::size_t block, DepthMode mode,
                              std::size_t element_size);

/// SpaceToDepth-1, the inverse: every spatial dim is a multiple of `block`.
Transpose make_space_to_depth(std::span<const std::size_t> dims, std::size_t block, DepthMode mode,
                              std::size_t element_size);

/// ShuffleChannels-1: `group` divides dims[axis].
Transpose make_shuffle_channels(std::span<const std::size_t> dims, std::size_t axis, std::size_t group,
                                std::size_t element_size);

/// BatchToSpace-2: block_shape, crops_begin and crops_end per dim of `dims` (block_shape[0] = 1, crops[0] =
/// 0). out.dim[0] = dims[0] / product(block), out.dim[i] = dims[i] * block[i] - crops.
void batch_to_space(std::span<const std::size_t> dims, std::span<const std::size_t> block,
                    std::span<const std::size_t> crops_begin, std::span<const std::size_t> crops_end,
                    std::size_t element_size, const void* in, void* out);

/// SpaceToBatch-2, the inverse, with zero padding: dims[i] + pads is a multiple of block[i].
void space_to_batch(std::span<const std::size_t> dims, std::span<const std::size_t> block,
                    std::span<const std::size_t> pads_begin, std::span<const std::size_t> pads_end,
                    std::size_t element_size, const void* in, void* out);

/// ReverseSequence-1: for every batch b the first lengths[b] slices along seq_axis in reverse, the rest as
/// they are. Each length is in [0, dims[seq_axis]]; a bad one is reported and nothing is written. batch_axis
/// != seq_axis.
IndexResult reverse_sequence(std::span<const std::size_t> dims, std::size_t batch_axis, std::size_t seq_axis,
                             std::size_t element_size, const void* in, IndexView lengths, void* out);

/// Roll-7: out[(i + shift) mod dim] = in[i] along each axis; any sign; an axis may occur several times,
/// shifts add up.
class Roll {
 public:
  Roll(std::span<const std::size_t> dims, std::span<const std::size_t> axes,
       std::span<const std::int64_t> shifts, std::size_t element_size);
  void run(const void* in, void* out) const;

 private:
  struct Part {
    StridedCopy copy;
    std::size_t in_offset;   // bytes
    std::size_t out_offset;  // bytes
  };
  std::vector<Part> parts_;
};

}  // namespace ir::kernels

#endif  // KERNELS_MOVEMENT_SPACE_H_
