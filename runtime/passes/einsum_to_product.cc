#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir_runtime/ops/einsum.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "runtime/ops/einsum_equation.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

using op::EinsumLabel;
using op::EinsumLabels;

bool has(const EinsumLabels& labels, EinsumLabel label) {
  return std::ranges::find(labels, label) != labels.end();
}

bool has_pairs(EinsumLabels labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

EinsumLabels joined(std::initializer_list<std::span<const EinsumLabel>> parts) {
  EinsumLabels all;
  for (const std::span<const EinsumLabel> part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A value and what its axes are called.
struct Labelled {
  Output value;
  EinsumLabels labels;
};

/// What labels are to the product, each kind but the last in the order of the output.
struct Roles {
  EinsumLabels outer;  ///< of the left one, before all batches: the right one is the same for all of them
  EinsumLabels batch;  ///< of both inputs and the output
  EinsumLabels left;   ///< other ones of the left input and the output
  EinsumLabels right;  ///< of the right input and the output
  EinsumLabels sum;    ///< of both inputs only
};

/// Empty where some label is nothing of that kind, or one kind has none.
std::optional<Roles> roles_of(const EinsumLabels& left, const EinsumLabels& right,
                              const EinsumLabels& output) {
  Roles roles;
  for (const EinsumLabel label : output) {
    const bool in_left = has(left, label);
    const bool in_right = has(right, label);
    EinsumLabels& of_left = roles.batch.empty() ? roles.outer : roles.left;
    (in_left && in_right ? roles.batch : in_left ? of_left : roles.right).push_back(label);
  }
  if (roles.left.empty() && !roles.outer.empty()) {
    roles.left = {roles.outer.back()};
    roles.outer.pop_back();
  }
  for (const EinsumLabel label : right) {
    if (!has(output, label)) roles.sum.push_back(label);
  }
  const auto is_accounted_for = [&](const EinsumLabels& labels) {
    return std::ranges::all_of(labels, [&](EinsumLabel label) {
      return has(output, label) || (has(left, label) && has(right, label));
    });
  };
  if (roles.left.empty() || roles.right.empty() || roles.sum.empty()) return std::nullopt;
  if (!is_accounted_for(left) || !is_accounted_for(right)) return std::nullopt;
  return roles;
}

/// A product whose rows come from `left`, and whose columns from `right`: the last label of the output, where
/// it is one of an input alone.
struct Plan {
  Labelled left;
  Labelled right;
  Roles roles;
  EinsumLabels output;
};

/// The dim of a label, which `of` has.
const Dimension& dim_of(const Labelled& of, EinsumLabel label) {
  const auto axis = std::ranges::find(of.labels, label) - of.labels.begin();
  return of.value.info().shape[static_cast<std::size_t>(axis)];
}

/// The number of elements of these axes. Empty where a dim is unknown, 0, or not the same in both inputs:
/// Einsum would repeat what has a dim of 1.
std::optional<std::int64_t> count_of(const EinsumLabels& labels, const Plan& plan) {
  Shape shape;
  for (const EinsumLabel label : labels) {
    const Labelled& first = has(plan.left.labels, label) ? plan.left : plan.right;
    const Labelled& last = has(plan.right.labels, label) ? plan.right : plan.left;
    const Dimension& dim = dim_of(first, label);
    if (!dim.is_static() || dim_of(last, label) != dim) return std::nullopt;
    shape.push_back(dim.value());
  }
  const auto elements = element_count(shape);
  return elements == 0 ? std::nullopt : elements;
}

/// Operations one after the other, before the Einsum that they take the place of. The last one may stand
/// where it stood.
class Chain {
 public:
  Chain(Model::Insertions& insertions, Node& einsum, Labelled start)
      : insertions_(insertions), einsum_(einsum), value_(start.value), labels_(std::move(start.labels)) {}

  void transpose(const EinsumLabels& order) {
    if (labels_ == order) return;
    std::vector<std::int64_t> axes;
    for (const EinsumLabel label : order) axes.push_back(std::ranges::find(labels_, label) - labels_.begin());
    append(op::v1::Transpose(), integers(axes));
    labels_ = order;
  }
  /// The first `kept` axes stay, and the others get these dims. They are called what they were.
  void reshape(std::size_t kept, const std::vector<std::int64_t>& dims) {
    std::vector<std::int64_t> shape(kept, 0);
    shape.insert(shape.end(), dims.begin(), dims.end());
    op::v1::Reshape reshape;
    reshape.special_zero = true;
    append(reshape, integers(shape));
  }
  void append(Op op, Output operand) {
    const Output value = end();
    next_ = std::move(op);
    inputs_ = {value, operand};
  }
  /// What the chain results in so far.
  Output end() {
    if (next_) value_ = insertions_.before(einsum_, *std::move(next_), std::move(inputs_), name("product"));
    next_.reset();
    return value_;
  }
  /// The last operation becomes that of the Einsum's node.
  void replace_einsum() { rewrite(einsum_, *std::move(next_), std::move(inputs_)); }

 private:
  [[nodiscard]] std::string name(const char* part) const { return einsum_.name() + "/" + part; }
  Output integers(const std::vector<std::int64_t>& values) {
    return insert_integers(insertions_, einsum_, values, name("dims"));
  }

  Model::Insertions& insertions_;
  Node& einsum_;
  Output value_;
  EinsumLabels labels_;
  std::optional<Op> next_;
  std::vector<Output> inputs_;
};

std::optional<Plan> plan_of(const Node& node, const op::v7::Einsum& einsum) {
  op::EinsumEquation equation = op::parse_einsum(einsum.equation);
  if (equation.inputs.size() != 2) return std::nullopt;
  std::vector<std::size_t> ranks;
  for (const Output& input : node.inputs()) {
    if (input.info().type != ElementType::f32 || !input.info().shape.has_rank()) return std::nullopt;
    ranks.push_back(input.info().shape.rank());
  }
  equation = op::expanded(equation, ranks);
  Labelled left{node.input(0), equation.inputs[0]};
  Labelled right{node.input(1), equation.inputs[1]};
  const EinsumLabels& output = equation.output;
  if (output.empty() || has_pairs(left.labels) || has_pairs(right.labels)) return std::nullopt;
  if (!has(right.labels, output.back())) std::swap(left, right);
  auto roles = roles_of(left.labels, right.labels, output);
  if (!roles) return std::nullopt;
  return Plan{std::move(left), std::move(right), *std::move(roles), output};
}

bool make_product(Model::Insertions& insertions, Node& node, const Plan& plan) {
  const Roles& roles = plan.roles;
  const bool joins_sum = roles.sum.size() > 1;
  const bool joins_rows = roles.left.size() > 1;
  const bool joins_columns = roles.right.size() > 1;
  const auto sum = count_of(roles.sum, plan);
  const auto rows = count_of(roles.left, plan);
  const auto columns = count_of(roles.right, plan);
  if (!sum || (joins_rows && !rows)) return false;
  if ((joins_rows || joins_columns || joins_sum) && !columns) return false;

  const std::size_t batch = roles.batch.size();
  const std::size_t batches = roles.outer.size() + batch;
  const bool turns_left =
      roles.left.size() == 1 && !joins_sum && plan.left.labels.back() == roles.left.front();
  Chain left(insertions, node, plan.left);
  left.transpose(turns_left ? joined({roles.outer, roles.batch, roles.sum, roles.left})
                            : joined({roles.outer, roles.batch, roles.left, roles.sum}));
  if (joins_rows) {
    left.reshape(batches, {*rows, *sum});
  } else if (joins_sum) {
    left.reshape(batches + 1, {*sum});
  }

  const bool turns_right = has(roles.sum, plan.right.labels.back());
  Chain right(insertions, node, plan.right);
  right.transpose(turns_right ? joined({roles.batch, roles.right, roles.sum})
                              : joined({roles.batch, roles.sum, roles.right}));
  if (joins_columns || joins_sum) {
    right.reshape(batch, turns_right ? std::vector{*columns, *sum} : std::vector{*sum, *columns});
  }

  Chain product(insertions, node, {left.end(), joined({roles.outer, roles.batch, roles.left, roles.right})});
  product.append(op::v0::MatMul(turns_left, turns_right), right.end());
  if (joins_rows || joins_columns) {
    std::vector<std::int64_t> split;
    if (joins_rows) {
      for (const EinsumLabel label : roles.left) split.push_back(dim_of(plan.left, label).value());
    }
    for (const EinsumLabel label : roles.right) split.push_back(dim_of(plan.right, label).value());
    product.reshape(batches + (joins_rows ? 0 : 1), split);
  }
  product.transpose(plan.output);
  product.replace_einsum();
  return true;
}

}  // namespace

bool einsum_to_product(Model& model) {
  Model::Insertions insertions(model);
  bool changed = false;
  for (Node* node : nodes_of(model)) {
    const auto* einsum = node->op().as<op::v7::Einsum>();
    if (einsum == nullptr) continue;
    const auto plan = plan_of(*node, *einsum);
    if (plan && make_product(insertions, *node, *plan)) changed = true;
  }
  return changed;
}

}  // namespace ir::passes
