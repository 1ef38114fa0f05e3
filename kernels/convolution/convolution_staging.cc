#include "kernels/convolution/convolution_staging.h"

#include <algorithm>
#include <numeric>

#include "kernels/convolution/convolution_cost.h"

namespace ir::kernels {

AxisStaging::AxisStaging(const ConvolutionAxis& axis, std::size_t outputs) {
  // Sharing: slots by residue of the tap's distance, which come again and again in the same order.
  const std::size_t residues = axis.stride / std::gcd(axis.stride, axis.dilation);
  for (std::size_t tap = 0; tap < axis.kernel; ++tap) {
    const std::size_t distance = tap * axis.dilation;
    slot.push_back(tap < residues ? tap : slot[tap - residues]);
    if (tap < residues) start.push_back(distance % axis.stride);
    shift.push_back(distance / axis.stride);
    max_shift = std::max(max_shift, shift.back());
  }
  if (axis.kernel * outputs >= start.size() * (outputs + max_shift)) return;
  start.clear();
  max_shift = 0;
  for (std::size_t tap = 0; tap < axis.kernel; ++tap) {
    start.push_back(tap * axis.dilation);
    slot[tap] = tap;
    shift[tap] = 0;
  }
}

std::size_t staged_plane(const ConvolutionGeometry& geometry) {
  const auto& [depth, vertical, horizontal] = geometry.axes;
  const AxisStaging rows(vertical, vertical.out);
  const AxisStaging columns(horizontal, horizontal.out);
  return geometry.in_channels * depth.kernel * rows.start.size() * (vertical.out + rows.max_shift) *
         columns.start.size() * (horizontal.out + columns.max_shift);
}

double staging_cost(const ConvolutionGeometry& geometry) {
  const ConvolutionAxis& axis = geometry.axes[2];
  const std::size_t lanes = gemm_kernels().lanes;
  const auto of_vector = [&]() -> double {
    if (axis.is_pointwise()) return 0.5;
    if (axis.stride == 1) return 4;
    if (axis.stride > 2) return 1.7 * static_cast<double>(lanes);
    if (axis.kernel == 1) return has_short_vectors() ? 6 : 4;
    constexpr Fitted<double> kOfFar{30, 14, 12, 8};
    constexpr Fitted<double> kOfNear{4, 5.5, 7, 5.5};
    const double of_samples = (is_far(geometry) ? kOfFar : kOfNear).here();
    if (!has_short_vectors()) return of_samples;
    constexpr double kRow = 20;
    return of_samples + kRow * static_cast<double>(lanes) / static_cast<double>(std::max(axis.in, lanes));
  };
  return of_vector() * static_cast<double>(divide_up(staged_plane(geometry), lanes));
}

namespace {

/// The depth slices of outputs that see nothing but slices of the image; if there are none, the first one.
IndexRange slices_alike(const ConvolutionAxis& depth) {
  const IndexRange inside{outputs_inside(depth, 0).begin, outputs_inside(depth, depth.kernel - 1).end};
  return inside.begin < inside.end ? inside : IndexRange{0, 1};
}

}  // namespace

ImageStaging::ImageStaging(const ConvolutionGeometry& geometry, std::size_t channels, std::size_t rows,
                           std::size_t columns)
    : geometry_(geometry),
      vertical_(geometry.axes[1], rows),
      horizontal_(geometry.axes[2], columns),
      slices_(slices_alike(geometry.axes[0])),
      channels_(channels),
      row_stride_(columns + horizontal_.max_shift),
      column_slot_stride_((rows + vertical_.max_shift) * row_stride_),
      row_slot_stride_(horizontal_.start.size() * column_slot_stride_),
      depth_stride_(vertical_.start.size() * row_slot_stride_),
      channel_stride_(geometry.axes[0].kernel * depth_stride_) {
  offsets_.reserve(channels * geometry.taps());
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t z = 0; z < geometry.axes[0].kernel; ++z) {
      for (std::size_t y = 0; y < geometry.axes[1].kernel; ++y) {
        for (std::size_t x = 0; x < geometry.axes[2].kernel; ++x) {
          offsets_.push_back(static_cast<std::int32_t>(
              channel * channel_stride_ + z * depth_stride_ + vertical_.slot[y] * row_slot_stride_ +
              vertical_.shift[y] * row_stride_ + horizontal_.slot[x] * column_slot_stride_ +
              horizontal_.shift[x]));
        }
      }
    }
  }
}

