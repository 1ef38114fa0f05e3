#include "kernels/movement/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

template <std::size_t Unit>
void copy_strided(const char* in, std::ptrdiff_t in_stride, char* out, std::ptrdiff_t out_stride,
                  std::size_t count) {
  // Constant strides let the compiler vectorise the two common cases.
  constexpr auto kUnit = static_cast<std::ptrdiff_t>(Unit);
  const auto n = static_cast<std::ptrdiff_t>(count);
  if (out_stride == kUnit && in_stride == -kUnit) {
    for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(out + i * kUnit, in - i * kUnit, Unit);
  } else if (out_stride == kUnit && in_stride == 2 * kUnit) {
    for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(out + i * kUnit, in + i * 2 * kUnit, Unit);
  } else {
    for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(out + i * out_stride, in + i * in_stride, Unit);
  }
}

void copy_row(const char* in, std::ptrdiff_t in_stride, char* out, std::ptrdiff_t out_stride,
              std::size_t count, std::size_t unit) {
  if (count == 1) {
    std::memcpy(out, in, unit);
    return;
  }
  if (in_stride == 0 && out_stride == static_cast<std::ptrdiff_t>(unit)) {
    repeat_bytes(in, unit, count, out);
    return;
  }
  switch (unit) {
    case 1:
      copy_strided<1>(in, in_stride, out, out_stride, count);
      break;
    case 2:
      copy_strided<2>(in, in_stride, out, out_stride, count);
      break;
    case 4:
      copy_strided<4>(in, in_stride, out, out_stride, count);
      break;
    case 8:
      copy_strided<8>(in, in_stride, out, out_stride, count);
      break;
    case 12:
      copy_strided<12>(in, in_stride, out, out_stride, count);
      break;
    case 16:
      copy_strided<16>(in, in_stride, out, out_stride, count);
      break;
    case 32:
      copy_strided<32>(in, in_stride, out, out_stride, count);
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(out, in, unit);
        in += in_stride;
        out += out_stride;
      }
  }
}

}  // namespace

std::vector<std::ptrdiff_t> dense_strides(std::span<const std::size_t> dims) {
  std::vector<std::ptrdiff_t> strides(dims.size());
  std::ptrdiff_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= static_cast<std::ptrdiff_t>(dims[i]);
  }
  return strides;
}

StridedCopy::StridedCopy(std::span<const std::size_t> dims, std::span<const std::ptrdiff_t> in_strides,
                         std::span<const std::ptrdiff_t> out_strides, std::size_t element_size)
    : unit_(element_size), bytes_(element_size) {
  const auto size = static_cast<std::ptrdiff_t>(element_size);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    bytes_ *= dims[i];
    if (dims[i] != 1) axes.push_back({dims[i], in_strides[i] * size, out_strides[i] * size});
  }
  if (bytes_ == 0) return;
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return std::abs(a.out_stride) > std::abs(b.out_stride);
  });
  for (const Axis& axis : axes) {
    const auto dim = static_cast<std::ptrdiff_t>(axis.dim);
    if (!outer_.empty() && outer_.back().in_stride == axis.in_stride * dim &&
        outer_.back().out_stride == axis.out_stride * dim) {
      outer_.back() = {outer_.back().dim * axis.dim, axis.in_stride, axis.out_stride};
    } else {
      outer_.push_back(axis);
    }
  }
  if (!outer_.empty() && outer_.back().in_stride == size && outer_.back().out_stride == size) {
    unit_ *= outer_.back().dim;
    outer_.pop_back();
  }
  if (!outer_.empty()) {
    inner_ = outer_.back();
    outer_.pop_back();
  }
  rows_ = 1;
  for (const Axis& axis : outer_) rows_ *= axis.dim;
}

