#include "ir_runtime/tensor.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "tests/catch.h"

using ir::ElementType;
using ir::Error;
using ir::Shape;
using ir::Tensor;

namespace {

template <class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code() + ": " + error.diagnostics().front().message;
  }
  return "no error";
}

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("A tensor of nothing says so") {
  const Tensor none;
  CHECK_FALSE(none);
  CHECK(none.element_type() == ElementType::dynamic);
  CHECK(none.size() == 0);
  CHECK(none.byte_size() == 0);
}

TEST_CASE("Tensors own aligned memory of the right size") {
  for (const ElementType type : ir::all_element_types()) {
    if (type == ElementType::string) continue;
    INFO(ir::name_of(type));
    const Tensor tensor(type, {3, 5});
    CHECK(tensor.size() == 15);
    CHECK(tensor.byte_size() == static_cast<std::size_t>(ir::storage_bytes(type, 15).value()));
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.raw()) % 64 == 0);
    CHECK(Tensor(type, {0, 5}).raw() != nullptr);
  }
}

TEST_CASE("Pages of many elements go back to the system with the tensor") {
  const std::int64_t few = 1000;
  const std::int64_t many = (std::int64_t{1} << 20) + 3;
  for (const std::int64_t count : {std::int64_t{0}, few, many}) {
    INFO(count << " elements");
    std::optional tensor = Tensor(ElementType::u8, {count}, Tensor::Memory::pages);
    CHECK(tensor->byte_size() == static_cast<std::size_t>(count));
    REQUIRE(reinterpret_cast<std::uintptr_t>(tensor->raw()) % 64 == 0);
    for (std::uint8_t& element : tensor->data<std::uint8_t>()) element = 7;
    const Tensor wide = tensor->converted(ElementType::f32, Tensor::Memory::pages);
    CHECK(elements<float>(wide) == std::vector<float>(static_cast<std::size_t>(count), 7.0F));
#if defined(__linux__)
    if (count != many) continue;
    const auto page = reinterpret_cast<std::uintptr_t>(tensor->raw()) / 4096 * 4096;
    unsigned char resident = 0;
    CHECK(::mincore(reinterpret_cast<void*>(page), 1, &resident) == 0);
    std::optional copy = tensor;
    tensor.reset();
    CHECK(elements<std::uint8_t>(*copy).back() == 7);
    copy.reset();
    CHECK(::mincore(reinterpret_cast<void*>(page), 1, &resident) == -1);
#endif
  }
  CHECK(message_of([] {
          (void)Tensor(ElementType::u8, {std::int64_t{1} << 60}, Tensor::Memory::pages);
        }).starts_with("IR-tensor-size"));
}

TEST_CASE("Tensors of values hold copies of them") {
  std::vector<std::int32_t> values{1, 2, 3};
  const Tensor tensor = Tensor::of<std::int32_t>({3}, std::span<const std::int32_t>(values));
  values[0] = 9;
  CHECK(elements<std::int32_t>(tensor) == std::vector<std::int32_t>{1, 2, 3});
  CHECK(Tensor::of<bool>({2}, {true, false}).element_type() == ElementType::boolean);
  CHECK(message_of([] { (void)Tensor::of<float>({2}, {1.0F}); }) ==
        "IR-tensor-size: 4 bytes given for a tensor of type f32 and shape [2], which has 8");
}

TEST_CASE("Sizes that cannot be are refused") {
  CHECK(
      message_of([] {
        (void)Tensor(ElementType::f32, {std::int64_t{1} << 40, std::int64_t{1} << 40});
      }) ==
      "IR-tensor-size: a tensor of type f32 and shape [1099511627776,1099511627776] has no size that can be "
      "stored");
  CHECK(message_of([] { (void)Tensor(ElementType::f32, {-1}); }) ==
        "IR-tensor-size: a tensor of type f32 and shape [-1] has no size that can be stored");
  CHECK(message_of([] { (void)Tensor(ElementType::string, {std::int64_t{1} << 60}); }) ==
        "IR-tensor-size: a tensor of type string and shape [1152921504606846976] has no size that can be "
        "stored");
  CHECK(message_of([] { (void)Tensor(ElementType::dynamic, {1}); }).starts_with("IR-tensor-size"));
}

