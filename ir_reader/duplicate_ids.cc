#include "ir_reader/duplicate_ids.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ir::reader {
namespace {

/// Few edges tell two layers apart; a hostile file has a million, to a layer of as many ports.
constexpr std::size_t kMaxEdges = 256;

const LayerPort* port_of(const std::vector<LayerPort>& ports, std::string_view id) {
  const auto found = std::ranges::find(ports, id, &LayerPort::id);
  return found == ports.end() ? nullptr : &*found;
}

/// How well edges fit layers that are found by their ids: a point for each end that exists, and one for ends
/// that declare the same.
std::size_t score(const std::vector<pugi::xml_node>& edges,
                  const std::unordered_map<std::string_view, const Layer*>& by_id) {
  std::size_t points = 0;
  const auto end = [&](const pugi::xml_node& edge, const char* layer_key, const char* port_key,
                       bool source) -> const LayerPort* {
    const auto layer = by_id.find(edge.attribute(layer_key).value());
    if (layer == by_id.end()) return nullptr;
    return port_of(source ? layer->second->outputs : layer->second->inputs, edge.attribute(port_key).value());
  };
  for (const pugi::xml_node& edge : edges) {
    const LayerPort* from = end(edge, "from-layer", "from-port", true);
    const LayerPort* to = end(edge, "to-layer", "to-port", false);
    points += (from != nullptr ? 1 : 0) + (to != nullptr ? 1 : 0);
    if (from == nullptr || to == nullptr) continue;
    points += (from->precision == to->precision ? 1 : 0) + (from->shape == to->shape ? 1 : 0);
  }
  return points;
}

}  // namespace

std::vector<std::string_view> missing_ids(const pugi::xml_node& net, const std::vector<Layer>& layers,
                                          std::size_t most) {
  std::unordered_set<std::string_view> known;
  for (const Layer& layer : layers) known.insert(layer.id);
  std::vector<std::string_view> missing;
  for (const pugi::xml_node& edge : net.child("edges").children("edge")) {
    for (const char* key : {"from-layer", "to-layer"}) {
      const pugi::xml_attribute id = edge.attribute(key);
      if (!id || !known.insert(id.value()).second) continue;
      missing.emplace_back(id.value());
      if (missing.size() >= most) return missing;
    }
  }
  return missing;
}

std::size_t part_layers(const pugi::xml_node& net, DuplicateId duplicate, std::string_view missing,
                        std::vector<Layer>& layers) {
  const std::string_view shared = duplicate.layer.id;
  std::vector<pugi::xml_node> touched;
  for (const pugi::xml_node& edge : net.child("edges").children("edge")) {
    const std::string_view from = edge.attribute("from-layer").value();
    const std::string_view to = edge.attribute("to-layer").value();
    if (from == shared || to == shared || from == missing || to == missing) touched.push_back(edge);
    if (touched.size() >= kMaxEdges) break;
  }
  std::unordered_map<std::string_view, const Layer*> by_id;
  for (const Layer& layer : layers) by_id[layer.id] = &layer;
  const auto score_with = [&](const Layer& keeps, const Layer& changes) {
    by_id[shared] = &keeps;
    by_id[missing] = &changes;
    return score(touched, by_id);
  };
  const bool first_changes = score_with(duplicate.layer, layers[duplicate.first]) >
                             score_with(layers[duplicate.first], duplicate.layer);
  layers.push_back(std::move(duplicate.layer));
  const std::size_t changed = first_changes ? duplicate.first : layers.size() - 1;
  layers[changed].id = missing;
  return changed;
}

}  // namespace ir::reader
