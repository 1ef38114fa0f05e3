#include "kernels/sequence/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

template <class T>
constexpr T kImpossible = -std::numeric_limits<T>::infinity();

/// log(exp(a) + exp(b))
template <class T>
T add_logs(T a, T b) {
  if (a == kImpossible<T>) return b;
  if (b == kImpossible<T>) return a;
  const T high = std::max(a, b);
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

/// Scratch memory of one sequence.
template <class T>
struct Workspace {
  std::size_t* labels;  // [time]
  T* forward;           // [2 * time + 1]
  std::uint8_t* seen;   // [classes]

  static std::size_t bytes(const CtcLossParams& params) {
    const std::size_t all =
        params.time * sizeof(std::size_t) + (2 * params.time + 1) * sizeof(T) + params.classes;
    return (all + 7) / 8 * 8;
  }
  Workspace(const CtcLossParams& params, std::byte* memory) {
    labels = reinterpret_cast<std::size_t*>(memory);
    forward = reinterpret_cast<T*>(labels + params.time);
    seen = reinterpret_cast<std::uint8_t*>(forward + 2 * params.time + 1);
  }
};

/// The labels that a path must decode to.
template <class T>
std::span<const std::size_t> decoded_labels(const CtcLossParams& params, IndexView labels, std::size_t first,
                                            std::size_t length, const Workspace<T>& work) {
  std::size_t count = 0;
  if (params.unique_labels) std::fill_n(work.seen, params.classes, std::uint8_t{0});
  for (std::size_t i = 0; i < length; ++i) {
    const auto label = static_cast<std::size_t>(labels[first + i]);
    if (params.unique_labels) {
      if (work.seen[label] != 0) continue;
      work.seen[label] = 1;
    } else if (params.collapse_labels && count > 0 && work.labels[count - 1] == label) {
      continue;
    }
    work.labels[count++] = label;
  }
  return {work.labels, count};
}

/// The log of the sum of the exponentials of a row of logits.
template <class T>
T log_sum(const T* logits, std::size_t classes) {
  const T high = *std::max_element(logits, logits + classes);
  T sum = 0;
  for (std::size_t i = 0; i < classes; ++i) sum += std::exp(logits[i] - high);
  return high + std::log(sum);
}

/// One step of paths that merge what is repeated. State 2 * k is a blank after k labels, state 2 * k + 1 is
/// label k; forward[s] is the log-probability of all beginnings that have come to state s.
template <class T>
void advance_merging(std::span<const std::size_t> labels, std::size_t blank, const T* logits, T norm,
                     T* forward) {
  for (std::size_t state = 2 * labels.size() + 1; state-- > 0;) {
    const bool is_label = state % 2 == 1;
    T sum = forward[state];
    if (state > 0) sum = add_logs(sum, forward[state - 1]);
    // From label to label without a blank, which only equal ones need.
    if (is_label && state >= 3 && labels[state / 2] != labels[state / 2 - 1])
      sum = add_logs(sum, forward[state - 2]);
    forward[state] = sum + (logits[is_label ? labels[state / 2] : blank] - norm);
  }
}

/// One step of paths in which every label stands for one step. State k: k labels are there.
template <class T>
void advance_plain(std::span<const std::size_t> labels, std::size_t blank, const T* logits, T norm,
                   T* forward) {
  for (std::size_t state = labels.size() + 1; state-- > 0;) {
    T sum = forward[state] + (logits[blank] - norm);
    if (state > 0) sum = add_logs(sum, forward[state - 1] + (logits[labels[state - 1]] - norm));
    forward[state] = sum;
  }
}

template <class T>
T sequence_loss(const CtcLossParams& params, const T* logits, std::size_t steps,
                std::span<const std::size_t> labels, std::size_t blank, T* forward) {
  const std::size_t states = params.merge_repeated ? 2 * labels.size() + 1 : labels.size() + 1;
  std::fill_n(forward, states, kImpossible<T>);
  forward[0] = 0;
  for (std::size_t step = 0; step < steps; ++step, logits += params.classes) {
    const T norm = log_sum(logits, params.classes);
    if (params.merge_repeated) {
      advance_merging(labels, blank, logits, norm, forward);
    } else {
      advance_plain(labels, blank, logits, norm, forward);
    }
  }
  T total = forward[states - 1];
  if (params.merge_repeated && states > 1) total = add_logs(total, forward[states - 2]);
  return T{0} - total;
}

std::optional<CtcLossFault> find_fault(const CtcLossParams& params, IndexView logit_lengths, IndexView labels,
                                       IndexView label_lengths) {
  using What = CtcLossFault::What;
  const auto time = static_cast<std::int64_t>(params.time);
  const auto classes = static_cast<std::int64_t>(params.classes);
  for (std::size_t i = 0; i < params.batch; ++i) {
    const std::int64_t steps = logit_lengths[i];
    if (steps < 0 || steps > time) return CtcLossFault{What::logit_length, i, steps};
    const std::int64_t length = label_lengths[i];
    if (length < 0 || length > steps) return CtcLossFault{What::label_length, i, length};
    const std::size_t first = i * params.time;
    for (std::size_t at = first; at < first + static_cast<std::size_t>(length); ++at) {
      const std::int64_t label = labels[at];
      if (label < 0 || label >= classes) return CtcLossFault{What::label, at, label};
    }
  }
  return {};
}

}  // namespace

template <class T>
std::size_t ctc_loss_scratch_bytes(const CtcLossParams& params) {
  return params.batch * Workspace<T>::bytes(params);
}

template <class T>
std::optional<CtcLossFault> ctc_loss(const CtcLossParams& params, const T* logits, IndexView logit_lengths,
                                     IndexView labels, IndexView label_lengths, std::size_t blank, T* out,
                                     std::byte* scratch) {
  if (const auto fault = find_fault(params, logit_lengths, labels, label_lengths)) return fault;
  constexpr std::size_t kCostOfExp = 20;
  const std::size_t cost = params.time * (params.classes + 2 * params.time) * kCostOfExp;
  parallel_for(params.batch, grain_for_cost(cost), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Workspace<T> work(params, scratch + i * Workspace<T>::bytes(params));
      const auto decoded =
          decoded_labels(params, labels, i * params.time, static_cast<std::size_t>(label_lengths[i]), work);
      out[i] = sequence_loss(params, logits + i * params.time * params.classes,
                             static_cast<std::size_t>(logit_lengths[i]), decoded, blank, work.forward);
    }
  });
  return {};
}

#define IR_INSTANTIATE(T)                                                                                \
  template std::size_t ctc_loss_scratch_bytes<T>(const CtcLossParams&);                                  \
  template std::optional<CtcLossFault> ctc_loss<T>(const CtcLossParams&, const T*, IndexView, IndexView, \
                                                   IndexView, std::size_t, T*, std::byte*);
IR_INSTANTIATE(float)
IR_INSTANTIATE(double)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
