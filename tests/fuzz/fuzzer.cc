// One libFuzzer program per target; IR_FUZZ_FUNCTION is its name.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/targets.h"
#include "tests/hostile/mutations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ir::fuzz::IR_FUZZ_FUNCTION({reinterpret_cast<const char*>(data), size});
  return 0;
}

#if IR_FUZZ_MODELS
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// libFuzzer's own changes rarely leave XML well-formed; every other one respects its elements and attributes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  ir::hostile::Mutator mutator(seed);
  if (mutator.below(3) == 0) return LLVMFuzzerMutate(data, size, most);
  const ir::fuzz::Parts parts = ir::fuzz::split({reinterpret_cast<const char*>(data), size});
  std::string xml(parts.first);
  std::string weights(parts.second);
  if (!weights.empty() && mutator.below(4) == 0) {
    weights = mutator.weights(std::move(weights), {});
  } else {
    xml = mutator.xml(std::move(xml), xml);
  }
  if (!weights.empty()) xml.append(ir::fuzz::kSeparator).append(weights);
  const std::size_t length = std::min(xml.size(), most);
  std::memcpy(data, xml.data(), length);
  return length;
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most, unsigned seed) {
  ir::hostile::Mutator mutator(seed);
  const ir::fuzz::Parts one = ir::fuzz::split({reinterpret_cast<const char*>(data), size});
  const ir::fuzz::Parts two = ir::fuzz::split({reinterpret_cast<const char*>(other), other_size});
  std::string made = mutator.xml(std::string(one.first), two.first);
  const std::string_view weights = mutator.below(2) == 0 ? one.second : two.second;
  if (!weights.empty()) made.append(ir::fuzz::kSeparator).append(weights);
  const std::size_t length = std::min(made.size(), most);
  std::memcpy(out, made.data(), length);
  return length;
}
#endif
