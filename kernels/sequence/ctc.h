// Greedy decoding of connectionist temporal classification: the best class per step, repeats merged.
#ifndef KERNELS_SEQUENCE_CTC_H_
#define KERNELS_SEQUENCE_CTC_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

/// CTCGreedyDecoder-1: `scores` [time, batch, classes], `mask` [time, batch], of which the first zero ends a
/// sequence; writes `out` [batch, time] (the op's [batch, time, 1, 1]) with classes as numbers, then -1. The
/// blank is class classes - 1. Equal scores: the lower class. `merge_repeated` drops a class that follows
/// itself directly; a blank in between keeps both. classes >= 1.
void ctc_greedy_decode(const float* scores, const float* mask, float* out, std::size_t time,
                       std::size_t batch, std::size_t classes, bool merge_repeated);

/// CTCGreedyDecoderSeqLen-6: `scores` [batch, time, classes], `lengths` [batch] (limited to [0, time]);
/// writes `out` [batch, time] and `out_lengths` [batch] (nullptr: not wanted). `blank` defaults to
/// classes - 1 in the op; one that is no class never matches. Length, Class, OutLength: int32_t, int64_t.
template <class Length, class Class, class OutLength>
void ctc_greedy_decode_with_lengths(const float* scores, const Length* lengths, std::int64_t blank,
                                    Class* out, OutLength* out_lengths, std::size_t batch, std::size_t time,
                                    std::size_t classes, bool merge_repeated);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_CTC_H_
