// Type and shape inference: the only place where an operation's inputs are validated.
#ifndef RUNTIME_OPS_INFER_H_
#define RUNTIME_OPS_INFER_H_

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/model.h"
#include "runtime/ops/comparison.h"

namespace ir {

/// Values of at most this many elements are carried through inference.
inline constexpr std::int64_t kMaxPropagatedElements = 4096;

/// Why inference of a node stopped; the caller adds the layer and its place.
struct InferenceFailure {
  std::string code = {};
  std::string message = {};
  std::string hint = {};
  Compared compared = {};
};

/// What `T::infer` sees of a node and where it puts the outputs.
class InferContext {
 public:
  InferContext(std::string_view type, std::span<const ValueInfo> inputs, bool explaining,
               bool running = false)
      : type_(type), inputs_(inputs), explaining_(explaining), running_(running) {}

  /// Whether elements of inputs may be known that were not when the model was read or compiled.
  [[nodiscard]] bool running() const { return running_; }

  // Inputs.
  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
  [[nodiscard]] const ValueInfo& input(std::size_t index) const { return inputs_[index]; }
  [[nodiscard]] ElementType type(std::size_t index) const { return inputs_[index].type; }
  [[nodiscard]] const PartialShape& shape(std::size_t index) const { return inputs_[index].shape; }
  /// Elements of an integer input (scalar or vector) as dims that may be partly unknown; empty when nothing
  /// is known of them.
  [[nodiscard]] std::optional<std::vector<Dimension>> elements(std::size_t index) const;
  /// Elements of an integer input when all are known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t index) const;
  /// Elements of a floating or integer input when all are known.
  [[nodiscard]] std::optional<std::vector<double>> reals(std::size_t index) const;
  /// Elements of a small floating-point input, each when it is known; empty when nothing is known of them.
  [[nodiscard]] std::optional<std::vector<KnownReal>> known_reals(std::size_t index) const;
  /// The one element of an integer input when it is known.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t index) const;

  // Checks; each throws InferenceFailure with the offending numbers.
  void require_inputs(std::size_t count) const { require_inputs(count, count); }
  void require_inputs(std::size_t min, std::size_t max) const;
  void require_min_inputs(std::size_t min) const;
  /// The rank of input `index` (when known) lies in [min, max].
  void require_rank(std::size_t index, std::size_t min, std::size_t max) const;
  void require_rank(std::size_t index, std::size_t rank) const { require_rank(index, rank, rank); }
  /// The type of input `index` (when known) is one of `allowed`.
  void require_type(std::size_t index, std::initializer_list<ElementType> allowed) const;
  void require_integer(std::size_t index) const;
  void require_real(std::size_t index) const;
  void require_number(std::size_t index) const;
  /// All inputs named have one type (dynamic matches any); returns it.
  ElementType require_same_type(std::initializer_list<std::size_t> indices) const;
  template <class... Args>
  void require(bool condition, std::string_view code, const Comparison& comparison,
               fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) fail(code, fmt::format(format, std::forward<Args>(args)...), comparison.compared());
  }
  /// A number that input `index` gives is not negative, as far as it is known.
  template <class... Args>
  void require_not_negative(std::size_t index, const Dimension& number, fmt::format_string<Args...> format,
                            Args&&... args) const {
    require(number.max() >= 0, "IR-value", {.found = number, .expected = "at least 0", .input = index},
            format, std::forward<Args>(args)...);
  }
  /// `axis` in [-rank, rank), made non-negative; the rank is known. `input` is the one that names the axis.
  [[nodiscard]] std::size_t require_axis(std::int64_t axis, std::size_t rank, std::string_view what,
                                         std::optional<std::size_t> input = {}) const;
  [[noreturn]] void fail(std::string_view code, std::string message, Compared compared,
                         std::string hint = {}) const;

  // Outputs.
  void set_output(std::size_t index, ElementType type, PartialShape shape);
  /// Output `index` is a small integer scalar or vector with these elements.
  void set_elements(std::size_t index, std::vector<Dimension> elements);
  /// Output `index` is a small f32 or f64 tensor with these elements. Nothing is noted of halves: what they
  /// are rounded to is not what they are when the model runs, which is in f32.
  void set_reals(std::size_t index, std::vector<KnownReal> reals);
  void set_output(std::size_t index, ValueInfo value);

  // The rule behind a dim, with the model's numbers put in: "floor((32 + 1 + 1 - 5) / 2) + 1 = 15".
  /// Whether rules are wanted; building them costs time.
  [[nodiscard]] bool explaining() const { return explaining_; }
  void explain(std::size_t output, std::size_t axis, std::string rule);

  // For the caller of infer().
  [[nodiscard]] std::vector<ValueInfo>& outputs() { return outputs_; }
  [[nodiscard]] const std::vector<std::vector<std::string>>& rules() const { return rules_; }

 private:
  std::string_view type_;
  std::span<const ValueInfo> inputs_;
  bool explaining_;
  bool running_;
  std::vector<ValueInfo> outputs_;
  std::vector<std::vector<std::string>> rules_;
};

/// Infers the outputs of `op` for these inputs. When all inputs are constants and the outputs are small, the
/// outputs are evaluated too, so that shape arithmetic flows on. Throws InferenceFailure.
std::vector<ValueInfo> infer_outputs(const Op& op, std::span<const ValueInfo> inputs);

/// As `infer_outputs`, for an operation that runs, and without evaluating anything.
std::vector<ValueInfo> infer_types_and_shapes(const Op& op, std::span<const ValueInfo> inputs);

/// The rules of `infer_outputs` for each output and axis (empty where the operation states none).
std::vector<std::vector<std::string>> explain_outputs(const Op& op, std::span<const ValueInfo> inputs);

/// Infers the outputs of a node of a model. Throws Error that names the node.
void infer_node(Node& node);

/// The failure of a node as a diagnostic.
Diagnostic diagnostic_of(const InferenceFailure& failure, const Node& node);

/// Elements of a known integer value; empty when it is not of an integer type.
std::vector<std::int64_t> integers_of(const Tensor& tensor);
std::vector<double> reals_of(const Tensor& tensor);

}  // namespace ir

#endif  // RUNTIME_OPS_INFER_H_
