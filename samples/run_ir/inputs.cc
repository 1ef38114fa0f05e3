#include "samples/run_ir/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <sstream>

#include "ir_reader/errors.h"
#include "ir_reader/regular_file.h"
#include "ir_runtime/diagnostics.h"
#include "runtime/model/ports.h"
#include "runtime/types/budget.h"
#include "samples/run_ir/elements.h"
#include "samples/run_ir/limits.h"
#include "samples/run_ir/npy.h"
#include "samples/run_ir/option_checks.h"

namespace run_ir {
namespace {

using ir::reader::file_error;

[[noreturn]] void refuse_options(std::string message) {
  throw ir::Error("IR-input-options", std::move(message));
}

std::size_t only_port(const std::vector<ir::Port>& ports, std::string_view text) {
  if (ports.size() == 1) return 0;
  const std::string has = ports.empty() ? "none" : fmt::format("{}: {}", ports.size(), ir::names_of(ports));
  throw ir::Error("IR-port-unknown", fmt::format("'{}' names no input and the model has {}", text, has));
}

// "NAME=FILE" by port. A name may itself hold '=': the longest one that is an input counts.
std::map<std::size_t, std::filesystem::path> files_by_port(const std::vector<ir::Port>& ports,
                                                           const std::vector<std::string>& texts) {
  std::map<std::size_t, std::filesystem::path> files;
  for (const std::string& text : texts) {
    std::optional<std::size_t> port;
    std::string file = text;
    for (auto at = text.rfind('='); at != std::string::npos && at > 0 && !port;
         at = text.rfind('=', at - 1)) {
      port = ir::find_input(ports, text.substr(0, at));
      if (port) file = text.substr(at + 1);
    }
    if (!port) {
      // "FILE" alone, unless it looks like a name that is wrong.
      const auto equals = text.find('=');
      if (equals != std::string::npos && !std::filesystem::exists(text))
        (void)ir::input_named(ports, text.substr(0, equals));
      port = only_port(ports, text);
    }
    if (file.empty())
      refuse_options(fmt::format("'{}' names no file for input '{}'", text, ports[*port].name()));
    if (const auto [other, first] = files.emplace(*port, file); !first) {
      refuse_options(fmt::format("input '{}' has two files: {} and {}", ports[*port].name(),
                                 other->second.string(), file));
    }
  }
  return files;
}

std::map<std::size_t, ir::PartialShape> shapes_by_port(const std::vector<ir::Port>& ports,
                                                       const std::vector<std::string>& texts) {
  std::map<std::size_t, ir::PartialShape> shapes;
  for (const std::string& text : texts) {
    const auto bracket = text.rfind('[');
    const auto shape =
        bracket == std::string::npos ? std::nullopt : ir::PartialShape::parse(text.substr(bracket));
    if (!shape || !shape->is_static()) {
      throw ir::Error("IR-shape-text", fmt::format("'{}' is no shape; write NAME[1,3,224,224]", text));
    }
    const std::size_t port =
        bracket == 0 ? only_port(ports, text) : ir::input_named(ports, text.substr(0, bracket));
    if (!ports[port].shape.compatible(*shape)) {
      throw ir::Error("IR-input-shape",
                      fmt::format("input '{}' takes shape {}, --shape says {}", ports[port].name(),
                                  ir::to_string(ports[port].shape), ir::to_string(*shape)));
    }
    if (const auto [other, first] = shapes.emplace(port, *shape); !first) {
      refuse_options(fmt::format("input '{}' has two shapes: {} and {}", ports[port].name(),
                                 ir::to_string(other->second), ir::to_string(*shape)));
    }
  }
  return shapes;
}

// `shape` with its one unknown dim, if it has one, such that it holds `elements`, where these are known.
ir::Shape filled_shape(const std::filesystem::path& path, const ir::Port& port, ir::PartialShape shape,
                       std::optional<std::int64_t> elements) {
  const auto unknown =
      std::ranges::count_if(shape, [](const ir::Dimension& dim) { return !dim.is_static(); });
  if (shape.has_rank() && unknown == 1 && elements) {
    ir::Dimension others = 1;  // saturates, as the declared dims may have any product
    std::size_t axis = 0;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i].is_static()) {
        others = others * std::max<std::int64_t>(shape[i].value(), 1);
      } else {
        axis = i;
      }
    }
    if (*elements % others.value() != 0) {
      throw file_error(
          "IR-input-size", path.string(),
          fmt::format("the file holds {} elements, input '{}' of {} {} takes a multiple of {}", *elements,
                      port.name(), ir::name_of(port.type), ir::to_string(shape), others.value()));
    }
    shape[axis] = *elements / others.value();
  }
  if (!shape.is_static()) {
    throw file_error(
        "IR-input-shape", path.string(),
        fmt::format("input '{}' has shape {}; say which with --shape", port.name(), ir::to_string(shape)));
  }
  return shape.to_shape();
}

