// Text from files on its way to a terminal.
#include "runtime/types/printable.h"

#include "tests/catch.h"

using ir::ill_formed_utf8_at;
using ir::printable;

TEST_CASE("Plain text and characters of all scripts are shown as they are") {
  for (const std::string text :
       {"conv1/weights", "", "gr\xC3\xBC\xC3\x9F", "\xE7\xB5\x90\xE6\x9E\x9C", "\xF0\x9F\x98\x80"}) {
    CHECK(printable(text) == text);
    CHECK(ill_formed_utf8_at(text) == std::string::npos);
  }
}

TEST_CASE("What a terminal obeys is spelt out") {
  CHECK(printable("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("a\nb\r\tc\x7f") == "a\\x0ab\\x0d\\x09c\\x7f");
  // CSI as one character; right-to-left override; line separator.
  CHECK(printable("\xC2\x9B") == "\\u009b");
  CHECK(printable("a\xE2\x80\xAE"
                  "b") == "a\\u202eb");
  CHECK(printable("\xE2\x80\xA8") == "\\u2028");
  CHECK(ir::printable_lines("a\x1b\n\tb") == "a\\x1b\n\tb");
}

TEST_CASE("Bytes that are no UTF-8 are found and spelt out") {
  const auto check = [](const std::string& text, std::size_t at, const std::string& shown) {
    CHECK(ill_formed_utf8_at(text) == at);
    CHECK(printable(text) == shown);
  };
  check("caf\xE9", 3, "caf\\xe9");
  check("0123456789abcdef\xFF", 16, "0123456789abcdef\\xff");
  // Overlong, surrogate, beyond the last code, cut off, continuation alone.
  check("\xC0\xAF", 0, "\\xc0\\xaf");
  check("\xE0\x80\x80", 0, "\\xe0\\x80\\x80");
  check("\xED\xA0\x80", 0, "\\xed\\xa0\\x80");
  check("\xF4\x90\x80\x80", 0, "\\xf4\\x90\\x80\\x80");
  check("x\xE2\x82", 1, "x\\xe2\\x82");
  check("\x80", 0, "\\x80");
}

TEST_CASE("A long text is cut between characters") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdef", 5) == "abcde...");
  CHECK(printable("ab\xC3\xA4z", 3) == "ab...");
}
