// Names and texts that a file carries beside the network: <rt_info>, <meta_data> and the like.
#ifndef IR_READER_ANNOTATIONS_H_
#define IR_READER_ANNOTATIONS_H_

#include <pugixml.hpp>

#include "ir_reader/layers.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// The element `xml` with what is in it, but for comments and blanks between elements; text among elements
/// comes before them. What is nested deeper than the limit max_body_depth is reported. Empty without `xml`.
Annotations read_annotations(const ReadState& state, const pugi::xml_node& xml);

/// The elements of a <net> that are no part of the network.
void read_net_annotations(const ReadState& state, const pugi::xml_node& net, Annotations& annotations);

/// Appends the elements to `xml`.
void write_annotations(const Annotations& annotations, pugi::xml_node xml);

}  // namespace ir::reader

#endif  // IR_READER_ANNOTATIONS_H_
