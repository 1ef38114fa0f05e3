// What kernels keep of an epilogue, and what they ask of it. Internal to kernels/.
#ifndef KERNELS_MATMUL_OWNED_EPILOGUE_H_
#define KERNELS_MATMUL_OWNED_EPILOGUE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/elementwise/fake_quantize.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {

/// What an epilogue clamps to in levels of a quantisation.
struct LevelRange {
  float low = 0;
  float high = 0;
  friend bool operator==(const LevelRange&, const LevelRange&) = default;
};
/// Of all channels; empty where they differ. Rounded as well, it may come before or after sums are.
std::optional<LevelRange> common_range(const Epilogue& epilogue, ChannelQuantization levels);

/// An epilogue that owns its biases and scales.
class OwnedEpilogue {
 public:
  /// Of so many channels.
  OwnedEpilogue(const Epilogue& epilogue, std::size_t channels)
      : OwnedEpilogue(epilogue, channels, channels) {}
  /// Of a product.
  OwnedEpilogue(const Epilogue& epilogue, const GemmParams& params)
      : OwnedEpilogue(epilogue, params.bias_axis == BiasAxis::row ? params.m : params.n, params.n) {}
  // Not inline: every kernel has some.
  OwnedEpilogue(OwnedEpilogue&& other) noexcept;
  OwnedEpilogue(const OwnedEpilogue& other) = delete;
  OwnedEpilogue& operator=(const OwnedEpilogue& other) = delete;
  ~OwnedEpilogue();

  [[nodiscard]] const float* bias() const { return bias_.empty() ? nullptr : bias_.data(); }
  [[nodiscard]] const float* scale() const { return scale_.empty() ? nullptr : scale_.data(); }
  [[nodiscard]] bool residual() const { return values_.residual; }
  [[nodiscard]] float low() const { return values_.low; }
  [[nodiscard]] float high() const { return values_.high; }

  /// Bounds of a tile, and its biases from row `row` and column `column` of a product on.
  void set_up(Tile& tile, BiasAxis axis, std::size_t row, std::size_t column) const {
    const auto from = [](const float* values, std::size_t first) {
      return values == nullptr ? nullptr : values + first;
    };
    tile.low = low();
    tile.high = high();
    // Of products, columns are the channels.
    tile.column_scale = from(scale(), column);
    if (axis == BiasAxis::row) {
      tile.row_bias = from(bias(), row);
    } else {
      tile.column_bias = from(bias(), column);
    }
  }

  /// The tile of the only row of a product, or of the first of some: `columns` from `column` on, for results
  /// at `out`. `residual`: nullptr where there is none.
  [[nodiscard]] Tile row_tile(BiasAxis axis, std::size_t column, std::size_t columns, const float* residual,
                              float* out) const {
    Tile tile;
    tile.out = out;
    tile.columns = columns;
    tile.residual = residual;
    set_up(tile, axis, 0, column);
    return tile;
  }

  /// Whether results become levels in the end.
  [[nodiscard]] bool wants_levels() const { return !levels_.empty(); }
  /// Lets sums of integers count in steps of the levels that they become, where they have a common range and
  /// nothing else is done to them: then all there is of an epilogue are scales, biases and that range, for so
  /// many channels at least.
  bool turn_into_steps(std::size_t least_channels = 0);
  /// Whether sums in those steps are finite, and fit 32 bits, whatever they are.
  [[nodiscard]] bool steps_fit() const;
  /// The levels of rows of results, channels from `channel` on, to rows of the output from its element
  /// `first` on.
  void put_levels(const FloatRows& results, std::size_t channel, float* out, std::size_t first,
                  std::size_t out_stride) const;

  [[nodiscard]] bool has_post() const { return values_.post != nullptr; }
  /// Whether the hook, if there is one, has to know the channel.
  [[nodiscard]] bool posts_by_channel() const { return values_.post_by_channel; }
  /// Calls the hook, if there is one, on `rows` spans of `columns` floats of one channel.
  void post_rows(float* out, std::size_t stride, std::size_t rows, std::size_t columns,
                 std::size_t channel) const {
    post(out, stride, rows, columns, channel, 0);
  }
  /// The same where each row is a channel, the first one `channel`.
  void post_channels(float* out, std::size_t stride, std::size_t rows, std::size_t columns,
                     std::size_t channel) const {
    post(out, stride, rows, columns, channel, values_.post_by_channel ? 1 : 0);
  }

 private:
  void post(float* out, std::size_t stride, std::size_t rows, std::size_t columns, std::size_t channel,
            std::size_t channel_step) const;

  OwnedEpilogue(const Epilogue& epilogue, std::size_t bias_count, std::size_t scale_count);

  Epilogue values_;
  std::vector<float> bias_;
  std::vector<float> scale_;
  std::vector<Quantization> levels_;
};

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_OWNED_EPILOGUE_H_
