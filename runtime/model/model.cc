#include "ir_runtime/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir_runtime/ops/infrastructure.h"
#include "runtime/model/layer_name.h"
#include "runtime/model/own_nodes.h"
#include "runtime/model/state.h"
#include "runtime/ops/infer.h"

namespace ir {

const ValueInfo& Output::info() const { return node->output(index); }

namespace {

// Lists of what ports carry are as long as the last port that carries something.
template <class T>
const T& at_port(const std::vector<T>& list, std::size_t index) {
  static const T kNone;
  return index < list.size() ? list[index] : kNone;
}

template <class T>
void set_at_port(std::vector<T>& list, std::size_t index, T value) {
  if (list.size() <= index) list.resize(index + 1);
  list[index] = std::move(value);
}

}  // namespace

const std::vector<std::string>& Node::output_names(std::size_t index) const {
  return at_port(output_names_, index);
}

void Node::set_output_names(std::size_t index, std::vector<std::string> names) {
  set_at_port(output_names_, index, std::move(names));
}

const Annotations& Node::input_annotations(std::size_t index) const {
  return at_port(input_annotations_, index);
}

void Node::set_input_annotations(std::size_t index, Annotations annotations) {
  set_at_port(input_annotations_, index, std::move(annotations));
}

const Annotations& Node::output_annotations(std::size_t index) const {
  return at_port(output_annotations_, index);
}

void Node::set_output_annotations(std::size_t index, Annotations annotations) {
  set_at_port(output_annotations_, index, std::move(annotations));
}

Model::Model(const Model& other)
    : name_(other.name_), ir_version_(other.ir_version_), annotations_(other.annotations_) {
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : other.nodes_) {
    auto copy = std::make_unique<Node>(*node);
    copies[node.get()] = copy.get();
    nodes_.push_back(std::move(copy));
  }
  for (const auto& node : nodes_) {
    std::vector<Output> inputs(node->inputs().begin(), node->inputs().end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto copy = copies.find(inputs[i].node);
      if (copy == copies.end()) throw not_an_own_node(*node, i);
      inputs[i].node = copy->second;
    }
    node->set_inputs(std::move(inputs));
  }
  for (const Node* node : other.parameters_) parameters_.push_back(copies.at(node));
  for (const Node* node : other.results_) results_.push_back(copies.at(node));
}

Model& Model::operator=(const Model& other) {
  if (this != &other) *this = Model(other);
  return *this;
}

std::string Model::default_name(std::string_view type) const {
  return fmt::format("{}_{}", type, nodes_.size());
}

void Model::note_role(Node& node) {
  if (node.op().is<op::v0::Parameter>()) parameters_.push_back(&node);
  if (node.op().is<op::v0::Result>()) results_.push_back(&node);
}

Node& Model::append(Op op, std::vector<Output> inputs, std::string name) {
  if (name.empty()) name = default_name(op.type());
  nodes_.push_back(std::make_unique<Node>(std::move(op), std::move(name)));
  Node& node = *nodes_.back();
  node.set_inputs(std::move(inputs));
  note_role(node);
  return node;
}

namespace {

// Readers of `Output::info` rely on it.
void require_output(const Op& op, std::size_t index, const Output& input) {
  if (input.node == nullptr) {
    throw Error("IR-port-unknown", fmt::format("input {} of {} names no value", index, op.type()));
  }
  if (input.index >= input.node->output_count()) {
    throw Error("IR-port-unknown",
                fmt::format("input {} of {} is output {} of '{}', which has {}", index, op.type(),
                            input.index, input.node->name(), input.node->output_count()));
  }
}

// A node that is not in the model yet.
std::unique_ptr<Node> inferred_node(Op op, std::vector<Output> inputs, std::string name) {
  for (std::size_t i = 0; i < inputs.size(); ++i) require_output(op, i, inputs[i]);
  auto node = std::make_unique<Node>(std::move(op), std::move(name));
  node->set_inputs(std::move(inputs));
  infer_node(*node);
  return node;
}

}  // namespace

