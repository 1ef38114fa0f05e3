// The image's side of Winograd's convolution: which samples a block of tiles sees. Internal to kernels/.
#ifndef KERNELS_WINOGRAD_WINOGRAD_IMAGE_H_
#define KERNELS_WINOGRAD_WINOGRAD_IMAGE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/plane_split.h"
#include "kernels/winograd/winograd_transforms.h"

namespace ir::kernels {

/// At least `floats` from one point to the next: one line more than whole pages, since all points of a tile
/// are written or read together and must not compete for the same sets of the first-level cache.
inline std::size_t spread_points(std::size_t floats) {
  constexpr std::size_t kPage = 4096 / sizeof(float);
  return divide_up(floats, kPage) * kPage + kFloatsPerLine;
}

/// What the transforms do not see of a filter is summed like channels: taps along other axes, and the parts
/// of a line of taps. With a stride, every stride-th tap of a line goes over every stride-th sample as if
/// there were none: such phases of a line are parts, or several where they are longer than the transforms.
struct OuterTaps {
  std::size_t slices = 1;
  std::size_t rows = 1;
  std::size_t parts = 1;
  std::size_t line = 1;       ///< taps along the axes of the transforms
  std::size_t phases = 1;     ///< of a line
  std::size_t part_taps = 1;  ///< of the transforms

  OuterTaps(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms)
      : slices(geometry.axes[0].kernel), part_taps(transforms.filter_taps()) {
    if (transforms.axes == TileAxes::horizontal) rows = geometry.axes[1].kernel;
    line = geometry.taps() / (slices * rows);
    if (transforms.axes != TileAxes::both)
      phases = geometry.axes[transforms.axes == TileAxes::vertical ? 1 : 2].stride;
    parts = phases * divide_up(divide_up(line, phases), part_taps);
  }
  [[nodiscard]] std::size_t total() const { return slices * rows * parts; }
  /// Which tap of the line is the first one of a part, whose others follow `phases` apart.
  [[nodiscard]] std::size_t first_tap(std::size_t part) const {
    return part % phases + part / phases * part_taps * phases;
  }
};

class WinogradImage {
 public:
  WinogradImage(const ConvolutionGeometry& geometry, const WinogradTransforms& transforms)
      : in_channels_(geometry.in_channels),
        axes_(geometry.axes),
        transforms_(transforms),
        outer_(geometry, transforms),
        zeros_(geometry.axes[2].in, 0.0F) {}

  /// Terms of the sum of a point: input channels times outer taps, of which slices are outermost, then come
  /// channels, and parts are innermost.
  [[nodiscard]] std::size_t depth() const { return in_channels_ * outer_.total(); }
  /// Those that see the image where a slice of the output is; at least those of one tap.
  [[nodiscard]] IndexRange terms_inside(std::size_t depth) const {
    const IndexRange taps = taps_inside(axes_[0], depth);
    if (taps.count() == 0) return {0, terms_of_slice()};
    return {taps.begin * terms_of_slice(), taps.end * terms_of_slice()};
  }
  /// Floats of scratch for blocks of at most so many tiles.
  [[nodiscard]] std::size_t scratch_floats(const TileBlockSize& block) const {
    return line_floats(block) +
           round_up_to_line(transforms_.sample_rows(block.rows) * sizeof(const float*) / sizeof(float));
  }

  /// Transforms some terms of a block of tiles of one depth slice. `image`: the channels of one group of one
  /// image; term `origin` is channel 0 of `columns`, and the rest as in WinogradTransforms::input.
  void transform(const float* image, std::size_t depth, const PlaneBlock& tiles, const IndexRange& terms,
                 std::size_t origin, const TileVector* vectors, float* columns, std::size_t point_stride,
                 float* scratch) const {
    const TileBlockSize block{tiles.rows, tiles.columns};
    const auto rows = reinterpret_cast<const float**>(scratch + line_floats(block));
    for (std::size_t term = terms.begin; term < terms.end;) {
      TileSamples samples = samples_of(image, depth, tiles, term, rows);
      // Terms that differ by the channel alone are transformed by one call.
      const std::size_t end_of_slice = (term / terms_of_slice() + 1) * terms_of_slice();
      if (transforms_.axes == TileAxes::both) {
        samples.channels = std::min(terms.end, end_of_slice) - term;
      } else if (term + 1 < std::min(terms.end, end_of_slice) && terms_of_slice() == in_channels_) {
        samples.next = static_cast<std::ptrdiff_t>(samples.plane);  // taps of a row or line are near anyway
      }
      transforms_.input(samples, block, vectors, term - origin, columns, point_stride, scratch);
      term += samples.channels;
    }
  }

