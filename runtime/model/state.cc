#include "runtime/model/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir_runtime/ops/state.h"
#include "ir_runtime/subgraph.h"

namespace ir {
namespace {

template <class... Classes>
const std::string* variable_of(const Op& op) {
  const std::string* id = nullptr;
  const auto look = [&](const auto* descriptor) {
    if (descriptor != nullptr) id = &descriptor->variable_id;
  };
  (look(op.as<Classes>()), ...);
  return id;
}

template <class Visit>
void for_each_body(const Node& node, const Visit& visit) {
  for (const Subgraph& subgraph : subgraphs_of(node.op())) {
    if (subgraph.body != nullptr) visit(*subgraph.body);
  }
}

template <class Predicate>
bool any_in_bodies(const Node& node, const Predicate& predicate) {
  bool found = false;
  for_each_body(node, [&](const Model& body) {
    found = found || std::ranges::any_of(body.nodes(), [&](const auto& inner) {
              return predicate(inner->op()) || any_in_bodies(*inner, predicate);
            });
  });
  return found;
}

bool assigns(const Op& op) { return variable_assigned_by(op) != nullptr; }
bool reads_or_assigns(const Op& op) { return variable_read_by(op) != nullptr || assigns(op); }

// The shapes that a ReadValue states for its variable; of unknown rank when it states none.
PartialShape declared_shape(const Op& op) {
  const auto* read = op.as<op::v6::ReadValue>();
  return read == nullptr || read->variable_type == ElementType::dynamic ? PartialShape()
                                                                        : read->variable_shape;
}

struct Use {
  const Node* node = nullptr;
  bool in_body = false;
};

// Everything that is done with one variable.
struct Uses {
  std::vector<Use> reads;
  std::vector<Use> assigns;
};

// In the order in which the variables are met first.
struct UsesOfVariables {
  std::vector<std::string> ids;
  std::map<std::string, Uses, std::less<>> uses;
  std::vector<Diagnostic> findings;

  void collect(const Model& model, bool in_body = false) {
    std::set<std::string_view> assigned_here;
    for (const auto& node : model.nodes()) {
      if (const std::string* id = variable_read_by(node->op()))
        uses_of(*id).reads.push_back({node.get(), in_body});
      if (const std::string* id = variable_assigned_by(node->op())) {
        uses_of(*id).assigns.push_back({node.get(), in_body});
        if (!assigned_here.insert(*id).second)
          report(Severity::warning, "IR-variable-twice", *node,
                 fmt::format("the variable '{}' is assigned twice; the last one counts", *id));
      }
      for_each_body(*node, [&](const Model& body) { collect(body, true); });
    }
  }

  void report(Severity severity, std::string code, const Node& node, std::string message) {
    findings.push_back({severity,
                        std::move(code),
                        node.where(),
                        {node.layer_id(), node.name(), std::string(node.op().type())},
                        std::move(message),
                        {}});
  }

 private:
  Uses& uses_of(const std::string& id) {
    if (!uses.contains(id)) ids.push_back(id);
    return uses[id];
  }
};

const ValueInfo& value_at(const Node& node) {
  return assigns(node.op()) ? node.input(0).info() : node.output(0);
}

void check_pair(UsesOfVariables& all, const std::string& id, const Node& read, const Use& other) {
  const std::string_view verb = assigns(other.node->op()) ? "assigned" : "read";
  const ValueInfo& value = value_at(*other.node);
  const ElementType type = read.output(0).type;
  if (value.type != type && value.type != ElementType::dynamic && type != ElementType::dynamic) {
    all.report(Severity::error, "IR-variable-type", *other.node,
               fmt::format("the variable '{}' is {} as {}, layer '{}' reads it as {}", id, verb,
                           name_of(value.type), read.name(), name_of(type)));
  }
  // What is known of shapes in a body before it runs is no promise.
  const PartialShape declared = declared_shape(read.op());
  if (!other.in_body && !value.shape.compatible(declared)) {
    all.report(Severity::error, "IR-variable-shape", *other.node,
               fmt::format("the variable '{}' is {} with shape {}, layer '{}' reads it with shape {}", id,
                           verb, to_string(value.shape), read.name(), to_string(declared)));
  }
}

}  // namespace

const std::string* variable_read_by(const Op& op) {
  return variable_of<op::v3::ReadValue, op::v6::ReadValue>(op);
}

const std::string* variable_assigned_by(const Op& op) {
  return variable_of<op::v3::Assign, op::v6::Assign>(op);
}

bool is_sink(const Node& node) { return assigns(node.op()) || any_in_bodies(node, assigns); }

bool has_stateful_body(const Node& node) { return any_in_bodies(node, reads_or_assigns); }

AxisOrder inverse(const AxisOrder& order) {
  AxisOrder places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return places;
}

std::vector<VariableInfo> variables_of(const Model& model) {
  UsesOfVariables all;
  all.collect(model);
  std::vector<VariableInfo> variables;
  for (const std::string& id : all.ids) {
    const Uses& uses = all.uses.at(id);
    if (uses.reads.empty()) continue;
    const Node& read = *uses.reads.front().node;
    variables.push_back({id, read.output(0).type, declared_shape(read.op()), {}});
  }
  return variables;
}

std::vector<Diagnostic> check_variables(const Model& model) {
  UsesOfVariables all;
  all.collect(model);
  for (const std::string& id : all.ids) {
    const Uses& uses = all.uses.at(id);
    if (uses.reads.empty()) {
      all.report(Severity::error, "IR-variable-unread", *uses.assigns.front().node,
                 fmt::format("the variable '{}' is assigned, but no ReadValue reads it", id));
      continue;
    }
    if (uses.assigns.empty()) {
      all.report(Severity::warning, "IR-variable-unassigned", *uses.reads.front().node,
                 fmt::format("the variable '{}' is read, but no Assign assigns it", id));
    }
    const Node& read = *uses.reads.front().node;
    for (const Use& other : uses.reads) {
      if (other.node != &read) check_pair(all, id, read, other);
    }
    for (const Use& assign : uses.assigns) check_pair(all, id, read, assign);
  }
  return std::move(all.findings);
}

}  // namespace ir
