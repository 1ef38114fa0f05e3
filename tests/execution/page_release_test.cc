#include "runtime/execution/page_release.h"

#if defined(__linux__)

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <span>
#include <vector>

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

TEST_CASE("Before a model is planned, what was read of its file's constants goes") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / sizeof(float);
  const MappedFloats file(4 * page);
  std::vector<float> own(page, -1.0F);
  const auto two_pages = static_cast<std::int64_t>(2 * page);
  Model model;
  model.add_constant(Tensor::of_file(ElementType::f32, {two_pages}, file.elements, file.owner));
  model.add_constant(Tensor(ElementType::f32, {static_cast<std::int64_t>(page)}, own.data()));
  release_pages(model);
  for (std::size_t i = 0; i < 4; ++i) CHECK(file.elements[i * page] == (i < 2 ? 1.5F : -1.0F));
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

}  // namespace ir::test

#endif
