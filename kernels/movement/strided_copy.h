// Copies an N-D box of elements between two strided places: the base of all data movement that follows a
// formula.
#ifndef KERNELS_MOVEMENT_STRIDED_COPY_H_
#define KERNELS_MOVEMENT_STRIDED_COPY_H_

#include <cstddef>
#include <span>
#include <vector>

namespace ir::kernels {

/// Strides of a dense row-major tensor, in elements.
std::vector<std::ptrdiff_t> dense_strides(std::span<const std::size_t> dims);

/// out[i . out_strides] = in[i . in_strides] for every index vector i of `dims`.
///
/// Slice, StridedSlice and Reverse (negative in_strides with an origin at the last element), Broadcast and
/// Tile (in_strides of 0), Concat and Split (out or in origin moved, full strides), Roll and Pad interiors,
/// SpaceToDepth and ShuffleChannels are all this. Prepared once: dims are sorted by output stride, unit dims
/// dropped, dims that continue each other merged; run() allocates nothing and may be called from several
/// threads.
class StridedCopy {
 public:
  StridedCopy() = default;

  /// Strides are in elements of `element_size` >= 1 bytes, any sign; in_strides may be 0. Preconditions: at
  /// most 32 dims, the spans have equal sizes, different index vectors address different output elements.
  StridedCopy(std::span<const std::size_t> dims, std::span<const std::ptrdiff_t> in_strides,
              std::span<const std::ptrdiff_t> out_strides, std::size_t element_size);

  /// `in` and `out` address the element of index (0, 0, ...). Buffers must not overlap.
  void run(const void* in, void* out) const;

  /// Number of bytes that run() writes.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Axis {
    std::size_t dim;
    std::ptrdiff_t in_stride;   // bytes
    std::ptrdiff_t out_stride;  // bytes
  };
  void copy_rows(const char* in, char* out, std::size_t begin, std::size_t end) const;

  std::vector<Axis> outer_;  // outermost first; one point of it is a row
  Axis inner_{1, 0, 0};      // a row: `dim` units
  std::size_t unit_ = 1;     // bytes: an element, or a dim that is contiguous on both sides
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;
};

/// Tile-1: `in` of `dims` repeated `repeats[i]` times along axis i. Both spans have the same size (pad the
/// shorter one with leading ones). Origins are the tensors' first elements.
StridedCopy make_tile(std::span<const std::size_t> dims, std::span<const std::size_t> repeats,
                      std::size_t element_size);

/// Broadcast-1/3 (numpy, bidirectional and explicit all reduce to it): `in_dims[i]` is 1 or out_dims[i]; same
/// sizes.
StridedCopy make_broadcast(std::span<const std::size_t> in_dims, std::span<const std::size_t> out_dims,
                           std::size_t element_size);

/// Slice-8, StridedSlice-1 after normalisation, Split and Reverse: out[i] = in[start + i * step], per axis;
/// out is dense. `starts` are in [0, in_dims), the last index read is inside of the axis too, `steps` are
/// non-zero. An empty output needs no valid starts.
class SliceCopy {
 public:
  SliceCopy(std::span<const std::size_t> in_dims, std::span<const std::size_t> starts,
            std::span<const std::ptrdiff_t> steps, std::span<const std::size_t> out_dims,
            std::size_t element_size);

  /// out = in[slice]; `in` and `out` are the first elements of dense tensors.
  void run(const void* in, void* out) const;

 private:
  StridedCopy copy_;
  std::ptrdiff_t offset_bytes_ = 0;
};

}  // namespace ir::kernels

#endif  // KERNELS_MOVEMENT_STRIDED_COPY_H_