TEST_CASE("Elements are read as what they are") {
  const Tensor tensor = Tensor::of<float>({1}, {1.0F});
  CHECK(tensor.data<const float>().data() == tensor.data<float>().data());
  CHECK(message_of([&] { (void)tensor.data<double>(); }) == "IR-tensor-type: the tensor holds f32, not f64");
  CHECK(message_of([&] { (void)tensor.data<char*>(); }) ==
        "IR-tensor-type: the tensor holds f32, not dynamic");
}

TEST_CASE("Strings are objects that tensors make, copy and destroy") {
  const std::string text = "a string that is too long to be kept in place";
  Tensor tensor(ElementType::string, {2, 2});
  CHECK(elements<std::string>(tensor) == std::vector<std::string>(4));
  CHECK(tensor.byte_size() == 0);
  tensor.data<std::string>()[3] = text;
  const Tensor copy = tensor.reshaped({4});
  const Tensor clone = tensor.clone();
  tensor.data<std::string>()[3] += "!";
  CHECK(copy.data<std::string>()[3] == text + "!");
  CHECK(clone.data<std::string>()[3] == text);
  CHECK(Tensor(ElementType::string, {0}).clone().raw() != nullptr);

  CHECK(elements<std::string>(Tensor::of<std::string>({2}, {"a", text})) ==
        std::vector<std::string>{"a", text});
  CHECK(message_of([] { (void)Tensor::of<std::string>({2}, {"a"}); }) ==
        "IR-tensor-size: 1 strings given for a tensor of shape [2], which has 2");
  CHECK(message_of([&] { (void)tensor.converted(ElementType::f32); }) ==
        "IR-unsupported: elements of type string cannot be converted");

  std::string memory[2] = {"of", "the caller"};
  Tensor view(ElementType::string, {2}, memory);
  view.data<std::string>()[0] = text;
  CHECK(memory[0] == text);
}

TEST_CASE("Copies share memory, clones do not") {
  Tensor tensor = Tensor::of<float>({2}, {1.0F, 2.0F});
  const Tensor copy = tensor;
  const Tensor clone = tensor.clone();
  tensor.data<float>()[0] = 7.0F;
  CHECK(elements<float>(copy) == std::vector<float>{7.0F, 2.0F});
  CHECK(elements<float>(clone) == std::vector<float>{1.0F, 2.0F});
  CHECK(Tensor(ElementType::f32, {0}).clone().size() == 0);
}

TEST_CASE("A shape may be put on as many elements") {
  Tensor tensor = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor seen = tensor.reshaped({3, 2});
  CHECK(seen.shape() == Shape{3, 2});
  CHECK(seen.raw() == tensor.raw());
  CHECK(message_of([&] {
          (void)tensor.reshaped({4, 2});
        }) == "IR-tensor-size: a tensor of shape [2,3] cannot be seen as [4,2]: 6 elements are not 8");
  CHECK(message_of([&] { (void)tensor.reshaped({-6}); }) ==
        "IR-tensor-size: a tensor of shape [2,3] cannot be seen as [-6]: [-6] is no shape of a tensor");
}

TEST_CASE("Memory of the caller is used as it is, and its owner lives as long as the tensor") {
  float memory[4] = {1, 2, 3, 4};
  Tensor view(ElementType::f32, {2, 2}, memory);
  view.data<float>()[3] = 9;
  CHECK(memory[3] == 9);
  CHECK(view.raw() == memory);

  auto owner = std::make_shared<std::vector<float>>(4, 5.0F);
  const std::weak_ptr<std::vector<float>> watched = owner;
  Tensor owning(ElementType::f32, {4}, owner->data(), owner);
  owner.reset();
  Tensor part = owning.reshaped({2, 2});
  owning = Tensor();
  CHECK_FALSE(watched.expired());
  CHECK(elements<float>(part) == std::vector<float>(4, 5.0F));
  part = Tensor();
  CHECK(watched.expired());
}

