#include "runtime/execution/variables.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/ops/zeros.h"
#include "runtime/types/halves.h"

namespace ir {
namespace {

void require_fitting(const VariableInfo& info, ElementType type, const Tensor& value) {
  if (value.element_type() != type) {
    throw Error("IR-variable-type", fmt::format("the variable '{}' holds {}, the value is {}", info.id,
                                                name_of(type), name_of(value.element_type())));
  }
  if (!info.shape.compatible(value.shape())) {
    throw Error("IR-variable-shape", fmt::format("the variable '{}' holds shape {}, the value has {}",
                                                 info.id, to_string(info.shape), to_string(value.shape())));
  }
}

Tensor in_type(const Tensor& tensor, ElementType type) {
  return tensor.element_type() == type ? tensor.clone() : tensor.converted(type);
}

}  // namespace

Variables::Variables(std::span<const VariableInfo> infos) {
  for (const VariableInfo& info : infos) entries_[info.id].info = info;
}

void Variables::share(std::string_view id, Tensor value) {
  Entry& variable = entry(id);
  require_fitting(variable.info, computed_type(variable.info.type), value);
  variable.value = std::move(value);
  variable.spare = {};
  variable.own_value = false;
  variable.assigned = true;
}

void Variables::copy(std::string_view id, const Tensor& value) {
  Entry& variable = entry(id);
  require_fitting(variable.info, computed_type(variable.info.type), value);
  Tensor target = std::exchange(variable.spare, {});
  const bool fits = target.element_type() == value.element_type() && target.shape() == value.shape() &&
                    value.element_type() != ElementType::string;
  if (!fits) {
    target = value.clone();
  } else if (value.byte_size() > 0) {
    std::memcpy(target.raw(), value.raw(), value.byte_size());
  }
  variable.value = std::move(target);
  variable.own_value = true;
  variable.assigned = true;
}

void Variables::settle(Entry& variable) {
  variable.before = variable.value;
  variable.own_before = variable.own_value;
  variable.assigned = false;
}

void Variables::keep() {
  for (auto& [id, variable] : entries_) {
    if (!variable.assigned) continue;
    variable.spare = variable.own_before ? std::move(variable.before) : Tensor();
    settle(variable);
  }
}

void Variables::undo() {
  for (auto& [id, variable] : entries_) {
    if (!variable.assigned) continue;
    variable.value = variable.before;
    variable.own_value = variable.own_before;
    variable.assigned = false;
  }
}

Tensor Variables::state(std::string_view id) const {
  const Entry& variable = entry(id);
  return variable.value ? in_type(variable.value, variable.info.type)
                        : zeros_of(variable.info.type, variable.info.shape);
}

void Variables::set_state(std::string_view id, const Tensor& state) {
  Entry& variable = entry(id);
  require_fitting(variable.info, variable.info.type, state);
  variable.value = in_type(state, computed_type(variable.info.type));
  variable.own_value = false;
  settle(variable);
}

void Variables::reset(std::string_view id) {
  Entry& variable = entry(id);
  variable.value = {};
  variable.spare = {};
  settle(variable);
}

void Variables::reset() {
  for (const auto& [id, variable] : entries_) reset(id);
}

}  // namespace ir