void ImageStaging::for_each_copy(const OutputBlock& block, FunctionRef<void(const StagedCopy&)> use) const {
  const auto& [depth, vertical, horizontal] = geometry_.axes;
  const std::size_t rows = block.rows + vertical_.max_shift;
  const std::size_t columns = block.columns + horizontal_.max_shift;
  const bool pairs = horizontal.stride == 2 && horizontal_.is_paired();
  for (std::size_t column_slot = 0; column_slot < (pairs ? 1 : horizontal_.start.size()); ++column_slot) {
    const std::size_t start = horizontal_.start[column_slot];
    // Two slots at once are one that has all samples.
    ConvolutionAxis axis = horizontal;
    std::size_t first_out = block.column;
    std::size_t count = columns;
    if (pairs) {
      axis.stride = 1;
      first_out *= 2;
      count *= 2;
    }
    const IndexRange inside = samples_inside(axis, first_out, start, count);
    StagedCopy image;
    image.rows.to_stride = row_stride_;
    image.rows.from_stride = vertical.stride * horizontal.in;
    image.rows.stride = axis.stride;
    image.rows.samples = inside.end - std::min(inside.begin, inside.end);
    image.rows.before = inside.begin;
    image.rows.after = count - inside.begin - image.rows.samples;
    if (pairs) image.rows.pair_stride = column_slot_stride_;
    image.rows.padding = geometry_.padding;
    StagedCopy outside = image;
    outside.rows.before = count;
    outside.rows.samples = outside.rows.after = 0;
    for (std::size_t z = 0; z < depth.kernel; ++z) {
      const std::ptrdiff_t slice =
          static_cast<std::ptrdiff_t>(block.depth * depth.stride + z * depth.dilation) - depth.pad;
      const bool slice_inside = slice >= 0 && slice < static_cast<std::ptrdiff_t>(depth.in);
      for (std::size_t row_slot = 0; row_slot < vertical_.start.size(); ++row_slot) {
        const std::size_t to =
            z * depth_stride_ + row_slot * row_slot_stride_ + column_slot * column_slot_stride_;
        const std::size_t first_row = vertical_.start[row_slot];
        IndexRange found{rows, rows};
        if (slice_inside && image.rows.samples != 0)
          found = samples_inside(vertical, block.row, first_row, rows);
        found.begin = std::min(found.begin, found.end);

        outside.to = to;
        outside.rows.count = found.begin;
        if (outside.rows.count != 0) use(outside);
        image.rows.count = found.end - found.begin;
        if (image.rows.count != 0) {
          const std::size_t sample_row = (block.row + found.begin) * vertical.stride + first_row -
                                         static_cast<std::size_t>(vertical.pad);
          const std::size_t sample =
              (first_out + inside.begin) * axis.stride + start - static_cast<std::size_t>(horizontal.pad);
          image.from = (static_cast<std::size_t>(slice) * vertical.in + sample_row) * horizontal.in + sample;
          image.to = to + found.begin * row_stride_;
          use(image);
        }
        outside.to = to + found.end * row_stride_;
        outside.rows.count = rows - found.end;
        if (outside.rows.count != 0) use(outside);
      }
    }
  }
}

std::vector<StagedCopy> ImageStaging::copies(const PlaneBlock& block) {
  std::vector<StagedCopy> list;
  for_each_copy({block, slices_.begin}, [&](const StagedCopy& copy) { list.push_back(copy); });
  if (list.size() > copies_left_) return {};
  copies_left_ -= list.size();
  return list;
}

void ImageStaging::stage_copies(const GemmKernels& kernels, const std::vector<StagedCopy>& copies,
                                const float* image, std::size_t channels, const OutputBlock& block,
                                float* buffer) const {
  if (copies.empty() || !slices_.holds(block.depth)) return stage(kernels, image, channels, block, buffer);
  const auto& [depth, vertical, horizontal] = geometry_.axes;
  image += (block.depth - slices_.begin) * depth.stride * vertical.in * horizontal.in;
  for (const StagedCopy& copy : copies) run(kernels, copy, image, channels, buffer);
}

std::size_t ImageStaging::pieces(std::size_t columns, std::size_t first, std::size_t count,
                                 Piece* pieces) const {
  std::size_t found = 0;
  for (std::size_t lane = 0; lane < count;) {
    const std::size_t row = (first + lane) / columns;
    const std::size_t column = (first + lane) % columns;
    pieces[found++] = {
        static_cast<std::ptrdiff_t>(row * row_stride_ + column) - static_cast<std::ptrdiff_t>(lane), lane};
    lane += columns - column;
  }
  return found;
}

}  // namespace ir::kernels