TEST_CASE("Small whole numbers survive conversion between all types that have them") {
  // 0 and 1 exist in every type but f8e8m0 (powers of two only).
  const Tensor source = Tensor::of<float>({3, 3}, {0, 1, 1, 0, 1, 0, 0, 0, 1});
  for (const ElementType type : ir::all_element_types()) {
    if (type == ElementType::string || type == ElementType::f8e8m0) continue;
    INFO(ir::name_of(type));
    const Tensor there = source.converted(type);
    CHECK(there.element_type() == type);
    CHECK(there.shape() == Shape{3, 3});
    CHECK(elements<float>(there.converted(ElementType::f32)) == elements<float>(source));
    for (const ElementType next : ir::all_element_types()) {
      if (next == ElementType::string || next == ElementType::f8e8m0) continue;
      INFO(ir::name_of(next));
      CHECK(elements<float>(there.converted(next).converted(ElementType::f32)) == elements<float>(source));
    }
  }
  const Tensor powers = Tensor::of<float>({3}, {1, 2, 0.5F});
  CHECK(elements<float>(powers.converted(ElementType::f8e8m0).converted(ElementType::f32)) ==
        std::vector<float>{1, 2, 0.5F});
}

TEST_CASE("Conversion truncates as Convert does, and refuses text") {
  const Tensor source = Tensor::of<float>({4}, {-1.75F, 0.5F, 2.99F, 3.0F});
  CHECK(elements<std::int32_t>(source.converted(ElementType::i32)) == std::vector<std::int32_t>{-1, 0, 2, 3});
  CHECK(elements<bool>(source.converted(ElementType::boolean)) == std::vector<bool>{true, true, true, true});
  CHECK(message_of([&] { (void)source.converted(ElementType::string); }).starts_with("IR-"));
  CHECK(message_of([&] { (void)source.converted(ElementType::dynamic); }).starts_with("IR-"));
}

TEST_CASE("Elements of a file are there again after their pages went") {
  constexpr std::size_t kCount = 10000;  // several pages
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(values.data(), sizeof(float), kCount, file.get()) == kCount);
  REQUIRE(std::fflush(file.get()) == 0);
  const std::size_t bytes = kCount * sizeof(float);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, ::fileno(file.get()), 0);
  REQUIRE(mapped != MAP_FAILED);
  const std::shared_ptr<const void> owner(mapped, [=](const void*) { ::munmap(mapped, bytes); });

  // Not on a page's border.
  const Tensor tensor = Tensor::of_file(ElementType::f32, {static_cast<std::int64_t>(kCount - 3)},
                                        static_cast<const float*>(mapped) + 3, owner);
  const std::vector<float> expected(values.begin() + 3, values.end());
  CHECK(elements<float>(tensor) == expected);
  tensor.release_pages();
  CHECK(elements<float>(tensor) == expected);
  tensor.release_pages();
  tensor.provide_pages();
  CHECK(elements<float>(tensor) == expected);
}

TEST_CASE("Elements in memory stay when there are no pages to go") {
  const Tensor tensor = Tensor::of<float>({4096}, std::vector<float>(4096, 1.5F));
  tensor.release_pages();
  tensor.provide_pages();
  CHECK(elements<float>(tensor) == std::vector<float>(4096, 1.5F));
}

TEST_CASE("A part of a constant is a copy, all of it is the same memory") {
  const Tensor whole = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor all = whole.constant_part(ElementType::f32, {6}, 0);
  CHECK(all.raw() == whole.raw());
  CHECK(elements<float>(all) == std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor row = whole.constant_part(ElementType::f32, {3}, 3 * sizeof(float));
  CHECK(row.raw() != static_cast<const float*>(whole.raw()) + 3);
  CHECK(elements<float>(row) == std::vector<float>{4, 5, 6});
}
