// Finds the name that a misspelt one most likely stands for.
#ifndef IR_READER_NEAR_NAMES_H_
#define IR_READER_NEAR_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace ir::reader {

/// The candidate that `text` most likely stands for: few single-character edits away, in any case. Empty when
/// none is near.
std::string_view nearest(std::string_view text, const std::vector<std::string_view>& candidates);

/// "did you mean 'kernel'?"; empty when no candidate is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& candidates);

}  // namespace ir::reader

#endif  // IR_READER_NEAR_NAMES_H_
