#include "kernels/shared_packing.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/aligned_floats.h"

namespace ir::kernels {
namespace {

thread_local PackingShared* in_force = nullptr;
thread_local const MadeOfConstant* last_made = nullptr;

bool lies_in(std::span<const float> part, std::span<const float> whole) {
  const std::less_equal<> at_or_before;
  return at_or_before(whole.data(), part.data()) &&
         at_or_before(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

PackedFloats packed_once(std::span<const float> source, PackedForm form, std::size_t count,
                         FunctionRef<void(float* to)> pack) {
  std::vector<PackedForm> ways;
  const std::span<const float> origin = MadeOfConstant::origin_of(source, ways);
  SharedForms* const forms = PackingShared::forms_for(origin);
  SharedForms::Key key{origin.data(), origin.size(), count, std::move(form), std::move(ways)};
  if (forms != nullptr) {
    if (PackedFloats found = forms->find(key)) return found;
  }
  // Without the lock: packing runs parallel loops, and a thread that waits for one to end may take over work
  // that packs, too.
  const auto floats = std::make_shared<AlignedFloats>(count);
  pack(floats->data());
  PackedFloats packed(floats, floats->data());
  return forms == nullptr ? packed : forms->keep(std::move(key), std::move(packed));
}

std::size_t SharedForms::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return !entry.floats.expired(); }));
}

PackedFloats SharedForms::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  return find_locked(key);
}

PackedFloats SharedForms::keep(Key key, PackedFloats floats) {
  const std::lock_guard lock(mutex_);
  if (PackedFloats others = find_locked(key)) return others;
  std::erase_if(entries_, [](const Entry& entry) { return entry.floats.expired(); });
  entries_.push_back({std::move(key), floats});
  return floats;
}

PackedFloats SharedForms::find_locked(const Key& key) const {
  for (const Entry& entry : entries_) {
    if (entry.key != key) continue;
    if (PackedFloats floats = entry.floats.lock()) return floats;
  }
  return nullptr;
}

PackingShared::PackingShared(SharedForms* forms, std::vector<std::span<const float>> constants)
    : forms_(forms), constants_(std::move(constants)), outer_(std::exchange(in_force, this)) {}

PackingShared::~PackingShared() { in_force = outer_; }

SharedForms* PackingShared::forms_for(std::span<const float> source) {
  if (in_force == nullptr) return nullptr;
  const bool is_constant = std::ranges::any_of(
      in_force->constants_, [&](std::span<const float> constant) { return lies_in(source, constant); });
  return is_constant ? in_force->forms_ : nullptr;
}

MadeOfConstant::MadeOfConstant(std::span<const float> made, std::span<const float> source, PackedForm way)
    : made_(made), source_(source), way_(std::move(way)), outer_(std::exchange(last_made, this)) {}

MadeOfConstant::~MadeOfConstant() { last_made = outer_; }

std::span<const float> MadeOfConstant::origin_of(std::span<const float> made, std::vector<PackedForm>& ways) {
  for (const MadeOfConstant* known = last_made; known != nullptr; known = known->outer_) {
    if (!lies_in(made, known->made_)) continue;
    PackedForm& way = ways.emplace_back(known->way_);
    way.numbers.push_back(static_cast<std::size_t>(made.data() - known->made_.data()));
    way.numbers.push_back(made.size());
    made = known->source_;
  }
  return made;
}

}  // namespace ir::kernels
