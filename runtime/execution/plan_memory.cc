#include "runtime/execution/plan_memory.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir_runtime/ops/movement.h"
#include "runtime/execution/arena.h"
#include "runtime/model/state.h"

namespace ir {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Of a worker, about what its core keeps.
constexpr std::size_t kMostScratch = std::size_t{4} << 20;

// Memory that one or more values share: the value that owns it, and when it is in use.
struct Buffer {
  Storage storage = Storage::arena;
  std::size_t index = kNone;
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

class ValuePlacement {
 public:
  ValuePlacement(Plan& plan, bool shares_memory, std::size_t workers)
      : plan_(plan), shares_memory_(shares_memory), most_kept_(workers > 1 ? workers * kMostScratch : 0) {
    for (ValueId id = 0; id < plan.values.size(); ++id) {
      const Place& place = plan.values[id].place;
      const std::size_t bytes = place.storage == Storage::arena ? bytes_of_value(id) : 0;
      buffers_.push_back({place.storage, place.index, bytes, kNone, 0});
      buffer_of_.push_back(id);
      members_.push_back({id});
    }
  }

  void place() {
    count_uses();
    share_buffers();
    place_blocks();
  }

 private:
  void count_uses() {
    for (std::size_t step = 0; step < plan_.steps.size(); ++step) {
      for (const ValueId id : plan_.steps[step].outputs) use(id, step);
      for (const ValueId id : plan_.steps[step].inputs) use(id, step);
    }
    for (const PlanOutput& output : plan_.outputs) use(output.value, plan_.steps.size());
  }

  void use(ValueId id, std::size_t step) {
    Buffer& buffer = buffers_[id];
    if (buffer.first == kNone) buffer.first = step;
    buffer.last = std::max(buffer.last, step);
  }

  // All that lies in one buffer moves to another one, which then is in use as long as either.
  void merge(std::size_t from, std::size_t into, std::size_t offset) {
    Buffer& target = buffers_[into];
    target.first = std::min(target.first, buffers_[from].first);
    target.last = std::max(target.last, buffers_[from].last);
    for (const ValueId id : members_[from]) {
      buffer_of_[id] = into;
      plan_.values[id].place.offset += offset;
      members_[into].push_back(id);
    }
    members_[from].clear();
  }

  // The value becomes part of another value's memory.
  void join(ValueId id, ValueId owner, std::size_t offset) {
    merge(buffer_of_[id], buffer_of_[owner], plan_.values[owner].place.offset + offset);
  }

  // Whether the value is all of a buffer in the arena.
  [[nodiscard]] bool fills_buffer(ValueId id) const {
    const Buffer& buffer = buffers_[buffer_of_[id]];
    return buffer.storage == Storage::arena && plan_.values[id].place.offset == 0 &&
           buffer.bytes == bytes_of_value(id);
  }

  // A step that only puts its inputs side by side has nothing to do when they are computed there: in its
  // output, or where they lie side by side already, as the beginning of a longer row of them.
  void assemble(PlanStep& step) {
    const std::vector<std::size_t>& offsets = step.kernel.assembled;
    const ValueId whole = step.outputs[0];
    const std::size_t found = buffer_of_[step.inputs[0]];
    const std::size_t begin = plan_.values[step.inputs[0]].place.offset - offsets[0];
    bool lie_there = buffers_[found].storage == Storage::arena && found != buffer_of_[whole];
    bool are_free = true;
    std::unordered_set<std::size_t> buffers{buffer_of_[whole]};
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const ValueId id = step.inputs[i];
      lie_there = lie_there && buffer_of_[id] == found && plan_.values[id].place.offset == begin + offsets[i];
      are_free = are_free && fills_buffer(id) && buffers.insert(buffer_of_[id]).second;
    }
    if (lie_there && fills_buffer(whole)) {
      merge(buffer_of_[whole], found, begin);
    } else if (are_free && buffers_[buffer_of_[whole]].storage == Storage::arena) {
      for (std::size_t i = 0; i < offsets.size(); ++i) join(step.inputs[i], whole, offsets[i]);
    } else {
      return;
    }
    step.kernel.run = nullptr;
    step.kernel.views = {{0, 0}};
  }

  // Views lie in their input, parts in what they become; a step may write over an input that nobody reads
  // later; results are computed in the output tensor where that is possible.
  void share_buffers() {
    for (const PlanStep& step : plan_.steps) {
      for (std::size_t i = 0; i < step.kernel.views.size(); ++i) {
        join(step.outputs[i], step.inputs[step.kernel.views[i].input], step.kernel.views[i].byte_offset);
      }
    }
    // Longer rows, which are made later, first.
    for (auto step = plan_.steps.rbegin(); shares_memory_ && step != plan_.steps.rend(); ++step) {
      if (!step->kernel.assembled.empty()) assemble(*step);
    }
    for (std::size_t index = 0; shares_memory_ && index < plan_.steps.size(); ++index) {
      if (plan_.steps[index].kernel.run != nullptr) reuse_input(plan_.steps[index], index);
    }
    const std::unordered_set<std::size_t> kept = kept_by_variables();
    std::unordered_set<std::size_t> taken;
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      PlanOutput& output = plan_.outputs[i];
      Buffer& buffer = buffers_[buffer_of_[output.value]];
      const bool whole =
          plan_.values[output.value].place.offset == 0 && buffer.bytes == bytes_of_value(output.value);
      if (buffer.storage == Storage::slot) {
        output.copied = kept.contains(buffer_of_[output.value]);
      } else if (buffer.storage == Storage::arena && whole && taken.insert(buffer_of_[output.value]).second) {
        buffer.storage = Storage::output;
        buffer.index = i;
        output.copied = false;
      }
    }
  }

