// Weights that stay as a file has them, in fewer bits than a float: a row of them is read, turned into floats
// and multiplied in one go.
#ifndef KERNELS_WEIGHTS_COMPRESSED_WEIGHTS_H_
#define KERNELS_WEIGHTS_COMPRESSED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>

namespace ir::kernels {

struct QuantisedRow;
struct Tile;

/// How a weight is written. Of u4 and i4, the first one of a byte is its low half.
enum class WeightCode : std::uint8_t { f16, bf16, u8, i8, u4, i4 };
inline constexpr std::size_t kWeightCodes = 6;

constexpr std::size_t bits_of(WeightCode code) {
  if (code == WeightCode::f16 || code == WeightCode::bf16) return 16;
  return code == WeightCode::u4 || code == WeightCode::i4 ? 4 : 8;
}

/// A matrix [rows, terms] of weights (code - offset) * scale. Neighbouring terms of a row share scale and
/// offset.
struct CompressedForm {
  WeightCode code = WeightCode::f16;
  std::size_t rows = 0;
  std::size_t terms = 0;  ///< even for 4 bits, so that rows begin with a byte
  /// Terms that share a scale, a divisor of `terms`; even for 4 bits.
  std::size_t group = 0;

  [[nodiscard]] std::size_t row_bytes() const { return terms * bits_of(code) / 8; }
  [[nodiscard]] std::size_t groups() const { return group == 0 ? 0 : terms / group; }
};

/// Where such a matrix lies; any alignment of the codes.
struct CompressedRows {
  const std::uint8_t* codes = nullptr;  ///< [rows, row_bytes()]
  const float* scale = nullptr;         ///< of integers: [rows, groups()]; nullptr: 1
  const float* offset = nullptr;        ///< of integers; nullptr: 0
  bool one_offset = false;              ///< a single one for all, else [rows, groups()]
};

/// Rows of A that multiply_compressed takes at most as floats: with more, or on targets without it,
/// decompress is the faster way. 0 for weights of 4 bits in fewer than four rows, or whose groups are no
/// multiples of eight.
std::size_t most_arranged_rows(const CompressedForm& form);

/// Whether rows of A may be quantised before they are multiplied by multiply_compressed: weights of 4 bits,
/// on targets that have products of bytes.
bool dots_nibbles(const CompressedForm& form);

/// What rows of A are when codes meet them.
enum class RowElements : std::uint8_t { floats, bytes };

/// Floats of a row of A in the order in which it is multiplied.
std::size_t arranged_floats(const CompressedForm& form, RowElements elements);
/// Brings `rows` rows, dense, of form.terms floats into that order.
void arrange_terms(const CompressedForm& form, const float* x, std::size_t rows, float* arranged);
/// The same for the bytes of row `row` of `rows`, with scales of each `group` terms, a multiple of eight.
void arrange_bytes(const CompressedForm& form, const QuantisedRow& quantised, std::size_t group,
                   std::size_t row, std::size_t rows, float* arranged);

/// Rows of A that were arranged together: by arrange_terms() or, of bytes, by arrange_bytes().
struct ArrangedRows {
  const float* arranged = nullptr;
  std::size_t count = 0;
  RowElements elements = RowElements::floats;
};

/// Products of all of some rows of A with each of the rows [first, first + tile.columns) of weights. Of the
/// tile, the first row's, what finishes a row counts. Sums of a group, or of a thousand terms of it, are
/// added up in f32 (of bytes, eight products as integers before) in as many chains as two or four vectors
/// have lanes, and multiplied by the scale at their end; offsets times the sums of A are taken away before.
/// Where A is infinite, that may give NaN; for 4 bits, elements of A below 2^-100 lose digits.
void multiply_compressed(const CompressedForm& form, const CompressedRows& weights, const ArrangedRows& rows,
                         std::size_t first, const Tile& tile);

/// Part of a matrix.
struct CompressedPart {
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t term = 0;
  std::size_t terms = 0;
};

/// The floats of a part, rows `stride` apart: code - offset, rounded, times scale, rounded. Serial.
void decompress(const CompressedForm& form, const CompressedRows& weights, const CompressedPart& part,
                float* out, std::size_t stride);

/// All of the matrix, dense, on all threads.
void decompress(const CompressedForm& form, const CompressedRows& weights, float* out);

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_COMPRESSED_WEIGHTS_H_
