#include "kernels/matmul/gemm_narrow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/threads/parallel.h"
#include "kernels/weights/narrow_weights.h"
#include "kernels/weights/packing_pieces.h"
#include "kernels/weights/shared_packing.h"

namespace ir::kernels {
namespace {

// Sums of squares of what weights lose, of which as much is near enough: 2^-15 of their size.
constexpr double kMostLoss = 0x1p-30;

/// Where weights come from.
class NarrowSource {
 public:
  NarrowSource() = default;
  NarrowSource(const NarrowSource&) = delete;
  NarrowSource& operator=(const NarrowSource&) = delete;
  virtual ~NarrowSource() = default;

  /// The floats of some columns, vectors of `lanes` columns one behind the other, `depth` terms of each;
  /// zeros where there are no such columns.
  virtual void gather(std::size_t column, std::size_t vectors, std::size_t lanes, std::size_t term,
                      std::size_t depth, float* to) const = 0;
  /// Calls pack(columns, blocks) for parts of the axes of columns and terms, and tells what has been packed.
  virtual void pack(const AxisParts& columns, const AxisParts& blocks,
                    FunctionRef<void(const PartRange& columns, const PartRange& blocks)> pack,
                    Rereads rereads) const = 0;
};

/// A right operand of floats.
class FloatSource final : public NarrowSource {
 public:
  FloatSource(const GemmParams& params, const float* floats) : params_(params), floats_(floats) {}

  void gather(std::size_t column, std::size_t vectors, std::size_t lanes, std::size_t term, std::size_t depth,
              float* to) const override {
    const GemmKernels& packing = gemm_kernels();
    for (std::size_t v = 0; v < vectors; ++v, column += lanes, to += depth * lanes) {
      if (column >= params_.n) {
        std::fill_n(to, depth * lanes, 0.0F);
        continue;
      }
      const std::size_t count = std::min(lanes, params_.n - column);
      if (params_.transpose_b) {
        packing.pack_columns_transposed(floats_ + column * params_.k + term, params_.k, depth, count, to);
      } else {
        packing.pack_columns(floats_ + term * params_.n + column, params_.n, depth, count, to);
      }
    }
  }

  void pack(const AxisParts& columns, const AxisParts& blocks,
            FunctionRef<void(const PartRange& columns, const PartRange& blocks)> pack,
            Rereads rereads) const override {
    pack_operand_in_pieces(floats_, params_.transpose_b, columns, blocks, pack, rereads);
  }

 private:
  const GemmParams& params_;
  const float* floats_;
};

/// Rows of codes: each is a column. Integers are what they are without scales and offsets.
class CodeSource final : public NarrowSource {
 public:
  CodeSource(const CompressedForm& form, const std::uint8_t* codes) : form_(form), codes_(codes) {}

  void gather(std::size_t column, std::size_t vectors, std::size_t lanes, std::size_t term, std::size_t depth,
              float* to) const override {
    const std::size_t end = std::min(form_.rows, column + vectors * lanes);
    std::vector<float> rows(lanes * depth);
    for (std::size_t v = 0; v < vectors; ++v, column += lanes, to += depth * lanes) {
      const std::size_t count = column < end ? std::min(lanes, end - column) : 0;
      std::fill_n(to, count < lanes ? depth * lanes : 0, 0.0F);
      if (count == 0) continue;
      decompress(form_, {codes_, nullptr, nullptr, false}, {column, count, term, depth}, rows.data(), depth);
      gemm_kernels().pack_columns_transposed(rows.data(), depth, depth, count, to);
    }
  }

  void pack(const AxisParts& columns, const AxisParts& blocks,
            FunctionRef<void(const PartRange& columns, const PartRange& blocks)> pack,
            Rereads rereads) const override {
    const auto source = [&](std::size_t part) {
      return codes_ + std::min(columns.begin(part), columns.size) * form_.row_bytes();
    };
    const auto pack_columns = [&](std::size_t first, std::size_t last) {
      pack({first, last}, {0, blocks.count});
    };
    pack_in_pieces(columns.count, source, pack_columns, rereads);
  }

