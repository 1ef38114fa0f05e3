// Where offsets into a text lie, in lines and columns.
#ifndef IR_READER_LINE_TABLE_H_
#define IR_READER_LINE_TABLE_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace ir::reader {

/// Takes 1/32 of the text's size, whatever its lines are: a table of all lines would take eight times the
/// text where these are empty. Every layer is looked for.
class LineTable {
 public:
  /// Counted from 1, columns in bytes.
  struct Place {
    std::size_t line = 1;
    std::size_t column = 1;
  };

  LineTable() = default;
  explicit LineTable(std::string_view text);

  /// `text` is the one that the table was made of.
  [[nodiscard]] Place find(std::string_view text, std::size_t offset) const;
  /// Where a line starts; empty when there is none of that number.
  [[nodiscard]] std::optional<std::size_t> start_of(std::string_view text, std::size_t line) const;

 private:
  /// Where a block of the text starts.
  struct Block {
    std::size_t line = 1;
    std::size_t line_start = 0;
  };
  static constexpr std::size_t kBlockBytes = 512;

  static void pass(std::string_view text, std::size_t from, std::size_t to, Block& block);

  std::vector<Block> blocks_;
};

}  // namespace ir::reader

#endif  // IR_READER_LINE_TABLE_H_
