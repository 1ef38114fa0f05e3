#include "kernels/sequence/ctc.h"

#include <algorithm>
#include <cmath>

#include "kernels/reduction/topk_floats.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// The first of the highest scores. NaN is none, but for the first class, which nothing is above then.
std::int64_t best_class(const float* scores, std::size_t classes) {
  std::size_t best = 0;
  for (std::size_t next = 1; next < classes; ++next) {
    next = find_better(TopKMode::max, scores, next, classes, scores[best]);
    if (next < classes && !std::isnan(scores[next])) best = next;
  }
  return static_cast<std::int64_t>(best);
}

/// Rows of scores of one sequence.
struct ScoreRows {
  const float* scores;
  std::size_t stride;  ///< between rows
  std::size_t steps;
};

/// Decodes one sequence to params.time classes, -1 behind the last one; returns how many it has.
template <class Class>
std::size_t decode(const CtcGreedyParams& params, ScoreRows rows, std::int64_t blank, Class* out) {
  std::size_t written = 0;
  std::int64_t previous = -1;
  for (std::size_t step = 0; step < rows.steps; ++step, rows.scores += rows.stride) {
    const std::int64_t best = best_class(rows.scores, params.classes);
    const bool repeats = params.merge_repeated && best == previous;
    if (best != blank && !repeats) out[written++] = static_cast<Class>(best);
    previous = best;
  }
  std::fill(out + written, out + params.time, static_cast<Class>(-1));
  return written;
}

}  // namespace

void ctc_greedy_decode(const CtcGreedyParams& params, const float* scores, const float* mask, float* out) {
  const std::size_t batch = params.batch;
  const std::size_t time = params.time;
  const std::size_t classes = params.classes;
  const auto blank = static_cast<std::int64_t>(classes) - 1;
  parallel_for(batch, grain_for_cost(time * classes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t steps = 0;
      while (steps < time && mask[steps * batch + i] != 0) ++steps;
      decode(params, {scores + i * classes, batch * classes, steps}, blank, out + i * time);
    }
  });
}

template <class Length, class Class, class OutLength>
void ctc_greedy_decode_with_lengths(const CtcGreedyParams& params, const float* scores, const Length* lengths,
                                    std::int64_t blank, Class* out, OutLength* out_lengths) {
  const std::size_t time = params.time;
  const std::size_t classes = params.classes;
  parallel_for(params.batch, grain_for_cost(time * classes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto length = std::clamp<std::int64_t>(lengths[i], 0, static_cast<std::int64_t>(time));
      const ScoreRows rows{scores + i * time * classes, classes, static_cast<std::size_t>(length)};
      const std::size_t written = decode(params, rows, blank, out + i * time);
      if (out_lengths != nullptr) out_lengths[i] = static_cast<OutLength>(written);
    }
  });
}

#define IR_INSTANTIATE_FOR(Length, Class, OutLength)                      \
  template void ctc_greedy_decode_with_lengths<Length, Class, OutLength>( \
      const CtcGreedyParams&, const float*, const Length*, std::int64_t, Class*, OutLength*);
#define IR_INSTANTIATE(Length)                           \
  IR_INSTANTIATE_FOR(Length, std::int32_t, std::int32_t) \
  IR_INSTANTIATE_FOR(Length, std::int32_t, std::int64_t) \
  IR_INSTANTIATE_FOR(Length, std::int64_t, std::int32_t) \
  IR_INSTANTIATE_FOR(Length, std::int64_t, std::int64_t)
IR_INSTANTIATE(std::int32_t)
IR_INSTANTIATE(std::int64_t)
#undef IR_INSTANTIATE
#undef IR_INSTANTIATE_FOR

}  // namespace ir::kernels
