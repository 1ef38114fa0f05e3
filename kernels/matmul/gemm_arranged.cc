#include <algorithm>

#include "kernels/base/aligned_floats.h"
#include "kernels/matmul/compressed_product.h"
#include "kernels/matmul/compressed_rows.h"
#include "kernels/matmul/gemm_block.h"
#include "kernels/matmul/quantised_rows.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Rows meet codes where these lie, some at a time: codes become floats in registers, or, where rows are
/// quantised, bytes.
class ArrangedGemm final : public CompressedGemm {
 public:
  /// `group`: terms of a row that share a scale; 0: rows stay floats.
  ArrangedGemm(std::size_t rows, const CompressedForm& form, std::size_t group, const Epilogue& epilogue)
      : rows_(rows), group_(group), form_(form), epilogue_(epilogue, product_of(rows, form)) {}

  std::size_t scratch_bytes() const override {
    return scratch_bytes_for(arranged_floats() + rows_ * row_floats());
  }

  std::string_view algorithm() const override { return group_ != 0 ? kQuantised : kCompressed; }

  void run(const float* a, const CompressedRows& weights, const float* residual, float* out,
           std::byte* scratch) const override {
    float* const arranged = aligned_scratch(scratch);
    if (quantises()) {
      quantise(a, arranged);
    } else {
      arrange_terms(form_, a, rows_, arranged);
    }
    const std::size_t stride = kernels::arranged_floats(form_, elements());
    const std::size_t row_blocks = divide_up(rows_, kRows);
    parallel_for(
        divide_up(form_.rows, kColumns) * row_blocks,
        grain_for_cost(std::min(rows_, kRows) * kColumns * form_.terms),
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t task = begin; task < end; ++task) {
            const std::size_t column = task / row_blocks * kColumns;
            const std::size_t row = task % row_blocks * kRows;
            const std::size_t rows = std::min(kRows, rows_ - row);
            const std::size_t place = row * form_.rows + column;
            Tile tile = epilogue_.row_tile(BiasAxis::column, column, std::min(kColumns, form_.rows - column),
                                           epilogue_.residual() ? residual + place : nullptr, out + place);
            tile.stride = form_.rows;
            multiply_compressed(form_, weights, {arranged + row * stride, rows, elements()}, column, tile);
            epilogue_.post_rows(tile.out, tile.stride, rows, tile.columns, 0);
          }
        });
  }

 private:
  [[nodiscard]] RowElements elements() const {
    return quantises() ? RowElements::bytes : RowElements::floats;
  }
  [[nodiscard]] std::size_t arranged_floats() const {
    return round_up_to_line(rows_ * kernels::arranged_floats(form_, elements()));
  }
  /// Of a row: its bytes, then scales and sums of its groups.
  [[nodiscard]] std::size_t byte_floats() const {
    return round_up_to_line(divide_up(form_.terms, sizeof(float)));
  }
  [[nodiscard]] std::size_t row_floats() const {
    return quantises() ? byte_floats() + round_up_to_line(2 * (form_.terms / group_)) : 0;
  }

  void quantise(const float* a, float* arranged) const {
    parallel_for(rows_, grain_for_cost(form_.terms), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        float* const bytes = arranged + arranged_floats() + row * row_floats();
        float* const scale = bytes + byte_floats();
        const QuantisedRow quantised{reinterpret_cast<std::int8_t*>(bytes), scale, 1,
                                     scale + form_.terms / group_};
        quantise_row(a + row * form_.terms, form_.terms, group_, form_.code, quantised);
        arrange_bytes(form_, quantised, group_, row, rows_, arranged);
      }
    });
  }

  static constexpr std::size_t kRows = 64;  ///< of a task
  static_assert(kRows % kAtOnce == 0, "rows that are arranged together stay together");
  std::size_t rows_;
  std::size_t group_;
  CompressedForm form_;
  OwnedEpilogue epilogue_;
};

}  // namespace

std::unique_ptr<CompressedGemm> create_arranged_gemm(std::size_t rows, const CompressedForm& form,
                                                     std::size_t group, const Epilogue& epilogue) {
  return std::make_unique<ArrangedGemm>(rows, form, group, epilogue);
}

}  // namespace ir::kernels
