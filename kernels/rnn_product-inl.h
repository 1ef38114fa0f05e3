// out = init + a B for a few rows at a time and a B that is packed once: the matrix product of
// kernels/rnn.cc. Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_RNN_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_RNN_PRODUCT_INL_H_
#undef KERNELS_RNN_PRODUCT_INL_H_
#else
#define KERNELS_RNN_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "hwy/highway.h"
#include "kernels/aligned_floats.h"
#include "kernels/gemm-inl.h"
#include "kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A matrix [columns, depth] as panels of four vectors of columns: what a step along depth needs is adjacent.
/// Columns beyond the last one are zero.
class PackedMatrix {
 public:
  /// Most rows of `a` in one product: 3 x 4 accumulators, three broadcasts and a panel vector fill the
  /// sixteen registers of AVX2; AVX-512 has twice as many.
#if HWY_TARGET == HWY_AVX3
  static constexpr std::size_t kRows = 6;
#else
  static constexpr std::size_t kRows = 3;
#endif
  static constexpr std::size_t kVectors = 4;
  static std::size_t panel_width() { return kVectors * hn::Lanes(D()); }

  PackedMatrix() = default;
  /// The columns come in blocks of `block`, of which `order` says where they stand in `matrix`.
  PackedMatrix(const float* matrix, std::span<const std::size_t> order, std::size_t block, std::size_t depth)
      : columns_(order.size() * block),
        depth_(depth),
        panels_((columns_ + panel_width() - 1) / panel_width()) {
    const std::size_t width = panel_width();
    data_ = AlignedFloats(panels_ * depth * width);
    const auto column_at = [&](std::size_t column) {
      return matrix + (order[column / block] * block + column % block) * depth;
    };
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t first = 0; first < panels_ * width; first += lanes) {
      float* const to = data_.data() + first / width * depth * width + first % width;
      if (first + lanes <= columns_ && first / block == (first + lanes - 1) / block) {
        pack_rows_as_columns(d, column_at(first), depth, depth, to, width);
        continue;
      }
      for (std::size_t i = 0; i < lanes; ++i) {
        const float* const from = first + i < columns_ ? column_at(first + i) : nullptr;
        for (std::size_t k = 0; k < depth; ++k) to[k * width + i] = from != nullptr ? from[k] : 0.0F;
      }
    }
  }

  [[nodiscard]] std::size_t panels() const { return panels_; }

  /// out[i][columns of the panel] = init[i][..] + a[i] * panel for `rows` <= kRows rows. `out` may be `init`.
  void multiply(std::size_t rows, const float* const* a, const float* const* init, float* const* out,
                std::size_t panel) const {
    const std::size_t first = panel * panel_width();
    const float* from = data_.data() + first * depth_;
    const std::size_t valid = std::min(panel_width(), columns_ - first);
    multiply_rows<kRows>(rows, a, init, out, from, first, valid);
  }

 private:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  /// One vector of four, by name: Highway's vectors of scalable targets cannot stand in arrays.
  struct Sums {
    V v0, v1, v2, v3;

    HWY_INLINE void add_product(V x, const float* panel, std::size_t lanes) {
      const D d;
      v0 = hn::MulAdd(x, hn::LoadU(d, panel), v0);
      v1 = hn::MulAdd(x, hn::LoadU(d, panel + lanes), v1);
      v2 = hn::MulAdd(x, hn::LoadU(d, panel + 2 * lanes), v2);
      v3 = hn::MulAdd(x, hn::LoadU(d, panel + 3 * lanes), v3);
    }
    HWY_INLINE void add(const Sums& other) {
      v0 = hn::Add(v0, other.v0);
      v1 = hn::Add(v1, other.v1);
      v2 = hn::Add(v2, other.v2);
      v3 = hn::Add(v3, other.v3);
    }
    static HWY_INLINE Sums zero() {
      const V zero = hn::Zero(D());
      return {zero, zero, zero, zero};
    }
    static HWY_INLINE Sums load(const float* from, std::size_t lanes) {
      const D d;
      return {hn::LoadU(d, from), hn::LoadU(d, from + lanes), hn::LoadU(d, from + 2 * lanes),
              hn::LoadU(d, from + 3 * lanes)};
    }
    HWY_INLINE void store(float* to, std::size_t lanes) const {
      const D d;
      hn::StoreU(v0, d, to);
      hn::StoreU(v1, d, to + lanes);
      hn::StoreU(v2, d, to + 2 * lanes);
      hn::StoreU(v3, d, to + 3 * lanes);
    }
  };

  template <std::size_t kMostRows>
  void multiply_rows(std::size_t rows, const float* const* a, const float* const* init, float* const* out,
                     const float* panel, std::size_t first, std::size_t valid) const {
    if constexpr (kMostRows > 1) {
      if (rows < kMostRows) return multiply_rows<kMostRows - 1>(rows, a, init, out, panel, first, valid);
    }
    Product<kMostRows>(a, init, out, panel, first, valid);
  }

  template <std::size_t kProductRows>
  void Product(const float* const* a, const float* const* init, float* const* out, const float* panel,
               std::size_t first, std::size_t valid) const {
    const std::size_t lanes = hn::Lanes(D());
    HWY_ALIGN float last_panel[kVectors * HWY_MAX_BYTES / sizeof(float)];
    const bool whole = valid == panel_width();
    Sums sums[kProductRows];
    for (std::size_t i = 0; i < kProductRows; ++i) {
      const float* from = init[i] + first;
      if (!whole) {
        std::fill(std::copy(from, from + valid, last_panel), last_panel + panel_width(), 0.0F);
        from = last_panel;
      }
      sums[i] = Sums::load(from, lanes);
    }
    Accumulate<kProductRows>(a, panel, lanes, sums);
    for (std::size_t i = 0; i < kProductRows; ++i) {
      if (whole) {
        sums[i].store(out[i] + first, lanes);
      } else {
        sums[i].store(last_panel, lanes);
        std::copy(last_panel, last_panel + valid, out[i] + first);
      }
    }
  }

  template <std::size_t kProductRows>
  HWY_INLINE void Accumulate(const float* const* a, const float* panel, std::size_t lanes, Sums* sums) const {
    const D d;
    const std::size_t width = panel_width();
    std::size_t k = 0;
    if constexpr (kProductRows == 1) {
      // Four accumulators would wait for each other; a second set takes the odd steps.
      Sums odd = Sums::zero();
      for (; k + 2 <= depth_; k += 2) {
        sums[0].add_product(hn::Set(d, a[0][k]), panel + k * width, lanes);
        odd.add_product(hn::Set(d, a[0][k + 1]), panel + (k + 1) * width, lanes);
      }
      sums[0].add(odd);
    }
    for (; k < depth_; ++k) {
      KERNELS_UNROLL for (std::size_t i = 0; i < kProductRows; ++i) {
        sums[i].add_product(hn::Set(d, a[i][k]), panel + k * width, lanes);
      }
    }
  }

  std::size_t columns_ = 0;
  std::size_t depth_ = 0;
  std::size_t panels_ = 0;
  // Aligned: where it is not in the first-level cache, its way from the second takes all the time.
  AlignedFloats data_;
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
  void flush(const PackedMatrix& matrix, std::size_t panel) {
    if (count_ > 0) matrix.multiply(count_, a_.data(), init_.data(), out_.data(), panel);
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

#endif  // KERNELS_RNN_PRODUCT_INL_H_
