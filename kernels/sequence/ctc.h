// Greedy decoding of connectionist temporal classification: the best class per step, repeats merged.
#ifndef KERNELS_SEQUENCE_CTC_H_
#define KERNELS_SEQUENCE_CTC_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

struct CtcGreedyParams {
  std::size_t batch = 1;
  std::size_t time = 1;
  std::size_t classes = 1;     ///< at least one
  bool merge_repeated = true;  ///< drop a class that follows itself directly; a blank in between keeps both
};

/// CTCGreedyDecoder-1: `scores` [time, batch, classes], `mask` [time, batch], of which the first zero ends a
/// sequence; writes `out` [batch, time] (the op's [batch, time, 1, 1]) with classes as numbers, then -1. The
/// blank is class classes - 1. Equal scores: the lower class.
void ctc_greedy_decode(const CtcGreedyParams& params, const float* scores, const float* mask, float* out);

/// CTCGreedyDecoderSeqLen-6: `scores` [batch, time, classes], `lengths` [batch] (limited to [0, time]);
/// writes `out` [batch, time] and `out_lengths` [batch] (nullptr: not wanted). `blank` defaults to
/// classes - 1 in the op; one that is no class never matches. Length, Class, OutLength: int32_t, int64_t.
template <class Length, class Class, class OutLength>
void ctc_greedy_decode_with_lengths(const CtcGreedyParams& params, const float* scores, const Length* lengths,
                                    std::int64_t blank, Class* out, OutLength* out_lengths);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_CTC_H_