Node& Model::add(Op op, std::vector<Output> inputs, std::string name) {
  if (name.empty()) name = default_name(op.type());
  nodes_.push_back(inferred_node(std::move(op), std::move(inputs), std::move(name)));
  note_role(*nodes_.back());
  return *nodes_.back();
}

Node& Model::add_parameter(ElementType type, PartialShape shape, std::string name) {
  op::v0::Parameter parameter;
  parameter.element_type = type;
  parameter.shape = std::move(shape);
  return add(std::move(parameter), {}, std::move(name));
}

Node& Model::add_constant(Tensor value, std::string name) {
  return add(op::v0::Constant(std::move(value)), {}, std::move(name));
}

Node& Model::add_constant(std::int64_t value, std::string name) {
  return add_constant(Tensor::of<std::int64_t>({}, {value}), std::move(name));
}

Node& Model::add_constant(std::vector<std::int64_t> values, std::string name) {
  return add_constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                               std::span<const std::int64_t>(values)),
                      std::move(name));
}

Node& Model::add_result(Output value, std::string name) {
  return add(op::v0::Result{}, {value}, std::move(name));
}

namespace {

std::string layer_name(const Output& value) {
  return ir::layer_name(value.node->name(), value.node->output_count(), value.index);
}

Port port_of(const Output& value) {
  Port port{value.node->output_names(value.index), value.info().type, value.info().shape};
  if (port.names.empty()) port.names.push_back(layer_name(value));
  return port;
}

// Readers of version 10 find inputs and outputs by their layers, too, whatever names tensors have.
void add_layer_names(std::span<const Output> values, std::vector<Port>& ports) {
  std::unordered_set<std::string> taken;
  for (const Port& port : ports) taken.insert(port.names.begin(), port.names.end());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    std::string name = layer_name(values[i]);
    if (taken.insert(name).second) ports[i].names.push_back(std::move(name));
  }
}

}  // namespace

std::vector<Port> Model::inputs() const {
  std::vector<Output> values;
  std::vector<Port> ports;
  for (Node* node : parameters_) ports.push_back(port_of(values.emplace_back(*node)));
  if (ir_version() == 10) add_layer_names(values, ports);
  return ports;
}

std::vector<Port> Model::outputs() const {
  std::vector<Output> values;
  std::vector<Port> ports;
  for (const Node* node : results_) {
    ports.push_back(port_of(values.emplace_back(node->input(0))));
    // A result without names of its own goes by the layer that computes it, as users know it.
    if (const std::vector<std::string>& own = node->output_names(0); !own.empty()) ports.back().names = own;
  }
  if (ir_version() == 10) add_layer_names(values, ports);
  return ports;
}

void Model::replace(Output from, Output to) {
  for (const auto& node : nodes_) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) == from && node.get() != to.node) node->set_input(i, to);
    }
  }
}

Node& Model::insert_before(const Node& position, Op op, std::vector<Output> inputs, std::string name) {
  auto node = inferred_node(std::move(op), std::move(inputs), std::move(name));
  const auto at = std::ranges::find(nodes_, &position, &std::unique_ptr<Node>::get);
  return **nodes_.insert(at, std::move(node));
}

Node& Model::Insertions::before(const Node& position, Op op, std::vector<Output> inputs, std::string name) {
  auto node = inferred_node(std::move(op), std::move(inputs), std::move(name));
  // The end must not need memory.
  const std::size_t waiting = waiting_.size() + 1;
  const std::size_t needed = model_.nodes_.size() + waiting;
  if (placed_.capacity() < needed) placed_.reserve(needed + waiting);
  waiting_.push_back({&position, std::move(node)});
  return *waiting_.back().node;
}

