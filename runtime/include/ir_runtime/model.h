// A network: nodes that hold an op descriptor, connected by values. Also the API to build one in C++.
#ifndef IR_RUNTIME_MODEL_H_
#define IR_RUNTIME_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "ir_runtime/op.h"
#include "ir_runtime/tensor.h"

namespace ir {

class Node;

/// A floating-point element, when it is known.
using KnownReal = std::optional<double>;

/// What is known of a value before the model runs.
struct ValueInfo {
  ElementType type = ElementType::dynamic;
  PartialShape shape;
  /// All elements, when they are known.
  std::shared_ptr<const Tensor> constant;
  /// The elements of a small integer scalar or vector of which some are unknown or bounded: shape arithmetic.
  std::optional<std::vector<Dimension>> elements;
  /// The elements of a small f32 or f64 tensor of which some are unknown: shape arithmetic by way of floats.
  std::optional<std::vector<KnownReal>> reals = {};
};

/// One output of one node: the handle that graphs are built with.
struct Output {
  Node* node = nullptr;
  std::size_t index = 0;

  Output() = default;
  Output(Node* from, std::size_t output) : node(from), index(output) {}
  /// The first output of a node.
  Output(Node& from) : node(&from) {}  // NOLINT(google-explicit-constructor): reads as the value of the node

  [[nodiscard]] const ValueInfo& info() const;
  friend bool operator==(const Output&, const Output&) = default;
};

/// An element that a file carries beside the network (rt_info), with its attributes and inner elements.
struct Annotations {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Annotations> children;
  /// Characters between the tags; they stand before the children.
  std::string text;

  [[nodiscard]] bool empty() const { return attributes.empty() && children.empty() && text.empty(); }
};

/// An operation in a model: its descriptor, where its inputs come from, and what is known of its outputs.
/// Models make their nodes.
class Node {
 public:
  Node(Op op, std::string name) : op_(std::move(op)), name_(std::move(name)) {}

  [[nodiscard]] const Op& op() const { return op_; }
  [[nodiscard]] Op& op() { return op_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  [[nodiscard]] std::span<const Output> inputs() const { return inputs_; }
  [[nodiscard]] const Output& input(std::size_t index) const { return inputs_[index]; }
  void set_inputs(std::vector<Output> inputs) { inputs_ = std::move(inputs); }
  void set_input(std::size_t index, Output source) { inputs_[index] = source; }

  [[nodiscard]] std::span<const ValueInfo> outputs() const { return outputs_; }
  [[nodiscard]] const ValueInfo& output(std::size_t index) const { return outputs_[index]; }
  [[nodiscard]] std::size_t output_count() const { return outputs_.size(); }
  void set_outputs(std::vector<ValueInfo> outputs) { outputs_ = std::move(outputs); }

  /// Tensor names of an output; an IR calls them `names` of the port.
  [[nodiscard]] const std::vector<std::string>& output_names(std::size_t index) const;
  void set_output_names(std::size_t index, std::vector<std::string> names);

  /// Id, file and place of the layer that the node was read from.
  [[nodiscard]] const std::string& layer_id() const { return layer_id_; }
  [[nodiscard]] const SourceLocation& where() const { return where_; }
  void set_origin(std::string layer_id, SourceLocation where) {
    layer_id_ = std::move(layer_id);
    where_ = std::move(where);
  }
  [[nodiscard]] const Annotations& annotations() const { return annotations_; }
  [[nodiscard]] Annotations& annotations() { return annotations_; }
  /// What the file carries beside an input or an output.
  [[nodiscard]] const Annotations& input_annotations(std::size_t index) const;
  void set_input_annotations(std::size_t index, Annotations annotations);
  [[nodiscard]] const Annotations& output_annotations(std::size_t index) const;
  void set_output_annotations(std::size_t index, Annotations annotations);

 private:
  Op op_;
  std::string name_;
  std::vector<Output> inputs_;
  std::vector<ValueInfo> outputs_;
  std::vector<std::vector<std::string>> output_names_;
  std::string layer_id_;
  SourceLocation where_;
  Annotations annotations_;
  std::vector<Annotations> input_annotations_;
  std::vector<Annotations> output_annotations_;
};

/// An input or output of a model or a compiled model, as a user names it.
struct Port {
  /// Tensor names, else the layer's name; the first one is shown. In IR version 10 that of the layer stands
  /// behind the others, unless something else goes by it.
  std::vector<std::string> names;
  ElementType type = ElementType::dynamic;
  PartialShape shape;

