// How many threads a model may use when nobody says.
#ifndef RUNTIME_EXECUTION_THREADS_H_
#define RUNTIME_EXECUTION_THREADS_H_

namespace ir {

/// Each has memory of its own in oneTBB and in the kernels' scratch.
inline constexpr int kMostThreads = 1024;

/// The CPU quota of the process's cgroup, rounded up, when there is one and it is lower; else the cores that
/// the process may run on. 1 to kMostThreads.
int default_threads();

}  // namespace ir

#endif  // RUNTIME_EXECUTION_THREADS_H_
