#include "runtime/execution/loop_sharing.h"

#include <algorithm>

namespace ir {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Longer ones have loops that are worth sharing wherever the threads are.
constexpr LoopSharing::Duration kLongest = milliseconds(4);
constexpr LoopSharing::Duration kSampled = microseconds(300);
constexpr int kLeastPatience = 16;
constexpr int kMostPatience = 256;
// From one trial to the next at most, the longer of them.
constexpr LoopSharing::Duration kLongestPatience = milliseconds(500);
constexpr int kMostInferences = 500;
// The other way has to be faster by a 32nd.
constexpr int kMargin = 32;
// Two inferences that are slower by a quarter are hopeless.
constexpr std::size_t kLeastHopeless = 2;
constexpr int kHopelessMargin = 4;

}  // namespace

void LoopSharing::Sample::add(Duration time) {
  last[inferences % kLeast] = time;
  ++inferences;
  sum += time;
  fastest = std::min(fastest, time);
}

bool LoopSharing::Sample::is_complete() const { return inferences >= kLeast && sum >= kSampled; }

bool LoopSharing::Sample::is_hopeless(Duration usual) const {
  return inferences >= kLeastHopeless && sum >= kSampled && fastest > usual + usual / kHopelessMargin;
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
  sample_.add(time);
  if (phase_ == Phase::trial && sample_.is_hopeless(usual_)) return give_up();
  if (!sample_.is_complete()) return;
  const Duration median = sample_.median();
  if (phase_ == Phase::measured) {
    usual_ = median;
    if (shares_ && median > kLongest) return settle(kMostPatience);
    shares_ = !shares_;
    return begin(Phase::trial);
  }
  if (median < usual_ - usual_ / kMargin) return settle(kLeastPatience);
  give_up();
}

void LoopSharing::give_up() {
  shares_ = !shares_;
  settle(std::clamp(2 * patience_, kLeastPatience, kMostPatience));
}

void LoopSharing::settle(int patience) {
  phase_ = Phase::settled;
  patience_ = patience;
  left_ = std::min<Duration>(patience * sample_.sum, std::max(kLongestPatience, kMostInferences * usual_));
}

void LoopSharing::begin(Phase phase) {
  phase_ = phase;
  sample_ = {};
}

}  // namespace ir
