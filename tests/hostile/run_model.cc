#include "tests/hostile/run_model.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "ir_runtime/read_model.h"

namespace ir::hostile {
namespace {

constexpr std::int64_t kUnknownDim = 2;
constexpr std::size_t kUnknownRank = 2;
constexpr std::int64_t kMostIterations = 1000;

Shape small_shape(const PartialShape& wanted) {
  if (!wanted.has_rank()) return Shape(kUnknownRank, kUnknownDim);
  Shape shape;
  for (const Dimension& dim : wanted) shape.push_back(std::clamp(kUnknownDim, dim.min(), dim.max()));
  return shape;
}

// Small numbers of both signs; none when the tensor would be larger than `max_bytes`.
std::optional<Tensor> input_for(const Port& port, std::int64_t max_bytes) {
  const Shape shape = small_shape(port.shape);
  const auto count = element_count(shape);
  if (!count || *count > max_bytes / 8) return std::nullopt;
  if (port.type == ElementType::string) {
    Tensor text(port.type, shape);
    std::ranges::fill(text.data<std::string>(), "ab");
    return text;
  }
  Tensor values(ElementType::f32, shape);
  int next = 0;
  for (float& value : values.data<float>()) value = static_cast<float>(next++ % 7 - 2) * 0.5F;
  return port.type == ElementType::f32 ? values : values.converted(port.type);
}

// Looks at every byte, so that a sanitizer sees an output that does not lie where it should.
unsigned sum_of(const Tensor& tensor) {
  unsigned sum = 0;
  if (tensor.element_type() == ElementType::string) {
    for (const std::string& text : tensor.data<std::string>()) sum += static_cast<unsigned>(text.size());
    return sum;
  }
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw());
  for (std::size_t i = 0; i < tensor.byte_size(); ++i) sum += bytes[i];
  return sum;
}

bool infer(const CompiledModel& compiled, std::int64_t max_bytes) {
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
    const auto input = input_for(compiled.inputs()[i], max_bytes);
    if (!input) return false;
    request.set_input_tensor(i, *input);
  }
  request.infer();
  volatile unsigned sum = 0;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) sum = sum + sum_of(request.output_tensor(i));
  return true;
}

// Errors have a code and words.
void require_sound(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.code.empty() || diagnostic.message.empty() || to_string(diagnostic).empty())
      throw std::logic_error("a diagnostic without code or message");
  }
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::not_read:
      return "not read";
    case Outcome::not_compiled:
      return "not compiled";
    case Outcome::not_run:
      return "not run";
    case Outcome::ran:
      break;
  }
  return "ran";
}

Outcome run_model(const std::filesystem::path& xml, const std::filesystem::path& weights,
                  const RunOptions& options) {
  ReadOptions reading;
  reading.shape_check = options.shape_check;
  reading.limits.max_known_bytes = options.max_bytes;
  const ReadResult read = read_and_check(xml, weights, reading);
  require_sound(read.diagnostics);
  if (read.model == nullptr) {
    if (read.diagnostics.empty()) throw std::logic_error("a model is refused without a reason");
    return Outcome::not_read;
  }
  CompileOptions compiling;
  compiling.threads = 1;
  compiling.max_activation_bytes = options.max_bytes;
  compiling.max_folded_bytes = options.max_bytes;
  compiling.max_memory_bytes = 256 * options.max_bytes;
  compiling.max_loop_iterations = kMostIterations;
  Outcome reached = Outcome::not_compiled;
  try {
    const CompiledModel compiled = compile_model(*read.model, compiling);
    reached = Outcome::not_run;
    if (infer(compiled, options.max_bytes)) reached = Outcome::ran;
  } catch (const Error& error) {
    require_sound(error.diagnostics());
  }
  return reached;
}

}  // namespace ir::hostile
