// Constants that kernels must not read again once they say that they have packed them.
#ifndef TESTS_KERNELS_WEIGHTS_SPOILS_PACKED_H_
#define TESTS_KERNELS_WEIGHTS_SPOILS_PACKED_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/weights/packing_pieces.h"

namespace ir::kernels {

/// As long as it lives, what a kernel that is being made says it has packed and never reads again becomes
/// NaN.
class SpoilsPacked {
 public:
  /// The kernel's constants, which must outlive this. (It may pack what it has made itself, too.)
  explicit SpoilsPacked(std::vector<std::span<float>> constants)
      : spoil_{std::move(constants)}, packed_(spoil_), listener_(packed_) {}

 private:
  struct Spoil {
    std::vector<std::span<float>> constants;

    void operator()(std::span<const std::byte> part, Rereads rereads) const {
      if (rereads == Rereads::maybe) return;
      const std::less_equal<> at_or_before;
      const auto* const first = reinterpret_cast<const float*>(part.data());
      for (const std::span<float> constant : constants) {
        if (!at_or_before(constant.data(), first)) continue;
        if (!at_or_before(first, constant.data() + constant.size())) continue;
        float* const from = constant.data() + (first - constant.data());
        std::fill_n(from, part.size() / sizeof(float), NAN);
      }
    }
  };

  Spoil spoil_;
  PackingListener::Packed packed_;
  PackingListener listener_;
};

}  // namespace ir::kernels

#endif  // TESTS_KERNELS_WEIGHTS_SPOILS_PACKED_H_
