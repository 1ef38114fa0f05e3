#include "kernels/base/fill.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/base/fill.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

/// Vectors that begin where lines of the cache do, between one at each end that need not.
void FillLong(std::uint64_t word, std::size_t bytes, char* out) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t size = hn::Lanes(d) * sizeof(word);
  const auto store = [&](std::size_t at) HWY_ATTR { return reinterpret_cast<std::uint64_t*>(out + at); };
  const auto ends = hn::Set(d, word);
  const std::size_t last = bytes - size;
  hn::StoreU(ends, d, store(0));
  std::size_t at = size - reinterpret_cast<std::uintptr_t>(out) % size;
  // The bytes that the first of these vectors begins with.
  const auto turned = hn::Set(d, std::rotr(word, static_cast<int>(at % sizeof(word) * 8)));
  for (; at < last; at += size) hn::Store(turned, d, store(at));
  hn::StoreU(ends, d, store(last));
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(FillLong);

void fill_long(std::uint64_t word, std::size_t bytes, char* out) {
  HWY_DYNAMIC_DISPATCH(FillLong)(word, bytes, out);
}

}  // namespace ir::kernels
#endif
