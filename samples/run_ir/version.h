// The version of the tool, which is the project's; for the sources that CMakeLists.txt tells it.
#ifndef SAMPLES_RUN_IR_VERSION_H_
#define SAMPLES_RUN_IR_VERSION_H_

#include <string_view>

namespace run_ir {

inline constexpr std::string_view kVersion = IR_RUNTIME_VERSION;

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_VERSION_H_