 private:
  const CompressedForm& form_;
  const std::uint8_t* codes_;
};

/// Rows times weights in the first one of some forms that is near enough to them, or the last one.
class NarrowProduct {
 public:
  NarrowProduct(const GemmParams& params, std::span<const NarrowForm* const> forms,
                std::span<const float> constant, const NarrowSource& source, const Epilogue& epilogue)
      : kernels_(narrow_kernels()),
        params_(params),
        epilogue_(epilogue, params),
        // What meets a zero of one row is read for another.
        units_(divide_up(params.n, kernels_.columns()),
               params.zeros_in_a && params.m == 1 ? kernels_.most_units : 1),
        groups_(divide_up(params.k, NarrowKernels::kGroupTerms), groups_of_part()),
        blocks_(groups_.total, groups_at_once()) {
    for (const NarrowForm* const form : forms) {
      form_ = form;
      weights_.reset();
      weights_ = packed_once(
          constant,
          {form->name, {&kernels_}, {params.k, params.n, params.transpose_b ? 1U : 0U, units_.parts}},
          kFloatsPerLine + units_.total * form->floats(params.k), [&](float* to) {
            const auto rereads = form == forms.back() ? Rereads::never : Rereads::maybe;
            const NarrowLoss loss = pack(source, to + kFloatsPerLine, rereads);
            // Of 0: all are 0, or too small for their squares.
            const bool is_near = loss.errors <= kMostLoss * loss.weights && std::isnormal(loss.weights);
            to[kIsNear] = is_near ? 1.0F : 0.0F;
            to[kIsFinite] = std::isfinite(loss.weights) ? 1.0F : 0.0F;
          });
      if (weights_.get()[kIsNear] == 0) continue;
      if (form != forms.back()) PackingListener::tell(std::as_bytes(constant), Rereads::never);
      break;
    }
  }

  [[nodiscard]] std::size_t scratch_bytes() const {
    return scratch_bytes_for(params_.m * groups_.parts * row_floats());
  }

  /// `column_scale`: of columns; nullptr: 1.
  void run(const float* a, const float* column_scale, const float* residual, float* out,
           std::byte* scratch) const {
    float* const sums = aligned_scratch(scratch);
    const std::size_t columns = units_.largest() * kernels_.columns();
    parallel_for(units_.parts * groups_.parts,
                 grain_for_cost(params_.m * columns * groups_.largest() * NarrowKernels::kGroupTerms),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t task = begin; task < end; ++task)
                     multiply(a, task / groups_.parts, task % groups_.parts, sums);
                 });
    parallel_for(units_.total, grain_for_cost(params_.m * groups_.parts * NarrowKernels::kVectors),
                 [&](std::size_t begin, std::size_t end) {
                   const std::size_t first = begin * kernels_.columns();
                   const std::size_t last = std::min(params_.n, end * kernels_.columns());
                   for (std::size_t row = 0; row < params_.m; ++row)
                     finish_row(row, {first, last}, column_scale, residual, out, sums);
                 });
  }

 private:
  /// Of terms, so many that there is work for many threads, and sums of parts are few beside weights.
  [[nodiscard]] std::size_t groups_of_part() const {
    constexpr std::size_t kTasks = 32;
    const std::size_t groups = divide_up(params_.k, NarrowKernels::kGroupTerms);
    const std::size_t share = divide_up(groups, std::max<std::size_t>(kTasks / units_.parts, 1));
    return units_.largest() == 1 ? share : std::min(share, kMostGroups);
  }

  /// Sums become results of some columns of a row.
  void finish_row(std::size_t row, const PartRange& columns, const float* column_scale, const float* residual,
                  float* out, const float* sums) const {
    const std::size_t place = row * params_.n + columns.first;
    Tile tile = epilogue_.row_tile(params_.bias_axis, columns.first, columns.last - columns.first,
                                   epilogue_.residual() ? residual + place : nullptr, out + place);
    if (tile.row_bias != nullptr) tile.row_bias += row;
    tile.column_scale = column_scale == nullptr ? nullptr : column_scale + columns.first;
    kernels_.finish(sums + row * groups_.parts * row_floats() + columns.first, groups_.parts, row_floats(),
                    tile);
    epilogue_.post_rows(tile.out, tile.columns, 1, tile.columns, 0);
  }

