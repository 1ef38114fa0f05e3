// Forms that kernels have made of constants, shared by all kernels that need the same form of the same
// constant: those of the same layer for other input shapes, mostly.
#ifndef KERNELS_SHARED_PACKING_H_
#define KERNELS_SHARED_PACKING_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/function_ref.h"

namespace ir::kernels {

/// Floats on a cache-line border, as long as somebody holds them.
using PackedFloats = std::shared_ptr<const float>;

/// All that packed floats depend on besides what they are made of.
struct PackedForm {
  std::string_view name;             ///< of the algorithm; a literal
  std::vector<const void*> kernels;  ///< the tables that it works with, which stand for the SIMD target
  std::vector<std::size_t> numbers;

  friend bool operator==(const PackedForm&, const PackedForm&) = default;
};

/// `count` floats that `pack` makes of `source`. Where sharing is in force and the source is (part of) a
/// constant, those that were made before, if somebody still holds them; the source is not read then.
PackedFloats packed_once(std::span<const float> source, PackedForm form, std::size_t count,
                         FunctionRef<void(float* to)> pack);

/// The forms that are held. Thread-safe.
class SharedForms {
 public:
  /// Those that somebody holds.
  [[nodiscard]] std::size_t count() const;

 private:
  friend PackedFloats packed_once(std::span<const float>, PackedForm, std::size_t,
                                  FunctionRef<void(float* to)>);

  struct Key {
    const float* source;
    std::size_t source_count;
    std::size_t count;
    PackedForm form;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::weak_ptr<const float> floats;
  };

  [[nodiscard]] PackedFloats find(const Key& key) const;
  /// Another thread may have been faster: then its floats are returned.
  PackedFloats keep(Key key, PackedFloats floats);
  [[nodiscard]] PackedFloats find_locked(const Key& key) const;

  // Guards entries_.
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// Sharing is in force on the thread that makes it, as long as it lives; an inner one takes the place of an
/// outer one. Kernels also pack what they have made themselves, which says nothing to others: only what lies
/// in one of the constants is shared. Whoever holds a form of them must keep them alive.
class PackingShared {
 public:
  /// `forms`: nullptr: nothing is shared.
  PackingShared(SharedForms* forms, std::vector<std::span<const float>> constants);
  ~PackingShared();
  PackingShared(const PackingShared&) = delete;
  PackingShared& operator=(const PackingShared&) = delete;

  /// The forms in force for `source`, or nullptr.
  static SharedForms* forms_for(std::span<const float> source);

 private:
  SharedForms* forms_;
  std::vector<std::span<const float>> constants_;
  PackingShared* outer_;
};

}  // namespace ir::kernels

#endif  // KERNELS_SHARED_PACKING_H_
