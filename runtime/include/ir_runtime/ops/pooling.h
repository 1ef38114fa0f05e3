// Pooling: sliding windows (AvgPool, MaxPool) and windows fitted to the output (AdaptiveAvgPool).
#ifndef IR_RUNTIME_OPS_POOLING_H_
#define IR_RUNTIME_OPS_POOLING_H_

#include <array>

#include "ir_runtime/ops/attributes.h"

namespace ir::op {

/// Attributes that every sliding pooling has, one list entry per spatial axis.
template <class RoundingType>
struct SlidingPool {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;
  std::vector<std::int64_t> kernel;
  RoundingType rounding_type = RoundingType::floor;
  AutoPad auto_pad = AutoPad::explicit_;
};

namespace detail {

template <class Pool>
constexpr auto sliding_pool_fields() {
  return std::array{
      required<&Pool::strides>("strides", "Step of the window.", at_least(1)),
      required<&Pool::pads_begin>("pads_begin",
                                  "Padding before the first element; ignored unless auto_pad is explicit.",
                                  at_least(0)),
      required<&Pool::pads_end>(
          "pads_end", "Padding after the last element; ignored unless auto_pad is explicit.", at_least(0)),
      required<&Pool::kernel>("kernel", "Size of the window.", at_least(1)),
      optional<&Pool::rounding_type>("rounding_type", "How the number of windows is rounded."),
      optional<&Pool::auto_pad>("auto_pad", "How pads are derived."),
      ignored("pool-method", "Written by old converters; the type says it."),
      ignored("global_pool", "Written by old converters; kernel says it."),
  };
}

template <class... Fields, std::size_t N>
constexpr auto with(const std::array<Field, N>& base, Fields... more) {
  std::array<Field, N + sizeof...(more)> all{};
  std::size_t at = 0;
  for (const Field& field : base) all[at++] = field;
  ((all[at++] = more), ...);
  return all;
}

}  // namespace detail

namespace v1 {

/// Mean over a window. Input [N, C, spatial...] of any numeric type with 1 to 3 spatial axes; output [N, C,
/// windows...] of that type.
struct AvgPool : SlidingPool<Rounding> {
  static constexpr OpInfo info{
      .type = "AvgPool", .last_opset = 13, .family = "pooling", .summary = "Mean over a sliding window."};
  bool exclude_pad = false;
  static constexpr auto fields() {
    return detail::with(
        detail::sliding_pool_fields<AvgPool>(),
        required<&AvgPool::exclude_pad>("exclude-pad", "Whether padding is left out of the mean."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Maximum over a window. Types and shapes as AvgPool.
struct MaxPool : SlidingPool<Rounding> {
  static constexpr OpInfo info{
      .type = "MaxPool", .last_opset = 7, .family = "pooling", .summary = "Maximum over a sliding window."};
  static constexpr auto fields() {
    return detail::with(detail::sliding_pool_fields<MaxPool>(),
                        ignored("dilations", "Of the later version; written by converters all the same."),
                        ignored("index_element_type", "Of the later version; there are no positions here."),
                        ignored("axis", "Of the later version; there are no positions here."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v1

namespace v8 {

/// Maximum over a window, and where it was found. Output 0 as v1::MaxPool; output 1, as large, holds
/// positions in the input, flattened from `axis` on.
struct MaxPool : SlidingPool<Rounding> {
  static constexpr OpInfo info{.type = "MaxPool",
                               .first_opset = 8,
                               .last_opset = 13,
                               .family = "pooling",
                               .summary = "Maximum over a sliding window, with its position."};
  std::vector<std::int64_t> dilations;
  ElementType index_element_type = ElementType::i64;
  std::int64_t axis = 0;
  template <class Pool>
  static constexpr auto more_fields() {
    return detail::with(
        detail::sliding_pool_fields<Pool>(),
        optional<&Pool::dilations>("dilations", "Distance between window elements; ones when absent.",
                                   at_least(1)),
        optional<&Pool::index_element_type>("index_element_type", "Type of the positions: i32 or i64."),
        optional<&Pool::axis>("axis", "First axis of the flattened positions."));
  }
  static constexpr auto fields() { return more_fields<MaxPool>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Mean over windows that divide each spatial axis into as many parts as input 1 asks for. Input 0
/// [N, C, spatial...] of rank 3 to 5 and any numeric type, input 1 [spatial rank] of i32 or i64. Output [N,
/// C, parts...] of input 0's type.
struct AdaptiveAvgPool {
  static constexpr OpInfo info{.type = "AdaptiveAvgPool",
                               .first_opset = 8,
                               .family = "pooling",
                               .summary = "Mean over windows fitted to the output size."};
  static constexpr auto fields() {
    return std::array{
        ignored("output_type", "Stands in the specification's example; the operation has none.")};
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// Maximum over windows as AdaptiveAvgPool has them, and where it was found: output 1, as large, holds
/// positions in the flattened spatial axes.
struct AdaptiveMaxPool {
  static constexpr OpInfo info{
      .type = "AdaptiveMaxPool",
      .first_opset = 8,
      .family = "pooling",
      .summary = "Maximum over windows fitted to the output size, with its position."};
  ElementType index_element_type = ElementType::i64;
  static constexpr auto fields() {
    return std::array{
        optional<&AdaptiveMaxPool::index_element_type>("index_element_type",
                                                       "Type of the positions: i32 or i64."),
        ignored("output_type", "Stands in the specification's example; the operation has none."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8

namespace v14 {

/// As v1::AvgPool, with rounding ceil_torch.
struct AvgPool : SlidingPool<Rounding14> {
  static constexpr OpInfo info{.type = "AvgPool",
                               .first_opset = 14,
                               .last_opset = 15,
                               .family = "pooling",
                               .summary = "Mean over a sliding window, with PyTorch's rounding."};
  bool exclude_pad = false;
  static constexpr auto fields() {
    return detail::with(
        detail::sliding_pool_fields<AvgPool>(),
        required<&AvgPool::exclude_pad>("exclude-pad", "Whether padding is left out of the mean."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// As v8::MaxPool, with rounding ceil_torch.
struct MaxPool : SlidingPool<Rounding14> {
  static constexpr OpInfo info{
      .type = "MaxPool",
      .first_opset = 14,
      .family = "pooling",
      .summary = "Maximum over a sliding window, with its position and PyTorch's rounding."};
  std::vector<std::int64_t> dilations;
  ElementType index_element_type = ElementType::i64;
  std::int64_t axis = 0;
  static constexpr auto fields() { return v8::MaxPool::more_fields<MaxPool>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v14

namespace v16 {

/// As v14::AvgPool, with a distance between the elements of the window.
struct AvgPool : SlidingPool<Rounding14> {
  static constexpr OpInfo info{.type = "AvgPool",
                               .first_opset = 16,
                               .family = "pooling",
                               .summary = "Mean over a sliding window that may be dilated."};
  std::vector<std::int64_t> dilations;
  bool exclude_pad = false;
  static constexpr auto fields() {
    return detail::with(
        detail::sliding_pool_fields<AvgPool>(),
        optional<&AvgPool::dilations>("dilations", "Distance between window elements; ones when absent.",
                                      at_least(1)),
        required<&AvgPool::exclude_pad>("exclude-pad", "Whether padding is left out of the mean."));
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v16

namespace ngraph {

/// nGraph's AvgPool: any number of spatial axes, any numeric type. Where padding is left out and a window
/// holds nothing else, the result is NaN (0 / 0, as its definition says). Empty lists mean: strides of 1,
/// pads of 0.
struct AvgPool {
  static constexpr OpInfo info{.type = "AvgPool",
                               .first_opset = 0,
                               .last_opset = 0,
                               .family = "pooling",
                               .summary = "nGraph's mean over a sliding window."};
  std::vector<std::int64_t> window_shape;
  std::vector<std::int64_t> window_movement_strides;
  std::vector<std::int64_t> padding_below;
  std::vector<std::int64_t> padding_above;
  bool include_padding_in_avg_computation = false;
  AutoPad pad_type = AutoPad::explicit_;
  bool ceil_mode = false;

  AvgPool() = default;
  explicit AvgPool(std::vector<std::int64_t> window, std::vector<std::int64_t> strides = {},
                   std::vector<std::int64_t> below = {}, std::vector<std::int64_t> above = {},
                   bool include_padding = false, AutoPad type = AutoPad::explicit_, bool ceil = false)
      : window_shape(std::move(window)),
        window_movement_strides(std::move(strides)),
        padding_below(std::move(below)),
        padding_above(std::move(above)),
        include_padding_in_avg_computation(include_padding),
        pad_type(type),
        ceil_mode(ceil) {}

  static constexpr auto fields() {
    return std::array{
        required<&AvgPool::window_shape>("window_shape", "Size of the window.", at_least(1)),
        optional<&AvgPool::window_movement_strides>("window_movement_strides",
                                                    "Step of the window; ones when absent.", at_least(1)),
        optional<&AvgPool::padding_below>(
            "padding_below", "Padding before the first element; zeros when absent.", at_least(0)),
        optional<&AvgPool::padding_above>("padding_above",
                                          "Padding after the last element; zeros when absent.", at_least(0)),
        optional<&AvgPool::include_padding_in_avg_computation>(
            "include_padding_in_avg_computation", "Whether padding counts as zeros in the mean."),
        optional<&AvgPool::pad_type>("pad_type", "How pads are derived."),
        optional<&AvgPool::ceil_mode>("ceil_mode", "Whether the number of windows is rounded up."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace ngraph
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_POOLING_H_
