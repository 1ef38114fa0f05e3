// Finds the name that a misspelt one most likely stands for.
#ifndef IR_READER_NEAR_NAMES_H_
#define IR_READER_NEAR_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "ir_runtime/element_type.h"

namespace ir::reader {

/// The candidate that `text` most likely stands for: few single-character edits away (two neighbours that
/// changed places are one), in any case. Empty when none is near.
std::string_view nearest(std::string_view text, const std::vector<std::string_view>& candidates);

/// "did you mean 'kernel'?"; empty when no candidate is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& candidates);

/// As that, for an element type by its name in attributes (`name_of`) or that of ports (`port_name_of`). What
/// other frameworks call it is near, too: float32, INT64.
std::string did_you_mean_type(std::string_view text, std::string_view (*name)(ElementType));

}  // namespace ir::reader

#endif  // IR_READER_NEAR_NAMES_H_
