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

/// Decodes one sequence of `steps` rows of scores, `row_stride` apart; returns the number of classes written.
template <class Class>
std::size_t decode(const float* scores, std::size_t row_stride, std::size_t steps, std::size_t classes,
                   std::int64_t blank, bool merge_repeated, Class* out) {
  std::size_t written = 0;
  std::int64_t previous = -1;
  for (std::size_t step = 0; step < steps; ++step, scores += row_stride) {
    const std::int64_t best = best_class(scores, classes);
    if (best != blank && !(merge_repeated && best == previous)) out[written++] = static_cast<Class>(best);
    previous = best;
  }
  return written;
}

}  // namespace

void ctc_greedy_decode(const float* scores, const float* mask, float* out, std::size_t time,
                       std::size_t batch, std::size_t classes, bool merge_repeated) {
  const auto blank = static_cast<std::int64_t>(classes) - 1;
  parallel_for(batch, grain_for_cost(time * classes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t steps = 0;
      while (steps < time && mask[steps * batch + i] != 0) ++steps;
      float* to = out + i * time;
      const std::size_t written =
          decode(scores + i * classes, batch * classes, steps, classes, blank, merge_repeated, to);
      std::fill(to + written, to + time, -1.0F);
    }
  });
}

template <class Length, class Class, class OutLength>
void ctc_greedy_decode_with_lengths(const float* scores, const Length* lengths, std::int64_t blank,
                                    Class* out, OutLength* out_lengths, std::size_t batch, std::size_t time,
                                    std::size_t classes, bool merge_repeated) {
  parallel_for(batch, grain_for_cost(time * classes), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto length = std::clamp<std::int64_t>(lengths[i], 0, static_cast<std::int64_t>(time));
      Class* to = out + i * time;
      const std::size_t written =
          decode(scores + i * time * classes, classes, static_cast<std::size_t>(length), classes, blank,
                 merge_repeated, to);
      std::fill(to + written, to + time, static_cast<Class>(-1));
      if (out_lengths != nullptr) out_lengths[i] = static_cast<OutLength>(written);
    }
  });
}

#define IR_INSTANTIATE_FOR(Length, Class, OutLength)                                                        \
  template void ctc_greedy_decode_with_lengths<Length, Class, OutLength>(                                   \
      const float*, const Length*, std::int64_t, Class*, OutLength*, std::size_t, std::size_t, std::size_t, \
      bool);
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
