#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "runtime/passes/folded_codes.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"
#include "runtime/types/budget.h"
#include "runtime/types/halves.h"

namespace ir::passes {
namespace {

// A fold may add this much to what its inputs take.
constexpr std::int64_t kMaxGrowthBytes = std::int64_t{1} << 20;

// Constants that come from constants. Results that only feed other folds never become part of the model and
// are dropped as soon as they have been used.
class Folding {
 public:
  explicit Folding(Model& model) : model_(model) {}

  bool run() {
    find_foldable();
    for (Node* node : foldable_) evaluate_node(*node);
    Model::Insertions insertions(model_);
    for (const auto& [node, values] : kept_) put_constants(insertions, *node, values);
    replacements_.apply(model_);
    return !kept_.empty();
  }

 private:
  struct Uses {
    std::size_t by_folds = 0;
    bool by_model = false;
  };

  [[nodiscard]] bool is_known(const Output& value) const {
    return constant_of(value) != nullptr || uses_.contains(value.node);
  }

  void find_foldable() {
    for (const auto& node : model_.nodes()) {
      if (is_dequantisation(*node)) left_halves_.insert(node.get());
      const bool foldable = is_foldable(*node);
      if (foldable) {
        foldable_.push_back(node.get());
        uses_[node.get()];
      }
      for (const Output& input : node->inputs()) {
        const auto uses = uses_.find(input.node);
        if (uses == uses_.end()) continue;
        if (foldable) {
          ++uses->second.by_folds;
        } else {
          uses->second.by_model = true;
        }
      }
    }
  }

  [[nodiscard]] bool is_foldable(const Node& node) const {
    const OpClass& record = node.op().op_class_record();
    if (node.op().is<op::v0::Constant>() || node.op().is<op::v0::Parameter>() ||
        node.op().is<op::v0::Result>() || record.info.stateful || record.subgraphs != nullptr ||
        node.output_count() == 0) {
      return false;
    }
    if (left_halves_.contains(&node)) return false;
    if (is_inferred(node)) return true;
    return !node.inputs().empty() &&
           std::ranges::all_of(node.inputs(), [this](const Output& input) { return is_known(input); }) &&
           is_small_enough(node);
  }

  // Quantised weights of a half-precision model: f32, to which halves are widened later, keeps them integers
  // times their scale.
  [[nodiscard]] bool is_dequantisation(const Node& node) const {
    if (node.inputs().empty() || node.output_count() == 0) return false;
    const bool converts = node.op().is<op::v0::Convert>();
    const ElementType from = node.input(0).info().type;
    const ElementType to = node.output(0).type;
    if (converts && is_integral(from) && is_half(to)) return true;
    return (is_half(to) || (converts && to == ElementType::f32)) &&
           std::ranges::any_of(node.inputs(),
                               [this](const Output& input) { return left_halves_.contains(input.node); });
  }

  // Inference knows the elements, whatever the inputs are.
  static bool is_inferred(const Node& node) {
    return std::ranges::all_of(node.outputs(),
                               [](const ValueInfo& value) { return value.constant != nullptr; });
  }

  static bool is_small_enough(const Node& node) {
    Dimension in(0);
    for (const Output& input : node.inputs()) in = in + input.info().shape.element_count();
    std::int64_t out = 0;
    std::int64_t out_bytes = 0;
    for (const ValueInfo& value : node.outputs()) {
      // What depends on data (NonZero, NonMaxSuppression) has bounds only, which are a multiple of the input.
      const std::int64_t count = value.shape.element_count().max();
      const auto bytes = count == Dimension::kUnbounded ? std::nullopt : storage_bytes(value.type, count);
      if (!bytes || __builtin_add_overflow(out_bytes, *bytes, &out_bytes)) return false;
      out += count;
    }
    return out <= in.min() || out_bytes <= kMaxGrowthBytes;
  }

  void evaluate_node(Node& node) {
    if (!uses_[&node].by_model && uses_[&node].by_folds == 0) return;
    std::vector<Tensor> values;
    if (is_inferred(node)) {
      for (const ValueInfo& value : node.outputs()) values.push_back(*value.constant);
    } else {
      values = evaluated(node);
      if (values.empty()) return;
    }
    if (uses_[&node].by_model) kept_.emplace_back(&node, values);
    held_bytes_ += bytes_of(values);
    if (uses_[&node].by_folds > 0) pending_[&node] = std::move(values);
  }

  static std::int64_t bytes_of(const std::vector<Tensor>& values) {
    std::int64_t bytes = 0;
    for (const Tensor& value : values) bytes += static_cast<std::int64_t>(value.byte_size());
    return bytes;
  }

  // A result that only folds read, which they have done.
  void release(const Node* node) {
    const auto pending = pending_.find(node);
    if (pending == pending_.end() || --uses_[node].by_folds > 0) return;
    if (!uses_[node].by_model) held_bytes_ -= bytes_of(pending->second);
    pending_.erase(pending);
  }

  // Empty when an input was not folded after all, too much is folded already or the operation fails, which
  // then is left to the run.
  std::vector<Tensor> evaluated(const Node& node) {
    std::vector<Tensor> inputs;
    for (const Output& input : node.inputs()) {
      const auto pending = pending_.find(input.node);
      if (pending != pending_.end()) {
        inputs.push_back(pending->second[input.index]);
      } else if (const Tensor* constant = constant_of(input)) {
        inputs.push_back(*constant);
      } else {
        return {};
      }
    }
    for (const Output& input : node.inputs()) release(input.node);
    if (held_bytes_ > Budget::most_folded_bytes()) return {};
    if (std::optional<Tensor> codes = folded_codes(node.op(), inputs)) return {*std::move(codes)};
    // Nobody else may want their floats, whose memory can be taken over then.
    for (Tensor& input : inputs) input = input.in_memory();
    try {
      std::vector<Tensor> values = evaluate_constants(node.op(), inputs);
      // Seldom read again, and then from the file.
      for (const Tensor& input : inputs) input.release_pages();
      return values;
    } catch (const Error&) {
    } catch (const InferenceFailure&) {
    }
    return {};
  }

  void put_constants(Model::Insertions& insertions, Node& node, const std::vector<Tensor>& values) {
    if (values.size() == 1) {
      rewrite(node, op::v0::Constant(values[0]), {});
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Output constant =
          insert_constant(insertions, node, values[i], fmt::format("{}.{}", node.name(), i));
      replacements_.add({&node, i}, constant);
    }
  }

  Model& model_;
  std::vector<Node*> foldable_;
  std::unordered_set<const Node*> left_halves_;
  std::unordered_map<const Node*, Uses> uses_;
  std::unordered_map<const Node*, std::vector<Tensor>> pending_;
  std::vector<std::pair<Node*, std::vector<Tensor>>> kept_;
  Replacements replacements_;
  std::int64_t held_bytes_ = 0;
};

}  // namespace

bool fold_constants(Model& model) { return Folding(model).run(); }

}  // namespace ir::passes
