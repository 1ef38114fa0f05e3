// Fourier transforms of whole axes and of short frames.
#ifndef IR_RUNTIME_OPS_SIGNALS_H_
#define IR_RUNTIME_OPS_SIGNALS_H_

#include <array>

#include "ir_runtime/op.h"

namespace ir::op {

namespace v7 {

/// Discrete Fourier transform of complex numbers along several axes. Inputs: data [..., 2] of a real type,
/// pairs of real and imaginary part; axes, an integer vector, of which negative ones count from the axis
/// before the pairs; optionally, for each of them, the length of the signal (-1: that of the axis), to which
/// the data is cut off or padded with zeros. Output: as the data, with the lengths for the axes. Definition:
/// DFT-7.
struct DFT {
  static constexpr OpInfo info{.type = "DFT",
                               .first_opset = 7,
                               .family = "signals",
                               .summary = "Discrete Fourier transform of complex numbers."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The inverse of DFT, with the same inputs and output, divided by the product of the lengths. Definition:
/// IDFT-7.
struct IDFT {
  static constexpr OpInfo info{.type = "IDFT",
                               .first_opset = 7,
                               .family = "signals",
                               .summary = "Inverse discrete Fourier transform of complex numbers."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v7

namespace v9 {

/// Discrete Fourier transform of real numbers. Inputs as of DFT, but the data has no pairs and negative axes
/// count from the end. Output [..., 2]: pairs, and of the last axis listed the first length / 2 + 1 values;
/// the others would be their conjugates. Definition: RDFT-9.
struct RDFT {
  static constexpr OpInfo info{.type = "RDFT",
                               .first_opset = 9,
                               .family = "signals",
                               .summary = "Discrete Fourier transform of real numbers."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

/// The inverse of RDFT. Inputs as of DFT. Along the last axis listed the data is half of a signal: its other
/// half are the conjugates; when no length is given for it, 2 * (dim - 1) is taken. Output: real numbers,
/// without the axis of pairs. Definition: IRDFT-9.
struct IRDFT {
  static constexpr OpInfo info{.type = "IRDFT",
                               .first_opset = 9,
                               .family = "signals",
                               .summary = "Inverse discrete Fourier transform that gives real numbers."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v9

namespace v15 {

/// Fourier transforms of the frames of a signal. Inputs: signal [samples] or [batch, samples] and window
/// [length] of one real type, then frame size and frame step, one integer each. The window lies in the middle
/// of a frame. Output [batch, frames, frame_size / 2 + 1, 2], or with transpose_frames
/// [batch, frame_size / 2 + 1, frames, 2], without the batch when the signal has none; frames is
/// (samples - frame_size) / frame_step + 1. Definition: STFT-15.
struct STFT {
  static constexpr OpInfo info{.type = "STFT",
                               .first_opset = 15,
                               .family = "signals",
                               .summary = "Fourier transforms of the frames of a signal under a window."};
  bool transpose_frames = false;

  static constexpr auto fields() {
    return std::array{
        required<&STFT::transpose_frames>("transpose_frames",
                                          "Whether frames come after the frequencies in the output."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v15

namespace v16 {

/// The signal behind the output of STFT with transpose_frames. Inputs: data
/// [batch, frame_size / 2 + 1, frames, 2], the batch may be missing, and window [length] of one real type,
/// frame size and frame step, one integer each, and optionally the number of samples of the output. Without
/// it, that is (frames - 1) * frame_step, plus frame_size if not `center`. Output: [batch, samples] or
/// [samples]. Definition: ISTFT-16; as in OpenVINO's reference code, overlapping frames are added and divided
/// by the sum of the windows.
struct ISTFT {
  static constexpr OpInfo info{.type = "ISTFT",
                               .first_opset = 16,
                               .family = "signals",
                               .summary = "The signal of which the frames' Fourier transforms are given."};
  bool center = false;
  bool normalized = false;

  static constexpr auto fields() {
    return std::array{
        required<&ISTFT::center>("center",
                                 "Whether half a frame was put before and after the original signal."),
        required<&ISTFT::normalized>("normalized",
                                     "Whether the data was divided by the root of the frame size."),
    };
  }
  void infer(InferContext& context) const;
  PreparedKernel prepare(PrepareContext& context) const;
};

}  // namespace v16

}  // namespace ir::op

#endif  // IR_RUNTIME_OPS_SIGNALS_H_
