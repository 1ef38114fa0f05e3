#include "runtime/ops/documentation.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "ir_runtime/op.h"
#include "tests/catch.h"
#include "tests/repository.h"

namespace ir {

TEST_CASE("The reference names every type and every attribute") {
  const std::string text = operations_markdown();
  for (const OpClass* op_class : all_op_classes()) {
    INFO(op_class->info.type);
    CHECK(text.find(fmt::format("\n### {}\n", op_class->info.type)) != std::string::npos);
    CHECK(text.find(op_class->info.summary) != std::string::npos);
    for (const Field& field : op_class->fields) {
      INFO(field.name);
      CHECK(text.find(fmt::format("`{}`", field.name)) != std::string::npos);
      // A sentence that is fit for a table.
      CHECK(field.doc.ends_with('.'));
      CHECK(field.doc.find_first_of("|\n") == std::string_view::npos);
    }
  }
}

TEST_CASE("A version of a type has its opsets, summary and attributes") {
  CHECK(operations_markdown().find(R"(
### CTCGreedyDecoderSeqLen

**opset6 to opset17**: Best class of each step, without blanks and repeats.

| attribute | type | default | values | meaning |
|---|---|---|---|---|
| `merge_repeated` | boolean | `true` |  | Whether a class that follows itself counts once. |
| `classes_index_type` | element type | `i32` |  | Type of the classes: i32 or i64. |
| `sequence_length_type` | element type | `i32` |  | Type of the lengths: i32 or i64. |
)") != std::string::npos);
}

TEST_CASE("Equal attributes of a later version are not repeated") {
  const std::string text = operations_markdown();
  CHECK(text.find("**opset3 to opset10**: The k largest or smallest elements along an axis.\n\n"
                  "Attributes as in opset1 to opset2.\n") != std::string::npos);
  CHECK(text.find("| `mode` | enumeration | required | `max`, `min` |") != std::string::npos);
  CHECK(text.find("**opset1 and opset3 to opset17**: One step of a simple recurrent network.") !=
        std::string::npos);
}

TEST_CASE("docs/operations.md says what the field tables say") {
  std::ifstream file(test::repository() / "docs" / "operations.md");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  INFO("run scripts/update_docs.sh");
  CHECK(text == operations_markdown());
}

}  // namespace ir
