#include "runtime/execution/variables.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "ir_runtime/ops/movement.h"
#include "runtime/ops/prepare.h"
#include "runtime/ops/zeros.h"
#include "runtime/types/halves.h"

namespace ir {
namespace {

// The first is what a user sees, the second what is kept.
enum class Form { stated, kept };

PartialShape shape_in(const VariableInfo& info, Form form) {
  if (form == Form::stated || info.order.empty()) return info.shape;
  std::vector<Dimension> dims;
  for (const std::size_t axis : info.order) dims.push_back(info.shape[axis]);
  return PartialShape(std::move(dims));
}

void require_fitting(const VariableInfo& info, Form form, const Tensor& value) {
  const ElementType type = form == Form::stated ? info.type : computed_type(info.type);
  const PartialShape shape = shape_in(info, form);
  if (value.element_type() != type) {
    throw Error("IR-variable-type", fmt::format("the variable '{}' holds {}, the value is {}", info.id,
                                                name_of(type), name_of(value.element_type())));
  }
  if (!shape.compatible(value.shape())) {
    throw Error("IR-variable-shape", fmt::format("the variable '{}' holds shape {}, the value has {}",
                                                 info.id, to_string(shape), to_string(value.shape())));
  }
}

Tensor with_axes(const Tensor& tensor, const AxisOrder& order) {
  if (order.empty()) return tensor;
  const std::vector<std::int64_t> axes(order.begin(), order.end());
  const auto rank = static_cast<std::int64_t>(axes.size());
  return evaluate(op::v1::Transpose(), std::vector{tensor, Tensor::of<std::int64_t>({rank}, axes)}).at(0);
}

Tensor in_type(const Tensor& tensor, ElementType type) {
  return tensor.element_type() == type ? tensor.clone() : tensor.converted(type);
}

// A quarter more, if it is to be had: each element is copied a few times, however often some are added.
Tensor with_reserve(std::int64_t bytes) {
  try {
    return Tensor(ElementType::u8, {bytes + bytes / 4}, Tensor::Memory::pages);
  } catch (const Error&) {
    return Tensor(ElementType::u8, {bytes});
  }
}

}  // namespace

Variables::Variables(std::span<const VariableInfo> infos) {
  for (const VariableInfo& info : infos) entries_[info.id].info = info;
}

void Variables::share(std::string_view id, Tensor value) {
  Entry& variable = entry(id);
  require_fitting(variable.info, Form::kept, value);
  variable.value = std::move(value);
  variable.spare = {};
  variable.own_value = false;
  variable.room_given = false;
  variable.assigned = true;
}

void Variables::copy(std::string_view id, const Tensor& value) {
  Entry& variable = entry(id);
  require_fitting(variable.info, Form::kept, value);
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

bool Variables::holds(std::string_view id, const Tensor& tensor) const {
  const Tensor& value = entry(id).value;
  return value && value.raw() == tensor.raw() && value.byte_size() == tensor.byte_size();
}

Tensor Variables::grown(std::string_view id, ElementType type, const Shape& shape) {
  Entry& variable = entry(id);
  const std::int64_t bytes = storage_bytes(type, element_count(shape).value()).value();
  const bool has_room =
      !variable.room_given && variable.room.raw() == variable.value.raw() && variable.room.size() >= bytes;
  if (!has_room) {
    Tensor room = with_reserve(bytes);
    std::memcpy(room.raw(), variable.value.raw(), variable.value.byte_size());
    variable.room = std::move(room);
  }
  variable.room_given = true;
  // Values from before end where this one goes on.
  return Tensor(type, shape, variable.room.raw(), std::make_shared<const Tensor>(variable.room));
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
  if (!variable.value) return zeros_of(variable.info.type, variable.info.shape);
  return in_type(with_axes(variable.value, inverse(variable.info.order)), variable.info.type);
}

void Variables::set_state(std::string_view id, const Tensor& state) {
  Entry& variable = entry(id);
  require_fitting(variable.info, Form::stated, state);
  variable.value = in_type(with_axes(state, variable.info.order), computed_type(variable.info.type));
  variable.room = {};
  variable.own_value = false;
  settle(variable);
}

void Variables::reset(std::string_view id) {
  Entry& variable = entry(id);
  variable.value = {};
  variable.spare = {};
  variable.room = {};
  settle(variable);
}

void Variables::reset() {
  for (const auto& [id, variable] : entries_) reset(id);
}

}  // namespace ir
