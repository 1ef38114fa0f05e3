#include "kernels/signal/fourier.h"

#include <algorithm>

#include "kernels/base/dims.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

std::vector<std::size_t> strides_of(Dims dims) {
  std::vector<std::size_t> strides(dims.size());
  std::size_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

}  // namespace

template <class T>
FourierTransform<T>::FourierTransform(Dims dims, std::span<const FourierAxis> axes, FourierKind kind,
                                      FftDirection direction) {
  std::vector<FourierAxis> order(axes.begin(), axes.end());
  const bool has_last = kind != FourierKind::complex;
  std::vector<std::size_t> view(dims.begin(), dims.end());
  std::vector<std::size_t> strides = strides_of(view);
  // What is cut off is never read, so that nothing between the passes is larger than the result.
  for (const FourierAxis& axis : order) view[axis.axis] = std::min(view[axis.axis], axis.length);
  FourierAxis last{};
  if (has_last) {
    last = order.back();
    order.pop_back();
    if (kind == FourierKind::complex_to_real) {
      view[last.axis] = std::min(view[last.axis], last.length / 2 + 1);
    }
  }
  // Axes that grow come late.
  std::ranges::stable_sort(order, {}, [&](const FourierAxis& a) { return a.length > view[a.axis]; });
  if (kind == FourierKind::real_to_complex)
    add_pass(view, strides, last, direction, FourierKind::real_to_complex);
  for (const FourierAxis& axis : order) add_pass(view, strides, axis, direction, FourierKind::complex);
  if (kind == FourierKind::complex_to_real)
    add_pass(view, strides, last, direction, FourierKind::complex_to_real);
}

template <class T>
void FourierTransform<T>::add_pass(std::vector<std::size_t>& dims, std::vector<std::size_t>& strides,
                                   const FourierAxis& axis, FftDirection direction, FourierKind kind) {
  const bool real_in = kind == FourierKind::real_to_complex;
  const bool real_out = kind == FourierKind::complex_to_real;
  std::vector<std::size_t> out_dims = dims;
  out_dims[axis.axis] = real_in ? axis.length / 2 + 1 : axis.length;
  const std::vector<std::size_t> out_strides = strides_of(out_dims);
  std::size_t lines = 1;
  std::vector<Dim> line_dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i == axis.axis) continue;
    lines *= dims[i];
    if (dims[i] == 1) continue;
    const Dim dim{dims[i], strides[i], out_strides[i]};
    if (!line_dims.empty() && line_dims.back().in_stride == dim.in_stride * dim.size &&
        line_dims.back().out_stride == dim.out_stride * dim.size) {
      line_dims.back() = {line_dims.back().size * dim.size, dim.in_stride, dim.out_stride};
    } else {
      line_dims.push_back(dim);
    }
  }
  Fft<T> fft(axis.length, direction, lines);
  const FftChunks chunks = fft_chunks(lines, fft.lanes(), fft.cost());
  const T scale = direction == FftDirection::inverse ? T(1) / static_cast<T>(axis.length) : T(1);
  const bool in_place =
      !passes_.empty() && !real_out && out_dims == dims;  // every line is read before it is written
  work_size_ = std::max(work_size_, chunks.count * fft.work_size());
  if (!passes_.empty()) buffer_size_ = std::max(buffer_size_, 2 * product(dims));
  passes_.push_back({std::move(fft), chunks, real_in, real_out, in_place, dims[axis.axis],
                     out_dims[axis.axis], strides[axis.axis], out_strides[axis.axis], std::move(line_dims),
                     lines, scale});
  dims = std::move(out_dims);
  strides = out_strides;
}

template <class T>
std::size_t FourierTransform<T>::scratch_bytes() const {
  return (2 * buffer_size_ + work_size_) * sizeof(T);
}

template <class T>
double FourierTransform<T>::cost() const {
  double sum = 0;
  for (const Pass& pass : passes_) {
    sum += static_cast<double>(pass.lines) * static_cast<double>(pass.fft.cost());
  }
  return sum;
}

