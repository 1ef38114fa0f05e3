#include "runtime/execution/page_release.h"

#include <functional>

#include "ir_runtime/ops/infrastructure.h"
#include "runtime/types/scaled_codes.h"

namespace ir {

PageRelease::PageRelease(std::span<const ValueInfo> inputs) : packed_(release_), listener_(packed_) {
  for (const ValueInfo& input : inputs) {
    if (input.constant == nullptr) continue;
    const bool is_held_here = input.constant.use_count() == 1 && input.constant->is_sole_owner();
    if (input.constant->is_of_file() || is_held_here) release_.constants.push_back(input.constant);
  }
}

void PageRelease::Release::operator()(std::span<const std::byte> part, kernels::Rereads rereads) const {
  const std::less_equal<> at_or_before;
  for (const auto& constant : constants) {
    // To ask where floats lie makes them.
    if (constant->codes() != nullptr && !constant->codes()->are_floats_made()) continue;
    const auto* const memory = static_cast<const std::byte*>(constant->raw());
    if (!at_or_before(memory, part.data())) continue;
    if (!at_or_before(part.data() + part.size(), memory + constant->byte_size())) continue;
    if (constant->is_of_file() || rereads == kernels::Rereads::never)
      constant->discard_pages(static_cast<std::size_t>(part.data() - memory), part.size());
    return;
  }
}

std::vector<Tensor> file_constants_of(const Model& model) {
  std::vector<Tensor> constants;
  for (const auto& node : model.nodes()) {
    const auto* constant = node->op().as<op::v0::Constant>();
    if (constant == nullptr || constant->value == nullptr) continue;
    const ScaledCodes* codes = constant->value->codes();
    const Tensor& elements = codes == nullptr ? *constant->value : codes->codes();
    if (elements.is_of_file()) constants.push_back(elements);
  }
  return constants;
}

void release_pages(std::span<const Tensor> constants) {
  for (const Tensor& constant : constants) constant.release_pages(Tensor::SharedPages::go);
}

void provide_pages(std::span<const Tensor> constants) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 24;
  for (const Tensor& constant : constants) {
    if (constant.byte_size() <= kMostBytes) constant.provide_pages();
  }
}

}  // namespace ir