  // Buffers that variables share, and which assignments may take theirs over. A Concat that is assigned may
  // find its first input in the variable.
  std::unordered_set<std::size_t> kept_by_variables() {
    std::unordered_set<std::size_t> kept;
    std::unordered_map<ValueId, PlanStep*> concats;
    for (PlanStep& step : plan_.steps) {
      if (step.kind == StepKind::read_variable) kept.insert(buffer_of_[step.outputs[0]]);
      if (step.deferred() && step.node->op().is<op::v0::Concat>()) concats[step.outputs[0]] = &step;
    }
    for (PlanStep& step : plan_.steps) {
      if (step.kind != StepKind::assign_variable) continue;
      const std::size_t buffer = buffer_of_[step.inputs[0]];
      // Not a view, whose memory is only a part or has another shape.
      step.takes_memory =
          buffers_[buffer].storage == Storage::slot && buffer == step.inputs[0] && kept.insert(buffer).second;
      if (!step.takes_memory) continue;
      const auto concat = concats.find(step.inputs[0]);
      if (concat != concats.end()) concat->second->appends_to = variable_assigned_by(step.node->op());
    }
    return kept;
  }

  std::size_t bytes_of_value(ValueId id) const {
    const PlanValue& value = plan_.values[id];
    if (!value.shape.is_static()) return kNone;
    return static_cast<std::size_t>(
        storage_bytes(value.type, value.shape.element_count().value()).value_or(-1));
  }

  void reuse_input(const PlanStep& step, std::size_t index) {
    if (step.kernel.in_place.empty() || !fills_buffer(step.outputs[0])) return;
    for (const std::size_t input : step.kernel.in_place) {
      const ValueId from = step.inputs[input];
      const Buffer& buffer = buffers_[buffer_of_[from]];
      // The same value twice among the inputs would be overwritten while it is read.
      const bool once = std::ranges::count_if(
                            step.inputs, [&](ValueId id) { return buffer_of_[id] == buffer_of_[from]; }) == 1;
      const bool dies = buffer.storage == Storage::arena && buffer.last == index;
      if (!once || !dies || buffer.bytes != bytes_of_value(step.outputs[0])) continue;
      if (plan_.values[from].place.offset != 0) continue;
      join(step.outputs[0], from, 0);
      return;
    }
  }

  // What all steps with little scratch share for good: where values lie in turn, lines of memory would come
  // from the caches of other cores.
  [[nodiscard]] std::size_t kept_scratch() const {
    std::size_t most = 0;
    for (const PlanStep& step : plan_.steps) {
      if (step.kernel.scratch_bytes <= most_kept_) most = std::max(most, step.kernel.scratch_bytes);
    }
    return most;
  }

  void place_blocks() {
    std::vector<ArenaBlock> blocks;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      // A value that joined another one left its own buffer empty.
      if (buffers_[i].storage != Storage::arena || buffer_of_[i] != i) continue;
      const auto [first, last] = shares_memory_ ? std::pair(buffers_[i].first, buffers_[i].last)
                                                : std::pair(std::size_t{0}, plan_.steps.size());
      blocks.push_back({buffers_[i].bytes, first, last});
      owners.push_back(i);
    }
    const std::size_t values = blocks.size();
    blocks.push_back({kept_scratch(), 0, plan_.steps.size()});
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].kernel.scratch_bytes > most_kept_)
        blocks.push_back({plan_.steps[i].kernel.scratch_bytes, i, i});
    }
    const ArenaLayout layout = lay_out(blocks);
    for (std::size_t i = 0; i < values; ++i) buffers_[owners[i]].index = layout.offsets[i];
    for (PlanStep& step : plan_.steps) step.scratch_offset = layout.offsets[values];
    for (std::size_t i = values + 1; i < blocks.size(); ++i)
      plan_.steps[blocks[i].first].scratch_offset = layout.offsets[i];
    plan_.arena_bytes = layout.bytes;
    for (ValueId id = 0; id < plan_.values.size(); ++id) {
      const Buffer& buffer = buffers_[buffer_of_[id]];
      Place& place = plan_.values[id].place;
      place.storage = buffer.storage;
      if (buffer.storage == Storage::arena) {
        place.offset += buffer.index;
      } else {
        place.index = buffer.index;
      }
    }
    std::erase_if(plan_.steps, [](const PlanStep& step) { return !step.kernel.views.empty(); });
  }

  Plan& plan_;
  bool shares_memory_;
  /// Scratch of one worker is in its caches anyway, and large one does not stay there.
  std::size_t most_kept_;
  /// One per value; a value may lie in another one's.
  std::vector<Buffer> buffers_;
  std::vector<std::size_t> buffer_of_;
  /// The values in each buffer.
  std::vector<std::vector<ValueId>> members_;
};

}  // namespace

void place_values(Plan& plan, bool shares_memory, std::size_t workers) {
  ValuePlacement(plan, shares_memory, workers).place();
}

}  // namespace ir
