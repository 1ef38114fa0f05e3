// How the sum of a convolution is cut into blocks. Internal to kernels/.
#ifndef KERNELS_CONVOLUTION_CONVOLUTION_DEPTH_H_
#define KERNELS_CONVOLUTION_CONVOLUTION_DEPTH_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// A stretch of the sum: whole channels, or some taps of one.
struct DepthBlock {
  std::size_t channel = 0;
  std::size_t channels = 0;
  std::size_t tap = 0;
  std::size_t taps = 0;  ///< per channel

  [[nodiscard]] std::size_t depth() const { return channels * taps; }
};

/// The blocks of the sum over `channels` times `taps` terms, of at most `limit` terms each.
inline std::vector<DepthBlock> depth_blocks(std::size_t channels, std::size_t taps, std::size_t limit) {
  std::vector<DepthBlock> blocks;
  if (taps <= limit) {
    const Split split(channels, limit / std::max<std::size_t>(taps, 1));
    for (std::size_t i = 0; i < split.parts; ++i) blocks.push_back({split.begin(i), split.size(i), 0, taps});
  } else {
    const Split split(taps, limit);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t i = 0; i < split.parts; ++i)
        blocks.push_back({channel, 1, split.begin(i), split.size(i)});
    }
  }
  if (blocks.empty()) blocks.emplace_back();
  return blocks;
}

inline std::size_t most_channels(const std::vector<DepthBlock>& blocks) {
  std::size_t channels = 0;
  for (const DepthBlock& block : blocks) channels = std::max(channels, block.channels);
  return channels;
}

inline std::size_t most_terms(const std::vector<DepthBlock>& blocks) {
  std::size_t terms = 0;
  for (const DepthBlock& block : blocks) terms = std::max(terms, block.depth());
  return terms;
}

}  // namespace ir::kernels

#endif  // KERNELS_CONVOLUTION_CONVOLUTION_DEPTH_H_
