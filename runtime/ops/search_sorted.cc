// SearchSorted and Bucketize.
#include "ir_runtime/ops/search_sorted.h"

#include <algorithm>

#include "kernels/indexing/sorted_search.h"
#include "runtime/ops/attribute_checks.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/prepare.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

kernels::FoundPlaces places_in(const StepMemory& memory, bool wide) {
  if (wide) return memory.out<std::int64_t>(0);
  return memory.out<std::int32_t>(0);
}

}  // namespace

void v3::Bucketize::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_number(0);
  context.require_number(1);
  context.require_rank(1, 1);
  require_type_of_indices(context, "output_type", output_type);
  context.set_output(0, output_type, context.shape(0));
}

PreparedKernel v3::Bucketize::prepare(PrepareContext& context) const {
  const std::size_t count = context.size(0);
  const std::size_t boundary_count = context.size(1);
  PreparedKernel prepared;
  prepared.name = "bucketize";
  // The boundaries in the type in which they are searched.
  prepared.scratch_bytes = boundary_count * sizeof(std::int64_t);
  void (*widen)(const void*, std::size_t, std::byte*) = nullptr;
  ElementType wide_type = ElementType::dynamic;
  with_arithmetic_type(context.type(1), [&]<class B>() {
    using Wide = kernels::WideBoundary<B>;
    wide_type = element_type_for<Wide>;
    widen = [](const void* boundaries, std::size_t boundaries_count, std::byte* out) {
      std::copy_n(static_cast<const B*>(boundaries), boundaries_count, reinterpret_cast<Wide*>(out));
    };
  });
  // A pointer: thirty closures in a std::function each would be many times the code.
  void (*search)(const StepMemory& memory, std::size_t count, std::size_t boundary_count, bool right,
                 kernels::FoundPlaces places) = nullptr;
  with_arithmetic_type(context.type(0), [&]<class T>() {
    with_one_of<double, std::int64_t, std::uint64_t>(wide_type, [&]<class Wide>() {
      search = [](const StepMemory& memory, std::size_t values, std::size_t boundaries, bool right,
                  kernels::FoundPlaces places) {
        kernels::bucketize(memory.in<T>(0), values,
                           std::span(reinterpret_cast<const Wide*>(memory.scratch), boundaries), right,
                           places);
      };
    });
  });
  if (search == nullptr) context.fail_unsupported("Bucketize of these element types");
  const bool wide_places = output_type == ElementType::i64;
  prepared.run = [=, right = with_right_bound](const StepMemory& memory) {
    widen(memory.inputs[1], boundary_count, memory.scratch);
    search(memory, count, boundary_count, right, places_in(memory, wide_places));
  };
  return prepared;
}

void v15::SearchSorted::infer(InferContext& context) const {
  context.require_inputs(2);
  context.require_number(0);
  context.require_number(1);
  (void)context.require_same_type({0, 1});
  require_type_of_indices(context, "output_type", output_type);
  const PartialShape& sorted = context.shape(0);
  const PartialShape& values = context.shape(1);
  context.require(!sorted.has_rank() || sorted.rank() >= 1, "IR-rank",
                  {.found = "a scalar", .expected = "a rank of at least 1", .input = 0},
                  "input 0 is a scalar, SearchSorted takes rank 1 and above");
  PartialShape output = values;
  if (sorted.has_rank() && sorted.rank() > 1) {
    if (!values.has_rank()) {
      output = sorted;
      output[output.rank() - 1] = Dimension();
    }
    context.require_rank(1, sorted.rank());
    for (std::size_t axis = 0; axis + 1 < output.rank(); ++axis) {
      const auto merged = output[axis].merged(sorted[axis]);
      context.require(merged.has_value(), "IR-shape",
                      {.found = output[axis],
                       .expected = sorted[axis],
                       .rule = "all axes but the last agree",
                       .input = 1},
                      "inputs 0 and 1 have shapes {} and {}: all axes but the last agree, axis {} does not",
                      sorted, values, axis);
      output[axis] = *merged;
    }
  }
  context.set_output(0, output_type, output);
}

PreparedKernel v15::SearchSorted::prepare(PrepareContext& context) const {
  const Shape& sorted = context.shape(0);
  const Shape& values = context.shape(1);
  const auto length = static_cast<std::size_t>(sorted.back());
  const bool one_row = sorted.size() == 1;
  const std::size_t per_row = one_row ? volume(values) : static_cast<std::size_t>(values.back());
  const std::size_t rows = one_row ? 1 : volume(values, 0, values.size() - 1);
  PreparedKernel prepared;
  prepared.name = "search_sorted";
  const bool wide_places = output_type == ElementType::i64;
  with_arithmetic_type(context.type(0), [&]<class T>() {
    prepared.run = [=, right = right_mode](const StepMemory& memory) {
      kernels::search_sorted(memory.in<T>(0), rows, length, memory.in<T>(1), per_row, right,
                             places_in(memory, wide_places));
    };
  });
  if (!prepared.run) context.fail_unsupported("SearchSorted of this element type");
  return prepared;
}

}  // namespace ir::op
