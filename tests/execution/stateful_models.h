// Models with variables that several tests use.
#ifndef TESTS_EXECUTION_STATEFUL_MODELS_H_
#define TESTS_EXECUTION_STATEFUL_MODELS_H_

#include <string>

#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/state.h"
#include "tests/execution/sample_models.h"

namespace ir::test {

inline op::v6::ReadValue read_value(std::string id) {
  op::v6::ReadValue op;
  op.variable_id = std::move(id);
  return op;
}
inline op::v6::ReadValue read_value(std::string id, ElementType type, PartialShape shape) {
  op::v6::ReadValue op;
  op.variable_id = std::move(id);
  op.variable_type = type;
  op.variable_shape = std::move(shape);
  return op;
}
inline op::v6::Assign assign(std::string id) {
  op::v6::Assign op;
  op.variable_id = std::move(id);
  return op;
}
inline op::v3::ReadValue read_value_3(std::string id) {
  op::v3::ReadValue op;
  op.variable_id = std::move(id);
  return op;
}
inline op::v3::Assign assign_3(std::string id) {
  op::v3::Assign op;
  op.variable_id = std::move(id);
  return op;
}

/// Rewritten or not, memory shared or not.
inline std::vector<CompileOptions> all_options() {
  std::vector<CompileOptions> all;
  for (const bool rewrite : {true, false}) {
    for (const bool share : {true, false}) {
      CompileOptions options;
      options.optimize = rewrite;
      options.share_memory = share;
      all.push_back(options);
    }
  }
  return all;
}

inline VariableState state_of(const InferRequest& request, std::string_view name) {
  for (const VariableState& state : request.query_state()) {
    if (state.name() == name) return state;
  }
  throw Error("test", "no such variable");
}

/// The sum of all inputs so far, [2]; starts with 10, 20.
inline Model running_sum(ElementType type = ElementType::f32) {
  Model model;
  Node& x = model.add_parameter(type, {2}, "x");
  Node& start = model.add_constant(f32({2}, {10, 20}).converted(type));
  Node& before = model.add(read_value("sum"), {start}, "before");
  Node& after = model.add(op::v1::Add(), {before, x}, "after");
  model.add(assign("sum"), {after}, "kept");
  model.add_result(after);
  return model;
}

/// softmax(queries keys^T) values, as a result.
inline void add_attention(Model& model, Node& queries, Node& keys, Node& values) {
  op::v0::MatMul transposed;
  transposed.transpose_b = true;
  Node& scores = model.add(transposed, {queries, keys}, "scores");
  op::v8::SoftMax softmax;
  softmax.axis = -1;
  Node& weights = model.add(softmax, {scores}, "weights");
  model.add_result(model.add(op::v0::MatMul(), {weights, values}, "attended"));
}

/// Attention with one head and a cache of keys and values, as text generation runs it: `count` new rows of 4
/// are put behind the old ones, and each row attends to all.
inline Model growing_cache(bool shapes_declared) {
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {1, Dimension(), 4}, "x");
  Node& nothing = model.add_constant(Tensor(ElementType::f32, {1, 0, 4}));
  const auto projected = [&](unsigned seed, std::string name) -> Node& {
    return model.add(op::v0::MatMul(), {x, model.add_constant(noise({4, 4}, seed))}, std::move(name));
  };
  const auto cached = [&](const std::string& id, Node& rows) -> Node& {
    const Op read =
        shapes_declared ? Op(read_value(id, ElementType::f32, {1, Dimension(), 4})) : Op(read_value_3(id));
    Node& past = model.add(read, {nothing}, id + "/past");
    op::v0::Concat concat;
    concat.axis = 1;
    Node& present = model.add(concat, {past, rows}, id + "/present");
    model.add(shapes_declared ? Op(assign(id)) : Op(assign_3(id)), {present}, id + "/assign");
    return present;
  };
  Node& queries = projected(1, "queries");
  Node& keys = cached("keys", projected(2, "new_keys"));
  Node& values = cached("values", projected(3, "new_values"));
  add_attention(model, queries, keys, values);
  return model;
}

/// The same with a batch, two heads of three numbers, and batches of the cache reordered by `beams` first, as
/// frameworks export text generation. `x` is [batch, count, 6]; outputs: what is attended [batch, 2, count,
/// 3], and how many rows there were and are.
inline Model headed_cache() {
  Model model;
  const Dimension any;
  Node& x = model.add_parameter(ElementType::f32, {any, any, 6}, "x");
  Node& beams = model.add_parameter(ElementType::i32, {any}, "beams");
  Node& heads_first = model.add_constant(std::vector<std::int64_t>{0, 2, 1, 3});
  Node& row = model.add_constant(std::vector<std::int64_t>{2});
  Node& zero = model.add_constant(0);
  Node& shape = model.add(op::v3::ShapeOf(), {x});
  Node& batch = model.add(op::v8::Gather(), {shape, model.add_constant(std::vector<std::int64_t>{0}), zero});
  Node& rest = model.add_constant(std::vector<std::int64_t>{2, 0, 3});
  Node& no_shape = model.add(op::v0::Concat(), {batch, rest});
  Node& nothing =
      model.add(op::v3::Broadcast(), {model.add_constant(Tensor::of<float>({}, {0})), no_shape}, "nothing");
  const auto heads = [&](unsigned seed) -> Node& {
    Node& rows = model.add(op::v0::MatMul(), {x, model.add_constant(noise({6, 6}, seed))});
    op::v1::Reshape reshape;
    reshape.special_zero = true;
    Node& split = model.add(reshape, {rows, model.add_constant(std::vector<std::int64_t>{0, 0, 2, 3})});
    return model.add(op::v1::Transpose(), {split, heads_first});
  };
  std::vector<Output> counts;
  const auto cached = [&](const std::string& id, Node& rows) -> Node& {
    Node& past = model.add(read_value(id, ElementType::f32, {any, 2, any, 3}), {nothing}, id + "/past");
    Node& chosen = model.add(op::v8::Gather(), {past, beams, zero}, id + "/chosen");
    op::v0::Concat concat;
    concat.axis = -2;
    Node& present = model.add(concat, {chosen, rows}, id + "/present");
    model.add(assign(id), {present}, id + "/assign");
    for (Node* node : {&past, &chosen, &present})
      counts.emplace_back(model.add(op::v8::Gather(), {model.add(op::v3::ShapeOf(), {*node}), row, zero}));
    return present;
  };
  Node& queries = heads(1);
  Node& keys = cached("keys", heads(2));
  Node& values = cached("values", heads(3));
  add_attention(model, queries, keys, values);
  model.add_result(model.add(op::v0::Concat(), counts, "counts"));
  return model;
}

}  // namespace ir::test

#endif  // TESTS_EXECUTION_STATEFUL_MODELS_H_
