// Damage to model files: the same for the same seed on any machine.
#ifndef TESTS_HOSTILE_MUTATIONS_H_
#define TESTS_HOSTILE_MUTATIONS_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace ir::hostile {

/// One change per call.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  /// Drops, doubles, swaps or moves an element, drops, renames or rewrites an attribute or a text, changes a
  /// number or the type of an operation, cuts the end off, splices in a part of `other`, or turns a bit.
  std::string xml(std::string text, std::string_view other);

  /// Cuts, lengthens, zeroes, turns a bit, copies a part to another place or from `other`, or writes a number
  /// that is often too large.
  std::string weights(std::string bytes, std::string_view other);

  /// In [0, count), or 0.
  std::size_t below(std::size_t count) {
    return count == 0 ? 0 : static_cast<std::size_t>(random_() % count);
  }

 private:
  std::string number_near(std::string_view value);
  std::string value_instead_of(std::string_view value);
  void change_elements(std::string& text, std::string_view other);
  void change_attribute(std::string& text);
  void change_text(std::string& text);
  void change_bytes(std::string& bytes, std::string_view other);

  std::mt19937_64 random_;
};

}  // namespace ir::hostile

#endif  // TESTS_HOSTILE_MUTATIONS_H_