void StridedCopy::copy_rows(const char* in, char* out, std::size_t begin, std::size_t end) const {
  // Axes have two elements at least, and all together fewer than 2^64.
  constexpr std::size_t kMaxRank = 64;
  std::size_t position[kMaxRank];
  std::size_t rest = begin;
  for (std::size_t a = outer_.size(); a-- > 0;) {
    position[a] = rest % outer_[a].dim;
    rest /= outer_[a].dim;
    in += static_cast<std::ptrdiff_t>(position[a]) * outer_[a].in_stride;
    out += static_cast<std::ptrdiff_t>(position[a]) * outer_[a].out_stride;
  }
  for (std::size_t row = begin;;) {
    copy_row(in, inner_.in_stride, out, inner_.out_stride, inner_.dim, unit_);
    if (++row == end) return;
    for (std::size_t a = outer_.size(); a-- > 0;) {
      in += outer_[a].in_stride;
      out += outer_[a].out_stride;
      if (++position[a] < outer_[a].dim) break;
      in -= static_cast<std::ptrdiff_t>(position[a]) * outer_[a].in_stride;
      out -= static_cast<std::ptrdiff_t>(position[a]) * outer_[a].out_stride;
      position[a] = 0;
    }
  }
}

void StridedCopy::run(const void* in, void* out) const {
  if (bytes_ == 0) return;
  const auto* from = static_cast<const char*>(in);
  auto* to = static_cast<char*>(out);
  if (rows_ > 1) {
    parallel_for(rows_, grain_for_cost(cost_of_bytes(inner_.dim * unit_)),
                 [&](std::size_t begin, std::size_t end) { copy_rows(from, to, begin, end); });
  } else if (inner_.dim > 1) {
    parallel_for(inner_.dim, grain_for_cost(cost_of_bytes(unit_)), [&](std::size_t begin, std::size_t end) {
      copy_row(from + static_cast<std::ptrdiff_t>(begin) * inner_.in_stride, inner_.in_stride,
               to + static_cast<std::ptrdiff_t>(begin) * inner_.out_stride, inner_.out_stride, end - begin,
               unit_);
    });
  } else {
    copy_bytes(from, to, unit_);
  }
}

StridedCopy make_tile(std::span<const std::size_t> dims, std::span<const std::size_t> repeats,
                      std::size_t element_size) {
  std::vector<std::size_t> out_dims(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) out_dims[i] = dims[i] * repeats[i];
  const std::vector<std::ptrdiff_t> in_strides = dense_strides(dims);
  const std::vector<std::ptrdiff_t> out_strides = dense_strides(out_dims);
  std::vector<std::size_t> box;
  std::vector<std::ptrdiff_t> from;
  std::vector<std::ptrdiff_t> to;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    box.insert(box.end(), {repeats[i], dims[i]});
    from.insert(from.end(), {0, in_strides[i]});
    to.insert(to.end(), {out_strides[i] * static_cast<std::ptrdiff_t>(dims[i]), out_strides[i]});
  }
  return {box, from, to, element_size};
}

StridedCopy make_broadcast(std::span<const std::size_t> in_dims, std::span<const std::size_t> out_dims,
                           std::size_t element_size) {
  std::vector<std::ptrdiff_t> in_strides = dense_strides(in_dims);
  for (std::size_t i = 0; i < in_dims.size(); ++i) {
    if (in_dims[i] == 1) in_strides[i] = 0;
  }
  return {out_dims, in_strides, dense_strides(out_dims), element_size};
}

SliceCopy::SliceCopy(std::span<const std::size_t> in_dims, std::span<const std::size_t> starts,
                     std::span<const std::ptrdiff_t> steps, std::span<const std::size_t> out_dims,
                     std::size_t element_size) {
  std::vector<std::ptrdiff_t> in_strides = dense_strides(in_dims);
  for (std::size_t i = 0; i < in_dims.size(); ++i) {
    offset_bytes_ += static_cast<std::ptrdiff_t>(starts[i]) * in_strides[i];
    in_strides[i] *= steps[i];
  }
  offset_bytes_ *= static_cast<std::ptrdiff_t>(element_size);
  copy_ = StridedCopy(out_dims, in_strides, dense_strides(out_dims), element_size);
}

void SliceCopy::run(const void* in, void* out) const {
  if (copy_.bytes() > 0) copy_.run(static_cast<const char*>(in) + offset_bytes_, out);
}

}  // namespace ir::kernels
