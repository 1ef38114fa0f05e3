// Resampling along any set of axes: Interpolate-1 (v0), -4 and -11.
//
// Interpolate-1 maps to these parameters: scales = out / (padded in), nearest_mode = simple; mode linear
// becomes linear_onnx for rank < 5 and linear for rank 5; coordinates are align_corners if the attribute says
// so, else half_pixel for linear modes without pads unless rank is 4 with axes {2, 3}, else asymmetric (what
// OpenVINO's reference does).
#ifndef KERNELS_IMAGE_INTERPOLATE_H_
#define KERNELS_IMAGE_INTERPOLATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ir::kernels {

enum class InterpolateMode { nearest, linear, linear_onnx, cubic, bilinear_pillow, bicubic_pillow };

/// How an output coordinate maps to an input coordinate. An axis with scale 1 or out == padded in maps to
/// itself in every mode.
enum class CoordinateMode { half_pixel, pytorch_half_pixel, asymmetric, tf_half_pixel_for_nn, align_corners };

enum class NearestMode { round_prefer_floor, round_prefer_ceil, floor, ceil, simple };

struct InterpolateParams {
  std::vector<std::size_t> in_dims;     // before padding
  std::vector<std::size_t> out_dims;    // in + pads on axes that are not in `axes`
  std::vector<std::size_t> pads_begin;  // per dim; shorter or empty counts as zeros. Pads hold zero
  std::vector<std::size_t> pads_end;
  std::vector<std::size_t> axes;  // dims to interpolate, in the order of the op's input
  std::vector<float> scales;      // per entry of axes: given (scales) or out / (padded in) (sizes)
  InterpolateMode mode = InterpolateMode::nearest;
  CoordinateMode coordinates = CoordinateMode::half_pixel;  // ignored by the pillow modes
  NearestMode nearest = NearestMode::round_prefer_floor;
  bool antialias = false;     // of mode linear
  float cube_coeff = -0.75F;  // of cubic and bicubic_pillow
};

/// A table of `positions` entries.
struct InterpolateTableSize {
  std::size_t positions = 0;
  std::size_t bytes_each = 0;
};

/// About what the tables of a resampling take, before they are made. As for Interpolate.
std::vector<InterpolateTableSize> interpolate_tables(const InterpolateParams& params);

/// Prepared resampling. Coordinates and weights are computed in float as OpenVINO's reference does (pillow:
/// double) and kept as tables per axis. run() allocates nothing and may be called from several
/// threads.
///
/// T: float, double, std::int8_t .. std::int64_t, std::uint8_t .. std::uint64_t. float accumulates in float,
/// |error| <= 2e-6 * sum(|weight * x|); integers accumulate in float, tap by tap, those of the
/// innermost axis fastest (as the reference does where axes ascend), then round half away from zero (linear),
/// truncate (linear_onnx, cubic) or round after every pass (pillow), and clamp to T. double accumulates in
/// double. Taps of weight 0 are not part of an output, but an infinite x next to one may give NaN.
class Interpolate {
 public:
  /// Preconditions: 1 to 32 dims, each >= 1; scales > 0 and finite, axes distinct; pillow modes take exactly
  /// two axes.
  explicit Interpolate(const InterpolateParams& params);

  /// For elements of that size: what lies between the passes of the pillow modes.
  [[nodiscard]] std::size_t scratch_bytes(std::size_t element_size) const;

  /// Both dense. No overlap. `scratch` is aligned for T.
  template <class T>
  void run(const T* in, T* out, std::byte* scratch = nullptr) const;

 private:
  friend class InterpolateRows;  // what the float path sees of this
  friend struct InterpolateTables;
  friend std::vector<InterpolateTableSize> interpolate_tables(const InterpolateParams& params);

  // The input points that make up each output coordinate of one dim: taps [o * taps, o * taps + counts[o]).
  struct Axis {
    std::size_t in = 1;  // without pads
    std::size_t out = 1;
    bool identity = true;  // out[o] = in[o]; then there are no tables
    bool doubles = false;  // of mode nearest: out[o] = in[o / 2]
    std::size_t taps = 1;
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> index;  // -1: in the padding
    std::vector<float> weight;        // as the reference computes it; all modes but pillow
    std::vector<double> exact;        // pillow modes

    [[nodiscard]] bool sees_padding() const;
  };
  // Taps of the innermost resampled axis, with what lies behind it, by tap number instead of by coordinate,
  // for vectors of coordinates. Missing taps have weight 0. No taps if rows do not apply.
  struct Columns {
    std::size_t in = 1;
    std::size_t out = 1;
    std::size_t taps = 0;
    std::size_t span = 0;             // the most input points between first and last tap
    std::vector<std::int32_t> index;  // [taps][out]
    std::vector<float> weight;        // [taps][out], normalised
    std::vector<float> raw;           // the same as the reference computes them, where they differ
  };

  void append(Axis axis);
  void make_columns();
  template <class T>
  void run_direct(const T* in, T* out) const;
  // Output coordinate o of an axis, for the `inner` elements behind it, of the input points at `image`.
  using Pass = void (*)(const Axis& axis, std::size_t o, std::size_t inner, const void* image, void* to);
  template <class T>
  static void run_pass(const Axis& axis, std::size_t o, std::size_t inner, const void* image, void* to);
  // One of the pillow modes: `axis` of all lines of the tensor.
  struct LinePass {
    std::size_t axis = 0;
    std::size_t count = 1;  // of lines: what is in front of the axis
    std::size_t inner = 1;  // elements behind it
    std::size_t out_size = 1;
  };
  void make_passes();
  void run_passes(const void* in, void* out, std::size_t element_size, std::byte* scratch, Pass pass) const;
  void run_nearest(const void* in, void* out, std::size_t element_size) const;
  template <class Copy>
  static void copy_columns(const Axis& columns, const char* from, std::size_t unit, const Copy& copy,
                           char* to);
  bool run_rows(const float* in, float* out) const;
  bool run_rows(const std::uint8_t* in, std::uint8_t* out) const;
  [[nodiscard]] std::size_t leading_axes() const { return axes_.size() - (axes_.back().identity ? 1 : 0); }

  InterpolateMode mode_;
  std::vector<Axis> axes_;          // of the tensor, outermost first; identity axes that lie together are one
  std::vector<std::size_t> order_;  // the other ones, in the order of the op's axes
  float weight_factor_ = 1.0F;      // of mode linear: the product of the antialias factors
  bool is_padded_ = false;
  Columns columns_;
  std::vector<LinePass> passes_;  // of the pillow modes
  std::size_t stage_size_ = 0;    // elements that lie between passes at a time
};

}  // namespace ir::kernels

#endif  // KERNELS_IMAGE_INTERPOLATE_H_
