#include "kernels/base/fill.h"

#include "tests/kernels/support.h"

namespace {

template <class T>
void check_fill() {
  const T element = static_cast<T>(0x8182838485868788);
  std::vector<std::size_t> counts = ir::test::sizes_around_lanes(100);
  for (const std::size_t bytes : {255, 256, 257, 300, 319, 320, 321, 400, 1000}) {
    counts.push_back(bytes / sizeof(T));
  }
  for (const std::size_t count : counts) {
    for (std::size_t misalign = 0; misalign <= 64; ++misalign) {
      CAPTURE(sizeof(T), count, misalign);
      ir::test::GuardedBuffer<char> out(count * sizeof(T), misalign);
      ir::kernels::fill_elements(&element, sizeof(T), count, out.data());
      REQUIRE(out.guards_intact());
      bool equal = true;
      for (std::size_t i = 0; i < count; ++i) {
        equal = equal && std::memcmp(out.data() + i * sizeof(T), &element, sizeof(T)) == 0;
      }
      REQUIRE(equal);
    }
  }
}

}  // namespace

TEST_CASE("fill repeats elements of any size at any address") {
  IR_FOR_EACH_TARGET();
  check_fill<std::uint8_t>();
  check_fill<std::uint16_t>();
  check_fill<std::uint32_t>();
  check_fill<std::uint64_t>();
}
