// The version of the tool.
#ifndef SAMPLES_RUN_IR_VERSION_H_
#define SAMPLES_RUN_IR_VERSION_H_

#include <string_view>

namespace run_ir {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_VERSION_H_
