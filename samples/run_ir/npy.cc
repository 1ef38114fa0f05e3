#include "samples/run_ir/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "ir_reader/errors.h"
#include "ir_reader/new_file.h"
#include "kernels/movement/transpose.h"
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
  throw ir::reader::file_error("IR-npy", path.string(), std::move(message));
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// The value of `key` in the header, a Python dict literal such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// NumPy writes single quotes; other writers, as Python may, double ones.
std::string_view value_of(std::string_view header, std::string_view key, char end) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{0}{1}{0}", quote, key);
    const auto at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    std::string_view value = without_blanks(header.substr(at + quoted.size()));
    if (!value.starts_with(':')) continue;
    value = without_blanks(value.substr(1));
    const char ends[] = {end, '}', '\0'};
    return value.substr(0, value.find_first_of(ends, 1));
  }
  return {};
}

std::string_view without_quotes(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"'))
    return text;
  return text.substr(1, text.size() - 2);
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
    if (text.starts_with('L')) text.remove_prefix(1);  // a long number of Python 2
  }
  return shape;
}

// What an element is in the file.
struct Format {
  ElementType type = ElementType::dynamic;
  bool big_endian = false;
  /// Of strings: bytes of each, and whether they are characters of 32 bits ('U'), not of 8 ('S').
  std::int64_t string_bytes = 0;
  bool wide = false;
};

constexpr std::int64_t kWideBytes = 4;

// '|Sn', '<Un': n characters.
std::optional<Format> string_format(std::string_view descr) {
  const bool wide = descr[1] == 'U';
  if (!wide && descr[1] != 'S') return std::nullopt;
  std::int64_t length = 0;
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), length);
  if (error != std::errc() || end != descr.data() + descr.size() || length < 0) return std::nullopt;
  if (wide && __builtin_mul_overflow(length, kWideBytes, &length)) return std::nullopt;
  return Format{ElementType::string, descr[0] == '>', length, wide};
}

std::optional<Format> format_of(std::string_view descr) {
  if (descr.size() < 3 || std::string_view("<>|").find(descr[0]) == std::string_view::npos)
    return std::nullopt;
  for (const NumpyType& known : kTypes) {
    if (known.descr.substr(1) != descr.substr(1)) continue;
    // Bytes have no order, so that all signs are fit for them.
    if (descr[0] == '|' && ir::bits_of(known.type) > 8) return std::nullopt;
    return Format{known.type, descr[0] == '>'};
  }
  return string_format(descr);
}

