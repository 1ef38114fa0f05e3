#include "runtime/passes/compressed_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/ops/prepare.h"
#include "runtime/passes/graph_utils.h"

namespace ir::passes {
namespace {

using kernels::WeightCode;

std::optional<WeightCode> code_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return WeightCode::f16;
    case ElementType::bf16:
      return WeightCode::bf16;
    case ElementType::u8:
      return WeightCode::u8;
    case ElementType::i8:
      return WeightCode::i8;
    case ElementType::u4:
      return WeightCode::u4;
    case ElementType::i4:
      return WeightCode::i4;
    default:
      return std::nullopt;
  }
}

bool is_narrow_real(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

bool converts_to_real(const Node& node) {
  return node.op().is<op::v0::Convert>() && is_narrow_real(node.output(0).type);
}

// A constant, or what Convert makes of it, as floats.
std::optional<Tensor> constant_numbers(const Output& value) {
  const Tensor* constant = constant_of(converts_to_real(*value.node) ? value.node->input(0) : value);
  return constant == nullptr ? std::nullopt : std::optional(constant->converted(ElementType::f32));
}

// The steps from codes to numbers, in reverse.
struct Decompression {
  std::optional<Tensor> codes;
  std::optional<Tensor> scale;
  std::optional<Tensor> offset;
  bool grouped = false;  // a Reshape joins groups
};

std::optional<Decompression> decompression_of(Output value) {
  // More than exporters write in a row; many nodes may read what comes of it.
  constexpr int kMostSteps = 16;
  Decompression found;
  for (int step = 0; !found.codes; ++step) {
    if (step == kMostSteps) return std::nullopt;
    const Node& node = *value.node;
    if (node.op().is<op::v0::Constant>()) {
      if (constant_of(value) == nullptr) return std::nullopt;
      found.codes = *constant_of(value);
      continue;
    }
    // Integers wrap where floats do not.
    const bool is_real = is_narrow_real(value.info().type);
    std::optional<Tensor>* numbers = nullptr;
    std::size_t from = 0;
    if (node.op().is<op::v1::Reshape>()) {
      if (found.grouped || found.scale || found.offset || constant_of(node.input(1)) == nullptr)
        return std::nullopt;
      found.grouped = true;
    } else if (aligns_last_axes<op::v1::Multiply>(node.op()) && is_real && !found.scale && !found.offset) {
      numbers = &found.scale;
      // Whichever is spread over the other.
      const auto count = [&](std::size_t input) {
        return node.input(input).info().shape.element_count().max();
      };
      if (count(0) < count(1)) from = 1;
    } else if (aligns_last_axes<op::v1::Subtract>(node.op()) && is_real && !found.offset) {
      numbers = &found.offset;
    } else if (!converts_to_real(node)) {
      return std::nullopt;
    }
    if (numbers != nullptr) {
      *numbers = constant_numbers(node.input(1 - from));
      if (!*numbers) return std::nullopt;
    }
    value = node.input(from);
  }
  return found;
}

// `shape` with leading dims of 1, as it broadcasts to `rank`.
Shape of_rank(Shape shape, std::size_t rank) {
  shape.insert(shape.begin(), rank - std::min(rank, shape.size()), 1);
  return shape;
}

// [terms, n] or [groups, terms of a group, n] with n first.
Tensor turned(const Tensor& tensor, std::size_t rank) {
  const std::vector<std::int64_t> order =
      rank == 3 ? std::vector<std::int64_t>{2, 0, 1} : std::vector<std::int64_t>{1, 0};
  const std::vector<Tensor> inputs{tensor.reshaped(of_rank(tensor.shape(), rank)),
                                   Tensor::of<std::int64_t>({static_cast<std::int64_t>(rank)}, order)};
  return evaluate_constants(op::v1::Transpose(), inputs).at(0);
}

// One number for each group of codes [n, groups, of a group], which they have for `rank` 3; for rank 2, a row
// is a group. Empty when they are other ones.
std::optional<Tensor> per_group(const Tensor& numbers, std::size_t rank, const Shape& codes) {
  Shape shape = of_rank(numbers.shape(), rank);
  if (shape.size() != rank) return std::nullopt;
  if (rank == 2) shape.insert(shape.begin() + 1, 1);
  if ((shape[0] != 1 && shape[0] != codes[0]) || (shape[1] != 1 && shape[1] != codes[1]) || shape[2] != 1)
    return std::nullopt;
  Tensor spread(ElementType::f32, {codes[0], codes[1]});
  const auto from = numbers.data<float>();
  const auto to = spread.data<float>();
  for (std::int64_t row = 0; row < codes[0]; ++row) {
    for (std::int64_t group = 0; group < codes[1]; ++group) {
      const std::int64_t place = (shape[0] == 1 ? 0 : row * shape[1]) + (shape[1] == 1 ? 0 : group);
      const float number = from[static_cast<std::size_t>(place)];
      if (!std::isfinite(number)) return std::nullopt;
      to[static_cast<std::size_t>(row * codes[1] + group)] = number;
    }
  }
  return spread;
}

// A single one, or none at all, says as much as many that are equal.
std::optional<Tensor> reduced_offsets(const Tensor& offsets) {
  const auto numbers = offsets.data<float>();
  if (!std::ranges::all_of(numbers, [&](float number) { return number == numbers[0]; })) return offsets;
  if (numbers[0] == 0) return std::nullopt;
  return Tensor::of<float>({1}, numbers.first(1));
}

}  // namespace

