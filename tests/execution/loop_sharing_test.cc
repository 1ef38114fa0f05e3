// Inferences share their loops as long as that is the faster way, on a machine whose times are made up.
#include "runtime/execution/loop_sharing.h"

#include "tests/catch.h"

namespace ir::test {
namespace {

using std::chrono::microseconds;
using Duration = LoopSharing::Duration;

/// What inferences take on the machine just now.
struct Machine {
  Duration shared;
  Duration alone;
  [[nodiscard]] Duration time(bool shares) const { return shares ? shared : alone; }
};

struct Counts {
  int inferences = 0;
  int shared = 0;
  [[nodiscard]] double share() const { return static_cast<double>(shared) / inferences; }
};

/// Inferences until so much time has gone by.
Counts run(LoopSharing& sharing, const Machine& machine, Duration duration) {
  Counts counts;
  for (Duration now{0}; now < duration;) {
    const bool shares = sharing.shares();
    const Duration time = machine.time(shares);
    sharing.took(time);
    now += time;
    ++counts.inferences;
    counts.shared += shares ? 1 : 0;
  }
  return counts;
}

constexpr Duration kSecond = std::chrono::seconds(1);

}  // namespace

TEST_CASE("Loops are shared from the first inference on, where that is faster", "[parallel]") {
  LoopSharing sharing;
  const int duration = GENERATE(3, 60, 400, 1500, 3500);
  const Machine near{microseconds(duration), microseconds(2 * duration)};
  for (int i = 0; i < 9; ++i) {
    REQUIRE(sharing.shares());
    sharing.took(near.time(true));
  }
  const double begin = run(sharing, near, std::chrono::milliseconds(500)).share();
  CHECK(begin > 0.93);
  CHECK(begin < 1);
  CHECK(run(sharing, near, kSecond).share() > 0.98);
}

TEST_CASE("Loops are not shared where that is slower, and again when it is faster", "[parallel]") {
  LoopSharing sharing;
  const int duration = GENERATE(3, 60, 400, 1500, 3500);
  const Machine far{microseconds(duration), microseconds(duration * 2 / 3)};
  const Machine near{microseconds(duration), microseconds(2 * duration)};
  for (int i = 0; i < 3; ++i) {
    run(sharing, far, 2 * kSecond);
    CHECK(run(sharing, far, kSecond).share() < 0.02);
    run(sharing, near, 2 * kSecond);
    CHECK(run(sharing, near, kSecond).share() > 0.98);
  }
}

TEST_CASE("Two inferences are enough where the other way is slower by far", "[parallel]") {
  LoopSharing sharing;
  run(sharing, {microseconds(2000), microseconds(3600)}, kSecond);
  const Counts counts = run(sharing, {microseconds(2000), microseconds(3600)}, 10 * kSecond);
  const int alone = counts.inferences - counts.shared;
  CHECK(alone >= 10);
  CHECK(alone <= 24);
  CHECK(alone % 2 == 0);
}

TEST_CASE("A slow inference after the threads slept does not end a trial", "[parallel]") {
  LoopSharing sharing;
  const Machine far{microseconds(1500), microseconds(1000)};
  run(sharing, far, 2 * kSecond);
  REQUIRE_FALSE(sharing.shares());
  bool shared_before = false;
  for (int i = 0; i < 10000 && !(sharing.shares() && shared_before); ++i) {
    const bool shares = sharing.shares();
    sharing.took(!shares ? microseconds(1000) : shared_before ? microseconds(600) : microseconds(5000));
    shared_before = shares;
  }
  CHECK(run(sharing, {microseconds(600), microseconds(1000)}, kSecond).share() > 0.98);
}

TEST_CASE("Small differences change nothing", "[parallel]") {
  LoopSharing sharing;
  run(sharing, {microseconds(100), microseconds(99)}, kSecond);
  CHECK(sharing.shares());
}

TEST_CASE("One inference in three that is disturbed changes nothing", "[parallel]") {
  LoopSharing sharing;
  int inferences = 0;
  int shared = 0;
  for (; inferences < 10000; ++inferences) {
    shared += sharing.shares() ? 1 : 0;
    sharing.took(microseconds((sharing.shares() ? 100 : 150) + (inferences % 3 == 0 ? 1000 : 0)));
  }
  CHECK(shared > 9300);
}

TEST_CASE("Long inferences always share their loops", "[parallel]") {
  LoopSharing sharing;
  const Counts counts = run(sharing, {microseconds(4500), microseconds(2200)}, 20 * kSecond);
  CHECK(counts.shared == counts.inferences);
}

}  // namespace ir::test
