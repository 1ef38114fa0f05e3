// JSON as the commands print it.
#ifndef SAMPLES_RUN_IR_JSON_H_
#define SAMPLES_RUN_IR_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace run_ir {

/// Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// In ASCII, whatever names and paths hold: `print` spells out control characters as no JSON does. Bytes that
/// are no UTF-8 are replaced. One line without `indent`.
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_JSON_H_
