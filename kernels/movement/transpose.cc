#include "kernels/movement/transpose.h"

#include <algorithm>
#include <cstring>

#include "kernels/threads/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/movement/transpose.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// out[c][r] = in[r][c] for one square of 16 bytes by 16 bytes: log2(n) rounds, each of which interleaves row
/// i with row i + n / 2. The index bits of row and column rotate by one per round, until they have changed
/// places.
template <class T>
HWY_INLINE void transpose_square(const T* in, std::size_t in_stride, T* out, std::size_t out_stride) {
  constexpr std::size_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kSide> d;
  hn::Vec<decltype(d)> rows[kSide];
  hn::Vec<decltype(d)> next[kSide];
  for (std::size_t r = 0; r < kSide; ++r) rows[r] = hn::LoadU(d, in + r * in_stride);
  for (std::size_t round = 1; round < kSide; round *= 2) {
    for (std::size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kSide / 2]);
    }
    for (std::size_t i = 0; i < kSide; ++i) rows[i] = next[i];
  }
  for (std::size_t c = 0; c < kSide; ++c) hn::StoreU(rows[c], d, out + c * out_stride);
}

/// Calls each(i) for vectors that cover [0, count), the last of which begins early. False if count is less
/// than one vector.
template <class D, class Each>
HWY_INLINE bool for_each_vector(D d, std::size_t count, const Each& each) {
  if (count < hn::Lanes(d)) return false;
  const std::size_t last = count - hn::Lanes(d);
  for (std::size_t i = 0;; i = std::min(i + hn::Lanes(d), last)) {
    each(i);
    if (i == last) return true;
  }
}

/// Two or three rows become columns, or columns rows, that lie without gaps. False: not done.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE bool transpose_few(D d, const T* in, std::size_t in_stride, T* out, std::size_t out_stride,
                              std::size_t rows, std::size_t columns) {
  hn::Vec<decltype(d)> v0, v1, v2;
  if (out_stride == rows && rows == 2) {
    return for_each_vector(d, columns, [&](std::size_t c) HWY_ATTR {
      hn::StoreInterleaved2(hn::LoadU(d, in + c), hn::LoadU(d, in + in_stride + c), d, out + 2 * c);
    });
  }
  if (out_stride == rows && rows == 3) {
    return for_each_vector(d, columns, [&](std::size_t c) HWY_ATTR {
      hn::StoreInterleaved3(hn::LoadU(d, in + c), hn::LoadU(d, in + in_stride + c),
                            hn::LoadU(d, in + 2 * in_stride + c), d, out + 3 * c);
    });
  }
  if (in_stride == columns && columns == 2) {
    return for_each_vector(d, rows, [&](std::size_t r) HWY_ATTR {
      hn::LoadInterleaved2(d, in + 2 * r, v0, v1);
      hn::StoreU(v0, d, out + r);
      hn::StoreU(v1, d, out + out_stride + r);
    });
  }
  if (in_stride == columns && columns == 3) {
    return for_each_vector(d, rows, [&](std::size_t r) HWY_ATTR {
      hn::LoadInterleaved3(d, in + 3 * r, v0, v1, v2);
      hn::StoreU(v0, d, out + r);
      hn::StoreU(v1, d, out + out_stride + r);
      hn::StoreU(v2, d, out + 2 * out_stride + r);
    });
  }
  return false;
}

/// out[c * out_stride + r] = in[r * in_stride + c] for r < rows, c < columns.
template <class T>
void transpose_plane(const void* in_bytes, std::size_t in_stride, void* out_bytes, std::size_t out_stride,
                     std::size_t rows, std::size_t columns) {
  constexpr std::size_t kSide = 16 / sizeof(T);
  const T* in = static_cast<const T*>(in_bytes);
  T* out = static_cast<T*>(out_bytes);
  if (transpose_few(hn::ScalableTag<T>(), in, in_stride, out, out_stride, rows, columns)) return;
  if constexpr (HWY_MAX_BYTES > 16) {  // less than the longest vectors
    if (transpose_few(hn::FixedTag<T, kSide>(), in, in_stride, out, out_stride, rows, columns)) return;
  }
  const std::size_t whole_rows = rows / kSide * kSide;
  const std::size_t whole_columns = columns / kSide * kSide;
  for (std::size_t c = 0; c < whole_columns; c += kSide) {
    for (std::size_t r = 0; r < whole_rows; r += kSide) {
      transpose_square(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
    }
  }
  // By memcpy: T may stand for a short row of smaller elements, with their alignment.
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r) {
      std::memcpy(out + c * out_stride + r, in + r * in_stride + c, sizeof(T));
    }
  }
}