  /// Of columns that lie together, so many are gathered at a time that memory is read and written in long
  /// stretches, and that the second-level cache holds them; of few weights, or where terms lie together, so
  /// few that room for them, and pieces of terms, are small.
  [[nodiscard]] bool are_many() const {
    constexpr std::size_t kManyWeights = std::size_t{1} << 22;
    return params_.transpose_b && params_.n * params_.k >= kManyWeights;
  }
  [[nodiscard]] std::size_t units_at_once() const { return are_many() ? NarrowKernels::kUnitsAtOnce : 1; }
  [[nodiscard]] std::size_t groups_at_once() const {
    constexpr std::size_t kFewGroups = 8;
    constexpr std::size_t kFloats = std::size_t{1} << 17;
    return are_many() ? kFloats / (NarrowKernels::kGroupTerms * columns_at_once()) : kFewGroups;
  }
  [[nodiscard]] std::size_t columns_at_once() const { return units_at_once() * kernels_.columns(); }
  [[nodiscard]] std::size_t first_term(std::size_t block) const {
    return std::min(blocks_.begin(block) * NarrowKernels::kGroupTerms, params_.k);
  }

  /// Of a row of sums.
  [[nodiscard]] std::size_t row_floats() const { return units_.total * kernels_.columns(); }

  /// Where the panel that begins with a unit lies.
  [[nodiscard]] std::size_t panel_place(std::size_t unit) const { return unit * form_->floats(params_.k); }

  void multiply(const float* a, std::size_t panel, std::size_t part, float* sums) const {
    const std::size_t unit = units_.begin(panel);
    const std::size_t units = units_.size(panel);
    const std::size_t first = groups_.begin(part) * NarrowKernels::kGroupTerms;
    const std::size_t end = std::min(params_.k, groups_.begin(part + 1) * NarrowKernels::kGroupTerms);
    const float* const weights = weights_.get() + kFloatsPerLine + panel_place(unit);
    const float* const from = weights + units * form_->floats(first);
    float* const to = sums + part * row_floats() + unit * kernels_.columns();
    if (params_.m == 1) {
      form_->multiply({a + first, end - first, weights_.get()[kIsFinite] != 0}, from, units, to);
    } else {
      form_->multiply_rows({a + first, params_.k, params_.m, end - first}, from, to,
                           groups_.parts * row_floats());
    }
  }

  NarrowLoss pack(const NarrowSource& source, float* to, Rereads rereads) const {
    const std::size_t stretches = divide_up(units_.total, units_at_once());
    std::vector<NarrowLoss> losses(stretches * blocks_.parts);
    const auto pack_blocks = [&](const PartRange& columns, const PartRange& blocks) {
      const std::size_t count = blocks.last - blocks.first;
      parallel_for((columns.last - columns.first) * count, 1, [&](std::size_t begin, std::size_t end) {
        AlignedFloats floats(blocks_.largest() * NarrowKernels::kGroupTerms * columns_at_once());
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t stretch = columns.first + i / count;
          const std::size_t block = blocks.first + i % count;
          losses[stretch * blocks_.parts + block] = pack_block(source, stretch, block, floats.data(), to);
        }
      });
    };
    const auto column = [&](std::size_t stretch) { return stretch * columns_at_once(); };
    const auto term = [&](std::size_t block) { return first_term(block); };
    source.pack({stretches, params_.n, column}, {blocks_.parts, params_.k, term}, pack_blocks, rereads);
    NarrowLoss sum;
    for (const NarrowLoss& loss : losses) sum += loss;
    return sum;
  }

  /// Of units that are narrowed at once.
  NarrowLoss pack_block(const NarrowSource& source, std::size_t stretch, std::size_t block, float* floats,
                        float* to) const {
    const std::size_t term = first_term(block);
    const std::size_t depth = first_term(block + 1) - term;
    std::size_t unit = stretch * units_at_once();
    const std::size_t end = std::min(unit + units_at_once(), units_.total);
    source.gather(unit * kernels_.columns(), (end - unit) * NarrowKernels::kVectors, kernels_.lanes, term,
                  depth, floats);
    NarrowLoss sum;
    while (unit < end) {
      const std::size_t panel = units_.part_of(unit);
      const std::size_t first = units_.begin(panel);
      const std::size_t units = units_.size(panel);
      const std::size_t count = std::min(end, first + units) - unit;
      sum += form_->narrow(
          floats, depth, {to + panel_place(first) + units * form_->floats(term), units, unit - first, count});
      floats += count * kernels_.columns() * depth;
      unit += count;
    }
    return sum;
  }

  static constexpr std::size_t kMostGroups = NarrowKernels::kMostTerms / NarrowKernels::kGroupTerms;
  // What a line in front of the weights says: whether the form is near enough to them, and all are finite.
  static constexpr std::size_t kIsNear = 0;
  static constexpr std::size_t kIsFinite = 1;

  const NarrowKernels& kernels_;
  GemmParams params_;
  OwnedEpilogue epilogue_;
  Split units_;   ///< of columns, in panels
  Split groups_;  ///< of terms, in parts
  Split blocks_;  ///< of groups, that are packed at a time
  const NarrowForm* form_ = nullptr;
  PackedFloats weights_;
};

