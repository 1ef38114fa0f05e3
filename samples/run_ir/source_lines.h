// The lines of a text file, for reports that show them.
#ifndef SAMPLES_RUN_IR_SOURCE_LINES_H_
#define SAMPLES_RUN_IR_SOURCE_LINES_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "ir_reader/line_table.h"

namespace run_ir {

class SourceLines {
 public:
  /// Reads the file; one that cannot be read has no lines.
  explicit SourceLines(const std::filesystem::path& path);

  /// The line without its end; empty when there is none. Lines count from 1.
  [[nodiscard]] std::string_view line(int number) const;
  /// `column`, which counts bytes of a line from 1, counted in characters.
  [[nodiscard]] int character_column(int line, int column) const;

 private:
  std::string text_;
  ir::reader::LineTable table_;
};

/// A line and a second one with a caret below the byte `column` (from 1). Control characters are replaced,
/// and of a long line only the neighbourhood of the column is shown.
struct Excerpt {
  std::string line;
  std::string caret;
};
Excerpt excerpt(std::string_view line, int column);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_SOURCE_LINES_H_
