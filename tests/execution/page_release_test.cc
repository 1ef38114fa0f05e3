#include "runtime/execution/page_release.h"

#if defined(__linux__)

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/matrix.h"
#include "runtime/types/scaled_codes.h"
#include "tests/execution/support.h"

namespace ir::test {

namespace {

// A file of `count` floats, all 1.5, in memory where all are -1: pages that go come back as they are in the
// file.
struct MappedFloats {
  explicit MappedFloats(std::size_t count) {
    const std::vector<float> in_file(count, 1.5F);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    REQUIRE(file != nullptr);
    REQUIRE(std::fwrite(in_file.data(), sizeof(float), count, file.get()) == count);
    REQUIRE(std::fflush(file.get()) == 0);
    const std::size_t bytes = count * sizeof(float);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, ::fileno(file.get()), 0);
    REQUIRE(mapped != MAP_FAILED);
    owner = std::shared_ptr<const void>(mapped, [=](const void*) { ::munmap(mapped, bytes); });
    elements = static_cast<float*>(mapped);
    std::fill_n(elements, count, -1.0F);
  }

  std::shared_ptr<const void> owner;
  float* elements;
};

}  // namespace

TEST_CASE("What was read of a file's constants goes, whoever holds them still") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / sizeof(float);
  const MappedFloats file(5 * page);
  std::vector<float> own(page, -1.0F);
  const auto floats = [](std::size_t count) { return Shape{static_cast<std::int64_t>(count)}; };
  Model model;
  model.add_constant(Tensor::of_file(ElementType::f32, floats(2 * page + 1), file.elements, file.owner));
  const float* const codes = file.elements + 3 * page + page / 2;
  model.add_constant(Tensor::of_codes(Tensor::of_file(ElementType::f16, floats(2), codes, file.owner)));
  model.add_constant(Tensor(ElementType::f32, floats(page), own.data()));
  const std::vector<Tensor> constants = file_constants_of(model);
  model = Model();
  release_pages(constants);
  // The third and the fourth page are shared with others.
  for (std::size_t i = 0; i < 5; ++i) CHECK(file.elements[i * page] == (i < 4 ? 1.5F : -1.0F));
  CHECK(own == std::vector<float>(page, -1.0F));
}

TEST_CASE("Of a file's constant, the pages that were packed go while the rest is packed") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / sizeof(float);
  const std::size_t count = 8 * page;
  const MappedFloats file(count);
  float* const elements = file.elements;

  const auto value_of_constant = [](const Tensor& tensor) {
    return ValueInfo{tensor.element_type(), tensor.shape(), std::make_shared<const Tensor>(tensor),
                     std::nullopt};
  };
  // Two constants of the file, and one that is not.
  const auto half = static_cast<std::int64_t>(count / 2);
  std::vector<float> own(count, -1.0F);
  const std::vector<ValueInfo> inputs{
      {ElementType::f32, PartialShape{1, 2}, nullptr, std::nullopt},
      value_of_constant(Tensor::of_file(ElementType::f32, {half}, elements, file.owner)),
      value_of_constant(Tensor::of_file(ElementType::f32, {half - 8}, elements + half, file.owner)),
      value_of_constant(Tensor(ElementType::f32, {static_cast<std::int64_t>(count)}, own.data())),
  };
  const auto tell = [](const float* part, std::size_t floats) {
    kernels::PackingListener::tell(std::as_bytes(std::span(part, floats)));
  };
  {
    const PageRelease release(inputs);
    tell(elements, page);                     // the first page
    tell(elements + 5 * page + 1, 2 * page);  // only one page as a whole
    tell(elements + 3 * page, 2 * page);      // of neither constant
    tell(elements + 7 * page, page);          // beyond the end
    tell(own.data(), own.size());
  }
  tell(elements + page, page);  // nobody listens
  for (std::size_t i = 0; i < 8; ++i) {
    INFO("page " << i);
    const float expected = i == 0 || i == 6 ? 1.5F : -1.0F;
    CHECK(elements[i * page] == expected);
    CHECK(elements[(i + 1) * page - 1] == expected);
  }
  CHECK(own == std::vector<float>(count, -1.0F));
}

TEST_CASE("Of a constant that nobody else holds, the pages that were packed go, too") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / sizeof(float);
  const std::size_t count = 4 * page;
  const auto shape = Shape{static_cast<std::int64_t>(count)};
  const bool of_codes = GENERATE(false, true);
  Tensor held(ElementType::f32, shape);
  std::ranges::fill(held.data<float>(), 2.0F);
  if (of_codes) held = Tensor::of_codes(held.converted(ElementType::f16));
  std::vector<ValueInfo> inputs{{ElementType::f32, shape, nullptr, std::nullopt}};
  inputs[0].constant = std::make_shared<const Tensor>(std::move(held));
  // By somebody else: a tensor with the same memory, or a value with the same tensor.
  std::optional<Tensor> same_memory;
  std::shared_ptr<const Tensor> same_tensor;
  const int holder = GENERATE(0, 1, 2);
  if (holder == 1) same_memory = of_codes ? inputs[0].constant->in_memory() : *inputs[0].constant;
  if (holder == 2) same_tensor = inputs[0].constant;
  {
    const PageRelease release(inputs);
    const auto* const elements = static_cast<const float*>(inputs[0].constant->raw());
    const auto first = reinterpret_cast<std::uintptr_t>(elements) / sizeof(float) % page;
    const auto packed = std::as_bytes(std::span(elements + (page - first) % page, 2 * page));
    kernels::PackingListener::tell(packed.first(packed.size() / 2), kernels::Rereads::never);
    kernels::PackingListener::tell(packed.last(packed.size() / 2), kernels::Rereads::maybe);
  }
  const auto elements = inputs[0].constant->data<float>();
  const auto gone = static_cast<std::size_t>(std::ranges::count(elements, 0.0F));
  CHECK(gone == (holder == 0 ? page : 0));
}

TEST_CASE("Floats of codes are not made to see whether they were packed") {
  const auto codes = Tensor::of<std::int8_t>({4}, {1, 2, 3, 4});
  std::vector<ValueInfo> inputs{{ElementType::f32, PartialShape{4}, nullptr, std::nullopt}};
  inputs[0].constant = std::make_shared<const Tensor>(Tensor::of_codes(codes));
  const PageRelease release(inputs);
  kernels::PackingListener::tell(std::as_bytes(codes.data<std::int8_t>()), kernels::Rereads::never);
  CHECK_FALSE(inputs[0].constant->codes()->are_floats_made());
}

TEST_CASE("A compiled model leaves the constants alone that its maker holds") {
  constexpr std::int64_t kRows = 256;
  Tensor weights(ElementType::f32, {kRows, 64});
  std::ranges::fill(weights.data<float>(), 0.5F);
  Model model;
  Node& x = model.add_parameter(ElementType::f32, {8, 64});
  Node& twice =
      model.add(op::v1::Multiply(), {model.add_constant(weights), model.add_constant(f32({}, {2}))});
  const Output constant = GENERATE(false, true) ? Output(twice) : Output(model.add_constant(weights));
  const float expected = constant.node == &twice ? 64 : 32;
  model.add_result(model.add(op::v0::MatMul(false, true), {x, constant}));
  for (int round = 0; round < 2; ++round) {
    const std::vector<Tensor> results = results_of(model, {f32({8, 64}, std::vector<float>(8 * 64, 1))});
    CHECK(std::ranges::count(results.at(0).data<float>(), expected) == 8 * kRows);
  }
  CHECK(std::ranges::count(weights.data<float>(), 0.5F) == kRows * 64);
}

}  // namespace ir::test

#endif
