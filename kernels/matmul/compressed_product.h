// The products of gemm_compressed.h, one by one, and what they share. Internal to kernels/.
#ifndef KERNELS_MATMUL_COMPRESSED_PRODUCT_H_
#define KERNELS_MATMUL_COMPRESSED_PRODUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/base/aligned_floats.h"
#include "kernels/base/fetch.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/gemm_compressed.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/weights/compressed_weights.h"

namespace ir::kernels {

/// The product of floats that it is.
inline GemmParams product_of(std::size_t rows, const CompressedForm& form) {
  GemmParams params;
  params.m = rows;
  params.n = form.rows;
  params.k = form.terms;
  params.transpose_b = true;
  return params;
}

/// Rows meet codes where these lie: at most most_arranged_rows() of floats, `group` 0; or any number of rows
/// that are quantised, with a scale for `group` terms (quantised_group()), where dots_nibbles().
std::unique_ptr<CompressedGemm> create_arranged_gemm(std::size_t rows, const CompressedForm& form,
                                                     std::size_t group, const Epilogue& epilogue);

/// Rows are quantised to bytes while they run. `group`: not 0, from quantised_group(). Only where
/// multiplies_bytes().
std::unique_ptr<CompressedGemm> create_quantised_gemm(std::size_t rows, const CompressedForm& form,
                                                      std::size_t group, const Epilogue& epilogue);

/// In matrix tiles, of floats.
std::unique_ptr<CompressedGemm> create_tiles_compressed_gemm(std::size_t rows, const CompressedForm& form,
                                                             const MatrixTiles& tiles,
                                                             const Epilogue& epilogue);

/// Fetches codes while others are multiplied, a share for each panel of rows: all at once they would wait for
/// each other. They lie in pieces of rows, which hardware does not foresee.
class CodesAhead {
 public:
  CodesAhead(const CompressedForm& form, const CompressedRows& weights)
      : form_(form), codes_(weights.codes) {}

  void start(const CompressedPart& part, std::size_t shares) {
    from_ = codes_ + part.row * form_.row_bytes() + part.term * bits_of(form_.code) / 8;
    bytes_ = part.terms * bits_of(form_.code) / 8;
    rows_ = part.rows;
    share_ = divide_up(part.rows, shares);
  }

  void fetch_share() {
    const std::size_t rows = std::min(share_, rows_);
    for (std::size_t row = 0; row < rows; ++row, from_ += form_.row_bytes()) {
      for (std::size_t byte = 0; byte < bytes_; byte += kCacheLine) fetch(from_ + byte);
      fetch(from_ + bytes_ - 1);
    }
    rows_ -= rows;
  }

 private:
  static void fetch(const std::uint8_t* codes) {
    fetch_to_second_level(reinterpret_cast<const float*>(codes));
  }

  const CompressedForm& form_;
  const std::uint8_t* codes_;
  const std::uint8_t* from_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t rows_ = 0;
  std::size_t share_ = 0;
};

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_COMPRESSED_PRODUCT_H_
