#include <algorithm>
#include <vector>

#include "kernels/matmul/gemm_kernels.h"
#include "tests/kernels/support.h"

namespace ir::kernels {

using test::fill_random;
using test::GuardedBuffer;
using test::sizes_around_lanes;

TEST_CASE("a walk through the parts of a split finds what dividing finds") {
  for (const std::size_t total : {0, 1, 5, 6, 7, 63, 64, 65, 1000, 4097}) {
    for (const std::size_t most : {1, 2, 3, 6, 8, 20, 64}) {
      const Split split(total, most);
      CAPTURE(total, most);
      for (std::size_t first = 0; first < split.parts; ++first) {
        PartWalk walk(split, first);
        bool agrees = true;
        for (std::size_t part = first; part < split.parts; ++part, walk.next())
          agrees = agrees && walk.begin() == split.begin(part) && walk.size() == split.size(part);
        CAPTURE(first);
        REQUIRE(agrees);
        REQUIRE(walk.begin() == total);
      }
    }
  }
}

TEST_CASE("Rows are packed in panels, terms one behind the other") {
  IR_FOR_EACH_TARGET();
  const GemmKernels& kernels = gemm_kernels();
  for (const std::size_t rows : sizes_around_lanes(33)) {
    for (const std::size_t depth : {0, 1, 3, 4, 5, 9, 16, 31}) {
      for (const std::size_t most : {std::size_t{1}, std::size_t{3}, kernels.max_rows, std::size_t{64}}) {
        const std::size_t stride = depth + 2;
        GuardedBuffer<float> from(rows * stride, 1);
        fill_random(from, -1, 1, 7);
        GuardedBuffer<float> packed(rows * depth, 1);
        const Split panels(rows, most);
        kernels.pack_rows(from.data(), stride, 1, depth, panels, packed.data());
        std::vector<float> expected;
        for (std::size_t panel = 0; panel < panels.parts; ++panel) {
          for (std::size_t k = 0; k < depth; ++k) {
            for (std::size_t row = panels.begin(panel); row < panels.begin(panel + 1); ++row)
              expected.push_back(from[row * stride + k]);
          }
        }
        INFO(rows << " rows of " << depth << " in panels of " << most);
        CHECK(std::equal(packed.begin(), packed.end(), expected.begin(), expected.end()));
        CHECK(packed.guards_intact());
      }
    }
  }
}

TEST_CASE("transposed results are turned, and get bias, residual and bounds on the way") {
  IR_FOR_EACH_TARGET();
  const GemmKernels& kernels = gemm_kernels();
  for (const std::size_t rows : {1, 3, 4, 7, 12}) {
    for (const std::size_t columns : sizes_around_lanes(50)) {
      for (const bool adds : {false, true}) {
        const std::size_t stride = rows + 3;
        const std::size_t out_stride = columns + 2;
        // Nothing lies behind the last value of the last column, or of the last row.
        GuardedBuffer<float> from(columns == 0 ? 0 : (columns - 1) * stride + rows, 1);
        GuardedBuffer<float> out((rows - 1) * out_stride + columns, 1);
        GuardedBuffer<float> residual(out.size(), 1);
        std::vector<float> bias(rows);
        fill_random(from, -1, 1, 3);
        fill_random(residual, -1, 1, 4);
        for (std::size_t row = 0; row < rows; ++row) bias[row] = 0.25F * static_cast<float>(row);
        std::fill(out.begin(), out.end(), 9.0F);
        Tile tile;
        tile.out = out.data();
        tile.stride = out_stride;
        tile.columns = columns;
        tile.low = -0.5F;
        tile.high = 1.5F;
        if (adds) {
          tile.row_bias = bias.data();
          tile.residual = residual.data();
        }
        kernels.finish_transposed(from.data(), stride, rows, tile);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
          const std::size_t row = i / out_stride;
          const std::size_t column = i % out_stride;
          float expected = 9;
          if (column < columns) {
            expected = from[column * stride + row];
            if (adds) expected = expected + bias[row] + residual[i];
            expected = std::clamp(expected, -0.5F, 1.5F);
          }
          if (out[i] != expected) ++wrong;
        }
        INFO(rows << " rows of " << columns << (adds ? ", with bias and residual" : ""));
        CHECK(wrong == 0);
        CHECK(out.guards_intact());
      }
    }
  }
}

}  // namespace ir::kernels
