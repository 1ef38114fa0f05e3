// PNG files that stb_image must not see.
#ifndef SAMPLES_RUN_IR_PNG_CHECK_H_
#define SAMPLES_RUN_IR_PNG_CHECK_H_

#include <string_view>

namespace run_ir {

/// What is wrong with the chunks of a PNG file; empty when nothing is, and for other files. A chunk that is
/// longer than the file: stb_image takes memory for all of it, up to 2 GB, before it reads. Pixels that begin
/// with an empty chunk: it has no memory yet that this could be copied to.
std::string_view fault_of_png(std::string_view file);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_PNG_CHECK_H_