Model::Insertions::~Insertions() {
  if (waiting_.empty()) return;
  std::ranges::stable_sort(waiting_, {}, &Waiting::position);
  for (auto& node : model_.nodes_) {
    auto before = std::ranges::lower_bound(waiting_, node.get(), {}, &Waiting::position);
    for (; before != waiting_.end() && before->position == node.get(); ++before)
      placed_.push_back(std::move(before->node));
    placed_.push_back(std::move(node));
  }
  model_.nodes_ = std::move(placed_);
}

void Model::remove_unreachable() {
  std::unordered_set<const Node*> reached(parameters_.begin(), parameters_.end());
  // Inputs come before their consumers, so one walk from the end marks everything.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if ((*node)->op().is<op::v0::Result>() || is_sink(**node)) reached.insert(node->get());
    if (!reached.contains(node->get())) continue;
    for (const Output& input : (*node)->inputs()) reached.insert(input.node);
  }
  std::erase_if(nodes_, [&](const auto& node) { return !reached.contains(node.get()); });
}

void Model::infer() {
  for (const auto& node : nodes_) infer_node(*node);
}

namespace {

// Puts shapes of parameters and all that was inferred back, unless `keep_changes` is called.
class ShapeGuard {
 public:
  explicit ShapeGuard(const Model& model) : model_(model) {
    for (Node* parameter : model.parameters()) shapes_.push_back(shape_of(*parameter));
    for (const auto& node : model.nodes())
      outputs_.emplace_back(node->outputs().begin(), node->outputs().end());
  }
  ShapeGuard(const ShapeGuard&) = delete;
  ShapeGuard& operator=(const ShapeGuard&) = delete;
  ShapeGuard(ShapeGuard&&) = delete;
  ShapeGuard& operator=(ShapeGuard&&) = delete;
  ~ShapeGuard() {
    if (kept_) return;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      shape_of(*model_.parameters()[i]) = std::move(shapes_[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) model_.nodes()[i]->set_outputs(std::move(outputs_[i]));
  }

  void keep_changes() { kept_ = true; }

  static PartialShape& shape_of(Node& parameter) { return parameter.op().as<op::v0::Parameter>()->shape; }

 private:
  const Model& model_;
  std::vector<PartialShape> shapes_;
  std::vector<std::vector<ValueInfo>> outputs_;
  bool kept_ = false;
};

// What the other inputs have may be all that is wrong.
Error naming_the_other_form(const Error& error, std::size_t inputs) {
  std::vector<Diagnostic> findings = error.diagnostics();
  std::string& hint = findings.front().hint;
  hint += fmt::format(
      "{}the model has {} inputs: where dims of several must agree, give all their shapes at once "
      "(Model::reshape(shapes), ir_model_reshape_all)",
      hint.empty() ? "" : "; ", inputs);
  return Error(std::move(findings));
}

}  // namespace

void Model::reshape(std::size_t index, PartialShape shape) {
  if (index >= parameters_.size()) {
    throw Error("IR-port-unknown",
                fmt::format("input {} does not exist, the model has {}", index, parameters_.size()));
  }
  std::vector<PartialShape> shapes;
  for (Node* parameter : parameters_) shapes.push_back(ShapeGuard::shape_of(*parameter));
  shapes[index] = std::move(shape);
  try {
    reshape(shapes);
  } catch (const Error& error) {
    if (parameters_.size() == 1) throw;
    throw naming_the_other_form(error, parameters_.size());
  }
}

void Model::reshape(std::span<const PartialShape> shapes) {
  if (shapes.size() != parameters_.size()) {
    throw Error("IR-port-unknown", fmt::format("shapes for {} inputs are given, the model has {}",
                                               shapes.size(), parameters_.size()));
  }
  ShapeGuard guard(*this);
  for (std::size_t i = 0; i < shapes.size(); ++i) ShapeGuard::shape_of(*parameters_[i]) = shapes[i];
  infer();
  guard.keep_changes();
}

}  // namespace ir
