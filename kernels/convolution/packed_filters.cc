#include "kernels/convolution/packed_filters.h"

#include <algorithm>

#include "kernels/threads/parallel.h"

namespace ir::kernels {

void pack_channels(const ConvolutionGeometry& geometry, const std::vector<DepthBlock>& depth_blocks,
                   const Split& panels, const float* filters, float* to) {
  const GemmKernels& kernels = gemm_kernels();
  const std::size_t terms = geometry.in_channels * geometry.taps();
  const std::size_t padded = kernels.padded(geometry.out_channels);
  const std::size_t parts = depth_blocks.size();
  const std::size_t grain = grain_for_cost(most_terms(depth_blocks) * padded);
  parallel_for(geometry.groups * parts, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t group = i / parts;
      const DepthBlock& part = depth_blocks[i % parts];
      const std::size_t k = part.channel * geometry.taps() + part.tap;
      const float* const from = filters + group * geometry.out_channels * terms + k;
      float* const packed = to + (group * terms + k) * padded;
      for (std::size_t panel = 0; panel < panels.parts; ++panel) {
        const std::size_t channel = panels.begin(panel) * kernels.lanes;
        const std::size_t channel_end =
            std::min(panels.begin(panel + 1) * kernels.lanes, geometry.out_channels);
        kernels.pack_columns_transposed(from + channel * terms, terms, part.depth(), channel_end - channel,
                                        packed + channel * part.depth());
      }
    }
  });
}

}  // namespace ir::kernels