std::optional<CompressedMatrix> compressed_matrix(const Output& value, bool transposed,
                                                  const WantedCodes& wanted) {
  const PartialShape& shape = value.info().shape;
  if (!shape.is_static() || shape.rank() != 2 || !is_narrow_real(value.info().type)) return std::nullopt;
  auto found = decompression_of(value);
  if (!found) return std::nullopt;
  const auto code = code_of(found->codes->element_type());
  const std::size_t rank = found->grouped ? 3 : 2;
  if (!code || found->codes->shape().size() != rank || found->codes->size() == 0) return std::nullopt;
  const std::size_t bits = kernels::bits_of(*code);
  if (bits == 16 ? !wanted.halves : !wanted.integers) return std::nullopt;
  if (bits == 16) {
    // What is done with codes of floats is folded.
    if (found->scale || found->offset || found->grouped) return std::nullopt;
    found->codes = found->codes->constant_part(ElementType::u16, found->codes->shape(), 0);
  }
  for (std::optional<Tensor>* tensor : {&found->codes, &found->scale, &found->offset}) {
    if (!transposed || !*tensor) continue;
    if ((*tensor)->shape().size() > rank) return std::nullopt;
    **tensor = turned(**tensor, rank);
  }
  Shape codes = found->codes->shape();
  if (rank == 2) codes.insert(codes.begin() + 1, 1);
  const std::int64_t terms = codes[1] * codes[2];
  if (codes[0] != shape[transposed ? 1 : 0].value() || terms != shape[transposed ? 0 : 1].value())
    return std::nullopt;
  if (bits == 4 && codes[2] % 2 != 0) return std::nullopt;

  CompressedMatrix matrix;
  matrix.rows = {*code, terms, codes[2]};
  if (bits != 16) {
    const Tensor one = Tensor::of<float>({1}, std::vector<float>{1});
    matrix.scale = per_group(found->scale.value_or(one), rank, codes);
    if (!matrix.scale) return std::nullopt;
    if (found->offset) {
      const auto offsets = per_group(*found->offset, rank, codes);
      if (!offsets) return std::nullopt;
      matrix.offset = reduced_offsets(*offsets);
    }
  }
  const std::int64_t row_bytes = terms * static_cast<std::int64_t>(bits) / 8;
  matrix.codes = found->codes->constant_part(ElementType::u8, {codes[0], row_bytes}, 0);
  return matrix;
}

}  // namespace ir::passes
