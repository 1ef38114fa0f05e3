// Which SIMD targets this library holds and which one runs; for tests, profiles and bug reports.
#ifndef KERNELS_BASE_TARGETS_H_
#define KERNELS_BASE_TARGETS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ir::kernels {

/// Highway target bits of the kernels in this library that the machine can run, best first.
std::vector<std::int64_t> targets();

/// Name of a target bit, such as "AVX2".
std::string target_name(std::int64_t target);

/// The target that dispatch picks now.
std::string active_target();

/// Limits dispatch to one of `targets()`; 0 restores the choice of the best. Not thread-safe against running
/// kernels. Objects that were prepared for another target keep theirs.
void force_target(std::int64_t target);

}  // namespace ir::kernels

#endif  // KERNELS_BASE_TARGETS_H_
