// Convolution with one input channel per group: too little arithmetic for a matrix product. The channel, or a
// staged piece of it, is walked with vectors along the width.
#include <algorithm>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/depthwise/depthwise_plane.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

class DepthwiseConvolution final : public Convolution {
 public:
  DepthwiseConvolution(const ConvolutionGeometry& geometry, const float* weights, const Epilogue& epilogue)
      : geometry_(geometry),
        epilogue_(epilogue, geometry.groups * geometry.out_channels),
        plane_(geometry, epilogue.residual, direct_depthwise(geometry)),
        tasks_(geometry.batch * geometry.groups * plane_.blocks()) {
    geometry_.workers = std::min(geometry.workers, std::max<std::size_t>(tasks_, 1));
    if (weights != nullptr && plane_.is_feasible()) {
      weights_.assign(weights, weights + geometry.groups * geometry.out_channels * geometry.taps());
    }
  }

  std::string_view algorithm() const override { return "depthwise"; }
  std::size_t scratch_bytes() const override { return scratch_bytes_for(geometry_.workers * slot_floats()); }

  void run(const ConvolutionInputs& in, float* out, std::byte* scratch) const override {
    if (tasks_ == 0 || geometry_.out_channels == 0) return;
    const DepthwisePlane::Channel first{in.image, weights_.empty() ? in.weights : weights_.data(), 0,
                                        epilogue_.residual() ? in.residual : nullptr, out};
    float* const floats = aligned_scratch(scratch);
    for_each_task(tasks_, plane_.block_cost(), geometry_.workers,
                  [&](std::size_t begin, std::size_t end, std::size_t worker) {
                    float* const staged = floats + worker * slot_floats();
                    std::size_t block = begin % plane_.blocks();
                    std::size_t index = begin / plane_.blocks();
                    for (std::size_t task = begin; task < end; ++task) {
                      plane_.run(block, channel(first, index), epilogue_, staged);
                      if (++block < plane_.blocks()) continue;
                      block = 0;
                      ++index;
                    }
                  });
  }

  [[nodiscard]] bool is_feasible() const { return plane_.is_feasible(); }

 private:
  [[nodiscard]] std::size_t slot_floats() const {
    return worker_stride(geometry_.workers, plane_.staged_floats());
  }

  /// Input channel `index`, counted over the batch.
  [[nodiscard]] DepthwisePlane::Channel channel(const DepthwisePlane::Channel& first,
                                                std::size_t index) const {
    const std::size_t out_channel = index % geometry_.groups * geometry_.out_channels;
    const std::size_t outputs = index * geometry_.out_channels * geometry_.out_size();
    return {first.image + index * geometry_.in_size(), first.weights + out_channel * geometry_.taps(),
            out_channel, first.residual == nullptr ? nullptr : first.residual + outputs, first.out + outputs};
  }

  ConvolutionGeometry geometry_;
  OwnedEpilogue epilogue_;
  DepthwisePlane plane_;
  std::size_t tasks_;
  std::vector<float> weights_;
};

}  // namespace

std::unique_ptr<Convolution> create_depthwise_convolution(const ConvolutionGeometry& geometry,
                                                          const float* weights, const Epilogue& epilogue) {
  auto convolution = std::make_unique<DepthwiseConvolution>(geometry, weights, epilogue);
  if (!convolution->is_feasible()) return nullptr;
  return convolution;
}

}  // namespace ir::kernels
