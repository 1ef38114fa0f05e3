// How widely loops were spread, for profiles.
#ifndef KERNELS_THREADS_LOOP_WIDTH_H_
#define KERNELS_THREADS_LOOP_WIDTH_H_

namespace ir::kernels {

/// The most threads that a `parallel_for` of the calling thread could use since the last call: its chunks, or
/// the slots of the pool where these are fewer. 1 when there was none.
int take_loop_width();

}  // namespace ir::kernels

#endif  // KERNELS_THREADS_LOOP_WIDTH_H_
