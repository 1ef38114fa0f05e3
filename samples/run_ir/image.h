// Pictures as model inputs.
#ifndef SAMPLES_RUN_IR_IMAGE_H_
#define SAMPLES_RUN_IR_IMAGE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "ir_runtime/model.h"

namespace run_ir {

/// How a picture becomes a tensor: value = (pixel - mean) / scale.
struct ImageOptions {
  /// "NCHW" or "NHWC", with the batch axis left out for rank 3; empty: NHWC when the last dim is 1, 3 or 4
  /// and the channel dim of NCHW is not.
  std::string layout;
  /// "bgr" (as Open Model Zoo's networks take it), which is meant where nothing is said, or "rgb".
  std::string channel_order;
  /// One value, or one per channel; none: 0 and 1.
  std::vector<float> mean;
  std::vector<float> scale;
};

/// Whether the file's name ends like a picture's: .png, .jpg, .jpeg, .bmp.
bool is_image(const std::filesystem::path& path);

/// Reads a picture, resizes it (bilinear) to what `port` takes and lays it out. Unknown height and width are
/// the picture's own. Throws ir::Error `IR-image`.
ir::Tensor read_image(const std::filesystem::path& path, const ir::Port& port, const ImageOptions& options);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_IMAGE_H_
