#include "runtime/execution/plan_memory.h"

#include <algorithm>
#include "tests/catch.h"

namespace ir {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::size_t kValueBytes = 4 * kMegabyte;

// Steps in a row, each of which makes a value of the one before; with so much scratch each.
Plan chain(const std::vector<std::size_t>& scratch_bytes) {
  Plan plan;
  for (std::size_t i = 0; i <= scratch_bytes.size(); ++i) {
    const Storage storage = i == 0 ? Storage::input : Storage::arena;
    plan.values.push_back({ElementType::u8, {std::int64_t{kValueBytes}}, {storage, 0, 0}});
  }
  for (std::size_t i = 0; i < scratch_bytes.size(); ++i) {
    PlanStep step;
    step.inputs = {i};
    step.outputs = {i + 1};
    step.kernel.run = [](const StepMemory&) {};
    step.kernel.scratch_bytes = scratch_bytes[i];
    plan.steps.push_back(std::move(step));
  }
  plan.outputs.push_back({scratch_bytes.size()});
  return plan;
}

bool lies_apart(const Plan& plan, std::size_t begin, std::size_t end) {
  return std::ranges::all_of(plan.values, [&](const PlanValue& value) {
    const Place& place = value.place;
    return place.storage != Storage::arena || place.offset + kValueBytes <= begin || end <= place.offset;
  });
}

}  // namespace

TEST_CASE("Scratch of several workers lies at one place of its own") {
  Plan plan = chain({kMegabyte, 2 * kMegabyte, 0, kMegabyte, kMegabyte});
  place_values(plan, true, 2);
  const std::size_t begin = plan.steps[0].scratch_offset;
  for (const PlanStep& step : plan.steps) CHECK(step.scratch_offset == begin);
  CHECK(lies_apart(plan, begin, begin + 2 * kMegabyte));
  CHECK(plan.arena_bytes == 2 * kValueBytes + 2 * kMegabyte);
}

TEST_CASE("Scratch of one worker lies where values lie at other times") {
  Plan plan = chain({0, 0, kMegabyte, 0, kValueBytes});
  place_values(plan, true, 1);
  // Two values are there at a time, but for the last step, whose output lies elsewhere.
  CHECK(plan.arena_bytes == 2 * kValueBytes + kMegabyte);
  CHECK(plan.steps[4].scratch_offset + kValueBytes <= plan.arena_bytes);
}

TEST_CASE("Scratch that is larger than the caches lies where there is room") {
  constexpr std::size_t kLarge = 3 * kValueBytes;
  Plan plan = chain({kMegabyte, 0, kLarge});
  place_values(plan, true, 2);
  CHECK(plan.steps[0].scratch_offset == plan.steps[1].scratch_offset);
  // Beside one value and what is kept.
  CHECK(plan.arena_bytes == kLarge + kValueBytes + kMegabyte);
  CHECK(plan.steps[2].scratch_offset != plan.steps[0].scratch_offset);
}

}  // namespace ir
