// What an operation is: a plain descriptor struct with a table of its attributes, and the class record that
// ties the table, shape inference and the choice of a kernel together.
#ifndef IR_RUNTIME_OP_H_
#define IR_RUNTIME_OP_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir_runtime/element_type.h"
#include "ir_runtime/shape.h"

namespace ir {

class InferContext;     // runtime/ops/infer.h
class PrepareContext;   // runtime/ops/prepare.h
struct PreparedKernel;  // runtime/ops/prepare.h
struct Subgraph;        // ir_runtime/subgraph.h

/// The newest operation set that this version knows.
inline constexpr int kNewestOpset = 17;

/// Identity of an op class. Versions of one type are classes of their own, as in OpenVINO.
struct OpInfo {
  /// `type` of the layer in the IR.
  std::string_view type;
  /// The opset tables that hold this class: a layer may name any of them as its version.
  int first_opset = 1;
  int last_opset = kNewestOpset;
  std::string_view family;
  /// One sentence for the documentation.
  std::string_view summary;
  /// What a writer puts into `version` when that is not "opset<first_opset>".
  std::string_view version = {};
  /// An opset between first and last that lacks the class.
  int missing_opset = -1;
  /// Two runs with equal inputs may differ (state, random numbers), so results are never folded.
  bool stateful = false;
  /// Kernels keep inputs behind the first one, where they are constant, in a layout of their own.
  bool packs_weights = false;
};

enum class FieldKind {
  boolean,
  integer,
  real,
  text,
  integers,
  reals,
  texts,
  element_type,
  partial_shape,
  enumeration,
  /// Accepted in a file and without meaning.
  ignored,
};

/// One spelling of an enumeration's value; the first one of a value is the one that is written.
struct Spelling {
  int value;
  std::string_view name;
};

/// Values that an attribute (or each element of a list) may have.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};
constexpr Range at_least(double min) { return {min, std::numeric_limits<double>::infinity()}; }
constexpr Range between(double min, double max) { return {min, max}; }

/// One attribute: everything that reading, checking, writing, printing and documenting need to know.
struct Field {
  std::string_view name;
  std::string_view doc;
  FieldKind kind = FieldKind::ignored;
  bool required = false;
  Range range;
  std::span<const Spelling> spellings;
  /// The member of a descriptor; its C++ type follows from `kind` (enumerations are ints).
  void* (*member)(void* descriptor) = nullptr;

  template <class T>
  T& in(void* descriptor) const {
    return *static_cast<T*>(member(descriptor));
  }
  template <class T>
  const T& in(const void* descriptor) const {
    return *static_cast<const T*>(member(const_cast<void*>(descriptor)));
  }
};

namespace detail {

template <class M>
struct MemberOf;
template <class C, class T>
struct MemberOf<T C::*> {
  using Class = C;
  using Type = T;
};

template <class T>
constexpr FieldKind kind_of() {
  if constexpr (std::is_same_v<T, bool>) return FieldKind::boolean;
  if constexpr (std::is_same_v<T, std::int64_t>) return FieldKind::integer;
  if constexpr (std::is_same_v<T, double>) return FieldKind::real;
  if constexpr (std::is_same_v<T, std::string>) return FieldKind::text;
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return FieldKind::integers;
  if constexpr (std::is_same_v<T, std::vector<double>>) return FieldKind::reals;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return FieldKind::texts;
  if constexpr (std::is_same_v<T, ElementType>) return FieldKind::element_type;
  if constexpr (std::is_same_v<T, PartialShape>) return FieldKind::partial_shape;
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, ElementType>) return FieldKind::enumeration;
}

template <auto Member>
constexpr Field make_field(std::string_view name, std::string_view doc, bool required, Range range) {
  using T = typename MemberOf<decltype(Member)>::Type;
  using C = typename MemberOf<decltype(Member)>::Class;
  Field field{name, doc, kind_of<T>(), required, range, {}, [](void* descriptor) -> void* {
                return &(static_cast<C*>(descriptor)->*Member);
              }};
  if constexpr (kind_of<T>() == FieldKind::enumeration) {
    static_assert(std::is_same_v<std::underlying_type_t<T>, int>);
    field.spellings = spellings_of(T{});
  }
  return field;
}

}  // namespace detail

