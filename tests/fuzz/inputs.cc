// What run_ir reads besides models.
#include <array>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>

#include "ir_reader/case_file.h"
#include "ir_runtime/diagnostics.h"
#include "runtime/types/budget.h"
#include "samples/run_ir/image.h"
#include "samples/run_ir/npy.h"
#include "tests/fuzz/targets.h"
#include "tests/hostile/memory_file.h"

namespace ir::fuzz {
namespace {

using hostile::MemoryFile;

constexpr std::int64_t kMostPictureBytes = 1 << 22;

bool same(const Tensor& a, const Tensor& b) {
  return a.element_type() == b.element_type() && a.shape() == b.shape() && a.byte_size() == b.byte_size() &&
         (a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0);
}

}  // namespace

// What was read and written reads as the same.
void npy(std::string_view input) {
  const MemoryFile file(input);
  try {
    const Tensor tensor = run_ir::read_npy(file.path());
    std::ostringstream bytes;
    run_ir::write_npy(bytes, tensor);
    const MemoryFile copy(bytes.str());
    require(same(run_ir::read_npy(copy.path()), tensor));
  } catch (const Error&) {
    // Refused.
  }
}

// The first byte says what the picture is for.
void image(std::string_view input) {
  if (input.empty()) return;
  static constexpr std::array<std::int64_t, 3> kChannels{1, 3, 4};
  const auto choice = static_cast<unsigned char>(input.front());
  const Dimension channels(kChannels[choice % kChannels.size()]);
  const Dimension side = (choice & 16U) != 0 ? Dimension() : Dimension(8);
  const bool channels_last = (choice & 32U) != 0;
  const Port port{
      {"image"},
      (choice & 64U) != 0 ? ElementType::u8 : ElementType::f32,
      channels_last ? PartialShape({1, side, side, channels}) : PartialShape({1, channels, side, side})};
  const Budget budget({.tensor = {kMostPictureBytes, "max_input_bytes"}});
  const MemoryFile file(input.substr(1));
  run_ir::ImageOptions options;
  options.layout = channels_last ? "NHWC" : "NCHW";
  try {
    (void)run_ir::read_image(file.path(), port, options);
  } catch (const Error&) {
    // Refused.
  }
}

void shape(std::string_view input) {
  const auto parsed = PartialShape::parse(input);
  if (!parsed) return;
  require(PartialShape::parse(to_string(*parsed)) == parsed);
  require(parsed->merged(*parsed) == parsed);
  if (parsed->is_static()) (void)element_count(parsed->to_shape());
  (void)parsed->element_count();
  if (!parsed->has_rank()) return;
  for (std::size_t i = 0; i + 1 < parsed->rank(); ++i) {
    const Dimension a = (*parsed)[i];
    const Dimension b = (*parsed)[i + 1];
    for (const Dimension& result : {a + b, a - b, a * b}) require(result.min() <= result.max());
    if (b.min() > 0) {
      require(a.floor_divided(b.min()).min() <= a.ceil_divided(b.min()).min());
    }
  }
}

void case_file(std::string_view input) {
  const Parts parts = split(input);
  const MemoryFile file(parts.first);
  const MemoryFile data(parts.second);
  try {
    reader::CaseFile read = reader::read_case(file.path());
    for (auto* tensors : {&read.inputs, &read.outputs}) {
      for (reader::CaseTensor& tensor : *tensors) {
        tensor.file = data.path();
        (void)reader::read_case_tensor(tensor, read.metric.compare_first);
      }
    }
  } catch (const Error&) {
    // Refused.
  }
}

}  // namespace ir::fuzz