// Elements that stand in Fortran's order, where the first index counts fastest; `data` holds all of them.
std::string in_c_order(std::string_view data, const ir::Shape& shape) {
  if (data.empty()) return {};
  const auto count = static_cast<std::size_t>(ir::element_count(shape).value());
  const std::vector<std::size_t> dims(shape.rbegin(), shape.rend());
  std::vector<std::size_t> order(dims.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  const std::string aligned(data);
  std::string ordered(data.size(), '\0');
  ir::kernels::Transpose(dims, order, data.size() / count).run(aligned.data(), ordered.data());
  return ordered;
}

// Each element, with its bytes in the other order.
void swap_bytes(ir::Tensor& tensor) {
  const auto size = static_cast<std::ptrdiff_t>(ir::bits_of(tensor.element_type()) / 8);
  auto* bytes = static_cast<std::byte*>(tensor.raw());
  for (std::size_t at = 0; at < tensor.byte_size(); at += static_cast<std::size_t>(size))
    std::reverse(bytes + at, bytes + at + size);
}

void append_utf8(const std::filesystem::path& path, std::string& text, std::uint32_t character) {
  constexpr std::uint32_t kLast = 0x10FFFF;
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&](int shift) { add(0x80U | (character >> shift & 0x3FU)); };
  if (character > kLast || (character >= 0xD800 && character <= 0xDFFF))
    fail(path, fmt::format("a string has the character {:#x}, which Unicode lacks", character));
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xC0U | character >> 6U);
    add_rest(0);
  } else if (character < 0x10000) {
    add(0xE0U | character >> 12U);
    add_rest(6);
    add_rest(0);
  } else {
    add(0xF0U | character >> 18U);
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

// Characters of 32 bits as UTF-8; zeros at the end only fill up.
std::string narrowed(const std::filesystem::path& path, std::string_view wide, bool big_endian) {
  std::vector<std::uint32_t> characters;
  for (std::size_t at = 0; at < wide.size(); at += kWideBytes) {
    std::uint32_t character = 0;
    for (std::size_t i = 0; i < kWideBytes; ++i) {
      const std::size_t place = big_endian ? i : kWideBytes - 1 - i;
      character = character << 8U | static_cast<unsigned char>(wide[at + place]);
    }
    characters.push_back(character);
  }
  while (!characters.empty() && characters.back() == 0) characters.pop_back();
  std::string text;
  for (const std::uint32_t character : characters) append_utf8(path, text, character);
  return text;
}

// What stands before the data.
struct Header {
  Format format;
  bool fortran_order = false;
  ir::Shape shape;
  /// Bytes from the beginning of the file to the data.
  std::size_t size = 0;
};

Header read_header(const std::filesystem::path& path, std::string_view bytes) {
  if (bytes.size() < 10 || !bytes.starts_with(kMagic)) fail(path, "this is not a .npy file");
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
  const std::string_view text = bytes.substr(prefix, length);
  const std::string_view order = value_of(text, "fortran_order", ',');
  const bool fortran_order = order.starts_with("True");
  if (!fortran_order && !order.starts_with("False"))
    fail(path, "the header does not say whether the order is Fortran's");
  const std::string_view descr = without_quotes(value_of(text, "descr", ','));
  const auto format = format_of(descr);
  if (!format) fail(path, fmt::format("elements of type '{}' are not supported", descr));
  return {*format, fortran_order, parse_shape(path, value_of(text, "shape", ')')), prefix + length};
}

// That the data is what the shape takes.
void require_size(const std::filesystem::path& path, const Header& header, std::string_view data) {
  const Format& format = header.format;
  const bool strings = format.type == ElementType::string;
  const std::int64_t element = strings ? format.string_bytes : ir::bits_of(format.type) / 8;
  const auto count = ir::element_count(header.shape);
  std::int64_t wanted = 0;
  const bool countable = count && !__builtin_mul_overflow(*count, element, &wanted);
  // Strings of no bytes could be any number.
  if (countable && element > 0 && static_cast<std::size_t>(wanted) == data.size()) return;
  const std::string elements =
      strings ? fmt::format("takes strings of {} bytes", element)
              : fmt::format("of {} takes {}", ir::name_of(format.type),
                            countable ? fmt::format("{}", wanted) : "more than any file has");
  fail(path, fmt::format("the file holds {} bytes of data, shape {} {}", data.size(),
                         ir::to_string(header.shape), elements));
}

// `data` is in C's order.
ir::Tensor strings_of(const std::filesystem::path& path, const Header& header, std::string_view data) {
  const auto length = static_cast<std::size_t>(header.format.string_bytes);
  ir::Tensor tensor(ElementType::string, header.shape);
  for (std::string& string : tensor.data<std::string>()) {
    const std::string_view bytes = data.substr(0, length);
    if (header.format.wide) {
      string = narrowed(path, bytes, header.format.big_endian);
    } else {
      string = bytes;
      string.erase(string.find_last_not_of('\0') + 1);
    }
    data.remove_prefix(length);
  }
  return tensor;
}

// `data` is in C's order.
ir::Tensor numbers_of(const Header& header, std::string_view data) {
  ir::Tensor tensor(header.format.type, header.shape);
  if (!data.empty()) std::memcpy(tensor.raw(), data.data(), data.size());
  if (header.format.big_endian) swap_bytes(tensor);
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
  const Header header = read_header(path, bytes);
  std::string_view data = std::string_view(bytes).substr(header.size);
  require_size(path, header, data);
  const std::string ordered = header.fortran_order ? in_c_order(data, header.shape) : std::string();
  if (header.fortran_order) data = ordered;
  return header.format.type == ElementType::string ? strings_of(path, header, data)
                                                   : numbers_of(header, data);
}

void write_npy(std::ostream& stream, const ir::Tensor& tensor) {
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
  if (descr.empty()) return write_npy(stream, tensor.converted(ElementType::f32));
  std::string shape;
  for (const std::int64_t dim : tensor.shape()) shape += fmt::format("{}, ", dim);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // The data starts at a multiple of 64 bytes, after a line break.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto length = static_cast<unsigned>(header.size());
  stream << kMagic << '\x01' << '\x00' << static_cast<char>(length & 255U) << static_cast<char>(length >> 8U)
         << header;
  stream.write(data.data(), static_cast<std::streamsize>(data.size()));
}

void write_npy(const std::filesystem::path& path, const ir::Tensor& tensor) {
  ir::reader::NewFile file(path);
  write_npy(file.stream(), tensor);
  file.finish();
  file.put_in_place();
}

}  // namespace run_ir
