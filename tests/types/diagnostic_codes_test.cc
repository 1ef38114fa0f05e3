#include "ir_runtime/diagnostic_codes.h"

#include <cctype>
#include <filesystem>
#include <set>
#include <string>

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

}  // namespace
