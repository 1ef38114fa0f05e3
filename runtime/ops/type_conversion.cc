#include "ir_runtime/ops/type_conversion.h"

#include <algorithm>
#include <bit>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/convert_simd.h"
#include "runtime/ops/computed_elements.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/scalar_type.h"

namespace ir::op {
namespace {

void require_convertible(const InferContext& context, std::size_t index) {
  context.require(context.type(index) != ElementType::string, "IR-element-type",
                  {.found = "string", .expected = "a type that can be converted", .input = index},
                  "input {} is of type string, which has no conversion", index);
}

void require_target(const InferContext& context, std::string_view attribute, ElementType type) {
  context.require(type != ElementType::dynamic && type != ElementType::string, "IR-attribute-value",
                  {.found = type, .expected = "a type to convert to"},
                  "{} is {}, to which nothing is converted", attribute, type);
}

// Output 0 is input 0 as `type`.
void infer_conversion(InferContext& context, ElementType type) {
  require_convertible(context, 0);
  context.set_output(0, type, context.shape(0));
  if (context.input(0).constant) return;
  if (context.input(0).elements && is_integral(type))
    return set_integer_elements(context, *context.input(0).elements);
  v0::Convert convert;
  convert.destination_type = type;
  propagate_computed_elements(context, convert, 1);
}

PreparedKernel prepare_conversion(PrepareContext& context) {
  if (context.type(0) == context.output(0).type) return PreparedKernel::view_of(0);
  const kernels::ScalarType from = scalar_type_of(context.type(0));
  const kernels::ScalarType to = scalar_type_of(context.output(0).type);
  PreparedKernel prepared;
  prepared.name = "convert";
  prepared.per_target = kernels::has_convert_span(from, to);
  prepared.run = [from, to, count = context.output_size()](const StepMemory& memory) {
    kernels::convert(from, memory.inputs[0], to, memory.outputs[0], count);
  };
  if (kernels::bits_of(from) == kernels::bits_of(to)) prepared.in_place = {0};
  return prepared;
}

// The signed integer type of at least `bits` bits, which are at most 64.
ElementType signed_integer(int bits) {
  switch (std::bit_ceil(static_cast<unsigned>(std::max(bits, 4)))) {
    case 4:
      return ElementType::i4;
    case 8:
      return ElementType::i8;
    case 16:
      return ElementType::i16;
    case 32:
      return ElementType::i32;
    default:
      return ElementType::i64;
  }
}

bool is_pair(ElementType a, ElementType b, ElementType x, ElementType y) {
  return (a == x && b == y) || (a == y && b == x);
}

}  // namespace

void v0::Convert::infer(InferContext& context) const {
  context.require_inputs(1);
  require_target(context, "destination_type", destination_type);
  infer_conversion(context, destination_type);
}

PreparedKernel v0::Convert::prepare(PrepareContext& context) const { return prepare_conversion(context); }

void v1::ConvertLike::infer(InferContext& context) const {
  context.require_inputs(2);
  require_convertible(context, 1);
  infer_conversion(context, context.type(1));
}

PreparedKernel v1::ConvertLike::prepare(PrepareContext& context) const { return prepare_conversion(context); }

namespace {

// An integer and a float type: the float's.
ElementType promote_mixed(const InferContext& context, ElementType real, ElementType integer, bool unsafe) {
  context.require(unsafe || bits_of(real) >= 2 * bits_of(integer), "IR-element-type",
                  {.found = integer,
                   .expected = words("a type that becomes {} without loss", real),
                   .rule = "promote_unsafe is false"},
                  "{} does not become {} without loss; promote_unsafe would allow it", integer, real);
  return real;
}

// A signed and an unsigned integer type: a signed one that holds both.
ElementType promote_signs(const InferContext& context, const v14::ConvertPromoteTypes& op, ElementType a,
                          ElementType b) {
  const int unsigned_bits = bits_of(is_signed(a) ? b : a);
  const int signed_bits = bits_of(is_signed(a) ? a : b);
  const bool fits = unsigned_bits * 2 <= signed_bits;
  context.require(fits || op.promote_unsafe, "IR-element-type",
                  {.found = words("{} and {}", a, b),
                   .expected = "types of which one holds both",
                   .rule = "promote_unsafe is false"},
                  "{} and {} have no common type that is one of them; promote_unsafe would allow a wider one",
                  a, b);
  if (unsigned_bits > 32) return op.u64_integer_promotion_target;
  return signed_integer(std::max(unsigned_bits * 2, signed_bits));
}

// A scalar takes the type of a tensor of the same kind.
ElementType promote_scalar(const InferContext& context, ElementType tensor, ElementType scalar, bool unsafe) {
  const bool same_sign = is_real(tensor) || is_signed(tensor) == is_signed(scalar);
  const bool fits = same_sign ? bits_of(tensor) >= bits_of(scalar)
                              : is_signed(tensor) && bits_of(tensor) * 2 >= bits_of(scalar);
  context.require(unsafe || fits, "IR-element-type",
                  {.found = scalar,
                   .expected = words("a type that becomes {} without loss", tensor),
                   .rule = "promote_unsafe is false"},
                  "a scalar of type {} does not become {} without loss; promote_unsafe would allow it",
                  scalar, tensor);
  return tensor;
}

ElementType promoted(const InferContext& context, const v14::ConvertPromoteTypes& op) {
  const ElementType a = context.type(0);
  const ElementType b = context.type(1);
  if (a == ElementType::dynamic || b == ElementType::dynamic) return ElementType::dynamic;
  if (a == b || b == ElementType::boolean) return a;
  if (a == ElementType::boolean) return b;
  if (is_integral(a) != is_integral(b)) {
    return promote_mixed(context, is_integral(a) ? b : a, is_integral(a) ? a : b, op.promote_unsafe);
  }
  if (op.pytorch_scalar_promotion) {
    const PartialShape& first = context.shape(0);
    const PartialShape& second = context.shape(1);
    // Which type it is depends on which input is a scalar.
    if (!first.has_rank() || !second.has_rank()) return ElementType::dynamic;
    if ((first.rank() == 0) != (second.rank() == 0)) {
      return first.rank() == 0 ? promote_scalar(context, b, a, op.promote_unsafe)
                               : promote_scalar(context, a, b, op.promote_unsafe);
    }
  }
  if (is_integral(a) && is_signed(a) != is_signed(b)) return promote_signs(context, op, a, b);
  if (bits_of(a) != bits_of(b)) return bits_of(a) > bits_of(b) ? a : b;
  const bool halves = is_pair(a, b, ElementType::f16, ElementType::bf16);
  const bool quarters = is_pair(a, b, ElementType::f8e4m3, ElementType::f8e5m2);
  context.require(op.promote_unsafe && (halves || quarters), "IR-element-type",
                  {.found = words("{} and {}", a, b), .expected = "types with a common one"},
                  "{} and {} have no common type{}", a, b,
                  halves || quarters ? "; promote_unsafe would allow a wider one" : "");
  return halves ? ElementType::f32 : ElementType::f16;
}

}  // namespace

void v14::ConvertPromoteTypes::infer(InferContext& context) const {
  context.require_inputs(2);
  require_convertible(context, 0);
  require_convertible(context, 1);
  require_target(context, "u64_integer_promotion_target", u64_integer_promotion_target);
  const ElementType type = promoted(context, *this);
  context.set_output(0, type, context.shape(0));
  context.set_output(1, type, context.shape(1));
}

PreparedKernel v14::ConvertPromoteTypes::prepare(PrepareContext& context) const {
  PreparedKernel prepared;
  if (context.type(0) == context.type(1) && context.type(0) == context.output(0).type) {
    prepared.name = "view";
    prepared.views = {{0, 0}, {1, 0}};
    return prepared;
  }
  prepared.name = "convert";
  prepared.run = [from0 = scalar_type_of(context.type(0)), from1 = scalar_type_of(context.type(1)),
                  to = scalar_type_of(context.output(0).type), count0 = context.size(0),
                  count1 = context.size(1)](const StepMemory& memory) {
    kernels::convert(from0, memory.inputs[0], to, memory.outputs[0], count0);
    kernels::convert(from1, memory.inputs[1], to, memory.outputs[1], count1);
  };
  return prepared;
}

}  // namespace ir::op
