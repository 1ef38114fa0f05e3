// Floats that are made of codes when somebody reads them.
#include "runtime/types/scaled_codes.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "tests/catch.h"

using ir::ElementType;
using ir::Shape;
using ir::Tensor;

namespace {

Tensor all_bytes() {
  Tensor codes(ElementType::i8, {4, 16, 4});
  for (int i = 0; i < 256; ++i)
    codes.data<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  return codes;
}

std::vector<float> floats(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("Floats of codes are what conversion and multiplication give") {
  const Tensor codes = GENERATE(all_bytes(), all_bytes().converted(ElementType::f16),
                                all_bytes().converted(ElementType::bf16));
  INFO(ir::name_of(codes.element_type()));
  const std::vector<float> converted = floats(codes.converted(ElementType::f32));
  CHECK(floats(Tensor::of_codes(codes)) == converted);
  // One for all, one for each first, middle and last index, and for the first two.
  const auto [count, per_scale] =
      GENERATE(table<std::size_t, std::size_t>({{1, 256}, {1, 1}, {4, 64}, {16, 4}, {4, 1}, {64, 4}}));
  INFO(count << " scales, " << per_scale << " codes each");
  std::vector<float> scales;
  for (std::size_t i = 0; i < count; ++i) scales.push_back(0.1F * static_cast<float>(i) - 0.37F);
  const Tensor scaled = Tensor::of_codes(
      codes, Tensor::of<float>({static_cast<std::int64_t>(count)}, std::span<const float>(scales)),
      per_scale);
  CHECK(scaled.element_type() == ElementType::f32);
  CHECK(scaled.byte_size() == 1024);
  std::vector<float> expected;
  for (std::size_t i = 0; i < converted.size(); ++i)
    expected.push_back(converted[i] * scales[i / per_scale % count]);
  CHECK(floats(scaled) == expected);
}

TEST_CASE("Floats are made when somebody reads them, once, for all copies") {
  Tensor codes = Tensor::of<std::int8_t>({2}, {1, 2});
  const Tensor tensor = Tensor::of_codes(codes);
  const Tensor copy = tensor.reshaped({2, 1});
  const Tensor part = tensor.constant_part(ElementType::f32, {1, 2}, 0);
  CHECK_FALSE(tensor.is_sole_owner());
  tensor.release_pages();
  codes.data<std::int8_t>()[0] = 7;  // nobody has read it
  CHECK(floats(tensor) == std::vector<float>{7, 2});
  codes.data<std::int8_t>()[0] = 9;
  CHECK(floats(copy) == std::vector<float>{7, 2});
  CHECK(copy.raw() == tensor.raw());
  CHECK(part.raw() == tensor.raw());
  CHECK(part.shape() == Shape{1, 2});
}

TEST_CASE("Threads that read at once see the same floats") {
  const Tensor tensor = Tensor::of_codes(all_bytes());
  std::vector<const void*> seen(4);
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (const void*& memory : seen) threads.emplace_back([&] { memory = tensor.raw(); });
  for (std::thread& thread : threads) thread.join();
  for (const void* memory : seen) CHECK(memory == tensor.raw());
}

TEST_CASE("Copies of elements that are made of codes are elements like others") {
  const Tensor tensor = Tensor::of_codes(all_bytes());
  const std::vector<float> expected = floats(all_bytes().converted(ElementType::f32));
  for (const Tensor& copy : {tensor.clone(), tensor.in_memory(), tensor.converted(ElementType::f32)}) {
    CHECK(copy.codes() == nullptr);
    CHECK(copy.shape() == tensor.shape());
    CHECK(floats(copy) == expected);
  }
  CHECK(floats(tensor.constant_part(ElementType::f32, {2}, 4)) == std::vector<float>{-127, -126});
  CHECK(tensor.constant_part(ElementType::u8, {4}, 0).data<std::uint8_t>()[3] == 0xC3);  // of -128
}

TEST_CASE("Floats of codes belong to who is left with them") {
  Tensor floats = Tensor::of_codes(all_bytes()).in_memory();
  CHECK(floats.is_sole_owner());
  const Tensor kept = Tensor::of_codes(all_bytes());
  floats = kept.in_memory();
  CHECK_FALSE(floats.is_sole_owner());
}

TEST_CASE("Codes belong to a tensor alone, and floats of theirs that have been made, too") {
  const Tensor tensor = Tensor::of_codes(all_bytes());
  CHECK(tensor.is_sole_owner());
  (void)tensor.raw();
  CHECK(tensor.is_sole_owner());
  {
    const Tensor copy = tensor;
    CHECK_FALSE(tensor.is_sole_owner());
  }
  const Tensor floats = tensor.in_memory();
  CHECK_FALSE(tensor.is_sole_owner());
}

TEST_CASE("Floats of no codes take nothing") {
  const Tensor tensor = Tensor::of_codes(Tensor(ElementType::i8, {0, 3}));
  CHECK(tensor.byte_size() == 0);
  CHECK(tensor.data<float>().empty());
}
