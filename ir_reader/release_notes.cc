#include "ir_reader/release_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir_reader/operation_lookup.h"
#include "ir_reader/opset_releases.h"
#include "runtime/ops/fields.h"

namespace ir::reader {
namespace {

// The opset of the release that brought the IR version.
int opset_of_ir(int ir_version) { return ir_version >= 11 ? 8 : 1; }

std::string how_to_write(const OpClass& older, std::string_view without) {
  return fmt::format("version=\"{}\"{} serves OpenVINO {} and later", older.version(), without,
                     release_of_opset(older.info.first_opset));
}

}  // namespace

void ReleaseNotes::collect(const GraphView& view) {
  newest_ = std::max(newest_, opset_of_ir(view.state.ir_version));
  for (std::size_t i = 0; i < view.graph.layers.size(); ++i) {
    const Layer& layer = view.graph.layers[i];
    const Node* node = view.nodes[i];
    if (node == nullptr) continue;
    const OpInfo& info = node->op().op_class_record().info;
    if (info.last_opset < 0) continue;  // it could not be read
    // A reader needs the opset that the layer names, even where that holds an old class.
    const int needed = std::max(info.first_opset, opset_of(layer).value_or(0));
    if (needed < newest_ || needed <= opset_of_ir(view.state.ir_version)) continue;
    if (needed > newest_) uses_.clear();
    newest_ = needed;
    Use use{view.state.document.where(layer.xml, "version"), layer.reference(), info.type, {}, {}};
    find_downgrade(node->op(), needed, use);
    uses_.push_back(std::move(use));
  }
}

void ReleaseNotes::find_downgrade(const Op& op, int needed, Use& use) {
  const OpClass& record = op.op_class_record();
  if (needed > record.info.first_opset) {
    use.downgrade =
        fmt::format("{} of opset{} is {} of opset{}", use.type, needed, use.type, record.info.first_opset);
    use.hint = how_to_write(record, "");
    return;
  }
  for (const OpsetDowngrade& downgrade : opset_downgrades()) {
    if (record.info.first_opset != downgrade.from || record.info.type != downgrade.type) continue;
    const auto field = std::ranges::find(record.fields, downgrade.attribute, &Field::name);
    const OpClass* older = find_op_class(downgrade.type, downgrade.to);
    if (field == record.fields.end() || older == nullptr) continue;
    const std::string text = field_text(*field, op.descriptor());
    if (std::ranges::find(downgrade.values, text) == downgrade.values.end()) continue;
    use.downgrade = fmt::format("{} of opset{} with {}=\"{}\" is {} of opset{}", use.type, downgrade.from,
                                downgrade.attribute, text, use.type, downgrade.to);
    use.hint = how_to_write(*older, " without the attribute");
  }
}

void ReleaseNotes::report(const ReadState& state) {
  const auto note = [&](std::string code, SourceLocation where, LayerReference layer, std::string message,
                        std::string hint) {
    return Diagnostic{.severity = Severity::note,
                      .code = std::move(code),
                      .where = std::move(where),
                      .layer = std::move(layer),
                      .message = std::move(message),
                      .hint = std::move(hint)};
  };
  const std::string needs =
      fmt::format("the model needs OpenVINO {} or later, for ", release_of_opset(newest_));
  if (uses_.empty()) {
    state.findings.add(note("IR-opset-release", state.document.where(state.document.root(), "version"), {},
                            needs + fmt::format("IR version {}", state.ir_version), {}));
    return;
  }
  const Use& first = uses_.front();
  state.findings.add(note("IR-opset-release", first.where, first.layer,
                          needs + fmt::format("{} of opset{}", first.type, newest_), {}));
  // What is the same for several layers is one finding.
  std::map<std::string_view, FindingId> kept;
  for (const Use& use : uses_) {
    if (use.downgrade.empty()) continue;
    Diagnostic diagnostic = note("IR-opset-downgrade", use.where, use.layer, use.downgrade, use.hint);
    const auto [entry, is_new] = kept.try_emplace(use.downgrade, kNoFinding);
    if (is_new) {
      entry->second = state.findings.add(std::move(diagnostic));
    } else {
      state.findings.add_consequence(entry->second, std::move(diagnostic));
    }
  }
}

}  // namespace ir::reader
