// What kernels leave behind in registers: upper halves of vectors that are in use make every instruction of
// the baseline slow on Intel's cores.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/convolution/direct_kernels.h"
#include "kernels/depthwise/depthwise_kernels.h"
#include "kernels/depthwise/depthwise_lanes.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/convert_simd.h"
#include "kernels/elementwise/unary.h"
#include "kernels/matmul/gemm_kernels.h"
#include "kernels/matmul/matrix_tiles.h"
#include "kernels/matmul/quantised_rows.h"
#include "kernels/sequence/rnn_kernels.h"
#include "kernels/signal/fft.h"
#include "kernels/weights/compressed_weights.h"
#include "kernels/weights/packed_codes.h"
#include "kernels/winograd/winograd_transforms.h"
#include "tests/kernels/support.h"

#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
#include <cpuid.h>

namespace {

using namespace ir::kernels;

/// XINUSE of the processor: bit 2 is the upper halves of the first 16 vectors.
bool are_upper_halves_in_use() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & 4) != 0;
}

[[gnu::target("avx")]] void clear_upper_halves() { __builtin_ia32_vzeroupper(); }

[[gnu::target("avx")]] void use_upper_halves() {
  asm volatile("vcmptrueps %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
}

/// Whether the processor tells, and tells the truth.
bool can_tell() {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
  if (__builtin_cpu_supports("avx") == 0 || __get_cpuid_count(13, 1, &a, &b, &c, &d) == 0 || (a & 4) == 0)
    return false;
  use_upper_halves();
  const bool in_use = are_upper_halves_in_use();
  clear_upper_halves();
  return in_use && !are_upper_halves_in_use();
}

/// Whether they are in use after `run`; nothing may come between that clears them.
template <class Run>
bool leaves_in_use(const Run& run) {
  clear_upper_halves();
  run();
  return are_upper_halves_in_use();
}

/// Floats in front of and behind which kernels may read.
struct Operands {
  std::vector<float> a = std::vector<float>(4096, 0.5F);
  std::vector<float> b = std::vector<float>(4096, 0.25F);
  std::vector<float> out = std::vector<float>(4096);
};

Tile tile_of(Operands& operands, std::size_t columns) {
  Tile tile;
  tile.out = operands.out.data();
  tile.stride = 128;
  tile.columns = columns;
  tile.finish = true;
  tile.low = -1;
  tile.high = 1;
  return tile;
}

TEST_CASE("functions of one value clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  operands.a[20] = 1e6F;  // an angle that goes another way
  for (const UnaryOp op : {UnaryOp::abs, UnaryOp::hswish, UnaryOp::sin, UnaryOp::swish, UnaryOp::tanh}) {
    for (std::size_t count = 1; count < 40; ++count) {
      const UnarySpec spec{op, {1, 0}};
      const bool in_use =
          leaves_in_use([&] { unary_span(spec, operands.a.data(), operands.out.data(), count); });
      INFO("operation " << static_cast<int>(op) << ", " << count << " values");
      CHECK_FALSE(in_use);
    }
  }
}

TEST_CASE("Fourier transforms clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  for (const std::size_t length : {60, 64}) {
    const Fft<float> fft(length, FftDirection::forward, 8);
    std::vector<float> work(fft.work_size());
    CHECK_FALSE(leaves_in_use([&] { fft.run(work.data()); }));
  }
}

TEST_CASE("powers and remainders clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  const BinaryOp op = GENERATE(BinaryOp::power, BinaryOp::mod, BinaryOp::floor_mod);
  Operands operands;
  operands.a[20] = std::numeric_limits<float>::infinity();
  for (std::size_t count = 1; count < 40; ++count) {
    INFO(count << " values");
    const SpanOperand a{operands.a.data(), false};
    const SpanOperand b{operands.b.data(), false};
    CHECK_FALSE(leaves_in_use([&] { binary_span(op, a, b, operands.out.data(), count); }));
  }
}

