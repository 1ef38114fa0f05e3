// JPEG files that stb_image must not see.
#ifndef SAMPLES_RUN_IR_JPEG_CHECK_H_
#define SAMPLES_RUN_IR_JPEG_CHECK_H_

#include <string_view>

namespace run_ir {

/// Whether a Huffman table of the file has more than the 256 codes that a table can have. stb_image before
/// 2023 writes beyond its tables then. Other files than JPEG have no such table.
bool has_oversized_huffman_table(std::string_view file);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_JPEG_CHECK_H_
