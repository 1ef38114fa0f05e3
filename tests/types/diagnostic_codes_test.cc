#include "ir_runtime/diagnostic_codes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/repository.h"
#include "tests/temporary_folder.h"

namespace {

using Codes = std::set<std::string, std::less<>>;

// Texts in quotes that are a code: "IR-file".
void collect_codes(const std::string& text, Codes& codes) {
  const std::string start = "\"IR-";
  for (auto at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    auto end = at + start.size();
    while (end < text.size() &&
           (std::islower(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-' ||
            std::isdigit(static_cast<unsigned char>(text[end])) != 0))
      ++end;
    if (end < text.size() && text[end] == '"') codes.insert(text.substr(at + 1, end - at - 1));
  }
}

Codes codes_in_sources() {
  Codes codes;
  for (const char* room : {"kernels", "runtime", "ir_reader", "samples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(ir::test::repository() / room)) {
      const auto extension = entry.path().extension();
      if ((extension == ".cc" || extension == ".h") && entry.path().stem() != "diagnostic_codes")
        collect_codes(ir::test::bytes_of(entry.path()), codes);
    }
  }
  return codes;
}

Codes listed_codes() {
  Codes codes;
  for (const ir::DiagnosticGroup& group : ir::diagnostic_groups()) {
    for (const ir::DiagnosticCode& code : group.codes) {
      INFO(code.code);
      CHECK(codes.insert(std::string(code.code)).second);
    }
  }
  return codes;
}

TEST_CASE("every code that is used is in the list, and the list has no other") {
  const Codes used = codes_in_sources();
  const Codes listed = listed_codes();
  for (const std::string& code : used) {
    INFO(code << " is used and not in runtime/types/diagnostic_codes.cc");
    CHECK(listed.contains(code));
  }
  for (const std::string& code : listed) {
    INFO(code << " is in the list and not used");
    CHECK(used.contains(code));
  }
}

TEST_CASE("every code has a meaning, an example and a hint that are fit for a table") {
  for (const ir::DiagnosticGroup& group : ir::diagnostic_groups()) {
    for (const ir::DiagnosticCode& code : group.codes) {
      INFO(code.code);
      CHECK(code.meaning.ends_with('.'));
      CHECK(code.hint.ends_with('.'));
      CHECK_FALSE(code.example.empty());
      for (const std::string_view text : {code.meaning, code.example, code.hint})
        CHECK(text.find_first_of("|\n") == std::string_view::npos);
    }
  }
}

TEST_CASE("a code is found by its name") {
  REQUIRE(ir::find_diagnostic_code("IR-cycle") != nullptr);
  CHECK(ir::find_diagnostic_code("IR-cycle")->severity == ir::Severity::error);
  CHECK(ir::find_diagnostic_code("IR-cycl") == nullptr);
}

TEST_CASE("docs/diagnostics.md has the table of the list") {
  const std::string text = ir::test::bytes_of(ir::test::repository() / "docs" / "diagnostics.md");
  INFO("run scripts/update_docs.sh");
  CHECK(text.ends_with(ir::diagnostic_codes_markdown()));
}

TEST_CASE("docs/validation.md names every code of a model, and no code that does not exist") {
  const std::string text = ir::test::bytes_of(ir::test::repository() / "docs" / "validation.md");
  const auto groups = ir::diagnostic_groups();
  for (const ir::DiagnosticGroup& group : groups.first(groups.size() - 1)) {
    for (const ir::DiagnosticCode& code : group.codes) {
      INFO(code.code);
      CHECK(text.find("`" + std::string(code.code) + "`") != std::string::npos);
    }
  }
  for (auto at = text.find("`IR-"); at != std::string::npos; at = text.find("`IR-", at + 1)) {
    const std::string code = text.substr(at + 1, text.find('`', at + 1) - at - 1);
    INFO(code);
    CHECK(ir::find_diagnostic_code(code) != nullptr);
  }
}

// The texts of all tests but this one, by path below tests/.
std::map<std::string, std::string> texts_of_tests() {
  std::map<std::string, std::string> texts;
  const std::filesystem::path tests = ir::test::repository() / "tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests)) {
    const auto extension = entry.path().extension();
    if (extension != ".cc" && extension != ".sh") continue;
    if (entry.path().stem() == "diagnostic_codes_test") continue;
    texts[std::filesystem::relative(entry.path(), tests).string()] = ir::test::bytes_of(entry.path());
  }
  return texts;
}

bool has_code(const std::string& text, const std::string& code) {
  for (auto at = text.find(code); at != std::string::npos; at = text.find(code, at + 1)) {
    const std::size_t end = at + code.size();
    if (end == text.size() || (text[end] != '-' && std::isalnum(static_cast<unsigned char>(text[end])) == 0))
      return true;
  }
  return false;
}

// What no file and no call brings about: a mistake of the library, and the failure of the stand-in for a
// layer whose own findings are reported instead.
bool is_unreachable(const std::string& code) { return code == "IR-internal" || code == "IR-unreadable"; }

TEST_CASE("every code stands in a test") {
  const auto texts = texts_of_tests();
  for (const std::string& code : listed_codes()) {
    INFO(code);
    CHECK(std::ranges::any_of(texts, [&](const auto& file) { return has_code(file.second, code); }) !=
          is_unreachable(code));
  }
}

std::vector<std::string> parted(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (auto at = text.find(separator); at != std::string::npos; at = text.find(separator, start)) {
    parts.push_back(text.substr(start, at - start));
    start = at + separator.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

TEST_CASE("the tests that docs/validation.md names have the codes of their check") {
  const auto texts = texts_of_tests();
  std::size_t checks = 0;
  for (const std::string& line :
       parted(ir::test::bytes_of(ir::test::repository() / "docs" / "validation.md"), "\n")) {
    const std::vector<std::string> cells = parted(line, " | ");
    if (cells.size() != 3 || cells[1].find("`IR-") == std::string::npos) continue;
    ++checks;
    std::string found;
    for (const std::string& cell : parted(cells[2].substr(0, cells[2].find(" |")), ", ")) {
      // "ops/ (each family)" is a folder.
      const std::string path = cell.substr(0, cell.find(' '));
      const bool folder = path.ends_with('/');
      for (const auto& [name, text] : texts) {
        if (folder ? name.starts_with(path) : name == path) found += text;
      }
      INFO(path << " is no test");
      CHECK((folder || texts.contains(path)));
    }
    for (const std::string& code : parted(cells[1], ", ")) {
      INFO(line);
      const std::string name = code.substr(1, code.size() - 2);
      CHECK((has_code(found, name) || is_unreachable(name)));
    }
  }
  CHECK(checks > 40);
}

}  // namespace