TEST_CASE("logical functions clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  const std::vector<std::uint8_t> in(130, 1);
  std::vector<std::uint8_t> out(130);
  for (std::size_t count = 1; count < in.size(); ++count) {
    INFO(count << " values");
    const std::size_t dims[] = {count};
    const BroadcastPlan plan(dims, {dims, dims});
    CHECK_FALSE(leaves_in_use([&] { binary(BinaryOp::logical_or, plan, in.data(), in.data(), out.data()); }));
    CHECK_FALSE(leaves_in_use([&] { unary(UnaryOp::logical_not, {}, in.data(), out.data(), count); }));
  }
}

TEST_CASE("conversions clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  const float* const in = operands.a.data();
  float* const out = operands.out.data();
  for (std::size_t count = 1; count < 40; ++count) {
    INFO(count << " values");
    CHECK_FALSE(leaves_in_use([&] { convert_span(in, reinterpret_cast<Float16*>(out), count); }));
    CHECK_FALSE(leaves_in_use([&] { convert_span(in, reinterpret_cast<BFloat16*>(out), count); }));
    CHECK_FALSE(leaves_in_use([&] { convert_span(in, reinterpret_cast<std::int8_t*>(out), count); }));
    CHECK_FALSE(leaves_in_use([&] { convert_span(in, reinterpret_cast<std::uint8_t*>(out), count); }));
    CHECK_FALSE(leaves_in_use([&] { convert_span(in, reinterpret_cast<Boolean*>(out), count); }));
    CHECK_FALSE(leaves_in_use([&] { convert_span(reinterpret_cast<const Float16*>(in), out, count); }));
  }
}

TEST_CASE("register tiles clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  const GemmKernels& kernels = gemm_kernels();
  for (std::size_t rows = 1; rows <= kernels.max_rows; ++rows) {
    for (std::size_t vectors = 1; vectors <= kernels.max_vectors; ++vectors) {
      for (std::size_t rest = 1; rest <= kernels.lanes; ++rest) {
        const Tile tile = tile_of(operands, (vectors - 1) * kernels.lanes + rest);
        INFO(rows << " rows, " << tile.columns << " columns");
        for (const auto multiply :
             {kernels.packed[rows - 1][vectors - 1], kernels.direct[rows - 1][vectors - 1],
              kernels.direct_columns[rows - 1][vectors - 1]}) {
          CHECK_FALSE(leaves_in_use([&] { multiply(5, operands.a.data(), 64, operands.b.data(), tile); }));
        }
        CHECK_FALSE(leaves_in_use([&] { kernels.finish_transposed(operands.a.data(), 16, rows, tile); }));
      }
    }
  }
}

TEST_CASE("what compressed weights and quantised rows become clears the upper halves of vectors",
          "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  const std::vector<std::uint8_t> codes(1 << 14, 0x5A);
  std::vector<float> room(1 << 14);
  std::vector<float> packed(1 << 14);
  std::vector<std::int8_t> bytes(256);
  std::vector<float> numbers(64);
  const QuantisedRow row{bytes.data(), numbers.data(), 1, numbers.data() + 32};
  for (const auto code :
       {WeightCode::f16, WeightCode::bf16, WeightCode::u8, WeightCode::i8, WeightCode::i4}) {
    const CompressedForm form{code, 20, 96, bits_of(code) == 16 ? 96U : 32U};
    for (const std::size_t columns : {1, 3, 16, 20}) {
      INFO("code " << static_cast<int>(code) << ", " << columns << " columns");
      const CompressedRows weights{codes.data(), operands.a.data(), operands.b.data(), false};
      const CompressedPart part{0, std::min(columns, gemm_kernels().lanes), 32, 64};
      CHECK_FALSE(leaves_in_use([&] { pack_code_floats(form, weights, part, room.data(), packed.data()); }));
      if (bits_of(code) == 16) continue;
      CHECK_FALSE(leaves_in_use([&] { pack_code_bytes(form, weights, part, room.data(), packed.data()); }));
      CHECK_FALSE(leaves_in_use([&] { quantise_row(operands.a.data(), 96, 32, code, row); }));
      if (!dots_nibbles(form)) continue;
      CHECK_FALSE(leaves_in_use([&] { arrange_bytes(form, row, 32, 0, 1, room.data()); }));
      const Tile tile = tile_of(operands, columns);
      CHECK_FALSE(leaves_in_use([&] {
        multiply_compressed(form, weights, {room.data(), 1, RowElements::bytes}, 0, tile);
      }));
    }
  }
}

