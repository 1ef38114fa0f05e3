#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "ir_runtime/op.h"
#include "tests/catch.h"

namespace ir {
namespace {

constexpr int kOpsets = 17;

/// opset1 and later; opset0 is nGraph's.
bool is_released(const OpClass& record) { return record.info.last_opset >= 1; }

TEST_CASE("opset1 to opset17 have the types and classes that OpenVINO's tables have") {
  // The sizes of src/core/include/openvino/opsets/opsetN_tbl.hpp, with LSTMSequence-1, which releases of 2025
  // lack. opset17 is in development: it takes over all of opset16 when it is complete, as it does here.
  constexpr std::array<std::size_t, kOpsets> kTableSizes{110, 112, 127, 137, 145, 152, 156, 167, 173,
                                                         177, 177, 178, 186, 188, 199, 203, 210};
  for (int opset = 1; opset <= kOpsets; ++opset) {
    INFO("opset" << opset);
    const auto classes = all_op_classes();
    CHECK(static_cast<std::size_t>(std::count_if(classes.begin(), classes.end(), [&](const OpClass* record) {
            return record->in_opset(opset);
          })) == kTableSizes[static_cast<std::size_t>(opset - 1)]);
  }
  std::set<std::string_view> types;
  std::size_t classes = 0;
  for (const OpClass* record : all_op_classes()) {
    if (!is_released(*record)) continue;
    types.insert(record->info.type);
    ++classes;
  }
  CHECK(types.size() == 212);
  CHECK(classes == 249);
}

TEST_CASE("every type is found in each of its opsets, in any case, and means one class there") {
  for (const OpClass* record : all_op_classes()) {
    std::string upper(record->info.type);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    for (int opset = 1; opset <= kOpsets; ++opset) {
      INFO(record->info.type << " opset" << opset);
      if (!record->in_opset(opset)) continue;
      CHECK(find_op_class(record->info.type, opset) == record);
      CHECK(find_op_class(upper, opset) == record);
    }
  }
  CHECK(find_op_class("Reverse", 1) != nullptr);
  CHECK(find_op_class("Reverse", 2) == nullptr);
  CHECK(find_op_class("RNNCell", 2) == nullptr);
  CHECK(find_op_class("RNNCell", 3) == find_op_class("RNNCell", 1));
  CHECK(find_op_class("LogicalXor", 1)->version() == "opset2");
  CHECK(find_op_class("CumSum", 7)->version() == "opset3");
}

}  // namespace
}  // namespace ir