void TransposePlane(const void* in, std::size_t in_stride, void* out, std::size_t out_stride,
                    std::size_t rows, std::size_t columns, std::size_t element_size) {
  switch (element_size) {
    case 1:
      transpose_plane<std::uint8_t>(in, in_stride, out, out_stride, rows, columns);
      break;
    case 2:
      transpose_plane<std::uint16_t>(in, in_stride, out, out_stride, rows, columns);
      break;
    case 4:
      transpose_plane<std::uint32_t>(in, in_stride, out, out_stride, rows, columns);
      break;
    default:
      transpose_plane<std::uint64_t>(in, in_stride, out, out_stride, rows, columns);
      break;
  }
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(TransposePlane);

namespace {

bool is_planar_size(std::size_t element_size) {
  return element_size == 1 || element_size == 2 || element_size == 4 || element_size == 8;
}

}  // namespace

Transpose::Transpose(std::span<const std::size_t> dims, std::span<const std::size_t> order,
                     std::size_t element_size)
    : element_size_(element_size) {
  const std::vector<std::ptrdiff_t> dense = dense_strides(dims);
  // Output axes, outermost first; those that follow each other in the input as well are one.
  std::vector<Axis> axes;
  for (const std::size_t axis : order) {
    if (dims[axis] == 1) continue;
    const auto stride = static_cast<std::size_t>(dense[axis]);
    if (!axes.empty() && axes.back().in_stride == stride * dims[axis]) {
      axes.back() = {axes.back().dim * dims[axis], stride, 0};
    } else {
      axes.push_back({dims[axis], stride, 0});
    }
  }
  // A short row that stays together is an element.
  if (axes.size() > 1 && axes.back().in_stride == 1 && is_planar_size(element_size_ * axes.back().dim)) {
    const std::size_t row = axes.back().dim;
    axes.pop_back();
    element_size_ *= row;
    for (Axis& axis : axes) axis.in_stride /= row;
  }
  std::size_t stride = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    axes[a].out_stride = stride;
    stride *= axes[a].dim;
  }

  const auto contiguous =
      std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.in_stride == 1; });
  planar_ = stride != 0 && is_planar_size(element_size_) && axes.size() > 1 && contiguous != axes.end() &&
            contiguous + 1 != axes.end();
  if (planar_) {
    rows_ = axes.back().dim;
    row_stride_ = axes.back().in_stride;
    columns_ = contiguous->dim;
    column_stride_ = contiguous->out_stride;
    axes.erase(contiguous);
    axes.pop_back();
    batch_ = std::move(axes);
    return;
  }
  std::vector<std::size_t> box;
  std::vector<std::ptrdiff_t> from;
  std::vector<std::ptrdiff_t> to;
  for (const Axis& axis : axes) {
    box.push_back(axis.dim);
    from.push_back(static_cast<std::ptrdiff_t>(axis.in_stride));
    to.push_back(static_cast<std::ptrdiff_t>(axis.out_stride));
  }
  copy_ = StridedCopy(box, from, to, element_size_);
}

void interleave_rows(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns,
                     float* out) {
  if (rows == 1) {
    std::copy_n(in, columns, out);
    return;
  }
  HWY_DYNAMIC_DISPATCH(TransposePlane)(in, in_stride, out, rows, rows, columns, sizeof(float));
}

void Transpose::run(const void* in, void* out) const {
  if (!planar_) {
    copy_.run(in, out);
    return;
  }
  // One cache line of the input by four of the output: measured best, or close to it, for planes from 12544 x
  // 64 over 2048 x 2048 (where lines of a column compete for few places of the cache) to 64 x 12544.
  // Few rows or columns are read and written as streams.
  constexpr std::size_t kFew = 3;
  const std::size_t tile_columns = (rows_ <= kFew ? 4096 : 64) / element_size_;
  const std::size_t tile_rows = (columns_ <= kFew ? 4096 : 256) / element_size_;
  const std::size_t column_tiles = (columns_ - 1) / tile_columns + 1;
  const std::size_t row_tiles = (rows_ - 1) / tile_rows + 1;
  std::size_t planes = 1;
  for (const Axis& axis : batch_) planes *= axis.dim;
  const std::size_t tile_elements = std::min(columns_, tile_columns) * std::min(rows_, tile_rows);

  parallel_for(planes * row_tiles * column_tiles, grain_for_cost(tile_elements / 2 + 4),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t tile = begin; tile < end; ++tile) {
                   const std::size_t c = tile % column_tiles * tile_columns;
                   const std::size_t r = tile / column_tiles % row_tiles * tile_rows;
                   std::size_t plane = tile / column_tiles / row_tiles;
                   std::size_t in_offset = r * row_stride_ + c;
                   std::size_t out_offset = c * column_stride_ + r;
                   for (std::size_t a = batch_.size(); a-- > 0;) {
                     const std::size_t position = plane % batch_[a].dim;
                     plane /= batch_[a].dim;
                     in_offset += position * batch_[a].in_stride;
                     out_offset += position * batch_[a].out_stride;
                   }
                   HWY_DYNAMIC_DISPATCH(TransposePlane)
                   (static_cast<const char*>(in) + in_offset * element_size_, row_stride_,
                    static_cast<char*>(out) + out_offset * element_size_, column_stride_,
                    std::min(tile_rows, rows_ - r), std::min(tile_columns, columns_ - c), element_size_);
                 }
               });
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
