// Measures the kernels one by one: kernel_bench [--threads=N] [Google Benchmark's options].
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/bench/measure.h"

namespace {

constexpr std::string_view kThreads = "--threads=";

// The number behind --threads=, which is taken out of `arguments`; 1 when it is not given, 0 when it is
// wrong.
int take_threads(std::vector<char*>& arguments) {
  int threads = 1;
  std::vector<char*> rest;
  for (char* argument : arguments) {
    const std::string_view text = argument;
    if (!text.starts_with(kThreads)) {
      rest.push_back(argument);
      continue;
    }
    const std::string_view number = text.substr(kThreads.size());
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), threads);
    if (error != std::errc() || end != number.data() + number.size() || threads < 1) return 0;
  }
  arguments = rest;
  return threads;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const int threads = take_threads(arguments);
  if (threads == 0) {
    fmt::print(stderr, "--threads takes a number from 1 on\n");
    return 2;
  }
  auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  using namespace ir::bench;
  set_up(threads);
  register_gemm();
  register_image();
  register_convolution();
  register_deconvolution();
  register_depthwise();
  register_detection();
  register_separable();
  register_pooling();
  register_elementwise();
  register_reduction();
  register_softmax();
  register_normalization();
  register_movement();
  register_convert();
  register_rnn();
  register_attention();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
