#include "ir_reader/neighbours.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir_reader/port_check.h"

namespace ir::reader {

std::string Neighbours::origin_of(const Layer& layer, std::size_t input) const {
  const std::optional<Source>& source = sources_[index_of(layer)][input];
  if (!source) return {};
  const Layer& from = graph_.layers[source->layer];
  return fmt::format("output port {} of layer '{}' in line {} comes by the edge in line {}",
                     from.outputs[source->output].id, from.name, state_.document.where(from.xml).line,
                     state_.document.where(source->edge).line);
}

std::string Neighbours::constants_of(const Layer& layer) const {
  constexpr std::size_t kMost = 4;  // a join of hundreds says no more
  std::string text;
  std::size_t named = 0;
  const std::vector<std::optional<Source>>& sources = sources_[index_of(layer)];
  for (std::size_t i = 0; i < sources.size() && named < kMost; ++i) {
    if (!sources[i]) continue;
    const Layer& from = graph_.layers[sources[i]->layer];
    if (from.type != "Const") continue;
    ++named;
    text += fmt::format("{}input {} is the constant '{}' in line {}", text.empty() ? "" : "; ", i, from.name,
                        state_.document.where(from.xml).line);
  }
  return text;
}

void Neighbours::find_readers() {
  readers_.resize(graph_.layers.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    for (std::size_t input = 0; input < sources_[i].size(); ++input) {
      if (const std::optional<Source>& source = sources_[i][input])
        readers_[source->layer].push_back({i, input, source->output});
    }
  }
  for (std::vector<Reader>& readers : readers_) std::ranges::stable_sort(readers, {}, &Reader::output);
}

void Neighbours::find_unread() {
  // Where many are, one that fits says little.
  constexpr std::size_t kMaxUnread = 16;
  if (readers_.empty()) find_readers();
  unread_.emplace();
  for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
    std::vector<bool> is_read(graph_.layers[i].outputs.size(), false);
    for (const Reader& reader : readers_[i]) is_read[reader.output] = true;
    for (std::size_t output = 0; output < is_read.size(); ++output) {
      if (!is_read[output] && unread_->size() < kMaxUnread) unread_->push_back({i, output});
    }
  }
}

std::string Neighbours::unread_for(const Layer& layer, std::size_t input) {
  if (!unread_) find_unread();
  const Source* fitting = nullptr;
  for (const Source& unread : *unread_) {
    const Layer& from = graph_.layers[unread.layer];
    if (&from == &layer || !agrees(layer.inputs[input], declared_value(from.outputs[unread.output])))
      continue;
    if (fitting != nullptr) return {};
    fitting = &unread;
  }
  if (fitting == nullptr) return {};
  const Layer& from = graph_.layers[fitting->layer];
  const std::string_view port = from.outputs[fitting->output].id;
  return fmt::format(
      R"(output port {} of layer '{}' in line {} is read by nothing and fits: is from-layer="{}" from-port="{}" meant?)",
      port, from.name, state_.document.where(from.xml).line, from.id, port);
}

Readers Neighbours::readers_of(const Layer& layer, std::size_t output, const ValueInfo& inferred) {
  if (readers_.empty()) find_readers();
  const ValueInfo declared = declared_value(layer.outputs[output], inferred);
  Readers readers;
  const std::vector<Reader>& all = readers_[index_of(layer)];
  for (auto reader = std::ranges::lower_bound(all, output, {}, &Reader::output);
       reader != all.end() && reader->output == output; ++reader) {
    const LayerPort& port = graph_.layers[reader->layer].inputs[reader->input];
    const bool as_declared = agrees(port, declared);
    const bool as_inferred = agrees(port, inferred);
    readers.as_declared |= as_declared && !as_inferred;
    readers.as_inferred |= as_inferred && !as_declared;
  }
  return readers;
}

}  // namespace ir::reader
