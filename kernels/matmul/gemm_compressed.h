// Matrix products whose weights stay compressed: less memory to hold, and to read where it is memory that
// takes the time.
#ifndef KERNELS_MATMUL_GEMM_COMPRESSED_H_
#define KERNELS_MATMUL_GEMM_COMPRESSED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/matmul/epilogue.h"
#include "kernels/weights/compressed_weights.h"

namespace ir::kernels {

inline constexpr std::string_view kCompressed = "compressed";
inline constexpr std::string_view kCompressedTiles = "compressed_tiles";
inline constexpr std::string_view kQuantised = "quantised";

/// out[rows, n] = A [rows, k] x transposed weights [n, k]. A few rows meet the codes where these lie; for
/// more, blocks of weights become floats, or bytes, on their way into a cache. Sums are f32; bits do not
/// depend on the number of threads. Epilogue::bias holds one value per column.
class CompressedGemm {
 public:
  CompressedGemm() = default;
  CompressedGemm(const CompressedGemm&) = delete;
  CompressedGemm& operator=(const CompressedGemm&) = delete;
  virtual ~CompressedGemm() = default;

  /// Bytes that `scratch` must have; any alignment.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// What profiles call it.
  [[nodiscard]] virtual std::string_view algorithm() const { return kCompressed; }
  /// Whether rows are quantised.
  [[nodiscard]] bool quantises() const { return algorithm() == kQuantised; }
  /// Whether `run` reads the codes: else they are packed.
  [[nodiscard]] virtual bool reads_codes() const { return true; }
  /// As Gemm::run. `out` must not overlap the operands, but may be the residual.
  virtual void run(const float* a, const CompressedRows& weights, const float* residual, float* out,
                   std::byte* scratch) const = 0;
};

/// What is known of the operands before they are there, and how near to them a product is to be. Where both
/// are known, one of one row may keep codes in a form of its own.
struct CompressedOperands {
  /// The codes, the same in every run; nullptr: not known.
  const std::uint8_t* codes = nullptr;
  bool has_offsets = false;
  /// Many elements of A are expected to be 0.
  bool zeros_in_a = false;
  /// As of GemmParams.
  bool accurate = false;
  bool whole_floats = false;
};

/// Prepares for the SIMD target of the moment. `rows`, or the form's rows, may be 0. `most_quantised`: of
/// integers, rows may be quantised to bytes while they are multiplied, so many terms at most with a scale of
/// their own, where that is faster on this target (quantised_group(); 0: never).
std::unique_ptr<CompressedGemm> create_compressed_gemm(std::size_t rows, const CompressedForm& form,
                                                       const Epilogue& epilogue,
                                                       std::size_t most_quantised = 0,
                                                       const CompressedOperands& known = {});

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_COMPRESSED_H_
