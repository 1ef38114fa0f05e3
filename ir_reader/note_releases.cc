#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ir_reader/audit.h"
#include "ir_reader/opset_releases.h"
#include "ir_runtime/subgraph.h"
#include "runtime/ops/fields.h"

namespace ir::reader {
namespace {

class ReleaseNotes {
 public:
  explicit ReleaseNotes(const ReadState& state) : state_(state) {}

  void collect(const Model& model) {
    for (const auto& node : model.nodes()) {
      const OpClass& record = node->op().op_class_record();
      if (newest_ == nullptr || record.info.first_opset > first_opset(*newest_)) {
        newest_ = node.get();
        of_newest_.clear();
      }
      if (record.info.first_opset == first_opset(*newest_)) of_newest_.push_back(node.get());
      if (record.subgraphs == nullptr) continue;
      // The accessor serves writers too.
      for (const Subgraph& subgraph : record.subgraphs(const_cast<void*>(node->op().descriptor()))) {
        if (subgraph.body != nullptr) collect(*subgraph.body);
      }
    }
  }

  void note_release() {
    if (newest_ == nullptr) return;
    const int opset = first_opset(*newest_);
    // Only these decide which release can read the model.
    for (const Node* node : of_newest_) note_downgrade(*node);
    const std::string_view release = release_of_opset(opset);
    // Version 11 came with opset8.
    constexpr int kOpsetOfVersion11 = 8;
    const bool by_version = state_.ir_version >= 11 && opset <= kOpsetOfVersion11;
    if (by_version) {
      note(nullptr, "IR-opset-release",
           fmt::format("the model needs OpenVINO {} or later, for IR version {}",
                       release_of_opset(kOpsetOfVersion11), state_.ir_version));
    } else if (!release.empty()) {
      note(newest_, "IR-opset-release",
           fmt::format("the model needs OpenVINO {} or later, for {} of opset{}", release,
                       newest_->op().type(), opset));
    }
  }

 private:
  static int first_opset(const Node& node) { return node.op().op_class_record().info.first_opset; }

  void note_downgrade(const Node& node) {
    const OpClass& record = node.op().op_class_record();
    for (const OpsetDowngrade& downgrade : opset_downgrades()) {
      if (record.info.first_opset != downgrade.from || record.info.type != downgrade.type) continue;
      const auto field = std::ranges::find(record.fields, downgrade.attribute, &Field::name);
      if (field == record.fields.end()) continue;
      const std::string text = field_text(*field, node.op().descriptor());
      if (std::ranges::find(downgrade.values, text) == downgrade.values.end()) continue;
      const OpClass* older = find_op_class(downgrade.type, downgrade.to);
      const std::string_view release = release_of_opset(downgrade.to);
      // Layers of one class are one finding.
      const auto [first, is_new] = downgraded_.try_emplace(&downgrade, kNoFinding);
      Diagnostic diagnostic =
          diagnostic_at(&node, "IR-opset-downgrade",
                        fmt::format("{} of opset{} with {}=\"{}\" is {} of opset{}", downgrade.type,
                                    downgrade.from, downgrade.attribute, text, downgrade.type, downgrade.to));
      diagnostic.hint = fmt::format("version=\"{}\" without the attribute serves OpenVINO {} and later",
                                    older != nullptr ? older->version() : std::string(), release);
      if (is_new) {
        first->second = state_.findings.add(std::move(diagnostic));
      } else {
        state_.findings.add_consequence(first->second, std::move(diagnostic));
      }
    }
  }

  Diagnostic diagnostic_at(const Node* node, std::string code, std::string message) const {
    Diagnostic diagnostic{.severity = Severity::note, .code = std::move(code), .message = std::move(message)};
    diagnostic.where =
        node != nullptr ? node->where() : state_.document.where(state_.document.root(), "version");
    if (node != nullptr) diagnostic.layer = {node->layer_id(), node->name(), std::string(node->op().type())};
    return diagnostic;
  }

  void note(const Node* node, std::string code, std::string message) {
    state_.findings.add(diagnostic_at(node, std::move(code), std::move(message)));
  }

  const ReadState& state_;
  const Node* newest_ = nullptr;
  std::vector<const Node*> of_newest_;
  std::map<const OpsetDowngrade*, FindingId> downgraded_;
};

}  // namespace

void note_releases(const ReadState& state, const Model& model) {
  ReleaseNotes notes(state);
  notes.collect(model);
  notes.note_release();
}

}  // namespace ir::reader
