// What inputs and outputs of a model are called that have no name of their own.
#ifndef RUNTIME_MODEL_LAYER_NAME_H_
#define RUNTIME_MODEL_LAYER_NAME_H_

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace ir {

/// The layer's name; of several outputs one is told apart by its number, as OpenVINO does.
inline std::string layer_name(std::string_view layer, std::size_t outputs, std::size_t index) {
  return outputs == 1 ? std::string(layer) : fmt::format("{}.{}", layer, index);
}

}  // namespace ir

#endif  // RUNTIME_MODEL_LAYER_NAME_H_
