#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/passes/compressed_weights.h"
#include "runtime/passes/graph_utils.h"
#include "runtime/passes/rewrites.h"

namespace ir::passes {
namespace {

// Rows that a product has at most, if that is known.
std::int64_t most_rows(const PartialShape& a) {
  if (!a.has_rank() || a.rank() < 2) return 0;
  Dimension rows(1);
  for (std::size_t axis = 0; axis + 1 < a.rank(); ++axis) rows = rows * a[axis];
  return rows.max();
}

class Keeping {
 public:
  explicit Keeping(Model& model) : model_(model), insertions_(model) {
    // Where activations are quantised, too, products of several rows multiply integers.
    quantised_ = std::ranges::any_of(
        model.nodes(), [](const auto& node) { return node->op().template is<op::v0::FakeQuantize>(); });
  }

  bool run() {
    bool changed = false;
    for (Node* node : nodes_of(model_)) {
      if (const auto* product = node->op().as<op::v0::MatMul>()) {
        changed = keep_in_product(*node, *product) || changed;
      } else if (gathers_slices(*node)) {
        changed = keep_in_lookup(*node) || changed;
      }
    }
    return changed;
  }

 private:
  struct Weights {
    op::CodeRows rows;
    std::vector<Output> constants;
  };

  bool keep_in_product(Node& node, const op::v0::MatMul& product) {
    const ValueInfo& a = node.input(0).info();
    if (product.transpose_a || !a.shape.has_rank() || a.shape.rank() < 2) return false;
    const bool is_row = most_rows(a.shape) == 1;
    // Halves take half of the memory, but many rows would turn them into floats again and again.
    const bool halves_pay = is_row || !a.shape.is_static();
    const bool integers_pay = is_row || !quantised_;
    const auto& weights = weights_of(node.input(1), !product.transpose_b, {integers_pay, halves_pay}, node);
    if (!weights) return false;
    std::vector<Output> inputs{node.input(0)};
    inputs.insert(inputs.end(), weights->constants.begin(), weights->constants.end());
    rewrite(node, op::CompressedMatMul{weights->rows}, std::move(inputs));
    return true;
  }

  bool keep_in_lookup(Node& node) {
    const auto& weights = weights_of(node.input(0), false, {!quantised_, true}, node);
    if (!weights) return false;
    std::vector<Output> found;
    for (const Output& constant : weights->constants) {
      if (constant.info().shape.rank() == 1) {  // one for all rows
        found.push_back(constant);
        continue;
      }
      found.emplace_back(insertions_.before(node, node.op(), {constant, node.input(1), node.input(2)},
                                            node.name() + "/codes"));
    }
    const op::Decompress decompress{weights->rows};
    const ElementType type = node.output(0).type;
    if (type == ElementType::f32) {
      rewrite(node, decompress, std::move(found));
    } else {
      op::v0::Convert convert;
      convert.destination_type = type;
      Node& floats = insertions_.before(node, decompress, std::move(found), node.name() + "/f32");
      rewrite(node, convert, {floats});
    }
    return true;
  }

  // Of what nodes have in common, all of them read the same constants, which the first one got.
  const std::optional<Weights>& weights_of(const Output& value, bool transposed, const WantedCodes& wanted,
                                           const Node& node) {
    const auto [place, is_new] = weights_.try_emplace(
        {value.node, value.index, transposed, wanted.integers, wanted.halves}, std::nullopt);
    if (!is_new) return place->second;
    if (const auto matrix = compressed_matrix(value, transposed, wanted))
      place->second = Weights{matrix->rows, constants_of(*matrix, node)};
    return place->second;
  }

  std::vector<Output> constants_of(const CompressedMatrix& weights, const Node& node) {
    std::vector<Output> constants{insert_constant(insertions_, node, weights.codes, node.name() + "/codes")};
    if (weights.scale)
      constants.push_back(insert_constant(insertions_, node, *weights.scale, node.name() + "/scale"));
    if (weights.offset)
      constants.push_back(insert_constant(insertions_, node, *weights.offset, node.name() + "/offset"));
    return constants;
  }

  Model& model_;
  Model::Insertions insertions_;
  bool quantised_ = false;
  std::map<std::tuple<const Node*, std::size_t, bool, bool, bool>, std::optional<Weights>> weights_;
};

}  // namespace

bool keep_compressed_weights(Model& model) { return Keeping(model).run(); }

}  // namespace ir::passes
