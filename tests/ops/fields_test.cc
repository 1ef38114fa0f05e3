#include "runtime/ops/fields.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "ir_runtime/op.h"
#include "tests/catch.h"

namespace ir {
namespace {

enum class Mode : int { half_up, even };
constexpr std::array kModeSpellings{
    Spelling{static_cast<int>(Mode::half_up), "half_up"},
    Spelling{static_cast<int>(Mode::half_up), "away"},
    Spelling{static_cast<int>(Mode::even), "even"},
};
constexpr std::span<const Spelling> spellings_of(Mode) { return kModeSpellings; }

struct Sample {
  bool flag = false;
  std::int64_t count = 7;
  double ratio = 0.5;
  std::string text = "as is";
  std::vector<std::int64_t> sizes{1, 2};
  std::vector<double> weights{0.25};
  std::vector<std::string> names{"a"};
  ElementType type = ElementType::f32;
  PartialShape shape{1, 2};
  Mode mode = Mode::half_up;
};

using S = Sample;
constexpr std::array kFields{
    optional<&S::flag>("flag", ""),
    optional<&S::count>("count", "", between(-3, 100)),
    optional<&S::ratio>("ratio", "", between(0, 1)),
    optional<&S::text>("text", ""),
    optional<&S::sizes>("sizes", "", at_least(1)),
    optional<&S::weights>("weights", ""),
    optional<&S::names>("names", ""),
    optional<&S::type>("type", ""),
    optional<&S::shape>("shape", ""),
    optional<&S::mode>("mode", ""),
    ignored("extra", ""),
};

const Field& field(std::string_view name) {
  for (const Field& one : kFields) {
    if (one.name == name) return one;
  }
  throw std::logic_error("no such field");
}

Sample read(std::string_view name, std::string_view text) {
  Sample sample;
  const auto fault = read_field(field(name), &sample, text);
  INFO(fault.value_or(""));
  CHECK_FALSE(fault.has_value());
  return sample;
}

// The sentence that reading ends with; checks that the descriptor stays as it was.
std::string fault_of(std::string_view name, std::string_view text) {
  Sample sample;
  const auto fault = read_field(field(name), &sample, text);
  const Sample untouched;
  CHECK(fields_equal(kFields, &sample, &untouched));
  return fault.value_or("no fault");
}

std::string text_of(std::string_view name, const Sample& sample) { return field_text(field(name), &sample); }

}  // namespace

TEST_CASE("Each kind of attribute is read") {
  CHECK(read("flag", "true").flag);
  CHECK(read("flag", "True").flag);
  CHECK(read("flag", "1").flag);
  Sample set;
  set.flag = true;
  CHECK_FALSE(read_field(field("flag"), &set, "FALSE").has_value());
  CHECK_FALSE(set.flag);
  CHECK_FALSE(read("flag", "0").flag);

  CHECK(read("count", "12").count == 12);
  CHECK(read("count", " -3 ").count == -3);
  CHECK(read("ratio", "1e-05").ratio == 1e-05);
  CHECK(read("ratio", "1").ratio == 1.0);
  CHECK(read("text", " kept, as is ").text == " kept, as is ");
  CHECK(read("text", "").text.empty());
  CHECK(read("sizes", "3").sizes == std::vector<std::int64_t>{3});
  CHECK(read("sizes", "64,3 , 3,\t3").sizes == std::vector<std::int64_t>{64, 3, 3, 3});
  CHECK(read("sizes", "").sizes.empty());
  CHECK(read("sizes", "  ").sizes.empty());
  CHECK(read("weights", "0.1, -inf").weights ==
        std::vector<double>{0.1, -std::numeric_limits<double>::infinity()});
  CHECK(std::isnan(read("weights", "nan").weights.at(0)));
  CHECK(std::isnan(read("weights", "-NaN").weights.at(0)));
  CHECK(read("names", "sigmoid, tanh,relu").names == std::vector<std::string>{"sigmoid", "tanh", "relu"});
  CHECK(read("type", "i64").type == ElementType::i64);
  CHECK(read("type", "I64").type == ElementType::i64);
  CHECK(read("type", "undefined").type == ElementType::dynamic);
  CHECK(read("shape", "1,?,2..8").shape == PartialShape{1, Dimension(), Dimension(2, 8)});
  CHECK(read("shape", "...").shape == PartialShape());
  CHECK(read("shape", "").shape == PartialShape(Shape{}));
  CHECK(read("mode", "even").mode == Mode::even);
  CHECK(read("mode", "AWAY").mode == Mode::half_up);
  CHECK(read("extra", "1,,x").count == 7);
}

TEST_CASE("A comma may end a list, and empty texts do not count, as in OpenVINO") {
  CHECK(read("sizes", "1,2,").sizes == std::vector<std::int64_t>{1, 2});
  CHECK(read("sizes", "7, ").sizes == std::vector<std::int64_t>{7});
  CHECK(read("weights", "0.5,").weights == std::vector<double>{0.5});
  CHECK(read("names", "a,, b ,").names == std::vector<std::string>{"a", "b"});
  CHECK(read("names", ",").names.empty());
  CHECK(read("shape", "1,?,").shape == PartialShape{1, Dimension()});
  CHECK(fault_of("shape", ",") ==
        "attribute shape is \",\", which is not a shape; it takes dims such as "
        "1,3,?,2..8, or ... for an unknown rank");
  CHECK(fault_of("shape", "1,,").starts_with("attribute shape is \"1,,\", which is not a shape"));
}

TEST_CASE("A refusal names the attribute, its text and what it takes") {
  CHECK(fault_of("flag", "yes") ==
        R"(attribute flag is "yes", which is not a boolean; it takes true or false)");
  CHECK(fault_of("sizes", "1, 0") == R"(attribute sizes is "1, 0", which has entry 2, "0", that is out of )"
                                     "range; it takes integers of at least 1, separated by commas");
}

TEST_CASE("Text that is not wholly an attribute's value is refused") {
  struct Case {
    const char* name;
    const char* text;
    const char* fault;
  };
  const char* const kNotInteger = "which is not an integer; it takes an integer from -3 to 100";
  for (const Case& one : {
           Case{"flag", "", "which is empty; it takes true or false"},
           Case{"count", "12abc", kNotInteger},
           Case{"count", "1e3", kNotInteger},
           Case{"count", "1.0", kNotInteger},
           Case{"count", "+1", kNotInteger},
           Case{"count", "0x10", kNotInteger},
           Case{"count", "- 1", kNotInteger},
           Case{"count", "1 2", kNotInteger},
           Case{"count", "1,2", kNotInteger},
           Case{"count", " ", "which is empty; it takes an integer from -3 to 100"},
           Case{"count", "18446744073709551616",
                "which does not fit into 64 bits; it takes an integer from -3 to 100"},
           Case{"count", "-4", "which is out of range; it takes an integer from -3 to 100"},
           Case{"ratio", "1.5", "which is out of range; it takes a number from 0 to 1"},
           Case{"ratio", "nan", "which is out of range; it takes a number from 0 to 1"},
           Case{"ratio", "0.5f", "which is not a number; it takes a number from 0 to 1"},
           Case{"ratio", "1e999", "which does not fit into 64 bits; it takes a number from 0 to 1"},
           Case{"sizes", "1,,2",
                "which has an empty entry 2; it takes integers of at least 1, separated by commas"},
           Case{"sizes", "1,2,,",
                "which has an empty entry 3; it takes integers of at least 1, separated by commas"},
           Case{"sizes", ",",
                "which has an empty entry 1; it takes integers of at least 1, separated by commas"},
           Case{"weights", "1;2",
                "which has entry 1, \"1;2\", that is not a number; it takes numbers, separated by commas"},
           Case{"weights", "nan(1)",
                "which has entry 1, \"nan(1)\", that is not a number; it takes numbers, separated by commas"},
           Case{"type", "float",
                "which is not an element type; it takes an element type, such as f32 or i64"},
           Case{"shape", "1,-2",
                "which is not a shape; it takes dims such as 1,3,?,2..8, or ... for an unknown rank"},
           Case{"mode", "odd", "which is not one of its values; it takes one of half_up, even"},
       }) {
    CHECK(fault_of(one.name, one.text) ==
          fmt::format("attribute {} is \"{}\", {}", one.name, one.text, one.fault));
  }
}

TEST_CASE("Long texts are cut between characters in a message") {
  const std::string text = std::string(59, '1') + "\xC3\xA4" + std::string(1000, '2');
  CHECK(fault_of("count", text) == "attribute count is \"" + std::string(59, '1') +
                                       "...\", which is not an integer; it takes an integer from -3 to 100");
}

TEST_CASE("Each kind of attribute is written as OpenVINO writes it") {
  Sample sample;
  CHECK(text_of("flag", sample) == "false");
  CHECK(text_of("count", sample) == "7");
  CHECK(text_of("sizes", sample) == "1, 2");
  CHECK(text_of("names", sample) == "a");
  CHECK(text_of("type", sample) == "f32");
  CHECK(text_of("shape", sample) == "1,2");
  CHECK(text_of("mode", sample) == "half_up");
  CHECK(text_of("extra", sample).empty());
  sample.sizes.clear();
  sample.weights = {0.1, 1.0, 1e-05, -std::numeric_limits<double>::infinity(), double{0.1F}};
  sample.shape = PartialShape();
  sample.mode = Mode::even;
  CHECK(text_of("sizes", sample).empty());
  CHECK(text_of("weights", sample) == "0.1, 1, 1e-05, -inf, 0.10000000149011612");
  CHECK(text_of("shape", sample) == "...");
  CHECK(text_of("mode", sample) == "even");
}

TEST_CASE("What is written reads as the same descriptor") {
  Sample sample;
  sample.flag = true;
  sample.count = -2;
  sample.ratio = 1.0 / 3.0;
  sample.text = "  x ";
  sample.sizes = {std::numeric_limits<std::int64_t>::max(), 1};
  sample.weights = {std::nan(""), std::numeric_limits<double>::denorm_min(), -0.0};
  sample.names = {"tanh", "sigmoid"};
  sample.type = ElementType::nf4;
  sample.shape = PartialShape{Dimension(), Dimension(3, 9), 5};
  sample.mode = Mode::even;
  Sample copy;
  for (const Field& one : kFields) {
    CHECK_FALSE(fields_equal(std::span(&one, 1), &sample, &copy) != (one.kind == FieldKind::ignored));
    const std::string text = field_text(one, &sample);
    INFO(one.name << " = " << text);
    CHECK_FALSE(read_field(one, &copy, text).has_value());
    CHECK(fields_equal(std::span(&one, 1), &sample, &copy));
  }
  CHECK(fields_equal(kFields, &sample, &copy));
}

}  // namespace ir
