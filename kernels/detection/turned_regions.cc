#include "kernels/detection/turned_regions.h"

#include <algorithm>
#include <functional>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/divide.h"
#include "kernels/detection/roi_samples.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"
#include "kernels/threads/task_queue.h"

namespace ir::kernels {
namespace {

// What is found out for a region once serves all of this many channels.
constexpr std::size_t kChannelsPerTask = 32;
constexpr std::size_t kRoisPerTask = 16;

/// Of `samples`, for grains.
std::size_t cost_of(double samples) {
  constexpr double kMost = 1e15;
  return static_cast<std::size_t>(std::min(8 * samples, kMost));
}

}  // namespace

TurnedRegions::TurnedRegions(const Params& params)
    : params_(params), workers_(static_cast<std::size_t>(thread_slots())) {
  workers_ = std::min(workers_, std::max<std::size_t>(divide_up(params.channels, kSampledChannels), 1));
}

/// About how many, of a channel.
double TurnedRegions::samples(std::size_t rois) const {
  return params_.samples_of_bin * static_cast<double>(rois) * static_cast<double>(params_.bins);
}

/// The channels of a map side by side, those of one more position, and what the bins hold.
std::size_t TurnedRegions::slot_floats() const {
  const std::size_t channels = std::min(params_.channels, kSampledChannels);
  return worker_stride(workers_, round_up_to_line(params_.most_positions * channels + kSampledChannels) +
                                     params_.bins * kSampledChannels);
}

std::size_t TurnedRegions::scratch_bytes() const {
  if (params_.rois == 0 || params_.channels == 0) return 0;  // sizes may be anything then
  if (params_.channels < kFewestTurnedChannels) return params_.rois * sizeof(Member);
  return params_.rois * sizeof(Member) + scratch_bytes_for(workers_ * slot_floats());
}

void TurnedRegions::run(std::size_t rois, const RegionPooling& pooling, float* out,
                        std::byte* scratch) const {
  if (rois == 0 || params_.channels == 0) return;
  const std::span members(reinterpret_cast<Member*>(scratch), rois);
  for (std::size_t i = 0; i < rois; ++i) members[i] = {pooling.map(i).data, i};
  std::ranges::sort(members, [](const Member& a, const Member& b) {
    return a.map == b.map ? a.index < b.index : std::less<>()(a.map, b.map);
  });
  float* const slots = aligned_scratch(scratch + params_.rois * sizeof(Member));
  for (std::size_t begin = 0; begin < rois;) {
    std::size_t end = begin + 1;
    while (end < rois && members[end].map == members[begin].map) ++end;
    const Members of_map = members.subspan(begin, end - begin);
    if (turns(of_map, pooling.map(of_map.front().index))) {
      pool_turned(of_map, pooling, out, slots);
    } else {
      pool_plain(of_map, pooling, out);
    }
    begin = end;
  }
}

/// Whether it takes less long to turn the map first. Measured, in cycles.
bool TurnedRegions::turns(Members members, const RegionMap& map) const {
  constexpr double kPlainSample = 10;   // of a channel
  constexpr double kTurnedSample = 25;  // of kSampledChannels
  constexpr double kTurnedElement = 2;
  if (map.data == nullptr || params_.channels < kFewestTurnedChannels) return false;
  const double taken = samples(members.size());
  const auto channels = static_cast<double>(params_.channels);
  const auto blocks = static_cast<double>(divide_up(params_.channels, kSampledChannels));
  return kTurnedSample * blocks * taken + kTurnedElement * channels * static_cast<double>(map.positions) <
         kPlainSample * channels * taken;
}

void TurnedRegions::pool_plain(Members members, const RegionPooling& pooling, float* out) const {
  const std::size_t blocks = divide_up(params_.channels, kChannelsPerTask);
  const double sampled = samples(1) * static_cast<double>(std::min(params_.channels, kChannelsPerTask));
  parallel_for(members.size() * blocks, grain_for_cost(cost_of(sampled)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const std::size_t index = members[i / blocks].index;
                   const std::size_t first = i % blocks * kChannelsPerTask;
                   const std::size_t last = std::min(first + kChannelsPerTask, params_.channels);
                   pooling.plain(index, first, last, out + (index * params_.channels + first) * params_.bins);
                 }
               });
}

void TurnedRegions::pool_turned(Members members, const RegionPooling& pooling, float* out,
                                float* slots) const {
  const RegionMap map = pooling.map(members.front().index);
  const std::size_t parts = divide_up(members.size(), kRoisPerTask);
  for_each_group(
      divide_up(params_.channels, kSampledChannels), parts, cost_of(samples(kRoisPerTask)), workers_,
      [&](const GroupRange& range) {
        const std::size_t first = range.group * kSampledChannels;
        const std::size_t channels = std::min(kSampledChannels, params_.channels - first);
        float* const turned = slots + range.worker * slot_floats();
        float* const pooled = turned + round_up_to_line(map.positions * channels + kSampledChannels);
        if (!range.continues) {
          interleave_rows(map.data + first * map.positions, map.positions, channels, map.positions, turned);
          std::fill_n(turned + map.positions * channels, kSampledChannels, 0.0F);
        }
        const std::size_t last = std::min(range.last * kRoisPerTask, members.size());
        for (std::size_t i = range.first * kRoisPerTask; i < last; ++i) {
          const std::size_t index = members[i].index;
          std::fill_n(pooled, params_.bins * kSampledChannels, 0.0F);
          pooling.turned(index, turned, channels, pooled);
          interleave_rows(pooled, kSampledChannels, params_.bins, channels,
                          out + (index * params_.channels + first) * params_.bins);
        }
      });
}

}  // namespace ir::kernels
