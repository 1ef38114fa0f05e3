#include "kernels/convolution/tile_blocks.h"

#include <algorithm>

#include "kernels/convolution/convolution_cost.h"
#include "kernels/threads/task_stretches.h"

namespace ir::kernels {

TileBlocks::TileBlocks(const ConvolutionGeometry& geometry, std::size_t most_vectors, const TileWork& work)
    : TileBlocks(geometry, most_vectors, {geometry.workers, geometry.workers}) {
  double most = most_cycles(geometry, work);
  const auto take_if_less = [&](const Sharing& sharing, double more) {
    const TileBlocks other(geometry, most_vectors, sharing);
    const double cycles = other.most_cycles(geometry, work);
    if (cycles >= most + more) return;
    *this = other;
    most = cycles;
  };
  take_if_less({1, geometry.workers}, 0);
  // Calling the others, and lines that they have in their caches: some four microseconds, measured in chains
  // of layers that take 5 to 30.
  constexpr double kShared = 14000;
  if (workers > 1) take_if_less({1, 1}, kShared);
  constexpr double kLarge = 1e15;  // what sizes that nothing can hold come to
  const double all = most * static_cast<double>(workers);
  cost_ = static_cast<std::size_t>(std::min(all, kLarge)) / std::max<std::size_t>(tasks(), 1) + 1;
}

TileBlocks::TileBlocks(const ConvolutionGeometry& geometry, std::size_t most_vectors, const Sharing& sharing)
    : channels(geometry.out_channels),
      plane(geometry.axes[1].out, geometry.axes[2].out, MatrixTiles::kSize, most_vectors,
            {geometry.planes(), sharing.plane}),
      depth(geometry.axes[0].out),
      count(geometry.planes() * plane.parts()),
      shares(fewest_parts(channels.count(), count, sharing.all)),
      workers(std::min(sharing.all, std::max<std::size_t>(tasks(), 1))) {}

TileBlocks::Place TileBlocks::place(std::size_t block) const {
  Place place;
  static_cast<PlaneBlock&>(place.outputs) = plane.block(block % plane.parts());
  block /= plane.parts();
  place.outputs.depth = block % depth;
  place.index = block / depth;
  return place;
}

double TileBlocks::cycles(const ConvolutionGeometry& geometry, const TileWork& work, std::size_t begin,
                          std::size_t end) const {
  const auto& [deep, down, along] = geometry.axes;
  // Strides may pass samples over.
  const auto samples_of = [](const ConvolutionAxis& axis, std::size_t outputs) {
    return std::min(seen_samples(axis, outputs), axis.kernel * outputs);
  };
  double products = 0;
  double samples = 0;
  std::size_t most_tiles = 0;
  for (std::size_t block = begin / shares.parts; block * shares.parts < end; ++block) {
    const std::size_t first = std::max(begin, block * shares.parts) - block * shares.parts;
    const std::size_t last = std::min(end - block * shares.parts, shares.parts);
    const std::size_t first_tile = shares.begin(first) * MatrixTiles::kMost;
    const std::size_t tiles =
        std::min(shares.begin(last) * MatrixTiles::kMost, channels.tiles()) - first_tile;
    const PlaneBlock outputs = plane.block(block % plane.parts());
    const std::size_t pitch = divide_up(seen_samples(along, outputs.columns), along.stride);
    const std::size_t positions = (outputs.rows - 1) * pitch + outputs.columns;
    products += static_cast<double>(tiles * divide_up(positions, MatrixTiles::kSize));
    samples += static_cast<double>(samples_of(down, outputs.rows) * samples_of(along, outputs.columns));
    most_tiles = std::max(most_tiles, tiles);
  }
  // Other layers ran since weights were read.
  return tile_product_cost(work.tiles, 1, 1, work.steps) * products +
         with_weights(0, most_tiles * work.steps * work.tiles.step_floats(1)) +
         work.sample * static_cast<double>(geometry.in_channels * deep.kernel) * samples;
}

/// As TaskStretches deals them out.
double TileBlocks::most_cycles(const ConvolutionGeometry& geometry, const TileWork& work) const {
  constexpr std::size_t kMany = 8;
  if (count >= kMany * workers) {
    return static_cast<double>(divide_up(count, workers)) * cycles(geometry, work, 0, shares.parts);
  }
  double most = 0;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    most = std::max(most, cycles(geometry, work, share_begin(tasks(), worker, workers),
                                 share_begin(tasks(), worker + 1, workers)));
  }
  return most;
}

}  // namespace ir::kernels
