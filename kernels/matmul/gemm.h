// Matrix products: a prepared f32 kernel (packed panels, register tiles) and a plain one for every other
// type.
#ifndef KERNELS_MATMUL_GEMM_H_
#define KERNELS_MATMUL_GEMM_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/matmul/epilogue.h"
#include "kernels/weights/constant_weights.h"

namespace ir::kernels {

class IntegerWeights;
struct IntegerGrid;

/// Which operand is known when the kernel is prepared; it is packed once and its original is not needed
/// again.
enum class GemmConstant { none, a, b };

/// Whether Epilogue::bias holds one value per row (m of them) or per column (n of them) of the product.
enum class BiasAxis { row, column };

/// One axis of the batch. Strides are in elements of the operand; 0 broadcasts its matrix along the axis.
struct GemmBatchAxis {
  std::size_t count = 1;
  std::size_t a_stride = 0;
  std::size_t b_stride = 0;
};

/// Where all bits of operands count (GemmParams::whole_floats), algorithms that add operands up (Strassen's,
/// Winograd's) are taken for so much slower than they are.
inline constexpr double kPriceOfSums = 1.25;

/// out[batch..., m, n] = A x B for dense row-major matrices. Any of m, n, k and the counts may be 0 (k == 0
/// sums to zero).
struct GemmParams {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  bool transpose_a = false;  ///< A is stored as [k, m] instead of [m, k]
  bool transpose_b = false;  ///< B is stored as [n, k] instead of [k, n]
  GemmConstant constant = GemmConstant::none;
  /// The constant operand is given to every run, too: a product that would gain nothing by packing reads it
  /// there. See Gemm::reads_constant.
  bool constant_stays = false;
  /// Products of other numbers of rows are prepared for the same constant: one form for all saves memory.
  bool shares_packing = false;
  BiasAxis bias_axis = BiasAxis::column;
  /// Outermost axis first; `out` and the residual are dense over them. Empty: one product.
  std::vector<GemmBatchAxis> batch;
  /// Only add up the products of the definition, with all bits of weights.
  bool accurate = false;
  /// Keep all bits of operands in matrix tiles, and add operands up only where that gains much.
  bool whole_floats = false;
  /// Many elements of A are expected to be 0: a product of one row may then be prepared not to read what they
  /// meet.
  bool zeros_in_a = false;
  /// A and the constant B as integers, if they are (integer_columns). nullptr: not known.
  std::shared_ptr<const IntegerWeights> integers;
  /// Most threads that one `run` uses, which bounds the scratch; 0: thread_slots() of the preparing thread.
  std::size_t max_threads = 0;
};

/// A prepared f32 product. `run` is const and may be called from several threads with different scratch.
/// Sums are f32, with fused multiply-add where the target has it, in blocks of at most 256 terms along k: the
/// error is below (k / 192 + 260) * 2^-24 * sum |a| |b|, in practice near its square root. (A single row
/// times a B that is read in place sums its k terms in one chain; in as many as a vector has lanes where B is
/// transposed.) Strassen's form, which serves most products of some hundred rows, columns and terms with
/// known weights, adds up two rows of A at a time, two columns of B and halves of the terms
/// before it multiplies: its error is below 4.5 * k * (k + 12) * 2^-24 * the largest |a| of both rows * the
/// largest |b| of both columns. In two levels, it adds up four of them, and quarters of the terms, and the
/// bound is 20.25 * k * (k + 24) times the same. Rows or columns whose root mean squares differ by more than
/// a factor of 64, or that are not finite, are not added up. Sums of integers are exact; of those of
/// matrix tiles, matrix_tiles.h tells. A single row meets
/// large known weights in 16 bits where these are near enough, else without the last eight bits of theirs,
/// rounded: the error grows by 2^-15 of the root of the sum of squares, or by 2^-16 * sum |a| |b|, in
/// practice by 5 to 6 millionths of that root. Bits do not depend on the number
/// of threads.
class Gemm {
 public:
  Gemm() = default;
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  virtual ~Gemm() = default;

  /// For profiles: "gemm", "strassen", "strassen_twice", "matrix_tiles", "integer",
  /// "integer_tiles", "gemv" or "gemv_narrow".
  [[nodiscard]] virtual std::string_view algorithm() const = 0;
  /// Bytes that `scratch` must have; any alignment. May be 0.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Whether `run` reads the constant operand from its argument.
  [[nodiscard]] virtual bool reads_constant() const { return false; }
  /// `a` or `b` is ignored when it was the constant and is not read; `residual` when Epilogue::residual is
  /// false. `out` must not overlap the operands; `scratch` may be nullptr when scratch_bytes() is 0.
  virtual void run(const float* a, const float* b, const float* residual, float* out,
                   std::byte* scratch) const = 0;
};

/// What an algorithm is expected to take.
struct GemmAlgorithm {
  std::string_view name;
  double cycles = 0;  ///< about; of one core
};

/// The algorithms for a product whose bias, if any, is one per column: the one that is expected to be the
/// fastest first. Empty where there is no choice.
std::vector<GemmAlgorithm> gemm_algorithms(const GemmParams& params);

/// What create_gemm may know of quantised products (GemmParams::integers): whether the constant `b` is made
/// of integers, where `a` says that A is. nullptr where it is not, or where it would not help.
std::shared_ptr<const IntegerWeights> integer_columns(const GemmParams& params, const ConstantWeights& b,
                                                      const IntegerGrid& a);

/// Prepares for the SIMD target of the moment. `constant` is the operand that `params.constant` names, with
/// all matrices that the batch strides reach; nullptr when it names none. `algorithm` is one of
/// gemm_algorithms(), and nullptr is returned when it does not take the product; "": a cost model chooses.
/// MatMul-1 is the definition.
std::unique_ptr<Gemm> create_gemm(const GemmParams& params, const ConstantWeights& constant,
                                  const Epilogue& epilogue, std::string_view algorithm = {});

/// The same product for any element type: `constant`, `bias_axis` and `max_threads` of the parameters are
/// ignored. float sums in float, double in double, integers in 64 bits, wrapping to T at the end.
/// Correct and parallel, not fast. T: float, double, (u)int8_t .. (u)int64_t.
template <class T>
void gemm_generic(const GemmParams& params, const T* a, const T* b, T* out);

}  // namespace ir::kernels

#endif  // KERNELS_MATMUL_GEMM_H_
