// The variables of one infer request.
#ifndef RUNTIME_EXECUTION_VARIABLES_H_
#define RUNTIME_EXECUTION_VARIABLES_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "ir_runtime/tensor.h"
#include "runtime/model/state.h"

namespace ir {

/// Values that stay from one inference to the next. A variable without a value is read as what its ReadValue
/// starts with. Halves are kept as f32, in which they are computed, and axes as VariableInfo::order says. For
/// one thread at a time.
class Variables {
 public:
  explicit Variables(std::span<const VariableInfo> infos);

  /// Type and shapes as the model states them.
  [[nodiscard]] const VariableInfo& info(std::string_view id) const { return entry(id).info; }

  // While a model runs.
  [[nodiscard]] bool has_value(std::string_view id) const { return static_cast<bool>(entry(id).value); }
  /// The value, which nobody writes to; empty when there is none.
  [[nodiscard]] const Tensor& value(std::string_view id) const { return entry(id).value; }
  /// Takes over memory that nobody writes to any more. Throws Error `IR-variable-type` or
  /// `IR-variable-shape` when the variable does not hold such values; so does `copy`.
  void share(std::string_view id, Tensor value);
  void copy(std::string_view id, const Tensor& value);
  /// Whether `tensor` is the value, where it lies.
  [[nodiscard]] bool holds(std::string_view id, const Tensor& tensor) const;
  /// Memory that begins with the value's elements, for a larger one of this type and shape: mostly that of
  /// the value itself, which has room behind it for what is added time after time.
  Tensor grown(std::string_view id, ElementType type, const Shape& shape);
  /// The run came to its end: what it assigned counts.
  void keep();
  /// The run failed: all variables are what they were before.
  void undo();

  // For users; element types and axes as the model states them.
  [[nodiscard]] Tensor state(std::string_view id) const;
  void set_state(std::string_view id, const Tensor& state);
  void reset(std::string_view id);
  void reset();

 private:
  struct Entry {
    VariableInfo info;
    Tensor value;
    /// The value before the run.
    Tensor before;
    /// Memory of an older value that only this variable knows, to be written again.
    Tensor spare;
    /// Bytes of which a value that grows is the beginning.
    Tensor room;
    bool assigned = false;
    /// Whether a value that is not assigned yet lies in `room` behind `value`.
    bool room_given = false;
    /// Whether `copy` made the memory of `value` and `before`.
    bool own_value = false;
    bool own_before = false;
  };

  [[nodiscard]] const Entry& entry(std::string_view id) const { return entries_.find(id)->second; }
  [[nodiscard]] Entry& entry(std::string_view id) { return entries_.find(id)->second; }
  static void settle(Entry& variable);

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace ir

#endif  // RUNTIME_EXECUTION_VARIABLES_H_
