#include "ir_reader/topology.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <utility>

#include "runtime/types/letter_case.h"

namespace ir::reader {
namespace {

// Each layer that still waits has an input that waits, too: walking back along these comes round to a layer
// that was passed before.
std::vector<std::vector<std::size_t>> find_cycles(const std::vector<std::size_t>& waiting,
                                                  const Sources& sources) {
  std::vector<std::vector<std::size_t>> cycles;
  // The walk that passed a layer; walks count from 1.
  std::vector<std::size_t> passed(waiting.size(), 0);
  for (std::size_t start = 0; start < waiting.size(); ++start) {
    if (waiting[start] == 0 || passed[start] != 0) continue;
    std::vector<std::size_t> path;
    std::size_t at = start;
    while (passed[at] == 0) {
      passed[at] = start + 1;
      path.push_back(at);
      const auto source = std::ranges::find_if(
          sources[at], [&](const auto& from) { return from && waiting[from->layer] > 0; });
      at = (*source)->layer;
    }
    if (passed[at] != start + 1) continue;  // an earlier walk found that cycle
    path.erase(path.begin(), std::ranges::find(path, at));
    // From producers to consumers, with the layer that the walk came to first.
    std::reverse(path.begin() + 1, path.end());
    cycles.push_back(std::move(path));
  }
  return cycles;
}

// Calls visit(layer, source) for every input that has a source.
template <class Visitor>
void for_each_source(const Sources& sources, const Visitor& visit) {
  for (std::size_t layer = 0; layer < sources.size(); ++layer) {
    for (const auto& source : sources[layer]) {
      if (source) visit(layer, source->layer);
    }
  }
}

}  // namespace

Topology sort_layers(const LayerGraph& graph, const Sources& sources) {
  const std::size_t count = graph.layers.size();
  std::vector<std::size_t> waiting(count, 0);
  // Where the consumers of a layer end, and all of them, layer by layer.
  std::vector<std::size_t> ends(count + 1, 0);
  for_each_source(sources, [&](std::size_t layer, std::size_t source) {
    ++waiting[layer];
    ++ends[source + 1];
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::size_t> consumers(ends.back());
  for_each_source(sources, [&](std::size_t layer, std::size_t source) { consumers[ends[source]++] = layer; });
  // Parameters before other layers, results after them, then by position in the file.
  using Place = std::pair<int, std::size_t>;
  const auto place_of = [&](std::size_t index) {
    const std::string_view type = graph.layers[index].type;
    return Place(type == "Parameter" ? 0 : (type == "Result" ? 2 : 1), index);
  };
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(place_of(i));
  }
  Topology topology;
  while (!ready.empty()) {
    const std::size_t index = ready.top().second;
    ready.pop();
    topology.order.push_back(index);
    for (std::size_t i = index == 0 ? 0 : ends[index - 1]; i < ends[index]; ++i) {
      if (--waiting[consumers[i]] == 0) ready.push(place_of(consumers[i]));
    }
  }
  if (topology.order.size() < count) topology.cycles = find_cycles(waiting, sources);
  return topology;
}

void mark_with_sources(std::size_t layer, const Sources& sources, std::vector<bool>& marked) {
  std::vector<std::size_t> open{layer};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (marked[at]) continue;
    marked[at] = true;
    for (const auto& source : sources[at]) {
      if (source && !marked[source->layer]) open.push_back(source->layer);
    }
  }
}

std::vector<bool> needed_layers(const LayerGraph& graph, const Sources& sources) {
  std::vector<bool> needed(graph.layers.size());
  bool computes = false;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const auto is = [&](std::string_view type) { return equal_ignoring_case(layer.type, type); };
    const bool is_root = is("Result") || is("Assign");
    computes = computes || is_root;
    const bool has_body = layer.xml.child("body") || layer.xml.child("then_body");
    if (is_root || has_body || is("Parameter")) mark_with_sources(i, sources, needed);
  }
  return computes ? needed : std::vector<bool>(graph.layers.size(), true);
}

}  // namespace ir::reader
