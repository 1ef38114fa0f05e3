#include "samples/run_ir/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "ir_runtime/diagnostics.h"
#include "samples/run_ir/inputs.h"

namespace run_ir {
namespace {

using ir::ElementType;

struct NumpyType {
  std::string_view descr;
  ElementType type;
};

constexpr std::array kTypes{
    NumpyType{"<f4", ElementType::f32}, NumpyType{"<f8", ElementType::f64},
    NumpyType{"<f2", ElementType::f16}, NumpyType{"|i1", ElementType::i8},
    NumpyType{"<i2", ElementType::i16}, NumpyType{"<i4", ElementType::i32},
    NumpyType{"<i8", ElementType::i64}, NumpyType{"|u1", ElementType::u8},
    NumpyType{"<u2", ElementType::u16}, NumpyType{"<u4", ElementType::u32},
    NumpyType{"<u8", ElementType::u64}, NumpyType{"|b1", ElementType::boolean},
};

constexpr std::string_view kMagic("\x93NUMPY", 6);

[[noreturn]] void fail(const std::filesystem::path& path, std::string message) {
  throw ir::Error(
      {ir::Diagnostic{ir::Severity::error, "IR-npy", {path.string(), 0, 0}, {}, std::move(message), {}}});
}

// The value of 'key' in the header, a Python dict literal such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
std::string_view value_of(std::string_view header, std::string_view key, char end) {
  const std::string quoted = fmt::format("'{}':", key);
  const auto at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + quoted.size());
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  const char ends[] = {end, '}', '\0'};
  return value.substr(0, value.find_first_of(ends, 1));
}

ir::Shape parse_shape(const std::filesystem::path& path, std::string_view text) {
  constexpr std::size_t kMaxRank = 64;
  ir::Shape shape;
  if (text.empty() || text.front() != '(') fail(path, "the header has no shape");
  text.remove_prefix(1);
  while (!text.empty()) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    if (text.empty()) break;
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0 || shape.size() >= kMaxRank)
      fail(path, fmt::format("the shape '({}' is malformed", text));
    shape.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return shape;
}

// The n of '|Sn'.
std::optional<std::int64_t> string_length(std::string_view descr) {
  if (!descr.starts_with("|S")) return std::nullopt;
  std::int64_t length = 0;
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), length);
  if (error != std::errc() || end != descr.data() + descr.size() || length < 0) return std::nullopt;
  return length;
}

ir::Tensor strings_of(const std::filesystem::path& path, const ir::Shape& shape, std::string_view data,
                      std::int64_t length) {
  const auto count = ir::element_count(shape);
  const auto there = static_cast<std::int64_t>(data.size());
  const bool fits = count && length > 0 && there % length == 0 && there / length == *count;
  if (!fits) {
    fail(path, fmt::format("the file holds {} bytes of data, shape {} takes strings of {} bytes", there,
                           ir::to_string(shape), length));
  }
  ir::Tensor tensor(ElementType::string, shape);
  for (std::string& string : tensor.data<std::string>()) {
    string = data.substr(0, static_cast<std::size_t>(length));
    string.erase(string.find_last_not_of('\0') + 1);
    data.remove_prefix(static_cast<std::size_t>(length));
  }
  return tensor;
}

// All strings at the length of the longest.
std::string padded(const ir::Tensor& tensor, std::size_t length) {
  std::string data;
  for (const std::string& string : tensor.data<std::string>()) {
    data += string;
    data.append(length - string.size(), '\0');
  }
  return data;
}

}  // namespace

ir::Tensor read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  if (bytes.size() < 10 || std::string_view(bytes).substr(0, 6) != kMagic)
    fail(path, "this is not a .npy file");
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) fail(path, fmt::format("version {} of the format is not known", version));
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) fail(path, "the header is cut off");
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - prefix) fail(path, "the header is cut off");
  const std::string_view header = std::string_view(bytes).substr(prefix, length);
  if (value_of(header, "fortran_order", ',') != "False")
    fail(path, "the array is in Fortran order; save it in C order");
  std::string_view descr = value_of(header, "descr", ',');
  if (descr.size() >= 2) descr = descr.substr(1, descr.size() - 2);
  ElementType type = ElementType::dynamic;
  for (const NumpyType& known : kTypes) {
    if (known.descr == descr) type = known.type;
  }
  const auto text_length = string_length(descr);
  if (type == ElementType::dynamic && !text_length)
    fail(path, fmt::format("elements of type '{}' are not supported", descr));
  const ir::Shape shape = parse_shape(path, value_of(header, "shape", ')'));
  if (text_length)
    return strings_of(path, shape, std::string_view(bytes).substr(prefix + length), *text_length);
  const auto count = ir::element_count(shape);
  const auto wanted = count ? ir::storage_bytes(type, *count) : std::nullopt;
  const std::size_t there = bytes.size() - prefix - length;
  if (!wanted || static_cast<std::size_t>(*wanted) != there) {
    fail(path, fmt::format("the file holds {} bytes of data, shape {} of {} takes {}", there,
                           ir::to_string(shape), ir::name_of(type), wanted.value_or(-1)));
  }
  ir::Tensor tensor(type, shape);
  if (there > 0) std::memcpy(tensor.raw(), bytes.data() + prefix + length, there);
  return tensor;
}

void write_npy(const std::filesystem::path& path, const ir::Tensor& tensor) {
  std::string descr;
  std::string text;
  std::string_view data(static_cast<const char*>(tensor.raw()), tensor.byte_size());
  if (tensor.element_type() == ElementType::string) {
    std::size_t longest = 1;
    for (const std::string& string : tensor.data<std::string>()) longest = std::max(longest, string.size());
    descr = fmt::format("|S{}", longest);
    data = text = padded(tensor, longest);
  }
  for (const NumpyType& known : kTypes) {
    if (known.type == tensor.element_type()) descr = known.descr;
  }
  if (descr.empty()) return write_npy(path, tensor.converted(ElementType::f32));
  std::string shape;
  for (const std::int64_t dim : tensor.shape()) shape += fmt::format("{}, ", dim);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // The data starts at a multiple of 64 bytes, after a line break.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const auto length = static_cast<unsigned>(header.size());
  file << kMagic << '\x01' << '\x00' << static_cast<char>(length & 255U) << static_cast<char>(length >> 8U)
       << header;
  file.write(data.data(), static_cast<std::streamsize>(data.size()));
  file.flush();
  if (!file) throw ir::Error("IR-file", fmt::format("{}: the file cannot be written", path.string()));
}

}  // namespace run_ir
