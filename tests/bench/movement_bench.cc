// What only moves elements: transposes, slices, tiles, pads, gathers, the largest.
#include <fmt/format.h>

#include "kernels/indexing/gather.h"
#include "kernels/movement/pad.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/movement/transpose.h"
#include "kernels/reduction/topk.h"
#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

using Sizes = std::vector<std::size_t>;

struct Permutation {
  const char* name;
  Sizes dims;
  Sizes order;
};

const Permutation kPermutations[] = {
    {"plane_2048x2048", {2048, 2048}, {1, 0}},
    {"nchw_to_nhwc_64x112x112", {64, 112, 112}, {1, 2, 0}},
    {"nhwc_to_nchw_3x224x224", {224, 224, 3}, {2, 0, 1}},
    {"heads_128x12x64", {128, 12, 64}, {1, 0, 2}},
    {"keys_12x128x64", {12, 128, 64}, {0, 2, 1}},
    {"shuffle_2x58x784", {2, 58, 784}, {1, 0, 2}},
    {"windows_7x8x7x8x96", {8, 7, 8, 7, 96}, {0, 2, 1, 3, 4}},
};

std::size_t product(const Sizes& dims) {
  std::size_t size = 1;
  for (const std::size_t dim : dims) size *= dim;
  return size;
}

// `move` is called with `read` and `written` bytes.
template <class Move>
void run(benchmark::State& state, std::size_t read, std::size_t written, const Move& move) {
  const std::vector<std::byte> in(read, std::byte{1});
  std::vector<std::byte> out(written);
  measure(state, {0, static_cast<double>(read + written)}, [&] { move(in.data(), out.data()); });
}

void transpose(benchmark::State& state, const Permutation& permutation, std::size_t element_size) {
  const kernels::Transpose kernel(permutation.dims, permutation.order, element_size);
  const std::size_t bytes = product(permutation.dims) * element_size;
  run(state, bytes, bytes, [&](const void* in, void* out) { kernel.run(in, out); });
  state.SetLabel(std::string(kernel.algorithm()));
}

void copy(benchmark::State& state, std::size_t read, const kernels::StridedCopy& kernel) {
  run(state, read, kernel.bytes(), [&](const void* in, void* out) { kernel.run(in, out); });
}

// Every second element along the last axes of `dims`.
void slice_with_steps(benchmark::State& state, const Sizes& dims) {
  Sizes out = dims;
  Sizes starts(dims.size(), 0);
  std::vector<std::ptrdiff_t> steps(dims.size(), 1);
  for (std::size_t axis = dims.size() - 2; axis < dims.size(); ++axis) {
    out[axis] = (dims[axis] + 1) / 2;
    steps[axis] = 2;
  }
  const kernels::SliceCopy kernel(dims, starts, steps, out, sizeof(float));
  const std::size_t written = product(out) * sizeof(float);
  const std::vector<float> in = random_floats(product(dims));
  std::vector<float> result(product(out));
  measure(state, {0, 2.0 * static_cast<double>(written)}, [&] { kernel.run(in.data(), result.data()); });
}

void pad(benchmark::State& state, const Sizes& dims, const std::vector<std::ptrdiff_t>& pads,
         kernels::PadMode mode) {
  const kernels::Pad kernel(dims, pads, pads, mode, sizeof(float));
  Sizes out = dims;
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    out[axis] += 2 * static_cast<std::size_t>(pads[axis]);
  const float zero = 0;
  run(state, product(dims) * sizeof(float), product(out) * sizeof(float),
      [&](const void* in, void* result) { kernel.run(in, &zero, result); });
}

void gather_rows(benchmark::State& state, std::size_t rows, std::size_t length, std::size_t count) {
  std::vector<std::int64_t> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<std::int64_t>(i * 7919 % rows);
  const std::vector<float> table = random_floats(rows * length);
  std::vector<float> out(count * length);
  const kernels::GatherShape shape{1, 1, rows, count, length * sizeof(float)};
  measure(state, {0, 2.0 * static_cast<double>(out.size() * sizeof(float))},
          [&] { (void)kernels::gather(shape, table.data(), indices.data(), out.data()); });
}

/// The largest `k` of each column or, with one column, of each row.
void top_k(benchmark::State& state, const kernels::TopKParams& params) {
  const std::vector<float> in = random_floats(params.outer * params.axis * params.inner);
  std::vector<std::int64_t> positions(params.outer * params.k * params.inner);
  std::vector<std::byte> scratch(kernels::top_k_scratch_bytes<float>(params));
  measure(state, {0, static_cast<double>(in.size() * sizeof(float))}, [&] {
    kernels::top_k<float, std::int64_t>(params, in.data(), nullptr, positions.data(), scratch.data());
  });
}

}  // namespace

void register_movement() {
  using State = benchmark::State;
  for (const Permutation& permutation : kPermutations) {
    for (const std::size_t size : {1U, 4U}) {
      add(fmt::format("movement/transpose_{}_{}_bytes", permutation.name, size),
          [permutation, size](State& state) { transpose(state, permutation, size); });
    }
  }
  add("movement/tile_64x1x56_to_56", [](State& state) {
    copy(state, 64 * 56 * sizeof(float),
         kernels::make_tile(Sizes{64, 1, 56}, Sizes{1, 56, 1}, sizeof(float)));
  });
  add("movement/broadcast_256_to_56x56", [](State& state) {
    copy(state, 256 * sizeof(float),
         kernels::make_broadcast(Sizes{256, 1, 1}, Sizes{256, 56, 56}, sizeof(float)));
  });
  add("movement/slice_step2_64x112x112", [](State& state) { slice_with_steps(state, {64, 112, 112}); });
  add("movement/pad_zero_64x112x112", [](State& state) {
    pad(state, {64, 112, 112}, {0, 1, 1}, kernels::PadMode::constant);
  });
  add("movement/pad_reflect_64x112x112", [](State& state) {
    pad(state, {64, 112, 112}, {0, 3, 3}, kernels::PadMode::reflect);
  });
  add("movement/gather_rows_30522x768", [](State& state) { gather_rows(state, 30522, 768, 128); });
  add("movement/gather_floats_1000000", [](State& state) { gather_rows(state, 4096, 1, 1000000); });
  add("movement/top_1_of_21_513x513", [](State& state) { top_k(state, {1, 21, 513 * 513, 1}); });
  add("movement/top_300_of_25200", [](State& state) { top_k(state, {1, 25200, 1, 300}); });
}

}  // namespace ir::bench