template <class T>
void FourierTransform<T>::run(const T* in, T* out, std::byte* scratch) const {
  auto* numbers = reinterpret_cast<T*>(scratch);
  const std::array<T*, 2> buffers{numbers, numbers + buffer_size_};
  T* work = numbers + 2 * buffer_size_;
  // From the end: where a pass writes is where the one before it wrote when it works in place.
  std::size_t switches = 0;
  for (std::size_t i = passes_.size(); i-- > 1;) switches += passes_[i].in_place ? 0 : 1;
  const T* from = in;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    if (i > 0 && !passes_[i].in_place) --switches;
    T* to = switches == 0 ? out : buffers[switches % 2];
    passes_[i].run(from, to, work);
    from = to;
  }
}

template <class T>
void FourierTransform<T>::Pass::run(const T* in, T* out, T* work) const {
  parallel_for(chunks.blocks, chunks.grain, [&](std::size_t begin, std::size_t end) {
    T* own = work + begin / chunks.grain * fft.work_size();
    for (std::size_t block = begin; block < end; ++block) run_block(block, in, out, own);
  });
}

template <class T>
void FourierTransform<T>::Pass::run_block(std::size_t block, const T* in, T* out, T* work) const {
  const Lines ends = lines_of(block, in, out);
  read(ends, fft.input(work));
  write(ends, fft.run(work));
}

template <class T>
typename FourierTransform<T>::Pass::Lines FourierTransform<T>::Pass::lines_of(std::size_t block, const T* in,
                                                                              T* out) const {
  const std::size_t lanes = fft.lanes();
  Lines ends;
  ends.count = std::min(lanes, lines - block * lanes);
  for (std::size_t lane = 0; lane < ends.count; ++lane) {
    std::size_t rest = block * lanes + lane;
    std::size_t from = 0;
    std::size_t to = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      const std::size_t position = rest % dims[d].size;
      rest /= dims[d].size;
      from += position * dims[d].in_stride;
      to += position * dims[d].out_stride;
    }
    ends.sources[lane] = in + (real_in ? 1 : 2) * from;
    ends.targets[lane] = out + (real_out ? 1 : 2) * to;
  }
  // Lanes without a line compute the first one again.
  std::fill(ends.sources.begin() + ends.count, ends.sources.begin() + lanes, ends.sources[0]);
  return ends;
}

template <class T>
void FourierTransform<T>::Pass::read(const Lines& ends, const SplitComplex<T>& to) const {
  const std::size_t lanes = fft.lanes();
  const std::size_t length = fft.length();
  for (std::size_t i = 0; i < in_count; ++i) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const T* const from = ends.sources[lane];
      to.re[i * lanes + lane] = real_in ? from[i * in_stride] : from[2 * i * in_stride];
      to.im[i * lanes + lane] = real_in ? T(0) : from[2 * i * in_stride + 1];
    }
  }
  std::fill(to.re + in_count * lanes, to.re + length * lanes, T(0));
  std::fill(to.im + in_count * lanes, to.im + length * lanes, T(0));
  if (!real_out) return;
  // What is not given are the conjugates.
  for (std::size_t i = 1; i < in_count && i < (length + 1) / 2; ++i) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      to.re[(length - i) * lanes + lane] = to.re[i * lanes + lane];
      to.im[(length - i) * lanes + lane] = -to.im[i * lanes + lane];
    }
  }
}

template <class T>
void FourierTransform<T>::Pass::write(const Lines& ends, const SplitComplex<T>& from) const {
  const std::size_t lanes = fft.lanes();
  for (std::size_t i = 0; i < out_count; ++i) {
    for (std::size_t lane = 0; lane < ends.count; ++lane) {
      T* const to = ends.targets[lane];
      if (real_out) {
        to[i * out_stride] = scale * from.re[i * lanes + lane];
      } else {
        to[2 * i * out_stride] = scale * from.re[i * lanes + lane];
        to[2 * i * out_stride + 1] = scale * from.im[i * lanes + lane];
      }
    }
  }
}

template class FourierTransform<float>;
template class FourierTransform<double>;

}  // namespace ir::kernels