  [[nodiscard]] const std::string& name() const { return names.front(); }
};

/// A network. Nodes belong to the model and keep their address; every value flows from a node that comes
/// earlier in `nodes()`.
class Model {
 public:
  Model() = default;
  explicit Model(std::string name) : name_(std::move(name)) {}
  Model(const Model& other);
  Model(Model&&) noexcept = default;
  Model& operator=(const Model& other);
  Model& operator=(Model&&) noexcept = default;
  ~Model() = default;

  [[nodiscard]] const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// Adds an operation and infers its outputs. Without a name it gets one of its type and place. Throws
  /// Error, and leaves the model as it is, when the inputs do not fit the operation.
  Node& add(Op op, std::vector<Output> inputs, std::string name = {});
  Node& add_parameter(ElementType type, PartialShape shape, std::string name = {});
  Node& add_constant(Tensor value, std::string name = {});
  /// A scalar or vector constant of i64, as shapes and axes are given.
  Node& add_constant(std::int64_t value, std::string name = {});
  Node& add_constant(std::vector<std::int64_t> values, std::string name = {});
  Node& add_result(Output value, std::string name = {});

  /// Adds a node whose outputs the caller sets. For readers, which infer later.
  Node& append(Op op, std::vector<Output> inputs, std::string name);

  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  /// Nodes of the operations Parameter and Result, in the order of inputs and outputs.
  [[nodiscard]] const std::vector<Node*>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Node*>& results() const { return results_; }

  [[nodiscard]] std::vector<Port> inputs() const;
  [[nodiscard]] std::vector<Port> outputs() const;

  /// Every consumer of `from` but `to`'s own node reads `to` instead. The order of nodes must still allow it.
  void replace(Output from, Output to);
  /// Inserts a node, neither Parameter nor Result, before `position`, which is one of this model's, and
  /// infers its outputs. Throws Error, and leaves the model as it is, when the inputs do not fit the
  /// operation.
  Node& insert_before(const Node& position, Op op, std::vector<Output> inputs, std::string name);
  class Insertions;
  /// Drops nodes from which neither a result nor an assignment of a variable can be reached; parameters stay.
  void remove_unreachable();

  /// Infers all outputs again, for instance after a parameter got another shape. Throws Error at the first
  /// node that cannot be inferred.
  void infer();
  /// Gives input `index` another shape, whose dims may be unknown, and infers all outputs again. Throws Error
  /// `IR-port-unknown`, or what `infer` throws; the model is then as it was.
  void reshape(std::size_t index, PartialShape shape);
  /// The same for all inputs at once, one shape for each, for models where dims of several must agree.
  void reshape(std::span<const PartialShape> shapes);

  /// IR version that the model was read from, or 11.
  [[nodiscard]] int ir_version() const { return ir_version_; }
  void set_ir_version(int version) { ir_version_ = version; }
  [[nodiscard]] const Annotations& annotations() const { return annotations_; }
  [[nodiscard]] Annotations& annotations() { return annotations_; }

 private:
  [[nodiscard]] std::string default_name(std::string_view type) const;
  void note_role(Node& node);

  std::string name_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> parameters_;
  std::vector<Node*> results_;
  int ir_version_ = 11;
  Annotations annotations_;
};

/// Many insertions, which take one walk over the model: the nodes wait here, and `nodes()` lacks them, until
/// this ends. The model stays where it is, and its nodes where they are, meanwhile.
class Model::Insertions {
 public:
  explicit Insertions(Model& model) : model_(model) {}
  Insertions(const Insertions&) = delete;
  Insertions& operator=(const Insertions&) = delete;
  ~Insertions();

  /// As Model::insert_before, in the order of calls where the position is the same.
  Node& before(const Node& position, Op op, std::vector<Output> inputs, std::string name);

 private:
  struct Waiting {
    const Node* position = nullptr;
    std::unique_ptr<Node> node;
  };

  Model& model_;
  std::vector<Waiting> waiting_;
  std::vector<std::unique_ptr<Node>> placed_;
};

}  // namespace ir

#endif  // IR_RUNTIME_MODEL_H_
