// Layers that share an id with another one.
#ifndef IR_READER_DUPLICATE_IDS_H_
#define IR_READER_DUPLICATE_IDS_H_

#include <string_view>
#include <vector>

#include "ir_reader/layers.h"

namespace ir::reader {

/// A layer with the id of `layers[first]`, which is not among `layers`.
struct DuplicateId {
  std::size_t first = 0;
  Layer layer;
};

/// Ids in edges of the network `net` that no layer has; more than `most` are not looked for.
std::vector<std::string_view> missing_ids(const pugi::xml_node& net, const std::vector<Layer>& layers,
                                          std::size_t most);

/// Gives the id `missing` to one of both layers, the one that edges to that id fit better, and adds the other
/// layer to `layers`. Returns the index of the layer that has it now.
std::size_t part_layers(const pugi::xml_node& net, DuplicateId duplicate, std::string_view missing,
                        std::vector<Layer>& layers);

}  // namespace ir::reader

#endif  // IR_READER_DUPLICATE_IDS_H_
