#include "runtime/execution/memory_need.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/subgraph.h"
#include "kernels/weights/shared_packing.h"
#include "runtime/execution/cgroup.h"
#include "runtime/types/halves.h"

namespace ir {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class NeedOfModel {
 public:
  MemoryNeed of(const Model& model) {
    add(model);
    return need_;
  }

 private:
  void add(const Model& model) {
    std::unordered_set<const Node*> packed;
    std::unordered_set<const Node*> read;
    for (const auto& node : model.nodes()) {
      const bool packs = node->op().op_class_record().info.packs_weights;
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        const Node* source = node->input(i).node;
        (packs && i > 0 ? packed : read).insert(source);
        // Weights that are stored in another type reach the kernel through a conversion.
        if (packs && i > 0 && source->op().type() == "Convert") packed.insert(source->input(0).node);
      }
      for (const Subgraph& subgraph : subgraphs_of(node->op())) add(*subgraph.body);
    }
    for (const auto& node : model.nodes()) {
      const auto* constant = node->op().as<op::v0::Constant>();
      if (constant == nullptr || constant->value == nullptr) continue;
      if (packed.contains(node.get())) add_packed(*constant->value);
      if (!packed.contains(node.get()) || read.contains(node.get())) add_constant(*constant->value);
    }
  }

  void add_packed(const Tensor& tensor) {
    need_.packed = saturating_sum(need_.packed, bytes_in_f32(tensor));
    if (tensor.byte_size() >= kernels::SharedForms::kOwnPages) return;
    need_.packed_together =
        saturating_sum(need_.packed_together, static_cast<std::int64_t>(tensor.byte_size()));
  }

  static std::int64_t bytes_in_f32(const Tensor& tensor) {
    return storage_bytes(ElementType::f32, tensor.size()).value_or(kMost);
  }

  void add_constant(const Tensor& tensor) {
    // Halves are converted for each constant, others are read where they lie.
    if (is_half(tensor.element_type())) {
      need_.constants = saturating_sum(need_.constants, bytes_in_f32(tensor));
    } else if (seen_.emplace(tensor.raw(), tensor.byte_size()).second) {
      need_.constants = saturating_sum(need_.constants, static_cast<std::int64_t>(tensor.byte_size()));
    }
  }

  MemoryNeed need_;
  std::set<std::pair<const void*, std::size_t>> seen_;
};

}  // namespace

MemoryNeed memory_need_of(const Model& model) { return NeedOfModel().of(model); }

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? kMost : result;
}

std::int64_t bytes_of(const ValueInfo& value) {
  const Dimension count = value.shape.element_count();
  return count.is_static() ? storage_bytes(value.type, count.value()).value_or(kMost) : kMost;
}

std::int64_t usable_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  std::int64_t bytes = 0;
  if (pages <= 0 || __builtin_mul_overflow(pages, std::int64_t{::sysconf(_SC_PAGESIZE)}, &bytes))
    bytes = kMost;
  return std::min(bytes, cgroup_memory().value_or(kMost));
}

bool is_memory_limited(const CompileOptions& options) {
  static const std::int64_t usable = usable_memory();
  return options.max_memory_bytes > 0 && options.max_memory_bytes < usable;
}

void require_memory(const MemoryNeed& need, std::optional<std::int64_t> activations,
                    const CompileOptions& options) {
  const std::int64_t total =
      saturating_sum(saturating_sum(need.constants, need.packed), activations.value_or(0));
  if (options.max_memory_bytes <= 0 || total <= options.max_memory_bytes) return;
  throw Error(
      "IR-limit",
      fmt::format(
          "the model takes {} bytes of memory: constants {}, packed weights about {}, activations {}; "
          "the limit max_memory_bytes is {}",
          total, need.constants, need.packed,
          activations ? fmt::format("{}", *activations) : "not counted yet", options.max_memory_bytes));
}

ByteLimit activation_limit(const CompileOptions& options) {
  if (options.max_memory_bytes > 0 && options.max_memory_bytes < options.max_activation_bytes)
    return {options.max_memory_bytes, "max_memory_bytes"};
  return {options.max_activation_bytes, "max_activation_bytes"};
}

}  // namespace ir