/// An attribute that a layer must have.
template <auto Member>
constexpr Field required(std::string_view name, std::string_view doc, Range range = {}) {
  return detail::make_field<Member>(name, doc, true, range);
}
/// An attribute whose default is the member's initial value.
template <auto Member>
constexpr Field optional(std::string_view name, std::string_view doc, Range range = {}) {
  return detail::make_field<Member>(name, doc, false, range);
}
/// An attribute that files carry and the operation does not read.
constexpr Field ignored(std::string_view name, std::string_view doc) {
  return {name, doc, FieldKind::ignored, false, {}, {}, nullptr};
}

/// A struct that describes one op class. What the operation computes is defined by OpenVINO's specification
/// of `info.type` in opset `info.first_opset` (0: by nGraph's); docstrings say what inputs it takes, what it
/// gives, and where it follows OpenVINO's code instead. `infer` throws InferenceFailure for inputs and
/// attributes that the operation does not take, with a code of docs/diagnostics.md.
template <class T>
concept OpDescriptor = std::default_initializable<T> && std::copyable<T> &&
    requires(const T& op, InferContext& context) {
  { T::info } -> std::convertible_to<OpInfo>;
  T::fields();
  op.infer(context);
};

/// Owns a descriptor whose class its holder knows.
using DescriptorPtr = std::unique_ptr<void, void (*)(void*)>;

/// The record of an op class: what the reader, the writer, inference and the plan builder call. One object
/// per class: its address is the identity of the class.
struct OpClass {
  OpInfo info;
  std::span<const Field> fields;
  /// A copy; of null one with default attributes, where `defaults` is null.
  DescriptorPtr (*clone)(const void* descriptor);
  /// A descriptor with default attributes, of classes that are copied as bytes.
  const void* defaults;
  void (*infer)(const void* descriptor, InferContext& context);
  PreparedKernel (*prepare)(const void* descriptor, PrepareContext& context);
  /// The bodies of If, Loop and TensorIterator; null for all others.
  std::span<Subgraph> (*subgraphs)(void* descriptor);

  /// A descriptor with default attributes.
  [[nodiscard]] DescriptorPtr create() const { return clone(defaults); }
  /// "opset1"
  [[nodiscard]] std::string version() const;
  [[nodiscard]] bool in_opset(int opset) const {
    return opset >= info.first_opset && opset <= info.last_opset && opset != info.missing_opset;
  }
};

/// Holds the record of T; defined where the list of operations is (runtime/ops/op_list.inc).
template <class T>
struct OpClassOf {
  static const OpClass record;
};

template <OpDescriptor T>
const OpClass& op_class() {
  return OpClassOf<T>::record;
}

/// A descriptor of any class, by value.
class Op {
 public:
  template <OpDescriptor T>
  Op(T descriptor)  // NOLINT(google-explicit-constructor): a descriptor is an Op
      : class_(&op_class<T>()), descriptor_(class_->clone(&descriptor)) {}
  /// A descriptor of `op_class` with default attributes.
  explicit Op(const OpClass& op_class) : class_(&op_class), descriptor_(op_class.create()) {}
  Op(const Op& other) : class_(other.class_), descriptor_(class_->clone(other.descriptor_.get())) {}
  Op(Op&&) noexcept = default;
  Op& operator=(const Op& other) { return *this = Op(other); }
  Op& operator=(Op&&) noexcept = default;
  ~Op() = default;

  [[nodiscard]] const OpClass& op_class_record() const { return *class_; }
  [[nodiscard]] std::string_view type() const { return class_->info.type; }
  [[nodiscard]] void* descriptor() { return descriptor_.get(); }
  [[nodiscard]] const void* descriptor() const { return descriptor_.get(); }

  /// The descriptor when it is a T, else null.
  template <OpDescriptor T>
  [[nodiscard]] T* as() {
    return class_ == &op_class<T>() ? static_cast<T*>(descriptor_.get()) : nullptr;
  }
  template <OpDescriptor T>
  [[nodiscard]] const T* as() const {
    return class_ == &op_class<T>() ? static_cast<const T*>(descriptor_.get()) : nullptr;
  }
  template <OpDescriptor T>
  [[nodiscard]] bool is() const {
    return class_ == &op_class<T>();
  }

 private:
  const OpClass* class_;
  DescriptorPtr descriptor_;
};

/// Every op class, sorted by type and first opset.
std::span<const OpClass* const> all_op_classes();

/// The class that a layer of `type` (in any case) and `opset` means; null when that opset lacks the type.
const OpClass* find_op_class(std::string_view type, int opset);

/// All classes of a type (in any case), oldest first.
std::vector<const OpClass*> op_classes_of_type(std::string_view type);

}  // namespace ir

#endif  // IR_RUNTIME_OP_H_
