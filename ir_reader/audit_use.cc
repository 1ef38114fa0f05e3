#include <fmt/format.h>

#include <vector>

#include "ir_reader/audit.h"
#include "ir_reader/release_notes.h"
#include "ir_runtime/ops/infrastructure.h"
#include "runtime/model/state.h"

namespace ir::reader {
namespace {

// Follows values from the layers that a network is computed for back to where they come from.
class UseAudit {
 public:
  explicit UseAudit(const GraphView& view) : view_(view), used_(view.graph.layers.size()) {}

  void check() {
    const std::size_t count = view_.graph.layers.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (is_root(i)) mark_with_sources(i, view_.sources, used_);
    }
    if (roots_ == 0) return report_no_result();
    find_consumers();
    // What a broken edge cuts off is no finding of its own.
    FindingId broken = view_.graph.edges_fault;
    if (broken == kNoFinding) {
      broken = view_.state.findings.first_of(
          {"IR-edge", "IR-input-unconnected", "IR-cycle", "IR-id-duplicate"}, view_.first_finding);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (is_unused(i) && consumers_[i].empty()) report(i, broken);
    }
  }

 private:
  bool is_root(std::size_t index) {
    const Node* node = view_.nodes[index];
    if (node == nullptr) return false;
    const bool root = node->op().is<op::v0::Result>() || is_sink(*node);
    roots_ += root ? 1 : 0;
    return root;
  }

  void find_consumers() {
    consumers_.resize(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) {
      for (const auto& source : view_.sources[i]) {
        if (source) consumers_[source->layer].push_back(i);
      }
    }
  }

  // Bodies may leave parameters unread: the layer around them feeds all.
  bool is_unused(std::size_t index) const {
    const Node* node = view_.nodes[index];
    return node != nullptr && !used_[index] && !(view_.state.depth > 0 && node->op().is<op::v0::Parameter>());
  }

  // The layer, and as its consequences those that only lead to it.
  void report(std::size_t last, FindingId broken) {
    const bool input = view_.nodes[last]->op().is<op::v0::Parameter>();
    Findings& findings = view_.state.findings;
    FindingId cause = broken;
    Diagnostic first = diagnostic(
        last, input ? "nothing reads this input of the model" : "nothing reads the layer's outputs");
    if (broken == kNoFinding) {
      cause = findings.add(std::move(first));
    } else {
      findings.add_consequence(cause, std::move(first));
    }
    used_[last] = true;
    std::vector<std::size_t> open{last};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const auto& source : view_.sources[at]) {
        if (!source || !is_unused(source->layer)) continue;
        used_[source->layer] = true;
        open.push_back(source->layer);
        findings.add_consequence(
            cause, diagnostic(source->layer, "the layer's outputs only lead to layers that nothing reads"));
      }
    }
  }

  Diagnostic diagnostic(std::size_t index, std::string message) const {
    const Layer& layer = view_.graph.layers[index];
    return {.severity = Severity::warning,
            .code = "IR-layer-unused",
            .where = view_.state.document.where(layer.xml),
            .layer = layer.reference(),
            .message = std::move(message),
            .hint = "connect it, or remove it"};
  }

  void report_no_result() {
    view_.state.findings.warning("IR-no-result", view_.state.document.where(view_.xml), {},
                                 "the network has no Result",
                                 "add a Result behind each value that is wanted");
  }

  const GraphView& view_;
  std::vector<bool> used_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::size_t roots_ = 0;
};

}  // namespace

void audit_use(const GraphView& view) {
  if (!view.xml.child("layers")) return;
  UseAudit(view).check();
}

void audit_graph(const GraphView& view) {
  audit_elements(view);
  audit_names(view);
  audit_use(view);
  audit_attributes(view);
  if (view.state.releases != nullptr) view.state.releases->collect(view);
}

}  // namespace ir::reader
