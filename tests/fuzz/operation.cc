// One operation with attributes and inputs that the bytes spell: inference, then evaluation. What inference
// promised must come out, and what can be computed must not be refused by inference that knows less of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/scatter.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/subgraph.h"
#include "runtime/ops/fields.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/budget.h"
#include "tests/fuzz/targets.h"

namespace ir::fuzz {
namespace {

constexpr std::size_t kMostInputs = 8;
constexpr std::size_t kMostRank = 5;
constexpr std::int64_t kMostElements = 4096;
constexpr std::int64_t kMostBytes = 1 << 20;

// Hands out the input bit by bit; zeros when nothing is left.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::size_t below(std::size_t count) {
    const std::size_t high = count > 256 ? byte() : 0U;
    return (high << 8U | byte()) % count;
  }
  template <class Range>
  const auto& one_of(const Range& range) {
    return range[below(std::size(range))];
  }
  /// Mostly small.
  std::int64_t number() {
    static constexpr std::array<std::int64_t, 10> kLarge{127,
                                                         128,
                                                         255,
                                                         65536,
                                                         std::int64_t{1} << 31,
                                                         std::int64_t{1} << 32,
                                                         std::int64_t{1} << 62,
                                                         std::numeric_limits<std::int64_t>::max(),
                                                         std::numeric_limits<std::int64_t>::min(),
                                                         -(std::int64_t{1} << 31)};
    const std::uint8_t choice = byte();
    if (choice >= 246) return kLarge[choice - 246U];
    return static_cast<std::int64_t>(choice % 16) - 3;
  }
  double real() {
    static constexpr std::array<double, 6> kOdd{std::numeric_limits<double>::quiet_NaN(),
                                                std::numeric_limits<double>::infinity(),
                                                -std::numeric_limits<double>::infinity(),
                                                1e30,
                                                -1e30,
                                                1e-40};
    const std::uint8_t choice = byte();
    if (choice >= 250) return kOdd[choice - 250U];
    return static_cast<double>(choice % 32) / 4 - 3;
  }

 private:
  std::string_view bytes_;
};

std::string numbers(Choices& choices) {
  std::string text;
  for (std::size_t count = choices.below(5); count > 0; --count)
    text += std::to_string(choices.number()) + (count > 1 ? "," : "");
  return text;
}

std::string text_for(const Field& field, Choices& choices) {
  switch (field.kind) {
    case FieldKind::boolean:
      return choices.below(2) == 0 ? "false" : "true";
    case FieldKind::integer:
      return std::to_string(choices.number());
    case FieldKind::real:
      return std::to_string(choices.real());
    case FieldKind::integers:
    case FieldKind::reals:
      return numbers(choices);
    case FieldKind::enumeration:
      return std::string(choices.one_of(field.spellings).name);
    case FieldKind::element_type:
      return std::string(name_of(choices.one_of(all_element_types())));
    case FieldKind::partial_shape:
      return choices.below(4) == 0 ? "?,2" : numbers(choices);
    default:
      break;
  }
  static constexpr std::array<std::string_view, 8> kTexts{"",     "a",         "tanh",    "sigmoid,tanh,tanh",
                                                          "relu", "ab,bc->ac", "...i->i", "i,j"};
  return std::string(choices.one_of(kTexts));
}

Op choose_op(Choices& choices) {
  const OpClass* record = choices.one_of(all_op_classes());
  Op op(*record);
  for (const Field& field : record->fields) {
    if (field.kind == FieldKind::ignored || (!field.required && choices.below(2) == 0)) continue;
    // What the table does not allow leaves the default.
    (void)read_field(field, op.descriptor(), text_for(field, choices));
  }
  return op;
}

ElementType choose_type(Choices& choices) {
  static constexpr std::array kUsual{ElementType::f32, ElementType::i64, ElementType::i32};
  const std::size_t choice = choices.below(8);
  return choice < 6 ? kUsual[choice / 2] : choices.one_of(all_element_types());
}

Tensor choose_tensor(Choices& choices) {
  const ElementType type = choose_type(choices);
  Shape shape(choices.below(kMostRank + 1));
  for (std::int64_t& dim : shape) {
    const auto choice = static_cast<std::int64_t>(choices.below(16));
    dim = choice < 14 ? choice / 2 % 6 : choice;
  }
  if (element_count(shape).value_or(kMostElements) >= kMostElements) shape.clear();
  if (type == ElementType::string) {
    Tensor text(type, shape);
    for (std::string& word : text.data<std::string>()) word.assign(choices.below(5), 'a');
    return text;
  }
  if (is_real(type)) {
    Tensor values(ElementType::f64, shape);
    for (double& value : values.data<double>()) value = choices.real();
    return values.converted(type);
  }
  Tensor values(ElementType::i64, shape);
  for (std::int64_t& value : values.data<std::int64_t>()) value = choices.number();
  return values.converted(type);
}

// Every other element, of the types of floats that inference follows.
void know_some_reals(ValueInfo& info, const Tensor& tensor) {
  if ((info.type != ElementType::f32 && info.type != ElementType::f64) || tensor.size() > 16) return;
  const std::vector<double> numbers = reals_of(tensor);
  info.reals.emplace(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); i += 2) info.reals->at(i).reset();
}

