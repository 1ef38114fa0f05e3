// Strips of rows that go through all stages of a chain together, while they are in the cache. Internal to
// kernels/.
#ifndef KERNELS_DEPTHWISE_STRIP_PLAN_H_
#define KERNELS_DEPTHWISE_STRIP_PLAN_H_

#include <cstddef>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/convolution_geometry.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// Rows of a depthwise stage's outputs, and what they see of its image.
struct StripRows {
  std::size_t first_in = 0;
  std::size_t in = 0;          ///< how many
  std::ptrdiff_t padding = 0;  ///< rows before these
  std::size_t first_out = 0;
  std::size_t out = 0;
};

/// What is around a depthwise stage.
struct StripChain {
  bool expands = false;
  bool projects = false;
  bool shares = false;  ///< whether workers can share the channels of a strip in spite of a projection
};

struct StripPlan {
  /// None: one of them would see only padding.
  std::vector<StripRows> strips;
  /// Whether little is expanded twice, for neighbours, on one thread: choices, which bits depend on, must not
  /// see how many there are.
  bool repeats_little = false;
  /// Strips are fewer than workers, which share their channels: shorter strips would expand more rows twice.
  bool shares_channels = false;
};

/// As few strips as nearly fit the second-level cache, if they can; more of them to occupy all workers, where
/// strips are all that is shared. `floats_in_hand(rows)`: that strips of so many rows go through.
StripPlan plan_strips(const ConvolutionGeometry& depthwise, const StripChain& chain,
                      FunctionRef<std::size_t(std::size_t)> floats_in_hand);

/// Rows of the image that so many rows of outputs see, at most.
std::size_t rows_seen(const ConvolutionAxis& axis, std::size_t rows);

/// What all forms of strips have in common.
class ByStrips : public Convolution {
 public:
  /// Whether every strip sees something, and staging makes sense.
  [[nodiscard]] bool is_feasible() const { return is_feasible_; }
  /// Whether this is expected to be faster than one stage after the other.
  [[nodiscard]] bool is_worthwhile() const { return is_worthwhile_; }

  std::size_t scratch_bytes() const final {
    return scratch_bytes_for(geometry_.workers * slot_floats_ + shared_floats_);
  }

 protected:
  explicit ByStrips(const ConvolutionParams& depthwise) : kernels_(gemm_kernels()), geometry_(depthwise) {}

  /// So many floats more of a worker's scratch; where they begin.
  std::size_t take(std::size_t floats) {
    slot_floats_ += round_up_to_line(floats);
    return slot_floats_ - round_up_to_line(floats);
  }
  /// When all is taken.
  void settle_slot() { slot_floats_ = worker_stride(geometry_.workers, slot_floats_); }

  const GemmKernels& kernels_;
  ConvolutionGeometry geometry_;   ///< of the depthwise stage
  std::size_t slot_floats_ = 0;    ///< of a worker's scratch
  std::size_t shared_floats_ = 0;  ///< of what all of them have in common, behind that
  bool is_feasible_ = false;
  bool is_worthwhile_ = false;
};

/// From one channel to the next on their way to a projection: whole lines of the cache, an odd number of
/// them, so that a column of lines spreads over all of its sets.
inline std::size_t spread_stride(std::size_t size) {
  return (divide_up(size, kFloatsPerLine) | 1) * kFloatsPerLine;
}

}  // namespace ir::kernels

#endif  // KERNELS_DEPTHWISE_STRIP_PLAN_H_
