// out = init + a B for a few rows at a time and a B that is packed once: the matrix product of
// kernels/sequence/rnn.cc. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
#undef KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
#else
#define KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "hwy/highway.h"
#include "kernels/base/aligned_floats.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/matmul/gemm-inl.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A matrix [columns, depth] as panels of a few vectors of columns: what a step along depth needs is
/// adjacent. Columns beyond the last one are zero.
class PackedMatrix {
 public:
  /// Most rows of `a` in one product, and vectors of a panel: accumulators, vectors and a broadcast fill the
  /// sixteen registers of AVX2; AVX-512 has twice as many.
  static constexpr std::size_t kRows = kOldProcessor ? 2 : 6;
#if HWY_TARGET == HWY_AVX3
  static constexpr std::size_t kVectors = 4;
#else
  static constexpr std::size_t kVectors = 2;
#endif
  static std::size_t panel_width() { return kVectors * hn::Lanes(D()); }

  PackedMatrix() = default;
  /// The columns come in blocks of `block`, of which `order` says where they stand in `matrix`.
  PackedMatrix(const float* matrix, std::span<const std::size_t> order, std::size_t block, std::size_t depth)
      : columns_(order.size() * block),
        depth_(depth),
        panels_((columns_ + panel_width() - 1) / panel_width()) {
    PackedForm form{"rnn", {}, {static_cast<std::size_t>(HWY_TARGET), block, depth}};
    form.numbers.insert(form.numbers.end(), order.begin(), order.end());
    data_ = packed_once({matrix, columns_ * depth}, std::move(form), panels_ * depth * panel_width(),
                        [&](float* to) { pack(matrix, order, block, to); });
  }

  [[nodiscard]] std::size_t panels() const { return panels_; }

  /// out[i][columns of the panels] = init[i][..] + a[i] * panels for `rows` <= kRows rows and panels [first,
  /// last). `out` may be `init`. With `fetches`, the next panel comes into the second-level cache while one
  /// is multiplied; the first one does after the last.
  void multiply(std::size_t rows, const float* const* a, const float* const* init, float* const* out,
                std::size_t first, std::size_t last, bool fetches) const {
    if (rows == 1) return multiply_row(a, init, out, first, last);
    for (std::size_t panel = first; panel < last; ++panel) {
      multiply_rows<kRows>(rows, a, init, out, columns_of(panel, 1), fetches);
    }
  }

 private:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  /// Tells of every block of columns that has been packed.
  void pack(const float* matrix, std::span<const std::size_t> order, std::size_t block, float* packed) const {
    const std::size_t width = panel_width();
    const auto column_at = [&](std::size_t column) {
      return matrix + (order[column / block] * block + column % block) * depth_;
    };
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t blocks_packed = 0;
    for (std::size_t first = 0; first < panels_ * width; first += lanes) {
      float* const to = packed + first / width * depth_ * width + first % width;
      if (first + lanes <= columns_ && first / block == (first + lanes - 1) / block) {
        pack_rows_as_columns(d, column_at(first), depth_, depth_, to, width);
      } else {
        for (std::size_t i = 0; i < lanes; ++i) {
          const float* const from = first + i < columns_ ? column_at(first + i) : nullptr;
          for (std::size_t k = 0; k < depth_; ++k) to[k * width + i] = from != nullptr ? from[k] : 0.0F;
        }
      }
      for (; (blocks_packed + 1) * block <= std::min(first + lanes, columns_); ++blocks_packed)
        PackingListener::tell(
            std::as_bytes(std::span(matrix + order[blocks_packed] * block * depth_, block * depth_)),
            Rereads::never);
    }
  }

  /// Those of some panels.
  struct Columns {
    std::size_t first = 0;
    std::size_t count = 0;  ///< of them that exist
    const float* data = nullptr;
    const float* next = nullptr;  ///< the panel that comes next
  };

  [[nodiscard]] Columns columns_of(std::size_t panel, std::size_t panels) const {
    Columns columns;
    columns.first = panel * panel_width();
    columns.count = std::min(panels * panel_width(), columns_ - columns.first);
    columns.data = data_.get() + columns.first * depth_;
    columns.next = panel + 1 < panels_ ? columns.data + panel_width() * depth_ : data_.get();
    return columns;
  }

  /// Narrow panels in pairs, which share the broadcasts of the only row.
  void multiply_row(const float* const* a, const float* const* init, float* const* out, std::size_t first,
                    std::size_t last) const {
    constexpr std::size_t kPanels = kVectors == 2 ? 2 : 1;
    std::size_t panel = first;
    for (; panel + kPanels <= last; panel += kPanels)
      Product<1, kPanels, false>(a, init, out, columns_of(panel, kPanels));
    for (; panel < last; ++panel) Product<1, 1, false>(a, init, out, columns_of(panel, 1));
  }