TEST_CASE("what is around matrix tiles clears the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  Operands operands;
  std::vector<float> parts(1 << 14);
  for (const bool whole : {false, true}) {
    const MatrixTiles* const tiles = matrix_tiles(whole);
    if (tiles == nullptr) return;
    const float* const from = operands.a.data();
    for (std::size_t count = 1; count <= 32; ++count) {
      INFO(count << " columns or terms");
      CHECK_FALSE(leaves_in_use([&] { tiles->split_rows(from, 64, 20, count, 2, parts.data()); }));
      CHECK_FALSE(leaves_in_use([&] { tiles->split_columns(from, 64, 20, count, parts.data(), 32, 1024); }));
      CHECK_FALSE(leaves_in_use([&] { tiles->split_lines(from, 64, count, 20, parts.data()); }));
      const Tile tile = tile_of(operands, count);
      CHECK_FALSE(leaves_in_use([&] { tiles->finish(from, 32, 20, tile); }));
    }
  }
}

TEST_CASE("what is around matrix tiles of bytes clears the upper halves of vectors",
          "[kernels][vector_state]") {
  const MatrixTiles* const tiles = byte_tiles();
  if (!can_tell() || tiles == nullptr) return;
  Operands operands;
  std::vector<float> lanes(1 << 14);
  std::vector<std::uint8_t> levels(32 * 32);
  const float* const from = operands.a.data();
  for (std::size_t count = 1; count <= 32; ++count) {
    INFO(count << " columns or rows");
    const std::size_t few = std::min<std::size_t>(count, 16);
    CHECK_FALSE(leaves_in_use([&] { tiles->split_rows(from, 64, 20, few, 2, lanes.data()); }));
    CHECK_FALSE(leaves_in_use([&] { tiles->split_columns(from, 64, few, count, lanes.data(), 32, 0); }));
    CHECK_FALSE(leaves_in_use([&] { tiles->turn_lines(from, 64, few, count, lanes.data(), 20); }));
    Tile tile = tile_of(operands, count);
    tile.column_scale = tile.column_bias = from;
    CHECK_FALSE(leaves_in_use([&] { tiles->finish(from, 32, 20, tile); }));
    CHECK_FALSE(leaves_in_use([&] { tiles->move(from, 32, 20, tile); }));
    tile.low = 0;
    tile.high = 255;
    tile.levels = levels.data();
    tile.levels_stride = 32;
    CHECK_FALSE(leaves_in_use([&] { tiles->store_levels(from, 32, count, tile); }));
  }
}

TEST_CASE("Winograd's transforms of lines clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  std::vector<float> scratch(4096);
  std::vector<float> points(1 << 14);
  const std::vector<const float*> rows(32, operands.a.data());
  const std::vector<TileVector> vectors(16);
  for (const WinogradTransforms& transforms : winograd_line_transforms()) {
    for (const std::size_t stride : {1U, 2U, 3U}) {
      if (stride > 1 && transforms.axes == TileAxes::vertical) continue;
      for (std::size_t columns = 1; columns < 12; ++columns) {
        INFO(transforms.taps << " taps, stride " << stride << ", " << columns << " columns");
        const TileBlockSize block{2, columns};
        const TileSamples samples{rows.data(), 1, 20, stride, 0};
        CHECK_FALSE(leaves_in_use(
            [&] { transforms.input(samples, block, vectors.data(), 0, points.data(), 64, scratch.data()); }));
        const Tile tile = tile_of(operands, columns);
        CHECK_FALSE(
            leaves_in_use([&] { transforms.output(points.data(), 64, block, 2, tile, scratch.data()); }));
      }
    }
  }
}

