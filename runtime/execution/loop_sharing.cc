#include "runtime/execution/loop_sharing.h"

#include <algorithm>

namespace ir {
namespace {

using std::chrono::microseconds;

// Longer ones have loops that are worth sharing wherever the threads are, and a trial would be felt.
constexpr LoopSharing::Duration kLongest = microseconds(500);
constexpr LoopSharing::Duration kSampled = microseconds(300);
constexpr int kLeastPatience = 16;
constexpr int kMostPatience = 256;
constexpr LoopSharing::Duration kLongestPatience = std::chrono::milliseconds(500);
// The other way has to be faster by a 32nd.
constexpr int kMargin = 32;

}  // namespace

bool LoopSharing::Sample::add(Duration time) {
  last[inferences % kLeast] = time;
  ++inferences;
  sum += time;
  return inferences >= kLeast && sum >= kSampled;
}

LoopSharing::Duration LoopSharing::Sample::median() const {
  auto sorted = last;
  std::ranges::nth_element(sorted, sorted.begin() + kLeast / 2);
  return sorted[kLeast / 2];
}

void LoopSharing::took(Duration time) {
  if (phase_ == Phase::settled) {
    left_ -= time;
    if (left_ <= Duration::zero()) begin(Phase::measured);
    return;
  }
  if (!sample_.add(time)) return;
  const Duration median = sample_.median();
  if (phase_ == Phase::measured) {
    usual_ = median;
    if (shares_ && median > kLongest) return settle(kMostPatience);
    shares_ = !shares_;
    return begin(Phase::trial);
  }
  if (median < usual_ - usual_ / kMargin) return settle(kLeastPatience);
  shares_ = !shares_;
  settle(std::clamp(2 * patience_, kLeastPatience, kMostPatience));
}

void LoopSharing::settle(int patience) {
  phase_ = Phase::settled;
  patience_ = patience;
  left_ = std::min<Duration>(patience * sample_.sum, kLongestPatience);
}

void LoopSharing::begin(Phase phase) {
  phase_ = phase;
  sample_ = {};
}

}  // namespace ir
