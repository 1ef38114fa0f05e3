#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "kernels/base/accumulator.h"
#include "kernels/base/scalar_type.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_words.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

constexpr std::size_t kColumns = 64;

/// `Stride`: a number, or std::integral_constant.
template <class T, class Stride>
Accumulator<T> dot(const T* a, Stride a_stride, const T* b, std::size_t k) {
  Accumulator<T> sum{};
  for (std::size_t i = 0; i < k; ++i)
    sum += static_cast<Accumulator<T>>(a[i * a_stride]) * static_cast<Accumulator<T>>(b[i]);
  return sum;
}

/// out[0, columns) = one row of A (values a_stride apart) times some columns of B.
template <class T>
void multiply_row(const T* a, std::size_t a_stride, const T* b, std::size_t b_stride, bool transpose_b,
                  std::size_t k, std::size_t columns, T* out) {
  using Sum = Accumulator<T>;
  std::array<Sum, kColumns> sums{};
  if (transpose_b) {
    constexpr std::integral_constant<std::size_t, 1> kNextOne;
    for (std::size_t j = 0; j < columns; ++j, b += b_stride)
      sums[j] = a_stride == 1 ? dot(a, kNextOne, b, k) : dot(a, a_stride, b, k);
  } else {
    const auto add_rows = [&](auto count) {
      for (std::size_t i = 0; i < k; ++i) {
        const Sum factor = static_cast<Sum>(a[i * a_stride]);
        const T* row = b + i * b_stride;
        for (std::size_t j = 0; j < count; ++j) sums[j] += factor * static_cast<Sum>(row[j]);
      }
    };
    columns == kColumns ? add_rows(std::integral_constant<std::size_t, kColumns>{}) : add_rows(columns);
  }
  for (std::size_t j = 0; j < columns; ++j) out[j] = static_cast<T>(sums[j]);
}

}  // namespace

template <class T>
void gemm_generic(const GemmParams& params, const T* a, const T* b, T* out) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(std::uint32_t)) {
    using Word = std::uint32_t;  // what wraps is the same for both signs
    if (!params.transpose_b)
      return gemm_words(params, reinterpret_cast<const Word*>(a), reinterpret_cast<const Word*>(b),
                        reinterpret_cast<Word*>(out));
  }
  const std::size_t m = params.m;
  const std::size_t n = params.n;
  const std::size_t k = params.k;
  std::size_t products = 1;
  for (const GemmBatchAxis& axis : params.batch) products *= axis.count;
  const std::size_t chunks = (n + kColumns - 1) / kColumns;
  parallel_for(products * m * chunks, grain_for_cost(std::min(n, kColumns) * k),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t index = begin; index < end; ++index) {
                   const std::size_t column = index % chunks * kColumns;
                   const std::size_t row = index / chunks % m;
                   std::size_t product = index / chunks / m;
                   T* to = out + (product * m + row) * n + column;
                   const T* a_row = a + row * (params.transpose_a ? 1 : k);
                   const T* b_column = b + column * (params.transpose_b ? k : 1);
                   for (auto axis = params.batch.rbegin(); axis != params.batch.rend(); ++axis) {
                     a_row += product % axis->count * axis->a_stride;
                     b_column += product % axis->count * axis->b_stride;
                     product /= axis->count;
                   }
                   multiply_row(a_row, params.transpose_a ? m : 1, b_column, params.transpose_b ? k : n,
                                params.transpose_b, k, std::min(kColumns, n - column), to);
                 }
               });
}

#define IR_GEMM_GENERIC(T) template void gemm_generic(const GemmParams&, const T*, const T*, T*);
IR_KERNELS_FOR_EACH_NUMBER(IR_GEMM_GENERIC)
#undef IR_GEMM_GENERIC

}  // namespace ir::kernels
