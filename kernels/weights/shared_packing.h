// Forms that kernels have made of constants, shared by all kernels that need the same form of the same
// constant: those of the same layer for other input shapes, and of layers that have their weights in common.
#ifndef KERNELS_WEIGHTS_SHARED_PACKING_H_
#define KERNELS_WEIGHTS_SHARED_PACKING_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/threads/function_ref.h"

namespace ir::kernels {

class AlignedFloats;

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
/// constant, or MadeOfConstant, those that were made before, if somebody still holds them; the source is not
/// read then.
PackedFloats packed_once(std::span<const float> source, PackedForm form, std::size_t count,
                         FunctionRef<void(float* to)> pack);

/// The forms that are held. Thread-safe.
class SharedForms {
 public:
  /// Forms that are made from now on lie one behind the other in as many large pages as `bytes` fill, as far
  /// as they fit; 0: no more of them, and what is left goes back to the system. That has a few pages to clear
  /// and to find then, not many small ones. All of it stays as long as somebody holds a form that lies there.
  /// Where there is no memory for that, every form has its own.
  void reserve(std::size_t bytes);
  /// From so many bytes on a form has pages of its own anyway: little of it lies in small ones.
  static constexpr std::size_t kOwnPages = 32 * kLargePage;

  /// Those that somebody holds, and what they take.
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::size_t bytes() const;

  /// Nobody is given forms of that constant any more: something else may come to lie in its place.
  void forget(std::span<const float> constant);

 private:
  friend PackedFloats packed_once(std::span<const float>, PackedForm, std::size_t,
                                  FunctionRef<void(float* to)>);

  struct Key {
    const float* source;
    std::size_t source_count;
    std::size_t count;
    PackedForm form;
    std::vector<PackedForm> ways;  ///< how what is packed was made of the source, the last one first

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::weak_ptr<const float> floats;
  };

  /// Memory for a form out of what is reserved; nullptr where it does not fit.
  [[nodiscard]] std::shared_ptr<float> take(std::size_t count);
  [[nodiscard]] PackedFloats find(const Key& key) const;
  /// Another thread may have been faster: then its floats are returned.
  PackedFloats keep(Key key, PackedFloats floats);
  [[nodiscard]] PackedFloats find_locked(const Key& key) const;

  // Guards all that follows.
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::shared_ptr<AlignedFloats> reserved_;
  std::size_t floats_left_ = 0;  ///< of what is reserved, at its start
  std::size_t pages_left_ = 0;   ///< that are not in memory yet, at its start
};

/// The forms that plans have used last, which may take them up again after they have let go of them: shapes
/// that come back do, and new ones often need the forms of others. Thread-safe.
class RecentForms {
 public:
  void use(const PackedFloats& floats, std::size_t count);
  /// Lets go of those that nobody else holds, the least recently used first, until such ones take no more
  /// than `bytes`.
  void trim(std::size_t bytes);

 private:
  struct Form {
    PackedFloats floats;
    std::size_t bytes = 0;
  };

  // Guards forms_.
  std::mutex mutex_;
  /// The least recently used first.
  std::vector<Form> forms_;
};

/// Sharing is in force on the thread that makes it, as long as it lives; an inner one takes the place of an
/// outer one. Only what lies in one of the constants is shared, and what is known to be made of that: other
/// memory of kernels' own says nothing to others. Whoever holds a form of a constant must keep that alive.
class PackingShared {
 public:
  /// `forms`: nullptr: nothing is shared. `recent`: is told what is used; may be nullptr.
  PackingShared(SharedForms* forms, std::vector<std::span<const float>> constants,
                RecentForms* recent = nullptr);
  ~PackingShared();
  PackingShared(const PackingShared&) = delete;
  PackingShared& operator=(const PackingShared&) = delete;

  /// Whether something was packed, that is, constants were read.
  [[nodiscard]] bool has_packed() const { return has_packed_; }

 private:
  friend PackedFloats packed_once(std::span<const float>, PackedForm, std::size_t,
                                  FunctionRef<void(float* to)>);

  /// Whether `source` lies in one of the constants, and their forms are shared.
  [[nodiscard]] bool shares(std::span<const float> source) const;

  SharedForms* forms_;
  std::vector<std::span<const float>> constants_;
  RecentForms* recent_;
  PackingShared* outer_;
  bool has_packed_ = false;
};

/// Tells, as long as it lives and on the thread that makes it, what a kernel has made of (part of) a constant
/// to pack that instead.
class MadeOfConstant {
 public:
  /// `way`: all that `made` depends on besides the source.
  MadeOfConstant(std::span<const float> made, std::span<const float> source, PackedForm way);
  ~MadeOfConstant();
  MadeOfConstant(const MadeOfConstant&) = delete;
  MadeOfConstant& operator=(const MadeOfConstant&) = delete;

  /// What `made` is made of, and in which ways, the last one first; itself where nothing is known.
  static std::span<const float> origin_of(std::span<const float> made, std::vector<PackedForm>& ways);

 private:
  std::span<const float> made_;
  std::span<const float> source_;
  PackedForm way_;
  const MadeOfConstant* outer_;
};

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_SHARED_PACKING_H_