  /// Terms of a filter whose taps lie one behind the other, those of the next term `stride` floats behind
  /// those of the one before.
  struct TermRun {
    std::size_t offset = 0;  ///< of the first one
    std::size_t stride = 0;
    std::size_t count = 0;
  };
  /// From `term` on, in filters by terms.
  [[nodiscard]] TermRun run_of(std::size_t term) const {
    const std::size_t taps = outer_.part_taps;
    if (outer_.slices == 1 || !terms_are_stored()) return {term * taps, taps, depth() - term};
    const std::size_t channel = term % in_channels_;
    return {(channel * outer_.slices + term / in_channels_) * taps, outer_.slices * taps,
            in_channels_ - channel};
  }
  /// `filters` filters of all input channels with their taps term by term, zeros behind those of parts that
  /// are shorter; empty where they are fine as they are stored.
  [[nodiscard]] std::vector<float> filters_by_terms(const float* weights, std::size_t filters) const {
    if (terms_are_stored()) return {};
    std::vector<float> ordered(filters * depth() * outer_.part_taps);
    float* to = ordered.data();
    for (std::size_t filter = 0; filter < filters; ++filter) {
      for (std::size_t slice = 0; slice < outer_.slices; ++slice) {
        for (std::size_t channel = 0; channel < in_channels_; ++channel) {
          const std::size_t plane = (filter * in_channels_ + channel) * outer_.slices + slice;
          const float* line = weights + plane * outer_.rows * outer_.line;
          for (std::size_t row = 0; row < outer_.rows; ++row, line += outer_.line) to = part_line(line, to);
        }
      }
    }
    return ordered;
  }

 private:
  /// What a block of tiles sees of the channel of a term; `rows` is where the list of its rows goes.
  [[nodiscard]] TileSamples samples_of(const float* image, std::size_t depth, const PlaneBlock& tiles,
                                       std::size_t term, const float** rows) const {
    constexpr std::size_t kAnyCount = std::numeric_limits<std::ptrdiff_t>::max();
    const auto& [deep, vertical, horizontal] = axes_;
    const auto signed_size = [](std::size_t size) { return static_cast<std::ptrdiff_t>(size); };
    const bool is_vertical = transforms_.axes == TileAxes::vertical;
    const std::size_t first_tap = outer_.first_tap(term % outer_.parts);
    const std::size_t row_tap = term / outer_.parts % outer_.rows;
    const std::size_t slice_tap = term / terms_of_slice();
    const std::ptrdiff_t slice = signed_size(depth * deep.stride + slice_tap * deep.dilation) - deep.pad;
    const bool slice_inside = slice >= 0 && slice < signed_size(deep.in);
    const std::ptrdiff_t top = signed_size(tiles.row * transforms_.tile_rows() * vertical.stride +
                                           row_tap * vertical.dilation + (is_vertical ? first_tap : 0)) -
                               vertical.pad;
    const std::size_t first_column = tiles.column * transforms_.tile_columns();
    const std::size_t column_tap = is_vertical ? 0 : first_tap;
    const auto [left, end] = samples_inside(horizontal, first_column, column_tap, kAnyCount);
    const std::ptrdiff_t seen =
        signed_size((first_column + left) * horizontal.stride + column_tap) - horizontal.pad;
    const std::size_t skipped = left == end ? 0 : static_cast<std::size_t>(seen);

    TileSamples samples;
    samples.rows = rows;
    samples.left = left;
    samples.width = end - left;
    samples.stride = horizontal.stride;
    samples.plane = deep.in * vertical.in * horizontal.in;
    const float* const channel =
        image + term % terms_of_slice() / (outer_.parts * outer_.rows) * samples.plane;
    for (std::size_t i = 0; i < transforms_.sample_rows(tiles.rows); ++i) {
      const std::ptrdiff_t y = top + signed_size(i * vertical.stride);
      if (!slice_inside || y < 0 || y >= signed_size(vertical.in)) {
        rows[i] = zeros_.data() + skipped;
        continue;
      }
      rows[i] =
          channel + static_cast<std::size_t>(slice * signed_size(vertical.in) + y) * horizontal.in + skipped;
      if (samples.end_inside == 0) samples.first_inside = i;
      samples.end_inside = i + 1;
    }
    return samples;
  }

  /// All channels.
  [[nodiscard]] std::size_t terms_of_slice() const { return in_channels_ * outer_.rows * outer_.parts; }
  /// Whether runs of terms can be found in filters as they are.
  [[nodiscard]] bool terms_are_stored() const {
    const std::size_t parted_line = outer_.parts * outer_.part_taps;
    if (outer_.phases > 1 || outer_.line != parted_line) return false;
    return outer_.slices == 1 || terms_of_slice() == in_channels_;
  }
  /// The parts of a line of taps, one after the other; where the next one goes.
  float* part_line(const float* line, float* to) const {
    for (std::size_t part = 0; part < outer_.parts; ++part, to += outer_.part_taps) {
      std::size_t tap = outer_.first_tap(part);
      for (std::size_t i = 0; i < outer_.part_taps && tap < outer_.line; ++i, tap += outer_.phases)
        to[i] = line[tap];
    }
    return to;
  }
  [[nodiscard]] std::size_t line_floats(const TileBlockSize& block) const {
    return round_up_to_line(transforms_.scratch_floats(block));
  }

  std::size_t in_channels_;
  std::array<ConvolutionAxis, 3> axes_;
  const WinogradTransforms& transforms_;
  OuterTaps outer_;
  std::vector<float> zeros_;
};

}  // namespace ir::kernels

#endif  // KERNELS_WINOGRAD_WINOGRAD_IMAGE_H_
