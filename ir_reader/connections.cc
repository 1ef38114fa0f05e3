#include "ir_reader/connections.h"

#include <fmt/format.h>

#include <set>
#include <tuple>
#include <utility>

#include "ir_reader/neighbours.h"

namespace ir::reader {
namespace {

struct InputPort {
  std::size_t layer = 0;
  std::size_t port = 0;
  bool operator<(const InputPort& other) const {
    return std::tie(layer, port) < std::tie(other.layer, other.port);
  }
};

class Connector {
 public:
  Connector(const ReadState& state, const pugi::xml_node& net, LayerGraph& graph)
      : state_(state), net_(net), graph_(graph) {
    for (const Layer& layer : graph.layers) sources_.emplace_back(layer.inputs.size());
  }

  Sources connect() {
    for (const Edge& edge : graph_.edges) add(edge);
    std::vector<InputPort> open;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      for (std::size_t port = 0; port < sources_[i].size(); ++port) {
        if (!sources_[i][port] && !loose_.contains({i, port})) open.push_back({i, port});
      }
    }
    const FindingId strays = report_strays(open);
    Neighbours neighbours(state_, graph_, sources_);
    graph_.needed = needed_layers(graph_, sources_);
    for (const InputPort& port : open) {
      const Findings::Leniency lenient(state_.findings, !graph_.needed[port.layer]);
      report_open(port, strays, neighbours);
    }
    return std::move(sources_);
  }

 private:
  /// Two edges that end at one port.
  struct Contest {
    Edge first;
    Edge second;
  };

  void add(const Edge& edge) {
    if (edge.loose) {
      loose_.insert({edge.to_layer, edge.to_input});
      return;
    }
    std::optional<Source>& source = sources_[edge.to_layer][edge.to_input];
    if (!source) {
      source = Source{edge.from_layer, edge.from_output, edge.xml};
    } else if (source->layer == edge.from_layer && source->output == edge.from_output) {
      const Layer& to = graph_.layers[edge.to_layer];
      state_.findings.warning(
          "IR-edge-duplicate", state_.document.where(edge.xml), to.reference(),
          fmt::format("the edge to input port {} stands twice", to.inputs[edge.to_input].id));
    } else {
      Edge first = edge;
      first.from_layer = source->layer;
      first.from_output = source->output;
      first.xml = source->edge;
      contests_.push_back({first, edge});
    }
  }

  /// Whether the two ends of an edge, with its end at `to`, declare the same, and belong to two layers.
  bool fits(const Edge& edge, const InputPort& to) const {
    if (edge.from_layer == to.layer) return false;
    const LayerPort& output = graph_.layers[edge.from_layer].outputs[edge.from_output];
    const LayerPort& input = graph_.layers[to.layer].inputs[to.port];
    const bool types = output.precision == ElementType::dynamic || input.precision == ElementType::dynamic ||
                       output.precision == input.precision;
    return types && output.shape.compatible(input.shape);
  }

  /// Of two edges to one port, the one that was meant for `open`, or does not fit where it ends, is the
  /// stray.
  bool first_is_stray(const Contest& contest, const InputPort* open) const {
    const auto score = [&](const Edge& stays, const Edge& strays) {
      return (fits(stays, {stays.to_layer, stays.to_input}) ? 1 : 0) +
             (open != nullptr && fits(strays, *open) ? 1 : 0);
    };
    return score(contest.second, contest.first) > score(contest.first, contest.second);
  }

  /// Returns the one finding that explains the one port without an edge, if it is so.
  FindingId report_strays(const std::vector<InputPort>& open) {
    const bool one = contests_.size() == 1 && open.size() == 1;
    FindingId id = kNoFinding;
    for (const Contest& contest : contests_) {
      const bool is_first = first_is_stray(contest, one ? open.data() : nullptr);
      const Edge& stray = is_first ? contest.first : contest.second;
      const Edge& other = is_first ? contest.second : contest.first;
      if (is_first)
        sources_[other.to_layer][other.to_input] = Source{other.from_layer, other.from_output, other.xml};
      const Layer& to = graph_.layers[stray.to_layer];
      id = state_.findings.add(
          {.code = "IR-edge",
           .where = state_.document.where(stray.xml),
           .layer = to.reference(),
           .message = fmt::format("two edges end at input port {}, the other one in line {}",
                                  to.inputs[stray.to_input].id, state_.document.where(other.xml).line),
           .hint = one ? hint_for(open.front()) : std::string()});
    }
    if (one) return id;
    const bool ends_nowhere = contests_.empty() && graph_.strays.size() == 1 && open.size() == 1;
    return ends_nowhere ? graph_.strays.front() : kNoFinding;
  }

  std::string hint_for(const InputPort& open) const {
    const Layer& layer = graph_.layers[open.layer];
    const LayerPort& port = layer.inputs[open.port];
    return fmt::format(
        R"(no edge ends at input port {} of layer '{}' in line {}: is to-layer="{}" to-port="{}" meant?)",
        port.id, layer.name, state_.document.where(port.xml).line, layer.id, port.id);
  }

  void report_open(const InputPort& open, FindingId strays, Neighbours& neighbours) {
    const Layer& layer = graph_.layers[open.layer];
    const LayerPort& port = layer.inputs[open.port];
    FindingId cause = strays != kNoFinding ? strays : layer.edge_fault;
    if (cause == kNoFinding) {
      if (graph_.edges_fault == kNoFinding) graph_.edges_fault = report_second_edges(state_, net_);
      cause = graph_.edges_fault;
    }
    Diagnostic found{.code = "IR-input-unconnected",
                     .where = state_.document.where(port.xml),
                     .layer = layer.reference(),
                     .message = fmt::format("no edge ends at input port {}", port.id)};
    if (cause == kNoFinding) {
      found.hint = neighbours.unread_for(layer, open.port);
      state_.findings.add(std::move(found));
    } else {
      state_.findings.add_consequence(cause, std::move(found));
    }
  }

  const ReadState& state_;
  pugi::xml_node net_;
  LayerGraph& graph_;
  Sources sources_;
  /// Ports whose edge starts nowhere, which has been reported.
  std::set<InputPort> loose_;
  std::vector<Contest> contests_;
};

}  // namespace

Sources connect_layers(const ReadState& state, const pugi::xml_node& net, LayerGraph& graph) {
  return Connector(state, net, graph).connect();
}

}  // namespace ir::reader
