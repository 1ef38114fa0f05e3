#include "kernels/matmul/gemm_words.h"

#include <algorithm>
#include <array>

#include "kernels/base/divide.h"
#include "kernels/threads/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/gemm_words.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {

using Words = hn::ScalableTag<std::uint32_t>;

/// B and the results, both from the first column that is meant.
struct WordColumns {
  const std::uint32_t* b;
  std::size_t b_stride;
  std::uint32_t* out;
  std::size_t out_stride;

  [[nodiscard]] WordColumns from(std::size_t column) const {
    return {b + column, b_stride, out + column, out_stride};
  }
};

/// kVectors vectors of columns of kRows rows; kWhole: all of their `lanes`.
template <std::size_t kRows, std::size_t kVectors, bool kWhole>
HWY_INLINE void multiply_tile(const WordRows& a, const WordColumns& columns, std::size_t k,
                              std::size_t lanes) {
  const Words d;
  std::array<std::array<hn::Vec<Words>, kVectors>, kRows> sums;
  for (auto& row : sums) row.fill(hn::Zero(d));
  const std::uint32_t* b = columns.b;
  for (std::size_t term = 0; term < k; ++term, b += columns.b_stride) {
    std::array<hn::Vec<Words>, kVectors> terms;
    for (std::size_t v = 0; v < kVectors; ++v)
      terms[v] = kWhole ? hn::LoadU(d, b + v * hn::Lanes(d)) : load_n(d, b, lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a.first[r * a.row_stride + term * a.term_stride]);
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Add(sums[r][v], hn::Mul(factor, terms[v]));
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    std::uint32_t* out = columns.out + r * columns.out_stride;
    for (std::size_t v = 0; v < kVectors; ++v) {
      if constexpr (kWhole) {
        hn::StoreU(sums[r][v], d, out + v * hn::Lanes(d));
      } else {
        store_n(sums[r][v], d, out, lanes);
      }
    }
  }
}

template <std::size_t kRows>
HWY_INLINE void multiply_rows(const WordRows& a, const WordColumns& columns, std::size_t k,
                              std::size_t count) {
  const std::size_t lanes = hn::Lanes(Words());
  std::size_t column = 0;
  for (; column + 2 * lanes <= count; column += 2 * lanes)
    multiply_tile<kRows, 2, true>(a, columns.from(column), k, lanes);
  for (; column < count; column += lanes)
    multiply_tile<kRows, 1, false>(a, columns.from(column), k, std::min(lanes, count - column));
}

void MultiplyWords(const WordRows& a, const std::uint32_t* b, std::size_t b_stride, std::size_t k,
                   std::uint32_t* out, std::size_t out_stride, std::size_t count) {
  constexpr std::size_t kRows = 4;
  WordRows rows = a;
  WordColumns columns{b, b_stride, out, out_stride};
  const auto next = [&](std::size_t done) HWY_ATTR {
    rows.first += done * rows.row_stride;
    rows.count -= done;
    columns.out += done * out_stride;
  };
  for (; rows.count >= kRows; next(kRows)) multiply_rows<kRows>(rows, columns, k, count);
  for (; rows.count != 0; next(1)) multiply_rows<1>(rows, columns, k, count);
}

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ir::kernels {

HWY_EXPORT(MultiplyWords);

void multiply_words(const WordRows& a, const std::uint32_t* b, std::size_t b_stride, std::size_t k,
                    std::uint32_t* out, std::size_t out_stride, std::size_t columns) {
  HWY_DYNAMIC_DISPATCH(MultiplyWords)(a, b, b_stride, k, out, out_stride, columns);
}

void gemm_words(const GemmParams& params, const std::uint32_t* a, const std::uint32_t* b,
                std::uint32_t* out) {
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kColumns = 64;
  const std::size_t m = params.m;
  const std::size_t n = params.n;
  const std::size_t k = params.k;
  std::size_t products = 1;
  for (const GemmBatchAxis& axis : params.batch) products *= axis.count;
  const std::size_t groups = divide_up(m, kRows);
  const std::size_t chunks = divide_up(n, kColumns);
  // Groups of rows that meet the same columns follow each other.
  const auto block = [&](std::size_t index) {
    const std::size_t row = index % groups * kRows;
    const std::size_t column = index / groups % chunks * kColumns;
    std::size_t product = index / groups / chunks;
    std::uint32_t* to = out + (product * m + row) * n + column;
    WordRows rows{a + row * (params.transpose_a ? 1 : k), params.transpose_a ? 1 : k,
                  params.transpose_a ? m : 1, std::min(kRows, m - row)};
    const std::uint32_t* columns = b + column;
    for (auto axis = params.batch.rbegin(); axis != params.batch.rend(); ++axis) {
      rows.first += product % axis->count * axis->a_stride;
      columns += product % axis->count * axis->b_stride;
      product /= axis->count;
    }
    multiply_words(rows, columns, n, k, to, n, std::min(kColumns, n - column));
  };
  parallel_for(products * chunks * groups, grain_for_cost(kRows * std::min(n, kColumns) * k / 8),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t index = begin; index < end; ++index) block(index);
               });
}

}  // namespace ir::kernels
#endif  // HWY_ONCE
