// Pad in all four modes, with cropping.
#ifndef KERNELS_MOVEMENT_PAD_H_
#define KERNELS_MOVEMENT_PAD_H_

#include <cstddef>
#include <span>
#include <vector>

namespace ir::kernels {

enum class PadMode {
  constant,
  edge,       ///< the border element repeated
  reflect,    ///< mirrored, the border element not repeated
  symmetric,  ///< mirrored, the border element repeated
};

/// Pad-1/12. Negative pads crop: the output shows [-pads_begin, dims + pads_end) of the axis extended by the
/// mode. Elements are bytes. Prepared once per shape; run() allocates nothing and may be called from several
/// threads.
class Pad {
 public:
  /// Preconditions: equal sizes; pads_begin + dims + pads_end >= 0 per axis; edge, reflect and symmetric need
  /// dims >= 1 where they pad. Reflection further than one period goes back and forth (Pad-12 asks for pads <
  /// dims (reflect) or <= dims (symmetric), but larger ones are defined here).
  Pad(std::span<const std::size_t> dims, std::span<const std::ptrdiff_t> pads_begin,
      std::span<const std::ptrdiff_t> pads_end, PadMode mode, std::size_t element_size);

  /// `value`: one element, read in constant mode only (else may be null). No overlap.
  void run(const void* in, const void* value, void* out) const;

 private:
  // One axis of the output. No table of it: an axis may be longer than anything else is large.
  struct Axis {
    std::size_t in = 1;
    std::size_t out = 1;
    std::ptrdiff_t begin = 0;      // what is added before
    std::size_t inside_begin = 0;  // the stretch that is the axis itself
    std::size_t inside_end = 1;
    PadMode mode = PadMode::constant;

    // The coordinate in the input that output coordinate `o` shows, or kOutside.
    [[nodiscard]] std::ptrdiff_t source(std::size_t o) const;
  };
  static constexpr std::ptrdiff_t kOutside = -1;

  // `copy` moves one unit.
  template <class Copy>
  void fill_row(const Copy& copy, const char* in_row, const void* value, char* out_row) const;
  template <class Copy>
  void fill_rows(const Copy& copy, std::size_t begin, std::size_t end, const char* in, const void* value,
                 char* out) const;
  // The index of the input's plane that a plane of the output shows, or kOutside.
  [[nodiscard]] std::ptrdiff_t plane_source(std::size_t plane) const;

  std::vector<Axis> outer_;  // of planes, outermost first
  Axis rows_;                // of a plane: the axis before row_, if there is one
  Axis row_;                 // the last axis that is padded
  bool is_one_row_ = false;  // for want of other axes
  std::size_t unit_ = 1;     // bytes of one element of row_: what lies behind it, merged
  std::size_t element_size_ = 1;
};

}  // namespace ir::kernels

#endif  // KERNELS_MOVEMENT_PAD_H_
