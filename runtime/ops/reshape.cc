#include <algorithm>
#include <string>
#include <string_view>

#include "ir_runtime/ops/shape.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"

namespace ir::op {
namespace {

constexpr Dimension kInferred(-1);

// The new shape before -1 is resolved, and what its dims multiply to without those copied from the input.
struct Target {
  std::vector<Dimension> dims;
  std::optional<std::size_t> inferred_axis;
  // Axes whose dim is the input's at the same place: they cancel out of both products.
  std::vector<bool> copied;
};

Target read_target(const InferContext& context, std::span<const Dimension> elements, bool special_zero) {
  const PartialShape& data = context.shape(0);
  Target target;
  for (std::size_t axis = 0; axis < elements.size(); ++axis) {
    const Dimension& element = elements[axis];
    const bool copied = special_zero && element == Dimension(0);
    target.copied.push_back(copied);
    if (element == kInferred) {
      context.require(
          !target.inferred_axis, "IR-value", {.found = "-1 twice", .expected = "-1 once", .input = 1},
          "dims {} and {} of the new shape are -1; one may be", target.inferred_axis.value_or(0), axis);
      target.inferred_axis = axis;
      target.dims.emplace_back();
    } else if (copied) {
      context.require(
          !data.has_rank() || axis < data.rank(), "IR-value",
          {.found = "0",
           .expected = "a size",
           .rule = words("input 0 of shape {} has no dim {}", data, axis),
           .input = 1},
          "dim {} of the new shape is 0 and stands for the same dim of input 0, whose shape is {}", axis,
          data);
      target.dims.push_back(data.has_rank() ? data[axis] : Dimension());
    } else if (element.min() < 0) {
      context.require(element.max() >= -1, "IR-value",
                      {.found = element, .expected = "at least -1", .input = 1},
                      "dim {} of the new shape is {}", axis, element);
      target.dims.emplace_back();  // a size, 0 or -1
    } else if (special_zero && element.min() == 0 && (!data.has_rank() || axis < data.rank())) {
      // The size given, or the input's.
      const Dimension own = data.has_rank() ? data[axis] : Dimension();
      target.dims.emplace_back(0, std::max(element.max(), own.max()));
    } else {
      target.dims.push_back(element);
    }
  }
  return target;
}

bool is_copied(const Target& target, std::size_t axis) {
  return axis < target.copied.size() && target.copied[axis];
}

// Elements of input 0 and of the new shape without -1, dims that are copied left out.
struct Products {
  std::vector<Dimension> in_factors;
  std::vector<Dimension> out_factors;
  Dimension in{1};
  Dimension out{1};
};

Products multiply_out(const PartialShape& data, const Target& target) {
  Products products;
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    if (!is_copied(target, axis)) products.in_factors.push_back(data[axis]);
  }
  for (std::size_t axis = 0; axis < target.dims.size(); ++axis) {
    if (!is_copied(target, axis) && axis != target.inferred_axis) {
      products.out_factors.push_back(target.dims[axis]);
    }
  }
  for (const Dimension& dim : products.in_factors) products.in = products.in * dim;
  for (const Dimension& dim : products.out_factors) products.out = products.out * dim;
  if (!data.has_rank()) products.in = Dimension();
  return products;
}

// "3 * ? * 5"
std::string text_of(std::span<const Dimension> factors) {
  std::string text;
  for (const Dimension& dim : factors) text += (text.empty() ? "" : " * ") + to_string(dim);
  return text.empty() ? "1" : text;
}

// The dim that -1 stands for.
Dimension resolve_inferred(const InferContext& context, const Products& products) {
  const Dimension& in = products.in;
  const Dimension& out = products.out;
  if (in.is_static() && out.is_static()) {
    if (out.value() == 0) {
      context.require(in.value() == 0, "IR-shape",
                      {.found = in, .expected = "0", .rule = "the new shape has a dim of size 0", .input = 1},
                      "-1 cannot make {} elements of a new shape that has a dim of size 0", in.value());
      return Dimension(0);
    }
    if (in.value() % out.value() != 0) {
      const std::string quotient = fmt::format("{} / ({})", in, text_of(products.out_factors));
      context.fail("IR-shape",
                   fmt::format("-1 stands for {}, and {} is no multiple of {}", quotient, in, out),
                   Compared{to_string(in), fmt::format("a multiple of {}", out),
                            fmt::format("-1 stands for {}", quotient), 1});
    }
    return Dimension(in.value() / out.value());
  }
  const bool bounded = out.min() > 0 && in.max() != Dimension::kUnbounded;
  const bool from_zero = out.max() == Dimension::kUnbounded || out.max() <= 0;
  const Dimension dim(from_zero ? 0 : in.ceil_divided(out.max()).min(),
                      bounded ? in.max() / out.min() : Dimension::kUnbounded);
  if (dim.min() > dim.max()) {
    const std::string quotient =
        fmt::format("({}) / ({})", text_of(products.in_factors), text_of(products.out_factors));
    context.fail("IR-shape", fmt::format("-1 stands for {}, which is no whole number", quotient),
                 Compared{quotient, "a whole number", "-1 stands for it", 1});
  }
  return dim;
}

void require_equal_counts(const InferContext& context, const Products& products, const Target& target) {
  if (products.in.compatible(products.out)) return;
  std::string has = to_string(context.shape(0).element_count());
  std::string wanted = to_string(PartialShape(target.dims).element_count());
  std::string_view of_what = "elements";
  if (has == wanted) {  // a dim of 0 that is copied
    has = to_string(products.in);
    wanted = to_string(products.out);
    of_what = "elements without the dims that are copied";
  }
  context.fail(
      "IR-shape",
      fmt::format("input 0 of shape {} has {} {}, the new shape {} has {}", to_string(context.shape(0)), has,
                  of_what, to_string(PartialShape(target.dims)), wanted),
      Compared{wanted, has, fmt::format("input 0 has {} {}", has, of_what), 1});
}

void explain_dims(InferContext& context, const Target& target, const Products& products) {
  for (std::size_t axis = 0; axis < target.dims.size(); ++axis) {
    if (target.inferred_axis == axis) {
      const Dimension& dim = context.outputs()[0].shape[axis];
      context.explain(0, axis,
                      fmt::format("-1: ({}) / ({}) = {}", text_of(products.in_factors),
                                  text_of(products.out_factors), to_string(dim)));
    } else if (target.copied[axis]) {
      context.explain(0, axis,
                      fmt::format("0: axis {} of the input = {}", axis, to_string(target.dims[axis])));
    } else {
      context.explain(0, axis, fmt::format("element {} of input 1 = {}", axis, to_string(target.dims[axis])));
    }
  }
}

// The shape when only the number of its dims may be known.
PartialShape shape_of_unknown_target(const PartialShape& given) {
  if (!given.has_rank()) return {};
  if (given.rank() == 0) return PartialShape(Shape());
  if (!given[0].is_static() || given[0].value() > kMaxPropagatedElements) return {};
  return PartialShape::of_rank(static_cast<std::size_t>(given[0].value()));
}

}  // namespace

void v1::Reshape::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_integer(1);
  context.require_rank(1, 0, 1);
  const PartialShape& given = context.shape(1);
  const auto elements = context.elements(1);
  if (!elements || !given.has_rank()) {
    context.set_output(0, context.type(0), shape_of_unknown_target(given));
    keep_elements(context);
    return;
  }
  std::span<const Dimension> dims = *elements;
  if (given.rank() == 0) {
    context.require(dims[0].compatible(1), "IR-value",
                    {.found = dims[0], .expected = "1", .rule = "the new shape is a scalar", .input = 1},
                    "the new shape is the scalar {}; a scalar must be 1", dims[0]);
    dims = {};
  }
  Target target = read_target(context, dims, special_zero);
  const Products products = multiply_out(context.shape(0), target);
  if (target.inferred_axis) {
    target.dims[*target.inferred_axis] = resolve_inferred(context, products);
  } else {
    require_equal_counts(context, products, target);
  }
  context.set_output(0, context.type(0), PartialShape(target.dims));
  if (context.explaining()) explain_dims(context, target, products);
  keep_elements(context);
}

PreparedKernel v1::Reshape::prepare(PrepareContext&) const { return PreparedKernel::view_of(0); }

}  // namespace ir::op
