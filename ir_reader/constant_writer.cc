#include "ir_reader/constant_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "ir_reader/packed_strings.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/subgraph.h"

namespace ir::reader {
namespace {

const op::v0::Constant& constant_of(const Node& node) { return *node.op().as<op::v0::Constant>(); }

void collect(const Model& model, std::vector<const Node*>& constants) {
  for (const auto& node : model.nodes()) {
    if (node->op().is<op::v0::Constant>()) constants.push_back(node.get());
    for (const Subgraph& subgraph : subgraphs_of(node->op())) collect(*subgraph.body, constants);
  }
}

}  // namespace

ConstantWriter::ConstantWriter(const Model& model, std::ostream& file) : file_(file) {
  std::vector<const Node*> constants;
  collect(model, constants);
  std::ranges::stable_sort(constants, {}, [](const Node* node) { return constant_of(*node).offset; });
  for (const Node* node : constants) {
    const auto& value = constant_of(*node).value;
    if (value == nullptr) {
      throw Error("IR-constant-missing",
                  fmt::format("layer '{}': the elements of the constant were not read", node->name()));
    }
    const std::string_view bytes = bytes_of(*value);
    places_[node] = {offset_of(bytes), static_cast<std::int64_t>(bytes.size())};
  }
}

std::string_view ConstantWriter::bytes_of(const Tensor& tensor) {
  if (tensor.element_type() == ElementType::string) return packed_.emplace_back(pack_strings(tensor));
  return {static_cast<const char*>(tensor.raw()), tensor.byte_size()};
}

std::int64_t ConstantWriter::offset_of(std::string_view bytes) {
  const std::size_t hash = std::hash<std::string_view>()(bytes);
  const auto [first, last] = written_.equal_range(hash);
  const auto same = std::find_if(first, last, [&](const auto& entry) { return entry.second.bytes == bytes; });
  if (same != last) return same->second.offset;
  const std::int64_t offset = end_;
  written_.emplace(hash, Written{offset, bytes});
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  end_ += static_cast<std::int64_t>(bytes.size());
  return offset;
}

}  // namespace ir::reader
