#include "models/make/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace models {
namespace {

std::int64_t ceil_divided(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double at(const Values& image, std::int64_t channel, std::int64_t y, std::int64_t x) {
  return image.elements[static_cast<std::size_t>((channel * image.shape[2] + y) * image.shape[3] + x)];
}

bool inside(std::int64_t position, std::int64_t size) { return position >= 0 && position < size; }

// Calls `visit(y, x)` for every position of window (`row`, `column`), inside of the image or not.
template <class Visit>
void for_window(const Windows& rows, const Windows& columns, std::int64_t row, std::int64_t column,
                Visit&& visit) {
  const std::int64_t top = row * rows.stride - rows.begin;
  const std::int64_t left = column * columns.stride - columns.begin;
  for (std::int64_t y = top; y < top + rows.kernel; ++y) {
    for (std::int64_t x = left; x < left + columns.kernel; ++x) visit(y, x);
  }
}

// An image of which `element(channel, row, column)` gives the elements.
template <class Element>
Values image_of(std::int64_t channels, std::int64_t rows, std::int64_t columns, Element&& element) {
  Values image{{1, channels, rows, columns}, {}};
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column)
        image.elements.push_back(element(channel, row, column));
    }
  }
  return image;
}

}  // namespace

Values values_of(const ir::Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {tensor.shape(), {data.begin(), data.end()}};
}

ir::Tensor f32_tensor(const Values& values) {
  ir::Tensor tensor(ir::ElementType::f32, values.shape);
  std::ranges::transform(values.elements, tensor.data<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return tensor;
}

Windows explicit_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad_begin,
                         std::int64_t pad_end) {
  return {kernel, stride, pad_begin, size + pad_end, (size + pad_begin + pad_end - kernel) / stride + 1};
}

Windows same_upper_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t count = ceil_divided(size, stride);
  const std::int64_t padding = std::max<std::int64_t>(0, (count - 1) * stride + kernel - size);
  return {kernel, stride, padding / 2, size + padding - padding / 2, count};
}

Windows ceil_torch_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                           std::int64_t pad_begin, std::int64_t pad_end) {
  std::int64_t count = ceil_divided(size + pad_begin + pad_end - kernel, stride) + 1;
  if ((count - 1) * stride >= size + pad_begin) --count;
  return {kernel, stride, pad_begin, size + pad_end, count};
}

Values average_pool(const Values& image, const Windows& rows, const Windows& columns, bool exclude_pad) {
  return image_of(image.shape[1], rows.count, columns.count, [&](auto channel, auto row, auto column) {
    double sum = 0;
    double divisor = 0;
    for_window(rows, columns, row, column, [&](std::int64_t y, std::int64_t x) {
      const bool in_image = inside(y, image.shape[2]) && inside(x, image.shape[3]);
      if (in_image) sum += at(image, channel, y, x);
      // Behind the padding there is nothing that could count.
      if (in_image || (!exclude_pad && y < rows.padded_end && x < columns.padded_end)) divisor += 1;
    });
    return sum / divisor;
  });
}

Values max_pool(const Values& image, const Windows& rows, const Windows& columns) {
  return image_of(image.shape[1], rows.count, columns.count, [&](auto channel, auto row, auto column) {
    double most = -std::numeric_limits<double>::infinity();
    for_window(rows, columns, row, column, [&](std::int64_t y, std::int64_t x) {
      if (inside(y, image.shape[2]) && inside(x, image.shape[3]))
        most = std::max(most, at(image, channel, y, x));
    });
    return most;
  });
}

Values adaptive_average_pool(const Values& image, std::int64_t height, std::int64_t width) {
  return image_of(image.shape[1], height, width, [&](auto channel, auto row, auto column) {
    const auto top = row * image.shape[2] / height;
    const auto bottom = ceil_divided((row + 1) * image.shape[2], height);
    const auto left = column * image.shape[3] / width;
    const auto right = ceil_divided((column + 1) * image.shape[3], width);
    double sum = 0;
    for (auto y = top; y < bottom; ++y) {
      for (auto x = left; x < right; ++x) sum += at(image, channel, y, x);
    }
    return sum / static_cast<double>((bottom - top) * (right - left));
  });
}

Values convolution(const Values& image, const Values& filters, std::int64_t groups, const Windows& rows,
                   const Windows& columns) {
  const std::int64_t channels_out = filters.shape[0];
  const std::int64_t channels_in = filters.shape[1];
  return image_of(channels_out, rows.count, columns.count, [&](auto channel, auto row, auto column) {
    const std::int64_t first_in = channel / (channels_out / groups) * channels_in;
    auto weight = filters.elements.begin() + channel * channels_in * rows.kernel * columns.kernel;
    double sum = 0;
    for (std::int64_t in = first_in; in < first_in + channels_in; ++in) {
      for_window(rows, columns, row, column, [&](std::int64_t y, std::int64_t x) {
        if (inside(y, image.shape[2]) && inside(x, image.shape[3])) sum += *weight * at(image, in, y, x);
        ++weight;
      });
    }
    return sum;
  });
}

Values biased(Values image, const Values& bias) {
  const std::size_t plane = image.elements.size() / bias.elements.size();
  for (std::size_t i = 0; i < image.elements.size(); ++i) image.elements[i] += bias.elements[i / plane];
  return image;
}

Values relu(Values values) {
  for (double& value : values.elements) value = std::max(value, 0.0);
  return values;
}

Values matmul(const Values& a, const Values& b) {
  const auto inner = static_cast<std::size_t>(b.shape[0]);
  const auto columns = static_cast<std::size_t>(b.shape[1]);
  const std::size_t rows = a.elements.size() / inner;
  Values product{a.shape, std::vector<double>(rows * columns, 0.0)};
  product.shape.back() = b.shape[1];
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < inner; ++k)
        product.elements[i * columns + j] += a.elements[i * inner + k] * b.elements[k * columns + j];
    }
  }
  return product;
}

Values softmax(Values values) {
  const auto line = static_cast<std::ptrdiff_t>(values.shape.back());
  for (auto first = values.elements.begin(); first != values.elements.end(); first += line) {
    const double most = *std::max_element(first, first + line);
    double sum = 0;
    std::for_each(first, first + line, [&](double& value) { sum += value = std::exp(value - most); });
    std::for_each(first, first + line, [&](double& value) { value /= sum; });
  }
  return values;
}

}  // namespace models
