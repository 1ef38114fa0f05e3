#include "tests/hostile/mutations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "ir_runtime/element_type.h"
#include "ir_runtime/op.h"
#include "tests/hostile/xml_spans.h"

namespace ir::hostile {
namespace {

// Numbers, and what only looks like one.
constexpr std::array<std::string_view, 32> kNumbers{"0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "-2",
                                                    "3",
                                                    "7",
                                                    "64",
                                                    "65",
                                                    "255",
                                                    "256",
                                                    "4096",
                                                    "65536",
                                                    "1000000",
                                                    "2147483647",
                                                    "2147483648",
                                                    "-2147483648",
                                                    "4294967296",
                                                    "1000000000000",
                                                    "4611686018427387904",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "9223372036854775808",
                                                    "18446744073709551616",
                                                    "12abc",
                                                    "1e3",
                                                    "1e308",
                                                    "0.5",
                                                    "nan",
                                                    "-inf",
                                                    "0x10",
                                                    ""};

constexpr std::array<std::string_view, 10> kShapes{
    "?", "-1", "1..4", "2..", "...", "0,0", "1,1,1,1,1,1,1,1,1", "1000000,1000000", "4294967296,4294967296",
    ","};

constexpr std::array<std::int64_t, 14> kIntegers{0,
                                                 1,
                                                 -1,
                                                 2,
                                                 -2,
                                                 127,
                                                 128,
                                                 -3,
                                                 4096,
                                                 1000000,
                                                 1LL << 31,
                                                 1LL << 40,
                                                 std::numeric_limits<std::int64_t>::max(),
                                                 std::numeric_limits<std::int64_t>::min()};

void replace(std::string& text, const Span& span, std::string_view by) {
  text.replace(span.begin, span.end - span.begin, by);
}

bool is_number(std::string_view value) {
  return !value.empty() && value.find_first_not_of("0123456789-.,eE+ ") == std::string_view::npos;
}

}  // namespace

// One number of a list becomes another one, often its neighbour.
std::string Mutator::number_near(std::string_view value) {
  std::vector<Span> numbers;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    numbers.push_back({at, comma});
    at = comma + 1;
  }
  std::string text(value);
  const Span chosen = numbers[below(numbers.size())];
  std::int64_t number = 0;
  const std::string_view digits = chosen.in(value);
  const bool whole = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
  switch (below(5)) {
    case 0:
      text.insert(chosen.begin, std::string(digits) + ",");
      break;
    case 1:
      text.erase(chosen.begin, std::min(chosen.end + 1, text.size()) - chosen.begin);
      break;
    case 2:
      replace(text, chosen, kNumbers[below(kNumbers.size())]);
      break;
    default:
      if (whole && number < std::numeric_limits<std::int64_t>::max() / 2 && number > -1) {
        const std::array<std::int64_t, 4> near{number + 1, number - 1, number * 2, number / 2};
        replace(text, chosen, std::to_string(near[below(near.size())]));
      }
  }
  return text;
}

std::string Mutator::value_instead_of(std::string_view value) {
  if (is_number(value) && below(4) != 0) return number_near(value);
  switch (below(6)) {
    case 0:
      return std::string(kShapes[below(kShapes.size())]);
    case 1: {
      const auto classes = all_op_classes();
      return std::string(classes[below(classes.size())]->info.type);
    }
    case 2:
      return std::string(name_of(all_element_types()[below(all_element_types().size())]));
    case 3:
      return "opset" + std::to_string(below(18));
    case 4:
      return std::string(value) + std::string(value);
    default:
      return std::string(kNumbers[below(kNumbers.size())]);
  }
}

void Mutator::change_elements(std::string& text, std::string_view other) {
  const XmlSpans spans = find_spans(text);
  if (spans.elements.empty()) return;
  const Span one = spans.elements[below(spans.elements.size())].whole;
  const Span two = spans.elements[below(spans.elements.size())].whole;
  const std::string first(one.in(text));
  const std::string second(two.in(text));
  switch (below(5)) {
    case 0:
      text.erase(one.begin, first.size());
      break;
    case 1:
      text.insert(one.end, first);
      break;
    case 2: {
      const auto [low, high] = one.begin < two.begin ? std::pair(one, two) : std::pair(two, one);
      if (low.end > high.begin) break;
      const std::string moved(high.in(text));
      replace(text, high, std::string(low.in(text)));
      replace(text, low, moved);
      break;
    }
    case 3:
      text.insert(two.begin, first);
      break;
    default: {
      const XmlSpans others = find_spans(other);
      if (others.elements.empty()) break;
      text.insert(one.begin, others.elements[below(others.elements.size())].whole.in(other));
    }
  }
}

void Mutator::change_attribute(std::string& text) {
  const XmlSpans spans = find_spans(text);
  if (spans.attributes.empty()) return;
  const auto& one = spans.attributes[below(spans.attributes.size())];
  const auto& two = spans.attributes[below(spans.attributes.size())];
  switch (below(8)) {
    case 0:
      text.erase(one.whole.begin, one.whole.end - one.whole.begin);
      break;
    case 1:
      text.insert(one.whole.begin, std::string(two.whole.in(text)) + " ");
      break;
    case 2:
      replace(text, one.name, std::string(two.name.in(text)));
      break;
    case 3:
      replace(text, one.value, std::string(two.value.in(text)));
      break;
    default:
      replace(text, one.value, value_instead_of(one.value.in(text)));
  }
}

// Dims are texts.
void Mutator::change_text(std::string& text) {
  const XmlSpans spans = find_spans(text);
  if (spans.texts.empty()) return;
  const Span one = spans.texts[below(spans.texts.size())];
  replace(text, one, value_instead_of(one.in(text)));
}

void Mutator::change_bytes(std::string& bytes, std::string_view other) {
  const std::size_t at = below(bytes.size());
  const std::size_t length = 1 + below(std::min<std::size_t>(bytes.size() - at, 64));
  switch (below(5)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 2:
      bytes.insert(below(bytes.size() + 1), bytes.substr(at, length));
      break;
    case 3:
      bytes.erase(at, length);
      break;
    default:
      bytes.insert(at, other.substr(std::min(below(other.size()), other.size()), length));
  }
}

std::string Mutator::xml(std::string text, std::string_view other) {
  switch (below(8)) {
    case 0:
      change_bytes(text, other);
      break;
    case 1:
    case 2:
      change_elements(text, other);
      break;
    case 3:
    case 4:
      change_text(text);
      break;
    default:
      change_attribute(text);
  }
  return text;
}

std::string Mutator::weights(std::string bytes, std::string_view other) {
  const std::size_t at = below(bytes.size());
  switch (below(5)) {
    case 0:
      change_bytes(bytes, other);
      break;
    case 1:
      bytes.append(below(64), '\x7f');
      break;
    case 2:
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), below(2) == 0 ? '\0' : '\xff');
      break;
    default: {
      // Constants lie at multiples of their size; those that are shapes and axes are i64 or i32.
      const std::int64_t number = kIntegers[below(kIntegers.size())];
      const std::size_t size = below(2) == 0 ? 8 : 4;
      const std::size_t place = at / size * size;
      if (place + size <= bytes.size()) std::memcpy(bytes.data() + place, &number, size);
    }
  }
  return bytes;
}

}  // namespace ir::hostile
