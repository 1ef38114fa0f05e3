#include "ir_reader/operation_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "ir_reader/near_names.h"
#include "ir_reader/number.h"
#include "ir_reader/opset_releases.h"

namespace ir::reader {
namespace {

std::optional<int> parse_opset(std::string_view version) {
  constexpr std::string_view kPrefix = "opset";
  if (!version.starts_with(kPrefix)) return std::nullopt;
  version.remove_prefix(kPrefix.size());
  return number_of<int>(version);
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_extension(const Layer& layer) {
  return layer.version == "experimental" || layer.version == "extension";
}

void report_unknown_type(const ReadState& state, const Layer& layer) {
  std::vector<std::string_view> types;
  for (const OpClass* known : all_op_classes()) types.push_back(known->info.type);
  std::string hint = did_you_mean(layer.type, types);
  if (hint.empty() && is_extension(layer))
    hint = fmt::format("operations of version '{}' come from libraries of their own, which cannot be loaded",
                       layer.version);
  state.findings.add({.severity = Severity::error,
                      .code = "IR-operation-unknown",
                      .where = state.document.where(layer.xml, "type"),
                      .layer = layer.reference(),
                      .message = fmt::format("the operation '{}' is not known", layer.type),
                      .hint = std::move(hint),
                      .found = std::string(layer.type)});
}

std::string range_of(const OpClass& known) {
  return known.info.last_opset == known.info.first_opset
             ? fmt::format("opset{}", known.info.first_opset)
             : fmt::format("opset{} to opset{}", known.info.first_opset, known.info.last_opset);
}

// The version that a layer should name instead; empty when that depends on what it means.
std::string remedy(const std::vector<const OpClass*>& versions, std::optional<int> opset) {
  if (opset && *opset > kNewestOpset && versions.size() > 1)
    return fmt::format("; write version=\"{}\", the newest that is known", versions.back()->version());
  if (versions.size() == 1 || (opset && *opset < versions.front()->info.first_opset))
    return fmt::format("; write version=\"{}\"", versions.front()->version());
  return {};
}

void report_unknown_opset(const ReadState& state, const Layer& layer, std::optional<int> opset,
                          const std::vector<const OpClass*>& versions) {
  std::string known;
  for (const OpClass* version : versions) known += (known.empty() ? "" : ", ") + range_of(*version);
  const int first = versions.front()->info.first_opset;
  const std::string_view release = release_of_opset(first);
  state.findings.add({.severity = Severity::error,
                      .code = "IR-opset-unknown",
                      .where = state.document.where(layer.xml, "version"),
                      .layer = layer.reference(),
                      .message = fmt::format("'{}' does not exist in '{}'", layer.type, layer.version),
                      .hint = fmt::format("it exists in {}{}", known, remedy(versions, opset)),
                      .found = std::string(layer.version),
                      .expected = known,
                      .rule = release.empty() ? std::string()
                                              : fmt::format("{} came with opset{} (OpenVINO {})",
                                                            versions.front()->info.type, first, release)});
}

}  // namespace

// The opset that a layer means. Old converters wrote some operations into opsets that never held them, and
// OpenVINO's reader redirects these.
std::optional<int> opset_of(const Layer& layer) {
  constexpr std::array<std::string_view, 3> kOpset1MeansOpset2{"MVN", "ROIPooling", "ReorgYolo"};
  constexpr std::array<std::string_view, 8> kExperimentalMeansOpset6{
      "ExperimentalDetectronDetectionOutput",
      "ExperimentalDetectronGenerateProposalsSingleImage",
      "ExperimentalDetectronPriorGridGenerator",
      "ExperimentalDetectronROIFeatureExtractor",
      "ExperimentalDetectronTopKROIs",
      "GRUCell",
      "RNNCell",
      "Proposal"};
  if (layer.version == "opset1" && contains(kOpset1MeansOpset2, layer.type)) return 2;
  if (is_extension(layer) && contains(kExperimentalMeansOpset6, layer.type)) return 6;
  return parse_opset(layer.version);
}

const OpClass* find_class(const ReadState& state, const Layer& layer) {
  // A missing one has been reported.
  if (!layer.xml.attribute("type") || !layer.xml.attribute("version")) return nullptr;
  const std::optional<int> opset = opset_of(layer);
  if (opset && *opset >= 0 && *opset <= kNewestOpset) {
    if (const OpClass* found = find_op_class(layer.type, *opset)) return found;
  }
  const std::vector<const OpClass*> versions = op_classes_of_type(layer.type);
  if (versions.empty()) {
    report_unknown_type(state, layer);
  } else {
    report_unknown_opset(state, layer, opset, versions);
  }
  return nullptr;
}

}  // namespace ir::reader
