// The loss of connectionist temporal classification.
#ifndef KERNELS_SEQUENCE_CTC_LOSS_H_
#define KERNELS_SEQUENCE_CTC_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/base/indices.h"

namespace ir::kernels {

/// Attributes of CTCLoss-4 for logits [batch, time, classes]; classes >= 1.
struct CtcLossParams {
  std::size_t batch = 0;
  std::size_t time = 0;
  std::size_t classes = 1;
  /// Labels that follow themselves count once.
  bool collapse_labels = false;
  /// Only the first of equal labels counts, wherever the others are; outdoes `collapse_labels`.
  bool unique_labels = false;
  /// A label may stand for several steps in a row of a path, and a blank must part equal labels.
  bool merge_repeated = true;
};

/// What made the data senseless.
struct CtcLossFault {
  enum class What : std::uint8_t {
    logit_length,  ///< outside of [0, time]
    label_length,  ///< outside of [0, logit length of the same sequence]
    label,         ///< outside of [0, classes)
  };
  What what{};
  /// In the flattened tensor.
  std::size_t position = 0;
  std::int64_t value = 0;
};

/// Bytes that `scratch` of `ctc_loss` must have, aligned to 8.
template <class T>
std::size_t ctc_loss_scratch_bytes(const CtcLossParams& params);

/// out [batch] = -log of the sum, over all paths that decode to the labels, of the path's probability;
/// infinite when there is no path. logit_lengths, label_lengths: [batch]; labels: [batch, time], of which the
/// first label_lengths[i] count; blank < classes. By the forward algorithm in T, parallel over the batch. On
/// a fault nothing is written. T: float, double.
template <class T>
std::optional<CtcLossFault> ctc_loss(const CtcLossParams& params, const T* logits, IndexView logit_lengths,
                                     IndexView labels, IndexView label_lengths, std::size_t blank, T* out,
                                     std::byte* scratch);

}  // namespace ir::kernels

#endif  // KERNELS_SEQUENCE_CTC_LOSS_H_
