#include "samples/run_ir/image.h"

#include <fmt/format.h>

#include <cstdlib>

// Zeros: stb_image before 2023 decodes by tables that a JPEG file names and does not hold.
#define STBI_MALLOC(bytes) std::calloc(1, bytes)
#define STBI_REALLOC(memory, bytes) std::realloc(memory, bytes)
#define STBI_FREE(memory) std::free(memory)
#define STB_IMAGE_IMPLEMENTATION
#define STBI_FAILURE_USERMSG
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_MAX_DIMENSIONS 32768
#include <stb_image.h>
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb_image_resize.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <memory>

#include "ir_reader/errors.h"
#include "runtime/types/budget.h"
#include "samples/run_ir/inputs.h"
#include "samples/run_ir/jpeg_check.h"
#include "samples/run_ir/png_check.h"

namespace run_ir {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string message) {
  throw ir::reader::file_error("IR-image", path.string(), std::move(message));
}

// Which axis of the input is what.
struct ImageAxes {
  std::size_t channel = 1;
  std::size_t height = 2;
  std::size_t width = 3;
};

ImageAxes axes_of(const std::filesystem::path& path, const ir::Port& port, std::string layout) {
  const std::size_t rank = port.shape.rank();
  if (!port.shape.has_rank() || (rank != 3 && rank != 4)) {
    fail(path, fmt::format("input '{}' of shape {} does not take a picture", port.name(),
                           ir::to_string(port.shape)));
  }
  if (layout.empty()) {
    const auto is_channels = [](const ir::Dimension& dim) {
      return dim == ir::Dimension(1) || dim == ir::Dimension(3) || dim == ir::Dimension(4);
    };
    const bool last = is_channels(port.shape[rank - 1]) && !is_channels(port.shape[rank - 3]);
    layout = last ? "NHWC" : "NCHW";
  }
  if (rank == 3 && layout.size() == 4) layout.erase(0, 1);
  const auto axis = [&](char letter) {
    const auto at = layout.find(letter);
    if (layout.size() != rank || at == std::string::npos) {
      fail(path, fmt::format("the layout '{}' does not fit input '{}' of shape {}", layout, port.name(),
                             ir::to_string(port.shape)));
    }
    return at;
  };
  return {axis('C'), axis('H'), axis('W')};
}

struct Pixels {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<unsigned char> data;
};

Pixels load(const std::filesystem::path& path, int channels) {
  const std::string bytes = read_file(path);
  if (has_oversized_huffman_table(bytes))
    fail(path, "the picture cannot be read: a Huffman table has more than 256 codes");
  if (const std::string_view fault = fault_of_png(bytes); !fault.empty())
    fail(path, fmt::format("the picture cannot be read: {}", fault));
  Pixels pixels;
  int in_file = 0;
  if (bytes.size() > std::numeric_limits<int>::max())
    fail(path, fmt::format("the file has {} bytes, too many for a picture", bytes.size()));
  const auto* start = reinterpret_cast<const unsigned char*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  // A picture of a few bytes may be gigabytes of pixels.
  if (stbi_info_from_memory(start, size, &pixels.width, &pixels.height, &in_file) != 0) {
    const std::int64_t width = pixels.width;
    const std::int64_t height = std::abs(std::int64_t{pixels.height});  // negative in a BMP: top row first
    const std::int64_t most = std::max(channels, in_file);
    // Headers of BMP hold any number, so that the product below might be none.
    if (std::min(width, height) < 1 || std::max(width, height) > STBI_MAX_DIMENSIONS)
      fail(path, fmt::format("the picture cannot be read: it claims {} x {} pixels", width, height));
    ir::Budget::require_tensor(most * width * height, ir::ElementType::u8, {height, width, most});
  }
  const std::unique_ptr<unsigned char, void (*)(void*)> data(
      stbi_load_from_memory(start, size, &pixels.width, &pixels.height, &in_file, channels),
      &stbi_image_free);
  if (!data) fail(path, fmt::format("the picture cannot be read: {}", stbi_failure_reason()));
  pixels.channels = channels;
  pixels.data.assign(data.get(),
                     data.get() + static_cast<std::size_t>(pixels.width) * pixels.height * channels);
  return pixels;
}

