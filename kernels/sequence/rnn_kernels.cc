#include "kernels/sequence/rnn_kernels.h"

#include <algorithm>
#include <utility>

#include "kernels/base/divide.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequence/rnn_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
// After highway.h.
#include "kernels/sequence/rnn_gates-inl.h"
#include "kernels/sequence/rnn_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace {

void rnn_row(const RnnParams& params, const float* gate, float* h) {
  Gates(params).rnn(gate, h);
  clear_upper_halves();
}

void lstm_row(const RnnParams& params, const float* gates, float* c, float* h) {
  Gates(params).lstm(gates, c, h);
  clear_upper_halves();
}

void gru_update_and_reset_row(const RnnParams& params, float* gates, const float* h, float* reset) {
  Gates(params).gru_update_and_reset(gates, h, reset);
  clear_upper_halves();
}

void gru_state_row(const RnnParams& params, const GruGates& gates, float* h) {
  Gates(params).gru_state(gates, h);
  clear_upper_halves();
}

}  // namespace

const RnnKernels* RecurrentKernels() {
  static constexpr RnnKernels kKernels{
      kProductRows,    kPanelVectors, kPanelWidth, pack_panels,
      multiply_panels, rnn_row,       lstm_row,    gru_update_and_reset_row,
      gru_state_row,
  };
  return &kKernels;
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(RecurrentKernels);

const RnnKernels& rnn_kernels() { return *HWY_DYNAMIC_DISPATCH(RecurrentKernels)(); }

PackedMatrix::PackedMatrix(const RnnKernels& kernels, const ColumnBlocks& columns)
    : columns_(columns.columns()),
      depth_(columns.depth),
      panels_(divide_up(columns_, kernels.panel_width)),
      panel_width_(kernels.panel_width) {
  PackedForm form{"rnn", {&kernels}, {columns.block, depth_}};
  form.numbers.insert(form.numbers.end(), columns.order.begin(), columns.order.end());
  data_ = packed_once({columns.matrix, columns_ * depth_}, std::move(form), panels_ * depth_ * panel_width_,
                      [&](float* to) { kernels.pack(columns, to); });
}

PackedMatrix::Columns PackedMatrix::columns_of(std::size_t panel, std::size_t panels) const {
  Columns columns;
  columns.first = panel * panel_width_;
  columns.count = std::min(panels * panel_width_, columns_ - columns.first);
  columns.data = data_.get() + columns.first * depth_;
  columns.next = panel + 1 < panels_ ? columns.data + panel_width_ * depth_ : data_.get();
  return columns;
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
