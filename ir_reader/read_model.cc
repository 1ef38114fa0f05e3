#include "ir_runtime/read_model.h"

#include <fmt/format.h>

#include "ir_reader/annotations.h"
#include "ir_reader/constants.h"
#include "ir_reader/document.h"
#include "ir_reader/findings.h"
#include "ir_reader/graph.h"
#include "ir_reader/ir_version.h"
#include "ir_reader/layers.h"
#include "ir_reader/preprocess.h"
#include "ir_reader/read_files.h"
#include "ir_reader/regular_file.h"
#include "ir_reader/release_notes.h"
#include "ir_reader/weights.h"
#include "ir_reader/weights_check.h"
#include "runtime/model/state.h"
#include "runtime/types/exhaustion.h"

namespace ir {
namespace {

using reader::Document;
using reader::Findings;
using reader::Weights;

std::shared_ptr<const Weights> open_file(const std::filesystem::path& path, const ReadOptions& options) {
  return options.map_weights ? Weights::map(path) : Weights::load(path, options.limits.max_copied_bytes);
}

// Null when there is no such file, which matters only to a model with constants. When it cannot be used, a
// finding says so, and `options` becomes such that everything that needs no weights is read.
std::shared_ptr<const Weights> open_weights(const std::filesystem::path& path, bool named,
                                            ReadOptions& options, Findings& findings) {
  if (options.without_weights || (!named && !reader::is_there(path))) return nullptr;
  try {
    std::shared_ptr<const Weights> weights = open_file(path, options);
    const auto size = weights->lfs_size();
    if (!size) return weights;
    findings.error(
        "IR-lfs-pointer", {weights->name(), 0, 0}, {},
        fmt::format("the weights file is a Git LFS pointer to {} bytes, not the weights themselves", *size),
        "`git lfs pull` fetches them");
  } catch (const Error& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) findings.add(diagnostic);
  }
  options.without_weights = true;
  return nullptr;
}

void check_weights(const reader::ConstantReader& constants, const reader::Scrutiny& scrutiny,
                   Findings& findings) {
  if (!constants.weights() || !constants.whole()) return;
  const Weights& weights = *constants.weights();
  if (scrutiny.weights_layout)
    reader::check_layout(constants.places(), weights, scrutiny.notes || scrutiny.weights_values, findings);
  if (!scrutiny.weights_values || !reader::worth_reading(constants.places(), weights, findings)) return;
  reader::check_values(constants.places(), weights, findings);
  reader::check_duplicates(constants.places(), weights, findings);
}

void check_encoding(const Document& document, Findings& findings) {
  const auto found = document.ill_formed();
  if (!found) return;
  findings.warning("IR-encoding", found->second, {}, fmt::format("byte 0x{:02x} is no UTF-8", found->first),
                   "names that hold such bytes are shown with these spelt out");
}

reader::XmlLimits xml_limits_of(const ReadOptions& options) {
  return {options.limits.max_xml_bytes, options.limits.max_xml_elements,
          options.limits.max_attributes_per_element};
}

// The model may be left half built when there are errors. `effective` is with or without weights as it turned
// out.
std::shared_ptr<Model> read(const Document& document, int version, std::shared_ptr<const Weights> weights,
                            const std::string& weights_name, const ReadOptions& effective,
                            const reader::Scrutiny& scrutiny, Findings& findings) {
  reader::ConstantReader constants(std::move(weights), weights_name);
  reader::MemoryUse memory;
  reader::ReleaseNotes releases;
  const bool wants_releases = scrutiny.audit && scrutiny.notes;
  const reader::ReadState state{document,  version, effective, findings,
                                constants, memory,  scrutiny,  wants_releases ? &releases : nullptr};
  // A file that is there and cannot be used has been reported.
  const bool left_out = effective.without_weights && findings.errors() == 0;
  std::shared_ptr<Model> model = reader::build_model(state, document.root());
  reader::subtract_means(state, document.root(), *model);
  constants.report_missing(findings);
  if (scrutiny.audit && left_out) constants.note_unchecked(state);
  check_weights(constants, scrutiny, findings);
  reader::read_net_annotations(state, document.root(), model->annotations());
  if (wants_releases) releases.report(state);
  if (findings.errors() > 0) return model;
  for (Diagnostic& finding : check_variables(*model)) findings.add(std::move(finding));
  model->set_ir_version(version);
  if (version == 10) reader::present_as_v10(*model);
  return model;
}

// `read_with` gives the model, or throws; what it finds goes into the result.
template <class Read>
ReadResult collected(const ReadOptions& options, const Read& read_with) {
  Findings findings(options.limits.max_diagnostics);
  ReadResult result;
  try {
    result.model = reporting_exhaustion("the model was read", [&] { return read_with(findings); });
  } catch (const Error& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) findings.add(diagnostic);
  }
  if (findings.errors() > 0) result.model = nullptr;
  result.diagnostics = findings.take();
  return result;
}

std::shared_ptr<Model> model_of(ReadResult result) {
  if (!result.model) throw Error(std::move(result.diagnostics));
  return result.model;
}

}  // namespace

ReadResult reader::read_files(const std::filesystem::path& xml, const std::filesystem::path& weights,
                              const ReadOptions& options, const Scrutiny& scrutiny) {
  return collected(options, [&](Findings& findings) {
    const Document document = Document::load(xml, xml_limits_of(options));
    check_encoding(document, findings);
    const int version = reader::read_ir_version(document);
    ReadOptions effective = options;
    const std::filesystem::path file = reader::weights_file_of(xml, weights);
    auto opened = open_weights(file, !weights.empty(), effective, findings);
    return read(document, version, std::move(opened), file.string(), effective, scrutiny, findings);
  });
}

ReadResult read_and_check(const std::filesystem::path& xml, const std::filesystem::path& weights,
                          const ReadOptions& options) {
  return reader::read_files(xml, weights, options, {});
}

ReadResult read_and_check(const ModelInMemory& model, const ReadOptions& options) {
  return collected(options, [&](Findings& findings) {
    const Document document = Document::parse(std::string(model.xml), model.name, xml_limits_of(options));
    check_encoding(document, findings);
    const int version = reader::read_ir_version(document);
    std::shared_ptr<const Weights> weights;
    if (!options.without_weights && !model.weights.empty())
      weights = Weights::in_memory(model.weights, model.owner, model.weights_name);
    return read(document, version, std::move(weights), model.weights_name, options, {}, findings);
  });
}

std::shared_ptr<Model> read_model(const std::filesystem::path& xml, const std::filesystem::path& weights,
                                  const ReadOptions& options) {
  return model_of(read_and_check(xml, weights, options));
}

std::shared_ptr<Model> read_model(const ModelInMemory& model, const ReadOptions& options) {
  return model_of(read_and_check(model, options));
}

}  // namespace ir
