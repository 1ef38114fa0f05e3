#include "ir_runtime/ops/sparse.h"

#include <algorithm>

#include "kernels/indexing/sparse.h"
#include "runtime/ops/element_arithmetic.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/moved_elements.h"
#include "runtime/ops/shared_dims.h"
#include "runtime/types/dispatch.h"

namespace ir::op {
namespace {

// Rows that have no entry, after the known places were checked.
std::int64_t count_empty_rows(const InferContext& context, const std::vector<std::int64_t>& places,
                              std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> filled;
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    const std::int64_t row = places[i];
    const std::int64_t column = places[i + 1];
    context.require(row >= 0 && row < rows && column >= 0 && column < columns, "IR-value",
                    {.found = words("[{},{}]", row, column),
                     .expected = words("a place in [{},{}]", rows, columns),
                     .rule = words("the matrix has shape [{},{}]", rows, columns),
                     .input = 2},
                    "value {} lies at [{},{}], outside of the matrix of shape [{},{}]", i / 2, row, column,
                    rows, columns);
    filled.push_back(row);
  }
  std::ranges::sort(filled);
  const auto repeated = std::unique(filled.begin(), filled.end());
  return rows - (repeated - filled.begin());
}

}  // namespace

void v16::SparseFillEmptyRows::infer(InferContext& context) const {
  context.require_inputs(4);
  const ElementType type = context.require_same_type({0, 3});
  const ElementType index_type = context.require_same_type({1, 2});
  context.require_type(1, {ElementType::i32, ElementType::i64});
  context.require_type(2, {ElementType::i32, ElementType::i64});
  SharedDim entries{"the number of values", {}};
  SharedDim two{"the rank of the matrix", Dimension(2)};
  unify(context, 0, {&entries});
  unify(context, 1, {&two});
  unify(context, 2, {&entries, &two});
  require_one_element(context, 3);

  std::vector<Dimension> shape = elements_or_unknown(context, 1, 2);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    shape[axis] = require_size(context, 1, shape[axis], "dim {} of the matrix is {}", axis, shape[axis]);
  }
  const Dimension& rows = shape[0];
  // Between no empty row and nothing but empty rows.
  Dimension filled = element_maximum(entries.value, Dimension(rows.min(), (entries.value + rows).max()));
  const auto places = context.integers(2);
  if (places && rows.is_static() && shape[1].is_static()) {
    const std::int64_t empty = count_empty_rows(context, *places, rows.value(), shape[1].value());
    filled = entries.value + Dimension(empty);
    if (context.explaining()) {
      for (const std::size_t output : {0, 1}) {
        context.explain(output, 0, fmt::format("{} values + {} empty rows", to_string(entries.value), empty));
      }
    }
  }
  context.set_output(0, index_type, PartialShape{filled, 2});
  context.set_output(1, type, PartialShape{filled});
  context.set_output(2, ElementType::boolean, PartialShape{rows});
}

PreparedKernel v16::SparseFillEmptyRows::prepare(PrepareContext& context) const {
  require_known_outputs(context);
  const ElementType type = context.type(0);
  const bool strings = type == ElementType::string;
  const auto bits = static_cast<std::size_t>(bits_of(type));
  if (!strings && (bits == 0 || bits % 8 != 0))
    context.fail_unsupported(fmt::format("a sparse matrix of type {}", name_of(type)));
  PreparedKernel kernel;
  kernel.name = "sparse_fill_empty_rows";
  const std::size_t filled = context.output_size(1);
  kernel.scratch_bytes = filled * sizeof(std::size_t);
  const auto take_values = [=](const StepMemory& memory, const std::size_t* sources) {
    if (strings) {
      kernels::take_entries(sources, filled, memory.in<std::string>(0), *memory.in<std::string>(3),
                            memory.out<std::string>(1));
    } else {
      kernels::take_entries(sources, filled, bits / 8, memory.inputs[0], memory.inputs[3], memory.outputs[1]);
    }
  };
  with_index_type(context.type(2), [&]<class Index>() {
    kernel.run = [=, entries = context.size(0), rows = context.output_size(2)](const StepMemory& memory) {
      const auto* indices = memory.in<Index>(2);
      bool* const empty = memory.out<bool>(2);
      require_good_indices(kernels::find_empty_rows(indices, entries, static_cast<std::int64_t>(rows),
                                                    memory.in<Index>(1)[1], empty),
                           "input 2 (places)");
      auto* sources = reinterpret_cast<std::size_t*>(memory.scratch);
      kernels::fill_empty_rows(indices, entries, empty, rows, memory.out<Index>(0), sources);
      take_values(memory, sources);
    };
  });
  return kernel;
}

}  // namespace ir::op
