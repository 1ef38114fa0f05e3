// Regions of feature maps, pooled sixteen channels at a time: maps that have regions enough are turned for
// that, so that these channels lie side by side. Internal to kernels/.
#ifndef KERNELS_DETECTION_TURNED_REGIONS_H_
#define KERNELS_DETECTION_TURNED_REGIONS_H_

#include <cstddef>
#include <span>

#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// A map [channels, positions]; null: none.
struct RegionMap {
  const float* data = nullptr;
  std::size_t positions = 0;
};

/// How regions are pooled. All three are called from several threads, and more than once for a region.
struct RegionPooling {
  FunctionRef<RegionMap(std::size_t roi)> map;
  /// Writes [last - first, bins] of channels [first, last).
  FunctionRef<void(std::size_t roi, std::size_t first, std::size_t last, float* out)> plain;
  /// Merges into `pooled` [bins, kSampledChannels], which holds zeros; position p is at turned[p * pitch], as
  /// add_samples wants it.
  FunctionRef<void(std::size_t roi, const float* turned, std::size_t pitch, float* pooled)> turned;
};

class TurnedRegions {
 public:
  struct Params {
    std::size_t rois = 0;
    std::size_t channels = 0;
    std::size_t most_positions = 0;  ///< of a map
    std::size_t bins = 1;
    double samples_of_bin = 1;  ///< about, of a channel
  };

  /// Runs in the pool of threads that it is made in.
  explicit TurnedRegions(const Params& params);

  [[nodiscard]] std::size_t scratch_bytes() const;

  /// Pools the first `rois` regions, at most those of the parameters, into [rois, channels, bins]. Allocates
  /// nothing.
  void run(std::size_t rois, const RegionPooling& pooling, float* out, std::byte* scratch) const;

 private:
  /// One region of several, ordered by map.
  struct Member {
    const float* map;
    std::size_t index;
  };
  using Members = std::span<const Member>;  // those of one map
  [[nodiscard]] bool turns(Members members, const RegionMap& map) const;
  void pool_plain(Members members, const RegionPooling& pooling, float* out) const;
  void pool_turned(Members members, const RegionPooling& pooling, float* out, float* slots) const;
  [[nodiscard]] double samples(std::size_t rois) const;
  [[nodiscard]] std::size_t slot_floats() const;

  Params params_;
  std::size_t workers_;
};

}  // namespace ir::kernels

#endif  // KERNELS_DETECTION_TURNED_REGIONS_H_