/// For weights of any kind, the smaller ones first.
std::array<const NarrowForm*, 2> forms_of_floats() {
  const NarrowKernels& kernels = narrow_kernels();
  return {&kernels.integers, &kernels.floats};
}

class NarrowGemm final : public Gemm {
 public:
  NarrowGemm(const GemmParams& params, const float* constant, const Epilogue& epilogue)
      : product_(params, forms_of_floats(), {constant, params.k * params.n}, FloatSource(params, constant),
                 epilogue) {}

  std::string_view algorithm() const override { return kNarrow; }
  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  void run(const float* a, const float*, const float* residual, float* out,
           std::byte* scratch) const override {
    product_.run(a, nullptr, residual, out, scratch);
  }

 private:
  NarrowProduct product_;
};

/// The product of floats that a row with zeros and known codes make.
GemmParams product_of_known(std::size_t rows, const CompressedForm& form) {
  GemmParams params = product_of(rows, form);
  params.constant = GemmConstant::b;
  params.zeros_in_a = true;
  return params;
}

/// Codes are packed, scales are given to every run.
class NarrowCompressedGemm final : public CompressedGemm {
 public:
  NarrowCompressedGemm(const CompressedForm& form, const std::uint8_t* codes, const Epilogue& epilogue)
      : product_(product_of_known(1, form), forms_of(form.code), {}, CodeSource(form, codes), epilogue) {}

  std::string_view algorithm() const override { return kNarrow; }
  std::size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  bool reads_codes() const override { return false; }
  void run(const float* a, const CompressedRows& weights, const float* residual, float* out,
           std::byte* scratch) const override {
    product_.run(a, weights.scale, residual, out, scratch);
  }

 private:
  static std::vector<const NarrowForm*> forms_of(WeightCode code) {
    if (code == WeightCode::i8) return {&narrow_kernels().bytes};
    const auto forms = forms_of_floats();
    return {forms.begin(), forms.end()};
  }

  NarrowProduct product_;
};

}  // namespace

bool takes_narrow(const GemmParams& params) {
  // 1 MiB of floats: what a second-level cache may hold of them after other layers. Fewer gain by less.
  constexpr std::size_t kLeastWeights = std::size_t{1} << 18;
  // Of more than two rows, widening takes longer than reading from the last cache: 8 MiB are hardly there.
  constexpr std::size_t kLeastOfMoreRows = std::size_t{1} << 21;
  // They would lie beside the panels, where else the weights themselves do.
  if (params.shares_packing && !params.transpose_b) return false;
  if (params.m == 0 || params.m > narrow_kernels().most_rows || (params.m > 1 && params.transpose_a))
    return false;
  return params.batch.empty() && params.constant == GemmConstant::b && params.n != 0 &&
         params.k >= (params.m > 2 ? kLeastOfMoreRows : kLeastWeights) / params.n;
}

double row_cost(const GemmParams& params, std::size_t bits) {
  constexpr double kBitsPerCycle = 64;
  return static_cast<double>(params.k) * static_cast<double>(params.n * bits) / kBitsPerCycle;
}

std::unique_ptr<Gemm> create_narrow_gemm(const GemmParams& params, const float* constant,
                                         const Epilogue& epilogue) {
  return std::make_unique<NarrowGemm>(params, constant, epilogue);
}

bool takes_narrow_codes(std::size_t rows, const CompressedForm& form, const CompressedOperands& known) {
  const bool is_scaled_once = form.code == WeightCode::i8 && form.group == form.terms && !known.has_offsets;
  return rows == 1 && known.codes != nullptr && known.zeros_in_a && form.rows * form.terms <= kMostUnasked &&
         (bits_of(form.code) == 16 || is_scaled_once) && takes_narrow(product_of_known(rows, form));
}

std::unique_ptr<CompressedGemm> create_narrow_compressed_gemm(const CompressedForm& form,
                                                              const std::uint8_t* codes,
                                                              const Epilogue& epilogue) {
  return std::make_unique<NarrowCompressedGemm>(form, codes, epilogue);
}

}  // namespace ir::kernels
