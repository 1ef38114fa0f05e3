#include "kernels/weights/shared_packing.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

thread_local PackingShared* in_force = nullptr;
thread_local const MadeOfConstant* last_made = nullptr;

bool lies_in(std::span<const float> part, std::span<const float> whole) {
  const std::less_equal<> at_or_before;
  return at_or_before(whole.data(), part.data()) &&
         at_or_before(part.data() + part.size(), whole.data() + whole.size());
}

constexpr std::size_t kPageFloats = kLargePage / sizeof(float);

/// Has large pages brought into memory by one thread each: where two of them miss one at the same time, the
/// system has both clear one.
void touch_pages(float* floats, std::size_t pages) {
  parallel_for(pages, 1, [floats](std::size_t begin, std::size_t end) {
    for (std::size_t page = begin; page < end; ++page) floats[page * kPageFloats] = 0;
  });
}

}  // namespace

PackedFloats packed_once(std::span<const float> source, PackedForm form, std::size_t count,
                         FunctionRef<void(float* to)> pack) {
  PackingShared* const sharing = in_force;
  // Without a lock: other constants are packed meanwhile.
  const auto made = [&] {
    std::shared_ptr<float> floats;
    if (sharing != nullptr && sharing->forms_ != nullptr) floats = sharing->forms_->take(count);
    if (floats == nullptr) {
      const auto own = std::make_shared<AlignedFloats>(count);
      floats = {own, own->data()};
      // Larger ones come into memory as what they are made of leaves it.
      if (count < SharedForms::kOwnPages / sizeof(float)) touch_pages(floats.get(), count / kPageFloats);
    }
    pack(floats.get());
    return PackedFloats(floats);
  };
  std::vector<PackedForm> ways;
  const std::span<const float> origin = MadeOfConstant::origin_of(source, ways);
  if (sharing == nullptr) return made();
  if (!sharing->shares(origin)) {
    sharing->has_packed_ = true;
    return made();
  }
  SharedForms::Key key{origin.data(), origin.size(), count, std::move(form), std::move(ways)};
  PackedFloats floats = sharing->forms_->find(key);
  if (floats == nullptr) {
    sharing->has_packed_ = true;
    floats = sharing->forms_->keep(std::move(key), made());
  }
  if (sharing->recent_ != nullptr) sharing->recent_->use(floats, count);
  return floats;
}

void SharedForms::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (reserved_ != nullptr) reserved_->give_back(floats_left_);
  reserved_ = nullptr;
  floats_left_ = 0;
  pages_left_ = 0;
  const std::size_t pages = bytes / kLargePage;
  if (pages == 0) return;
  try {
    reserved_ = std::make_shared<AlignedFloats>(pages * kPageFloats);
  } catch (const std::bad_alloc&) {
    return;
  }
  floats_left_ = pages * kPageFloats;
  pages_left_ = pages;
}

std::shared_ptr<float> SharedForms::take(std::size_t count) {
  const std::size_t size = round_up_to_line(count);
  const std::lock_guard lock(mutex_);
  if (size > floats_left_ || size >= kOwnPages / sizeof(float)) return nullptr;
  floats_left_ -= size;
  if (const std::size_t first = floats_left_ / kPageFloats; first < pages_left_)
    touch_pages(reserved_->data() + first * kPageFloats, std::exchange(pages_left_, first) - first);
  return {reserved_, reserved_->data() + floats_left_};
}

std::size_t SharedForms::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return !entry.floats.expired(); }));
}

std::size_t SharedForms::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t floats = 0;
  for (const Entry& entry : entries_) floats += entry.floats.expired() ? 0 : entry.key.count;
  return floats * sizeof(float);
}

void SharedForms::forget(std::span<const float> constant) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (lies_in({entry.key.source, entry.key.source_count}, constant)) entry.key.source = nullptr;
  }
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

void RecentForms::use(const PackedFloats& floats, std::size_t count) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(forms_, floats, &Form::floats);
  if (known == forms_.end()) {
    forms_.push_back({floats, count * sizeof(float)});
  } else {
    std::rotate(known, known + 1, forms_.end());
  }
}

void RecentForms::trim(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::size_t kept = 0;
  for (auto form = forms_.rbegin(); form != forms_.rend(); ++form) {
    if (form->floats.use_count() > 1) continue;
    kept += form->bytes;
    if (kept > bytes) form->floats = nullptr;
  }
  std::erase_if(forms_, [](const Form& form) { return form.floats == nullptr; });
}

PackingShared::PackingShared(SharedForms* forms, std::vector<std::span<const float>> constants,
                             RecentForms* recent)
    : forms_(forms),
      constants_(std::move(constants)),
      recent_(recent),
      outer_(std::exchange(in_force, this)) {}

PackingShared::~PackingShared() { in_force = outer_; }

bool PackingShared::shares(std::span<const float> source) const {
  return forms_ != nullptr && std::ranges::any_of(constants_, [&](std::span<const float> constant) {
           return lies_in(source, constant);
         });
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
