#include "runtime/execution/page_release.h"

#if defined(__linux__)

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "tests/execution/support.h"

namespace ir::test {

TEST_CASE("Of a file's constant, the pages that were packed go while the rest is packed") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / sizeof(float);
  const std::size_t count = 8 * page;
  const std::vector<float> in_file(count, 1.5F);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(in_file.data(), sizeof(float), count, file.get()) == count);
  REQUIRE(std::fflush(file.get()) == 0);
  const std::size_t bytes = count * sizeof(float);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, ::fileno(file.get()), 0);
  REQUIRE(mapped != MAP_FAILED);
  const std::shared_ptr<const void> owner(mapped, [=](const void*) { ::munmap(mapped, bytes); });
  auto* const elements = static_cast<float*>(mapped);
  // Pages that went come back as they are in the file.
  std::fill_n(elements, count, -1.0F);

  const auto value_of_constant = [](const Tensor& tensor) {
    return ValueInfo{tensor.element_type(), tensor.shape(), std::make_shared<const Tensor>(tensor),
                     std::nullopt};
  };
  // Two constants of the file, and one that is not.
  const auto half = static_cast<std::int64_t>(count / 2);
  std::vector<float> own(count, -1.0F);
  const std::vector<ValueInfo> inputs{
      {ElementType::f32, PartialShape{1, 2}, nullptr, std::nullopt},
      value_of_constant(Tensor::of_file(ElementType::f32, {half}, elements, owner)),
      value_of_constant(Tensor::of_file(ElementType::f32, {half - 8}, elements + half, owner)),
      value_of_constant(Tensor(ElementType::f32, {static_cast<std::int64_t>(count)}, own.data())),
  };
  {
    const PageRelease release(inputs);
    kernels::PackingListener::tell(elements, page);                     // the first page
    kernels::PackingListener::tell(elements + 5 * page + 1, 2 * page);  // only one page as a whole
    kernels::PackingListener::tell(elements + 3 * page, 2 * page);      // of neither constant
    kernels::PackingListener::tell(elements + 7 * page, page);          // beyond the end
    kernels::PackingListener::tell(own.data(), own.size());
  }
  kernels::PackingListener::tell(elements + page, page);  // nobody listens
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
