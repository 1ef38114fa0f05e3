// Reads by index: Gather, GatherElements, GatherND, GatherTree.
//
// Elements are bytes here: one code for every element type. Indices count from the end when negative. All
// indices are checked before they are used, unless the caller asks for zeros in place of what does not exist.
#ifndef KERNELS_INDEXING_GATHER_H_
#define KERNELS_INDEXING_GATHER_H_

#include <cstddef>
#include <span>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// What an index outside of [-size, size) does.
enum class OutOfRange {
  report,  ///< the kernel returns it
  zero,    ///< the elements it would have given are zero bytes: Gather-7 and Gather-8 of OpenVINO
};

/// data: [batch][outer][axis][inner_bytes], indices: [batch][indices], out:
/// [batch][outer][indices][inner_bytes]. For Gather with `batch_dims` b and axis a: batch = dims[0, b), outer
/// = dims[b, a), inner = dims(a, rank).
struct GatherShape {
  std::size_t batch = 1;
  std::size_t outer = 1;
  std::size_t axis = 1;
  std::size_t indices = 1;  // per batch
  std::size_t inner_bytes = 1;
};

/// Gather-1/7/8. `out` must not overlap the inputs.
IndexResult gather(const GatherShape& shape, const void* data, IndexView indices, void* out,
                   OutOfRange policy = OutOfRange::report);

/// GatherElements-6: out[.., i, ..] = data[.., indices[.., i, ..], ..] along `axis`. `data_dims` and
/// `index_dims` have the same rank >= 1 and differ at most in `axis`. out has index_dims.
IndexResult gather_elements(std::span<const std::size_t> data_dims, std::span<const std::size_t> index_dims,
                            std::size_t axis, std::size_t element_size, const void* data, IndexView indices,
                            void* out);

/// Addressing of GatherND and ScatterNDUpdate. data: [batch][index_dims...][slice_bytes], indices:
/// [batch][tuples][index_dims.size()], slices: [batch][tuples][slice_bytes].
struct NdShape {
  std::size_t batch = 1;
  std::size_t tuples = 1;                   // per batch
  std::span<const std::size_t> index_dims;  // the dims of data that a tuple addresses; must outlive the call
  std::size_t slice_bytes = 1;              // dims after them, times the element size
};

/// GatherND-5/8 (v5 and v8 differ in the shape of the output only). An index_dims of size 0 copies whole
/// batches.
IndexResult gather_nd(const NdShape& shape, const void* data, IndexView indices, void* out);

/// GatherTree-1: follows the beams backwards. step_ids, parent_ids, out: [max_time][batch][beams];
/// max_sequence: [batch]. T: float, double, std::int32_t, std::int64_t. Values of parent_ids are beams; a
/// parent outside of [0, beams) is reported (position in parent_ids). Steps after max_sequence and after the
/// first end_token hold end_token.
template <class T>
IndexResult gather_tree(std::size_t max_time, std::size_t batch, std::size_t beams, const T* step_ids,
                        const T* parent_ids, const T* max_sequence, T end_token, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_INDEXING_GATHER_H_
