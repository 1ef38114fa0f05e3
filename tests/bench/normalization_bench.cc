// Normalisations over rows, channels and groups.
#include "kernels/reduction/normalization.h"

#include "tests/bench/measure.h"

namespace ir::bench {
namespace {

// `kernel` is called with input and output of `count` elements.
template <class Kernel>
void run(benchmark::State& state, std::size_t count, const Kernel& kernel) {
  const std::vector<float> in = random_floats(count);
  std::vector<float> out(count);
  measure(state, {0, 2.0 * static_cast<double>(count * sizeof(float))},
          [&] { kernel(in.data(), out.data()); });
}

void layer_norm(benchmark::State& state, std::size_t rows, std::size_t length) {
  const std::vector<float> scale(length, 1.5F);
  const std::vector<float> shift(length, 0.5F);
  run(state, rows * length, [&](const float* in, float* out) {
    kernels::layer_norm({rows, length, 1e-6, true}, scale.data(), shift.data(), in, out);
  });
}

void mvn(benchmark::State& state, const std::vector<std::size_t>& dims,
         const std::vector<std::size_t>& axes) {
  const kernels::AxesPlan plan(dims, axes);
  run(state, plan.input_count(), [&](const float* in, float* out) {
    kernels::mvn(plan, {1e-6, kernels::MvnEps::inside_sqrt, true}, in, out);
  });
}

void normalize_l2(benchmark::State& state, const std::vector<std::size_t>& dims,
                  const std::vector<std::size_t>& axes) {
  const kernels::AxesPlan plan(dims, axes);
  run(state, plan.input_count(), [&](const float* in, float* out) {
    kernels::normalize_l2(plan, 1e-10, kernels::NormEps::add, in, out);
  });
}

void scale_shift(benchmark::State& state, std::size_t channels, std::size_t inner) {
  const std::vector<float> scale(channels, 1.5F);
  const std::vector<float> shift(channels, 0.5F);
  run(state, channels * inner, [&](const float* in, float* out) {
    kernels::scale_shift({1, channels, inner}, scale.data(), shift.data(), in, out);
  });
}

void group_norm(benchmark::State& state, std::size_t channels, std::size_t inner, std::size_t groups) {
  const std::vector<float> scale(channels, 1.5F);
  const std::vector<float> shift(channels, 0.5F);
  run(state, channels * inner, [&](const float* in, float* out) {
    kernels::group_norm({1, channels, inner}, {groups, 1e-5}, scale.data(), shift.data(), in, out);
  });
}

void lrn(benchmark::State& state, const std::vector<std::size_t>& dims) {
  const std::vector<std::size_t> axes{1};
  std::vector<float> scratch(kernels::lrn_scratch_count(dims, axes));
  run(state, dims[0] * dims[1] * dims[2] * dims[3], [&](const float* in, float* out) {
    kernels::lrn(dims, axes, {1e-4, 0.75, 1, 5}, in, out, scratch.data());
  });
}

}  // namespace

void register_normalization() {
  using State = benchmark::State;
  add("normalization/layer_norm_197x768", [](State& state) { layer_norm(state, 197, 768); });
  add("normalization/layer_norm_3136x96", [](State& state) { layer_norm(state, 3136, 96); });
  add("normalization/mvn_image_64x112x112", [](State& state) { mvn(state, {64, 112, 112}, {1, 2}); });
  add("normalization/mvn_channels_96x56x56", [](State& state) { mvn(state, {96, 56, 56}, {0}); });
  add("normalization/l2_channels_512x38x38", [](State& state) { normalize_l2(state, {512, 38, 38}, {0}); });
  add("normalization/scale_shift_64x112x112", [](State& state) { scale_shift(state, 64, 112 * 112); });
  add("normalization/scale_shift_512x7x7", [](State& state) { scale_shift(state, 512, 7 * 7); });
  add("normalization/group_norm_256x32x32", [](State& state) { group_norm(state, 256, 32 * 32, 32); });
  add("normalization/lrn_64x56x56", [](State& state) { lrn(state, {1, 64, 56, 56}); });
}

}  // namespace ir::bench
