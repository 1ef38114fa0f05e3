// Reading, with as many checks as are asked for: what read_model and validate share.
#ifndef IR_READER_READ_FILES_H_
#define IR_READER_READ_FILES_H_

#include <filesystem>

#include "ir_reader/layers.h"
#include "ir_runtime/read_model.h"

namespace ir::reader {

ReadResult read_files(const std::filesystem::path& xml, const std::filesystem::path& weights,
                      const ReadOptions& options, const Scrutiny& scrutiny);

}  // namespace ir::reader

#endif  // IR_READER_READ_FILES_H_
