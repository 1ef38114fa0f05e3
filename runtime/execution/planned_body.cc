#include "runtime/execution/planned_body.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/execution/executable.h"
#include "runtime/execution/memory_need.h"
#include "runtime/execution/run_state.h"

namespace ir {
namespace {

// For as many plans as an Executable keeps in any case. Where memory is limited only that of the last run:
// the next one mostly has its shapes.
constexpr std::size_t kKeptStates = 8;

class PlannedBody final : public BodyRunner {
 public:
  PlannedBody(std::shared_ptr<const Model> body, const CompileOptions& options, Variables* variables,
              std::shared_ptr<kernels::SharedForms> forms)
      : executable_(std::move(body), options, std::move(forms)),
        variables_(variables),
        kept_states_(is_memory_limited(options) ? 1 : kKeptStates) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) override {
    std::unique_ptr<RunState> state = take_state(executable_.plan_for(shapes_of(inputs)));
    state->run(inputs);
    std::vector<Tensor> outputs;
    // The state's memory is written again by the next run.
    for (std::size_t i = 0; i < state->plan().outputs.size(); ++i)
      outputs.push_back(state->output(i).clone());
    const std::lock_guard lock(mutex_);
    // The oldest goes: its plan may not be kept any more, and no run would ever take it.
    if (idle_.size() == kept_states_) idle_.pop_front();
    idle_.push_back(std::move(state));
    return outputs;
  }

 private:
  std::unique_ptr<RunState> take_state(std::shared_ptr<const Plan> plan) {
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::ranges::find_if(idle_, [&](const auto& state) { return &state->plan() == plan.get(); });
      if (found != idle_.end()) {
        std::unique_ptr<RunState> state = std::move(*found);
        idle_.erase(found);
        return state;
      }
      // What would go anyway goes before the new one takes memory.
      if (idle_.size() == kept_states_) idle_.pop_front();
    }
    return std::make_unique<RunState>(std::move(plan), executable_.options(), variables_);
  }

  Executable executable_;
  Variables* variables_;
  std::size_t kept_states_;
  // Guards idle_.
  std::mutex mutex_;
  std::deque<std::unique_ptr<RunState>> idle_;
};

}  // namespace

std::unique_ptr<BodyRunner> planned_body(std::shared_ptr<const Model> body, const CompileOptions& options,
                                         Variables* variables, std::shared_ptr<kernels::SharedForms> forms) {
  return std::make_unique<PlannedBody>(std::move(body), options, variables, std::move(forms));
}

}  // namespace ir
