#include "runtime/types/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir_runtime/diagnostics.h"

namespace ir {
namespace {

thread_local Budget* in_force = nullptr;

}  // namespace

Budget::Budget(const Limits& limits) : limits_(limits), outer_(in_force) { in_force = this; }

Budget::~Budget() { in_force = outer_; }

void Budget::require_tensor(std::int64_t bytes, ElementType type, const Shape& shape) {
  if (in_force == nullptr) return;
  const ByteLimit& limit = in_force->limits_.tensor;
  const std::int64_t others = in_force->living_ == nullptr ? 0 : in_force->living_->load();
  if (bytes <= limit.bytes - std::min(others, limit.bytes)) return;
  throw Error("IR-limit", fmt::format("a tensor of type {} and shape {} takes {} bytes{}; the limit {} is {}",
                                      name_of(type), to_string(shape), bytes,
                                      others == 0 ? "" : fmt::format(" beside {} of other tensors", others),
                                      limit.name, limit.bytes));
}

void Budget::require_kept(std::int64_t bytes) {
  if (in_force == nullptr || bytes <= in_force->limits_.tensor.bytes) return;
  throw Error("IR-limit",
              fmt::format("what the loop keeps of its iterations takes {} bytes; the limit {} is {}", bytes,
                          in_force->limits_.tensor.name, in_force->limits_.tensor.bytes));
}

void Budget::count_iteration() {
  if (in_force == nullptr || in_force->iterations_++ < in_force->limits_.loop_iterations) return;
  throw Error("IR-limit", fmt::format("the loops of the model go on for more than {} iterations, the limit "
                                      "max_loop_iterations",
                                      in_force->limits_.loop_iterations));
}

std::shared_ptr<Budget::Living> Budget::living() {
  if (in_force == nullptr || in_force->limits_.tensor.bytes == ByteLimit().bytes) return nullptr;
  if (in_force->living_ == nullptr) in_force->living_ = std::make_shared<Living>(0);
  return in_force->living_;
}

std::int64_t Budget::most_folded_bytes() {
  return in_force == nullptr ? std::numeric_limits<std::int64_t>::max() : in_force->limits_.folded_bytes;
}

}  // namespace ir
