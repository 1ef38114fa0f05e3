// Lines and columns of offsets, in texts of many blocks.
#include "ir_reader/line_table.h"

#include <string>

#include "tests/catch.h"

namespace {

// One step after the other.
void check_all(const std::string& text) {
  const ir::reader::LineTable table(text);
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t offset = 0; offset <= text.size(); ++offset) {
    const auto place = table.find(text, offset);
    if (place.line != line || place.column != column) {
      INFO("offset " << offset << " of " << text.size());
      CHECK(place.line == line);
      REQUIRE(place.column == column);
    }
    if (column == 1 && table.start_of(text, line) != offset) REQUIRE(table.start_of(text, line) == offset);
    const bool ends = offset < text.size() && text[offset] == '\n';
    line += ends ? 1 : 0;
    column = ends ? 1 : column + 1;
  }
  CHECK_FALSE(table.start_of(text, 0));
  CHECK_FALSE(table.start_of(text, line + 1));
}

TEST_CASE("each offset has the line and column that counting gives") {
  check_all("");
  check_all("\n");
  check_all("a\n\nb");
  check_all(std::string(8192, 'a'));
  check_all(std::string(8193, '\n'));
  check_all(std::string(4095, 'a') + "\nb" + std::string(4096, 'c') + "\n");
  std::string text;
  for (std::size_t length = 0; length < 200; ++length) text += std::string(length, 'x') + "\n";
  check_all(text);
}

TEST_CASE("an offset behind the end is the end") {
  const std::string text = "ab\nc";
  const auto place = ir::reader::LineTable(text).find(text, 100);
  CHECK(place.line == 2);
  CHECK(place.column == 2);
}

}  // namespace