TEST_CASE("products and gates of recurrent cells clear the upper halves of vectors",
          "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  const RnnKernels& kernels = rnn_kernels();
  const std::vector<std::size_t> order{0};
  RnnParams params;
  for (params.hidden_size = 1; params.hidden_size < 40; ++params.hidden_size) {
    INFO(params.hidden_size << " hidden units");
    const float* const in = operands.a.data();
    float* const out = operands.out.data();
    float* const state = out + 64;
    CHECK_FALSE(leaves_in_use([&] { kernels.rnn(params, in, out); }));
    CHECK_FALSE(leaves_in_use([&] { kernels.lstm(params, in, state, out); }));
    CHECK_FALSE(leaves_in_use([&] { kernels.gru_update_and_reset(params, out, in, out + 128); }));
    CHECK_FALSE(leaves_in_use([&] { kernels.gru_state(params, {in, in, in, in}, out); }));
    const PackedMatrix matrix(kernels, {operands.b.data(), order, params.hidden_size, 5});
    ProductRows rows;
    while (rows.count < kernels.most_rows) {
      rows.add(in, in, out);
      for (const bool fetches_next : {false, true}) {
        CHECK_FALSE(leaves_in_use([&] {
          kernels.multiply(matrix, rows, {0, matrix.panels(), fetches_next});
        }));
      }
    }
  }
}

TEST_CASE("tiles of direct convolution clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  const DirectKernels& kernels = direct_kernels();
  const auto lanes = static_cast<std::int32_t>(gemm_kernels().lanes);
  const std::vector<std::int32_t> offsets{0, 1, 2};
  DirectSum sum;
  sum.depth = offsets.size();
  sum.weights = operands.a.data();
  sum.offsets = offsets.data();
  sum.image = operands.b.data();
  for (std::size_t rows = 1; rows <= kernels.max_rows; ++rows) {
    for (std::size_t count = 1; count <= kernels.max_vectors[rows - 1]; ++count) {
      std::vector<OutputVector> vectors;
      for (std::size_t v = 0; v < count; ++v) {
        const auto begin = static_cast<std::int32_t>(v) * lanes;
        vectors.push_back({begin, begin, v + 1 == count ? lanes - 1 : lanes, OutputVector::kAllLanes});
      }
      const Tile tile = tile_of(operands, 0);
      INFO(rows << " rows, " << count << " vectors");
      CHECK_FALSE(leaves_in_use([&] { kernels.multiply[rows - 1][count - 1](sum, vectors.data(), tile); }));
    }
  }
}

TEST_CASE("rows of depthwise convolutions clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  Operands operands;
  const std::vector<std::int32_t> offsets{0, 1, 2};
  for (const std::size_t step : {1, 2}) {
    for (std::size_t columns = 1; columns < 40; ++columns) {
      const Tile tile = tile_of(operands, columns);
      const DepthwiseKernel multiply = depthwise_kernel(step);
      INFO("step " << step << ", " << columns << " columns");
      CHECK_FALSE(leaves_in_use([&] {
        multiply(operands.a.data(), 130, {offsets.data(), operands.b.data(), offsets.size()}, 3, tile);
      }));
      CHECK_FALSE(leaves_in_use([&] {
        multiply(operands.a.data(), 130, {offsets.data(), operands.b.data(), offsets.size(), 3}, 3, tile);
      }));
    }
  }
}

TEST_CASE("depthwise convolutions of lanes clear the upper halves of vectors", "[kernels][vector_state]") {
  if (!can_tell()) return;
  IR_FOR_EACH_TARGET();
  const DepthwiseLanesKernel convolve = depthwise_lanes_kernel(3, 1);
  if (convolve == nullptr) return;
  const std::vector<float> image(500);
  const std::vector<std::int8_t> weights(48, 1);
  const std::vector<float> scale(4, 1);
  const LaneWindow window{weights.data(), scale.data(), scale.data(), 0, 255};
  std::vector<float> out(40);
  for (std::size_t columns = 1; columns < 40; ++columns) {
    INFO(columns << " columns");
    CHECK_FALSE(leaves_in_use([&] { convolve({image.data(), 80}, window, 1, columns, out.data()); }));
  }
}

}  // namespace

#endif
