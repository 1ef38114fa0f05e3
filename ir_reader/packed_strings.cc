#include "ir_reader/packed_strings.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "ir_runtime/diagnostics.h"

namespace ir::reader {
namespace {

using Number = std::int32_t;

constexpr std::int64_t kMost = std::numeric_limits<Number>::max();

Number number_at(std::span<const std::byte> bytes, std::size_t index) {
  Number number = 0;
  std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
  return number;
}

void append(std::string& bytes, std::int64_t value) {
  const auto number = static_cast<Number>(value);
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

std::optional<std::int64_t> packed_string_bytes(std::int64_t count) {
  if (count < 0 || count > kMost) return std::nullopt;
  const std::int64_t numbers = count == 0 ? 1 : count + 2;
  return numbers * static_cast<std::int64_t>(sizeof(Number));
}

Tensor unpack_strings(Shape shape, std::span<const std::byte> bytes) {
  const auto count = element_count(shape);
  const std::int64_t header = count ? packed_string_bytes(*count).value_or(-1) : -1;
  if (header < 0 || bytes.size() < static_cast<std::size_t>(header)) {
    throw Error("IR-const-size", fmt::format("strings of shape {} take at least {} bytes, there are {}",
                                             to_string(shape), header, bytes.size()));
  }
  if (number_at(bytes, 0) != *count) {
    throw Error("IR-const-value", fmt::format("the data holds {} strings, shape {} takes {}",
                                              number_at(bytes, 0), to_string(shape), *count));
  }
  Tensor tensor(ElementType::string, std::move(shape));
  const std::span<std::string> strings = tensor.data<std::string>();
  const auto behind = bytes.subspan(static_cast<std::size_t>(header));
  const std::string_view characters(reinterpret_cast<const char*>(behind.data()), behind.size());
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::int64_t begin = number_at(bytes, i + 1);
    const std::int64_t end = number_at(bytes, i + 2);
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > characters.size()) {
      throw Error("IR-const-value", fmt::format("string {} goes from {} to {}, and there are {} characters",
                                                i, begin, end, characters.size()));
    }
    strings[i] = characters.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  return tensor;
}

std::string pack_strings(const Tensor& tensor) {
  const std::span<const std::string> strings = tensor.data<std::string>();
  std::string bytes;
  append(bytes, tensor.size());
  if (!strings.empty()) append(bytes, 0);
  std::int64_t end = 0;
  for (const std::string& string : strings) {
    end += static_cast<std::int64_t>(string.size());
    append(bytes, end);
    if (end > kMost || !packed_string_bytes(tensor.size())) {
      throw Error("IR-tensor-size",
                  fmt::format("the strings of a tensor of shape {} are too long for a weights file",
                              to_string(tensor.shape())));
    }
  }
  for (const std::string& string : strings) bytes += string;
  return bytes;
}

}  // namespace ir::reader