  template <std::size_t kMostRows>
  void multiply_rows(std::size_t rows, const float* const* a, const float* const* init, float* const* out,
                     const Columns& columns, bool fetches) const {
    if constexpr (kMostRows > 2) {
      if (rows < kMostRows) return multiply_rows<kMostRows - 1>(rows, a, init, out, columns, fetches);
    }
    if constexpr (!kOldProcessor) {
      if (fetches) return Product<kMostRows, 1, true>(a, init, out, columns);
    }
    Product<kMostRows, 1, false>(a, init, out, columns);
  }

  /// Few accumulators would wait for each other: so many steps along depth have some of their own. That does
  /// not depend on whether panels come in pairs.
  static constexpr std::size_t sums_of(std::size_t rows) { return rows * kVectors <= 6 ? 2 : 1; }

  template <std::size_t kProductRows, std::size_t kPanels, bool kFetches>
  void Product(const float* const* a, const float* const* init, float* const* out,
               const Columns& columns) const {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    constexpr std::size_t kSums = sums_of(kProductRows);
    constexpr std::size_t kAll = kPanels * kVectors;
    const bool is_whole = columns.count == kPanels * panel_width();
    V sums[kSums][kProductRows][kAll];
    const auto count_of = [&](std::size_t v) {
      return std::min(std::max(columns.count, v * lanes) - v * lanes, lanes);
    };
    KERNELS_UNROLL for (std::size_t i = 0; i < kProductRows; ++i) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
        const float* const from = init[i] + columns.first + v * lanes;
        sums[0][i][v] = is_whole ? hn::LoadU(d, from) : load_edge(from, count_of(v));
        KERNELS_UNROLL for (std::size_t sum = 1; sum < kSums; ++sum) sums[sum][i][v] = hn::Zero(d);
      }
    }
    Accumulate<kFetches>(a, columns, sums);
    KERNELS_UNROLL for (std::size_t i = 0; i < kProductRows; ++i) {
      KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
        KERNELS_UNROLL for (std::size_t sum = 1; sum < kSums; ++sum) {
          sums[0][i][v] = hn::Add(sums[0][i][v], sums[sum][i][v]);
        }
        float* const to = out[i] + columns.first + v * lanes;
        if (is_whole) {
          hn::StoreU(sums[0][i][v], d, to);
        } else {
          store_edge(sums[0][i][v], to, count_of(v));
        }
      }
    }
  }

  template <bool kFetches, std::size_t kSums, std::size_t kProductRows, std::size_t kAll>
  HWY_INLINE void Accumulate(const float* const* a, const Columns& columns,
                             V (&sums)[kSums][kProductRows][kAll]) const {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t width = panel_width();
    const std::size_t panel_size = width * depth_;
    const float* rows[kProductRows];
    std::copy_n(a, kProductRows, rows);
    const auto add_step = [&](std::size_t k, V(&to)[kProductRows][kAll]) HWY_ATTR {
      const float* const from = columns.data + k * width;
      if constexpr (kFetches) {
        for (std::size_t i = 0; i < width; i += kFloatsPerLine)
          fetch_to_second_level(columns.next + k * width + i);
      }
      V vectors[kAll];
      KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
        vectors[v] = hn::LoadU(d, from + v / kVectors * panel_size + v % kVectors * lanes);
      }
      KERNELS_UNROLL for (std::size_t i = 0; i < kProductRows; ++i) {
        const V factor = hn::Set(d, rows[i][k]);
        KERNELS_UNROLL for (std::size_t v = 0; v < kAll; ++v) {
          to[i][v] = hn::MulAdd(factor, vectors[v], to[i][v]);
        }
      }
    };
    std::size_t k = 0;
    for (; k + kSums <= depth_; k += kSums) {
      KERNELS_UNROLL for (std::size_t sum = 0; sum < kSums; ++sum) add_step(k + sum, sums[sum]);
    }
    for (; k < depth_; ++k) add_step(k, sums[0]);
  }

  std::size_t columns_ = 0;
  std::size_t depth_ = 0;
  std::size_t panels_ = 0;
  // Aligned: where it is not in the first-level cache, its way from the second takes all the time.
  PackedFloats data_;
};

/// Collects rows for PackedMatrix::multiply.
class RowBatch {
 public:
  void add(const float* a, const float* init, float* out) {
    a_[count_] = a;
    init_[count_] = init;
    out_[count_++] = out;
  }
  [[nodiscard]] bool full() const { return count_ == PackedMatrix::kRows; }
  /// With panels [first, last).
  void multiply(const PackedMatrix& matrix, std::size_t first, std::size_t last, bool fetches) const {
    if (count_ > 0) matrix.multiply(count_, a_.data(), init_.data(), out_.data(), first, last, fetches);
  }
  void flush(const PackedMatrix& matrix, std::size_t panel) {
    multiply(matrix, panel, panel + 1, false);
    count_ = 0;
  }

 private:
  std::size_t count_ = 0;
  std::array<const float*, PackedMatrix::kRows> a_{};
  std::array<const float*, PackedMatrix::kRows> init_{};
  std::array<float*, PackedMatrix::kRows> out_{};
};

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_SEQUENCE_RNN_PRODUCT_INL_H_