Pixels resized(const std::filesystem::path& path, const Pixels& from, int width, int height) {
  if (from.width == width && from.height == height) return from;
  Pixels to{width, height, from.channels, {}};
  to.data.resize(static_cast<std::size_t>(width) * height * from.channels);
  const int done = stbir_resize_uint8_generic(
      from.data.data(), from.width, from.height, 0, to.data.data(), width, height, 0, from.channels,
      STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr);
  if (done == 0) fail(path, "the picture cannot be resized: out of memory");
  return to;
}

// How many channels a picture has to be read with.
int channels_of(const std::filesystem::path& path, const ir::Port& port, const ir::Dimension& dim) {
  const std::int64_t channels = dim.is_static() ? dim.value() : 3;
  if (channels != 1 && channels != 3 && channels != 4)
    fail(path, fmt::format("input '{}' takes {} channels, a picture has 1, 3 or 4", port.name(), channels));
  return static_cast<int>(channels);
}

void require_one_or_all(const std::filesystem::path& path, const ir::Port& port, int channels,
                        const std::vector<float>& values) {
  if (values.size() <= 1 || values.size() == static_cast<std::size_t>(channels)) return;
  fail(path, fmt::format("{} values for mean or scale, input '{}' has {} channels", values.size(),
                         port.name(), channels));
}

// Width or height; the picture's own when the input takes any.
int side_of(const std::filesystem::path& path, const ir::Dimension& dim, int own) {
  const std::int64_t size = dim.is_static() ? dim.value() : own;
  if (size < 1 || size > STBI_MAX_DIMENSIONS)
    fail(path, fmt::format("the input takes a picture of size {}", size));
  return static_cast<int>(size);
}

float per_channel(const std::vector<float>& values, std::size_t channel, float otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values.at(channel);
}

// Pixels as f32 of this rank, where and in the order that the axes and options say.
ir::Tensor laid_out(const Pixels& pixels, const ImageAxes& axes, std::size_t rank,
                    const ImageOptions& options) {
  ir::Shape shape(rank, 1);
  shape[axes.channel] = pixels.channels;
  shape[axes.height] = pixels.height;
  shape[axes.width] = pixels.width;
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t axis = rank - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * static_cast<std::size_t>(shape[axis]);
  ir::Tensor tensor(ir::ElementType::f32, shape);
  const auto values = tensor.data<float>();
  const bool swap = pixels.channels >= 3 && options.channel_order != "rgb";
  std::size_t at = 0;
  for (std::size_t y = 0; y < static_cast<std::size_t>(pixels.height); ++y) {
    for (std::size_t x = 0; x < static_cast<std::size_t>(pixels.width); ++x) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(pixels.channels); ++c, ++at) {
        const std::size_t channel = swap && c < 3 ? 2 - c : c;
        const float value = (static_cast<float>(pixels.data[at]) - per_channel(options.mean, channel, 0)) /
                            per_channel(options.scale, channel, 1);
        values[channel * strides[axes.channel] + y * strides[axes.height] + x * strides[axes.width]] = value;
      }
    }
  }
  return tensor;
}

}  // namespace

bool is_image(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg" || extension == ".bmp";
}

ir::Tensor read_image(const std::filesystem::path& path, const ir::Port& port, const ImageOptions& options) {
  const ImageAxes axes = axes_of(path, port, options.layout);
  const int channels = channels_of(path, port, port.shape[axes.channel]);
  require_one_or_all(path, port, channels, options.mean);
  require_one_or_all(path, port, channels, options.scale);
  const Pixels original = load(path, channels);
  const int width = side_of(path, port.shape[axes.width], original.width);
  const int height = side_of(path, port.shape[axes.height], original.height);
  ir::Budget::require_tensor(std::int64_t{4} * channels * width * height, ir::ElementType::f32,
                             {channels, height, width});
  const ir::Tensor tensor =
      laid_out(resized(path, original, width, height), axes, port.shape.rank(), options);
  return port.type == ir::ElementType::f32 ? tensor : tensor.converted(port.type);
}

}  // namespace run_ir