// The tensor, or some of what can be known of it.
ValueInfo choose_knowledge(const Tensor& tensor, Choices& choices) {
  if (choices.below(2) == 0) return value_of(tensor);
  ValueInfo info{tensor.element_type(), tensor.shape(), nullptr, std::nullopt};
  switch (choices.below(8)) {
    case 0:
      info.shape = PartialShape();
      break;
    case 1:
      if (!tensor.shape().empty()) info.shape[choices.below(tensor.shape().size())] = Dimension();
      break;
    case 2:
      if (!tensor.shape().empty()) {
        const std::size_t axis = choices.below(tensor.shape().size());
        info.shape[axis] = Dimension(tensor.shape()[axis], tensor.shape()[axis] + 2);
      }
      break;
    case 3:
      info.type = ElementType::dynamic;
      break;
    case 4:
      know_some_reals(info, tensor);
      break;
    default:
      break;
  }
  return info;
}

void print(const Op& op, const std::vector<Tensor>& inputs) {
  fmt::print(stderr, "{}:", op.type());
  for (const Field& field : op.op_class_record().fields)
    fmt::print(stderr, " {}='{}'", field.name, field_text(field, op.descriptor()));
  for (const Tensor& input : inputs)
    fmt::print(stderr, " {}{}", name_of(input.element_type()), to_string(input.shape()));
  fmt::print(stderr, "\n");
}

std::optional<std::vector<ValueInfo>> inferred(const Op& op, const std::vector<ValueInfo>& inputs) {
  try {
    (void)explain_outputs(op, inputs);
    return infer_outputs(op, inputs);
  } catch (const InferenceFailure& failure) {
    const auto& [found, expected, rule, input] = failure.compared;
    const bool tells =
        !failure.code.empty() && !failure.message.empty() && !found.empty() && !expected.empty();
    if (tells && found != expected) return std::nullopt;
    fmt::print(stderr, "{}: {}; found '{}', expected '{}'\n", failure.code, failure.message, found, expected);
    __builtin_trap();
  } catch (const Error& error) {
    require(!error.diagnostics().empty());
  }
  return std::nullopt;
}

std::optional<std::vector<Tensor>> evaluated(const Op& op, const std::vector<Tensor>& inputs) {
  try {
    return evaluate(op, inputs);
  } catch (const InferenceFailure& failure) {
    require(!failure.code.empty() && !failure.message.empty());
  } catch (const Error& error) {
    require(!error.diagnostics().empty());
  } catch (const std::exception& error) {
    print(op, inputs);
    fmt::print(stderr, "an exception that is no ir::Error: {}\n", error.what());
    __builtin_trap();
  }
  return std::nullopt;
}

bool agree(const ValueInfo& promised, const Tensor& made) {
  if (promised.type != ElementType::dynamic && promised.type != made.element_type()) return false;
  if (!promised.shape.compatible(made.shape())) return false;
  const auto is_promised = [](const KnownReal& real, double value) {
    return !real || *real == value || (std::isnan(*real) && std::isnan(value));
  };
  if (promised.reals && !std::ranges::equal(*promised.reals, reals_of(made), is_promised)) return false;
  if (!promised.elements || !is_integral(made.element_type())) return true;
  return std::ranges::equal(*promised.elements, integers_of(made),
                            [](const Dimension& dim, std::int64_t value) { return dim.compatible(value); });
}

// By its specification, Squeeze takes a dim that may be 1 for one, and leaves it where it turns out not to
// be.
bool is_guess(const Op& op, const ValueInfo& promised, const Tensor& made) {
  return (op.is<op::v0::Squeeze>() || op.is<op::v15::Squeeze>()) && promised.shape.has_rank() &&
         promised.shape.rank() < made.shape().size();
}

// VariadicSplit has as many outputs as lengths, whose number must be known; ScatterUpdate takes updates of
// other shapes where a run alone knows the axis.
bool may_refuse(const Op& op) { return op.is<op::v1::VariadicSplit>() || op.is<op::v3::ScatterUpdate>(); }

[[noreturn]] void report(const Op& op, const std::vector<Tensor>& inputs, std::size_t output,
                         const ValueInfo& promised, const Tensor& made) {
  print(op, inputs);
  fmt::print(stderr, "output {} is {}{}, inference promised {}{}\n", output, name_of(made.element_type()),
             to_string(made.shape()), name_of(promised.type), to_string(promised.shape));
  if (promised.elements) {
    fmt::print(stderr, "its elements are");
    for (const std::int64_t value : integers_of(made)) fmt::print(stderr, " {}", value);
    fmt::print(stderr, ", inference promised {}\n", to_string(PartialShape(*promised.elements)));
  }
  __builtin_trap();
}

}  // namespace

void operation(std::string_view input) {
  const Budget budget({.tensor = {kMostBytes, "max_activation_bytes"}});
  Choices choices(input);
  const Op op = choose_op(choices);
  // A file cannot leave the bodies out.
  if (!subgraphs_of(op).empty()) return;
  std::vector<Tensor> inputs;
  std::vector<ValueInfo> known;
  for (std::size_t count = choices.below(kMostInputs); count > 0; --count) {
    inputs.push_back(choose_tensor(choices));
    known.push_back(choose_knowledge(inputs.back(), choices));
  }
  const auto promised = inferred(op, known);
  const auto made = evaluated(op, inputs);
  if (!made) return;
  if (!promised && !may_refuse(op)) {
    print(op, inputs);
    fmt::print(stderr, "is computed, but inference refuses it when less is known\n");
    __builtin_trap();
  }
  if (!promised) return;
  require(promised->size() == made->size());
  for (std::size_t i = 0; i < made->size(); ++i) {
    const ValueInfo& promise = (*promised)[i];
    if (is_guess(op, promise, (*made)[i]) || agree(promise, (*made)[i])) continue;
    report(op, inputs, i, promise, (*made)[i]);
  }
}

}  // namespace ir::fuzz
