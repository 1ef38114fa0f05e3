#include "runtime/execution/page_release.h"

#include <functional>

#include "ir_runtime/ops/infrastructure.h"

namespace ir {

void PageRelease::Release::operator()(std::span<const std::byte> part) const {
  const std::less_equal<> at_or_before;
  for (const ValueInfo& input : inputs) {
    if (input.constant == nullptr || !input.constant->is_of_file()) continue;
    const auto* const memory = static_cast<const std::byte*>(input.constant->raw());
    if (!at_or_before(memory, part.data())) continue;
    if (!at_or_before(part.data() + part.size(), memory + input.constant->byte_size())) continue;
    input.constant
        ->constant_part(ElementType::u8, {static_cast<std::int64_t>(part.size())},
                        static_cast<std::size_t>(part.data() - memory))
        .release_pages();
    return;
  }
}

void release_pages(const Model& model) {
  for (const auto& node : model.nodes()) {
    const auto* constant = node->op().as<op::v0::Constant>();
    if (constant != nullptr && constant->value != nullptr) constant->value->release_pages();
  }
}

void provide_pages(std::span<const Tensor> constants) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 24;
  for (const Tensor& constant : constants) {
    if (constant.byte_size() <= kMostBytes) constant.provide_pages();
  }
}

}  // namespace ir
