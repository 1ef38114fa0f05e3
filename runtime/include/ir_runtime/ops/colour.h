// Frames of video as RGB, and back.
#ifndef IR_RUNTIME_OPS_COLOUR_H_
#define IR_RUNTIME_OPS_COLOUR_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {
namespace v8 {

/// NV12 frames, whose u and v lie in pairs, with colours in the order red, green, blue. Input: one plane [N,
/// 3/2 * H, W, 1], or luma [N, H, W, 1] and chroma [N, H / 2, W / 2, 2]; u8 or a floating-point type. Output:
/// [N, H, W, 3] of that type, in [0, 255].
struct NV12toRGB {
  static constexpr OpInfo info{.type = "NV12toRGB",
                               .first_opset = 8,
                               .family = "image",
                               .summary = "NV12 frames (luma, pairs of chroma) as RGB."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// NV12toRGB with colours in the order blue, green, red.
struct NV12toBGR {
  static constexpr OpInfo info{.type = "NV12toBGR",
                               .first_opset = 8,
                               .family = "image",
                               .summary = "NV12 frames (luma, pairs of chroma) as BGR."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// I420 frames, whose u and v are planes of their own. Input: one plane [N, 3/2 * H, W, 1], or luma [N, H, W,
/// 1] and two of chroma [N, H / 2, W / 2, 1]. The rest as in NV12toRGB.
struct I420toRGB {
  static constexpr OpInfo info{.type = "I420toRGB",
                               .first_opset = 8,
                               .family = "image",
                               .summary = "I420 frames (planes of luma and chroma) as RGB."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// I420toRGB with colours in the order blue, green, red.
struct I420toBGR {
  static constexpr OpInfo info{.type = "I420toBGR",
                               .first_opset = 8,
                               .family = "image",
                               .summary = "I420 frames (planes of luma and chroma) as BGR."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v8

namespace detail {

template <class Op>
constexpr auto nv12_fields() {
  return std::array{optional<&Op::single_plane>(
      "single_plane", "Whether luma and chroma are one output, chroma below luma, or two.")};
}

}  // namespace detail

namespace v17 {

/// RGB as NV12 frames, whose u and v lie in pairs. Input: [N, H, W, 3] with colours in the order red, green,
/// blue, H and W even; u8 or a floating-point type. Outputs of that type, in [0, 255]: one plane [N, 3/2 * H,
/// W, 1], or luma [N, H, W, 1] and chroma [N, H / 2, W / 2, 2], of which each pair is the mean of four
/// pixels.
struct RGBtoNV12 {
  static constexpr OpInfo info{.type = "RGBtoNV12",
                               .first_opset = 17,
                               .family = "image",
                               .summary = "RGB as NV12 frames (luma, pairs of chroma)."};
  bool single_plane = true;
  static constexpr auto fields() { return detail::nv12_fields<RGBtoNV12>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// RGBtoNV12 with colours in the order blue, green, red.
struct BGRtoNV12 {
  static constexpr OpInfo info{.type = "BGRtoNV12",
                               .first_opset = 17,
                               .family = "image",
                               .summary = "BGR as NV12 frames (luma, pairs of chroma)."};
  bool single_plane = true;
  static constexpr auto fields() { return detail::nv12_fields<BGRtoNV12>(); }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v17
}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_COLOUR_H_
