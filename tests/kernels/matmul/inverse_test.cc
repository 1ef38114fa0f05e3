#include "kernels/matmul/inverse.h"

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

// Random matrices of moderate condition, of which rows have to change places.
template <class T>
void fill_matrices(GuardedBuffer<T>& matrices, std::size_t size) {
  test::fill_random(matrices, -1, 1, static_cast<std::uint32_t>(size));
  for (std::size_t start = 0; start < matrices.size(); start += size * size) {
    for (std::size_t row = 0; row < size; ++row) {
      matrices[start + row * size + (size - 1 - row)] += static_cast<T>(size);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("A matrix times its inverse is the identity", "", float, double) {
  const bool transposed = GENERATE(false, true);
  for (const std::size_t size : {1, 2, 3, 5, 8, 17, 64, 130}) {
    const std::size_t batch = size < 20 ? 70 : 2;
    GuardedBuffer<TestType> in(batch * size * size, 1);
    fill_matrices(in, size);
    GuardedBuffer<TestType> out(in.size(), 1);
    GuardedBuffer<std::size_t> scratch((inverse_scratch_bytes<TestType>(batch, size) + 7) / 8);
    invert_matrices(in.data(), out.data(), batch, size, transposed,
                    reinterpret_cast<std::byte*>(scratch.data()));
    REQUIRE(out.guards_intact());
    REQUIRE(scratch.guards_intact());
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < size; ++k) {
            const std::size_t at = transposed ? j * size + k : k * size + j;
            sum += double{in[(b * size + i) * size + k]} * double{out[b * size * size + at]};
          }
          INFO("size " << size << ", element " << i << ", " << j);
          REQUIRE(std::abs(sum - (i == j ? 1 : 0)) < (sizeof(TestType) == 4 ? 1e-4 : 1e-12));
        }
      }
    }
  }
}

TEST_CASE("A matrix that needs pivots is inverted exactly") {
  const float in[] = {0, 2, 0, 0, 0, 4, 8, 0, 0};
  float out[9];
  std::vector<std::size_t> scratch((inverse_scratch_bytes<float>(1, 3) + 7) / 8);
  invert_matrices(in, out, 1, 3, false, reinterpret_cast<std::byte*>(scratch.data()));
  CHECK(std::vector<float>(out, out + 9) == std::vector<float>{0, 0, 0.125F, 0.5F, 0, 0, 0, 0.25F, 0});
}

TEST_CASE("A singular matrix gives no numbers and harms no other") {
  const float in[] = {1, 2, 2, 4, 2, 0, 0, 4};
  float out[8];
  std::vector<std::size_t> scratch((inverse_scratch_bytes<float>(2, 2) + 7) / 8);
  invert_matrices(in, out, 2, 2, false, reinterpret_cast<std::byte*>(scratch.data()));
  for (std::size_t i = 0; i < 4; ++i) CHECK(!std::isfinite(out[i]));
  CHECK(std::vector<float>(out + 4, out + 8) == std::vector<float>{0.5F, 0, 0, 0.25F});
}

TEST_CASE("Inverses have the same bits for any number of threads") {
  for (const std::size_t size : {12, 150}) {
    const std::size_t batch = 40 / (size / 12);
    GuardedBuffer<float> in(batch * size * size);
    fill_matrices(in, size);
    std::vector<float> one(in.size());
    std::vector<float> two(in.size());
    std::vector<std::size_t> scratch((inverse_scratch_bytes<float>(batch, size) + 7) / 8);
    auto* bytes = reinterpret_cast<std::byte*>(scratch.data());
    ThreadPool(1).run([&] { invert_matrices(in.data(), one.data(), batch, size, false, bytes); });
    ThreadPool(2).run([&] { invert_matrices(in.data(), two.data(), batch, size, false, bytes); });
    CHECK(one == two);
  }
}

}  // namespace ir::kernels
