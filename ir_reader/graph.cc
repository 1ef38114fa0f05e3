#include "ir_reader/graph.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "ir_reader/annotations.h"
#include "ir_reader/attributes.h"
#include "ir_reader/audit.h"
#include "ir_reader/bodies.h"
#include "ir_reader/connections.h"
#include "ir_reader/constants.h"
#include "ir_reader/layer_inference.h"
#include "ir_reader/topology.h"
#include "ir_runtime/ops/infrastructure.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/op_class.h"

namespace ir::reader {

namespace {

// Stands for a layer that could not be understood, so that what comes after it can still be checked.
struct Unreadable {
  static constexpr OpInfo info{.type = "Unreadable",
                               .first_opset = -1,
                               .last_opset = -1,
                               .family = "none",
                               .summary = "A layer that could not be read."};
  static constexpr auto fields() { return std::array<Field, 0>{}; }
  void infer(InferContext& context) const {
    context.fail("IR-unreadable", "the layer could not be read",
                 Compared{"a layer that could not be read", "a layer that can be read"});
  }
  PreparedKernel prepare(PrepareContext& context) const { context.fail_unsupported("an unreadable layer"); }
};

class GraphBuilder {
 public:
  GraphBuilder(const ReadState& state, const pugi::xml_node& net)
      : state_(state),
        net_(net),
        first_finding_(state.findings.next()),
        graph_(read_layers(state, net)),
        model_(std::make_shared<Model>(net.attribute("name").value())),
        inference_(state, graph_, sources_) {}

  std::shared_ptr<Model> build() {
    const std::int64_t forgiven = state_.findings.forgiven();
    sources_ = connect_layers(state_, net_, graph_);
    const Topology topology = sort_layers(graph_, sources_);
    report_cycles(topology);
    nodes_.resize(graph_.layers.size());
    for (const std::size_t index : topology.order) add_layer(index);
    if (state_.scrutiny.audit) audit_graph({state_, net_, graph_, sources_, nodes_, first_finding_});
    const bool only_warns = state_.options.shape_check == ShapeCheck::warn && state_.depth == 0;
    if (only_warns && inference_.took_declared()) infer_again(topology.order);
    if (state_.findings.forgiven() > forgiven) model_->remove_unreachable();
    return model_;
  }

 private:
  // Layers on or behind a cycle are left out.
  void report_cycles(const Topology& topology) {
    for (const std::vector<std::size_t>& cycle : topology.cycles) {
      const Layer& layer = graph_.layers[cycle.front()];
      const Findings::Leniency lenient(state_.findings, !graph_.needed[cycle.front()]);
      state_.findings.error(
          "IR-cycle", state_.document.where(layer.xml), layer.reference(),
          fmt::format(
              "the layer's inputs depend on its own outputs: {}; {} layers lie on or behind the cycle",
              path_of(cycle), graph_.layers.size() - topology.order.size()),
          "take out one of these edges; loops are written as Loop or TensorIterator");
    }
  }

  // "a -> b -> a"; long ones are cut in the middle.
  std::string path_of(const std::vector<std::size_t>& cycle) const {
    constexpr std::size_t kMaxNames = 8;
    std::string path;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      if (i == kMaxNames - 1 && cycle.size() > kMaxNames) {
        path += fmt::format("({} more) -> ", cycle.size() - kMaxNames);
        i = cycle.size() - 1;
      }
      path.append(graph_.layers[cycle[i]].name).append(" -> ");
    }
    return path.append(graph_.layers[cycle.front()].name);
  }

  void add_layer(std::size_t index) {
    const Layer& layer = graph_.layers[index];
    const Findings::Leniency lenient(state_.findings, !graph_.needed[index]);
    std::vector<Output> inputs;
    inputs.reserve(sources_[index].size());
    bool whole = true;
    for (const auto& source : sources_[index]) {
      Node* from = source ? nodes_[source->layer] : nullptr;
      if (from == nullptr) {
        whole = false;
        continue;
      }
      inputs.emplace_back(from, source->output);
    }
    std::optional<Op> op = read_whole_op(layer);
    whole = whole && op.has_value();
    Node& node =
        model_->append(op ? std::move(*op) : Op(Unreadable{}), std::move(inputs), std::string(layer.name));
    node.set_origin(std::string(layer.id), state_.document.where(layer.xml));
    nodes_[index] = &node;
    take_names_and_annotations(layer, node);
    if (whole) {
      inference_.infer(layer, node);
    } else {
      LayerInference::take_declared(layer, node);
    }
  }

  /// The operation with its bodies and elements; nothing when some of it is wrong.
  std::optional<Op> read_whole_op(const Layer& layer) {
    std::optional<Op> op = read_op(state_, layer);
    if (!op) return op;
    if (op->op_class_record().subgraphs != nullptr && !read_bodies(state_, layer, *op)) return std::nullopt;
    auto* const constant = op->as<op::v0::Constant>();
    const bool good = constant == nullptr ||
                      state_.constants.bind(state_, layer.reference(), layer.xml.child("data"), *constant);
    return good ? std::move(op) : std::nullopt;
  }

  void take_names_and_annotations(const Layer& layer, Node& node) {
    node.annotations() = read_annotations(state_, layer.xml.child("rt_info"));
    if (!layer.output_names.empty()) node.set_output_names(0, layer.output_names);
    for (std::size_t port = 0; port < layer.inputs.size(); ++port) {
      if (const pugi::xml_node xml = layer.inputs[port].xml.child("rt_info"))
        node.set_input_annotations(port, read_annotations(state_, xml));
    }
    for (std::size_t port = 0; port < layer.outputs.size(); ++port) {
      if (!layer.outputs[port].names.empty()) node.set_output_names(port, layer.outputs[port].names);
      if (const pugi::xml_node xml = layer.outputs[port].xml.child("rt_info"))
        node.set_output_annotations(port, read_annotations(state_, xml));
    }
  }

  /// What was declared wrongly served to tell causes from consequences. Where that is no error, the model
  /// must hold what it computes.
  void infer_again(std::span<const std::size_t> order) {
    ReadOptions options = state_.options;
    options.shape_check = ShapeCheck::off;
    const ReadState state{state_.document, state_.ir_version, options, state_.findings, state_.constants,
                          state_.memory,   Scrutiny(),        nullptr, state_.depth};
    LayerInference inference(state, graph_, sources_);
    for (const std::size_t index : order) {
      Node& node = *nodes_[index];
      if (node.inputs().size() == sources_[index].size() && !node.op().is<Unreadable>())
        inference.infer(graph_.layers[index], node);
    }
  }

  const ReadState& state_;
  pugi::xml_node net_;
  FindingId first_finding_;
  LayerGraph graph_;
  std::shared_ptr<Model> model_;
  Sources sources_;
  LayerInference inference_;
  std::vector<Node*> nodes_;
};

}  // namespace

std::shared_ptr<Model> build_model(const ReadState& state, const pugi::xml_node& net) {
  return GraphBuilder(state, net).build();
}

}  // namespace ir::reader

namespace ir {
template struct OpClassOf<reader::Unreadable>;
}  // namespace ir