// Raw elements, as many as the port takes; one unknown dim follows from the size of the file.
ir::Tensor read_raw(const std::filesystem::path& path, const ir::Port& port, const ir::PartialShape& shape) {
  const std::string bytes = read_file(path);
  const int bits = ir::bits_of(port.type);
  std::optional<std::int64_t> elements;
  if (bits >= 8) elements = static_cast<std::int64_t>(bytes.size()) / (bits / 8);
  ir::Tensor tensor(port.type, filled_shape(path, port, shape, elements));
  if (bytes.size() != tensor.byte_size()) {
    throw file_error(
        "IR-input-size", path.string(),
        fmt::format("the file has {} bytes, input '{}' of {} {} takes {}", bytes.size(), port.name(),
                    ir::name_of(port.type), ir::to_string(tensor.shape()), tensor.byte_size()),
        "files other than .npy, .png, .jpg, .jpeg and .bmp are read as raw elements");
  }
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

// A string per line; one unknown dim follows from the number of lines.
ir::Tensor read_lines(const std::filesystem::path& path, const ir::Port& port,
                      const ir::PartialShape& shape) {
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  const ir::Shape filled = filled_shape(path, port, shape, static_cast<std::int64_t>(lines.size()));
  const auto wanted = ir::element_count(filled);
  if (!wanted || static_cast<std::size_t>(*wanted) != lines.size()) {
    throw file_error("IR-input-size", path.string(),
                     fmt::format("the file has {} lines, input '{}' of string {} takes one per string",
                                 lines.size(), port.name(), ir::to_string(filled)));
  }
  return ir::Tensor::of(filled, std::span<const std::string>(lines));
}

// What is said of pictures must not be passed over where there are none.
void require_picture(const std::map<std::size_t, std::filesystem::path>& files, const ImageOptions& image) {
  std::string given;
  const auto add = [&](bool is_given, std::string_view option) {
    if (is_given) given += fmt::format("{}{}", given.empty() ? "" : ", ", option);
  };
  add(!image.layout.empty(), "--layout");
  add(!image.channel_order.empty(), "--channels");
  add(!image.mean.empty(), "--mean");
  add(!image.scale.empty(), "--scale");
  if (given.empty() || std::ranges::any_of(files, [](const auto& file) { return is_image(file.second); }))
    return;
  refuse_options(fmt::format("no input is a picture, which {} would be for", given));
}

bool is_array(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".npy";
}

// An array of the input's type and shape, whatever type the file has.
ir::Tensor read_array(const std::filesystem::path& path, const ir::Port& port) {
  ir::Tensor tensor = read_npy(path);
  if (tensor.element_type() == port.type) return tensor;
  if (holds_strings(tensor) || port.type == ir::ElementType::string) {
    throw file_error("IR-input-type", path.string(),
                     fmt::format("the array holds {}, input '{}' takes {}",
                                 ir::name_of(tensor.element_type()), port.name(), ir::name_of(port.type)));
  }
  return tensor.converted(port.type);
}

ir::Tensor read_input(const std::filesystem::path& path, const ir::Port& port,
                      const std::optional<ir::PartialShape>& asked, const ImageOptions& image) {
  const ir::PartialShape& shape = asked ? *asked : port.shape;
  ir::Port wanted = port;
  wanted.shape = shape;
  if (port.type == ir::ElementType::string && !is_array(path)) return read_lines(path, port, shape);
  if (is_image(path)) return read_image(path, wanted, image);
  if (!is_array(path)) return read_raw(path, port, shape);
  ir::Tensor tensor = read_array(path, port);
  if (asked && ir::PartialShape(tensor.shape()) != shape) {
    throw file_error("IR-input-options", path.string(),
                     fmt::format("the array has shape {}, --shape says {} for input '{}'",
                                 ir::to_string(tensor.shape()), ir::to_string(shape), port.name()));
  }
  if (!shape.compatible(tensor.shape())) {
    throw file_error("IR-input-shape", path.string(),
                     fmt::format("the array has shape {}, input '{}' takes {}", ir::to_string(tensor.shape()),
                                 port.name(), ir::to_string(shape)));
  }
  return tensor;
}

// Uniform in [0, 1) for floating types, small numbers for integers and, as text, for strings: the same for
// the same seed on any machine.
ir::Tensor random_input(const ir::Port& port, const ir::PartialShape& shape, std::uint64_t seed) {
  if (!shape.is_static()) {
    throw ir::Error("IR-input-shape", fmt::format("input '{}' has shape {}; say which with --shape '{}[...]'",
                                                  port.name(), ir::to_string(shape), port.name()));
  }
  std::mt19937_64 generator(seed);
  if (port.type == ir::ElementType::string) {
    ir::Tensor strings(port.type, shape.to_shape());
    for (std::string& string : strings.data<std::string>()) string = fmt::format("{}", generator() >> 54);
    return strings;
  }
  ir::Tensor values(ir::ElementType::f32, shape.to_shape());
  const bool integral = !ir::is_real(port.type);
  for (float& value : values.data<float>()) {
    const auto bits = static_cast<float>(generator() >> 40) * 0x1p-24F;
    value = integral ? std::floor(bits * (port.type == ir::ElementType::boolean ? 2.0F : 10.0F)) : bits;
  }
  return port.type == ir::ElementType::f32 ? values : values.converted(port.type);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const ir::reader::RegularFile file(path);
  if (file.size() > limits().max_input_bytes) {
    throw file_error("IR-limit", file.name(),
                     fmt::format("the file has {} bytes, the limit max_input_bytes is {}", file.size(),
                                 limits().max_input_bytes));
  }
  return file.text();
}

void add_input_options(CLI::App& command, InputOptions& options) {
  command
      .add_option(
          "-i,--input", options.files,
          "NAME=FILE (or FILE for the only input): .npy, .png, .jpg, .bmp, else raw elements; for strings "
          "a text file, one per line. Inputs without a file get random data. Repeatable.")
      ->allow_extra_args(false);  // what follows may be the model
  command
      .add_option("--shape", options.shapes,
                  "NAME[1,3,224,224]: shape of an input that has unknown dims. Repeatable.")
      ->allow_extra_args(false);
  command.add_option("--seed", options.seed, "Seed of random inputs.")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  command.add_option("--layout", options.image.layout, "Layout of picture inputs; found out by default.")
      ->check(one_of({"NCHW", "NHWC", "CHW", "HWC"}));
  command.add_option("--channels", options.image.channel_order, "Channel order of picture inputs.")
      ->check(one_of({"bgr", "rgb"}))
      ->default_str("bgr");
  command
      .add_option("--mean", options.image.mean,
                  "Subtracted from pixels: one value, or one per channel in the order of --channels.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_that("of 32 bits", "NUMBER",
                          [](double value) { return std::isfinite(static_cast<float>(value)); }));
  command
      .add_option("--scale", options.image.scale,
                  "Divides pixels after the mean: one value, or one per channel in the order of --channels.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_that("of 32 bits other than 0", "NUMBER", [](double value) {
        const auto narrow = static_cast<float>(value);
        return std::isfinite(narrow) && narrow != 0;
      }));
}

std::vector<ir::Tensor> make_inputs(const std::vector<ir::Port>& ports, const InputOptions& options) {
  // Before an input of such a size is allocated.
  const ir::Budget budget(input_budget());
  const auto files = files_by_port(ports, options.files);
  const auto shapes = shapes_by_port(ports, options.shapes);
  require_picture(files, options.image);
  std::vector<ir::Tensor> inputs;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto asked = shapes.contains(i) ? std::optional(shapes.at(i)) : std::nullopt;
    inputs.push_back(files.contains(i)
                         ? read_input(files.at(i), ports[i], asked, options.image)
                         : random_input(ports[i], asked.value_or(ports[i].shape), options.seed + i));
  }
  return inputs;
}

void set_inputs(ir::InferRequest& request, const std::vector<ir::Port>& ports, const InputOptions& options) {
  const std::vector<ir::Tensor> inputs = make_inputs(ports, options);
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
}

}  // namespace run_ir
