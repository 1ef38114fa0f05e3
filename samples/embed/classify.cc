// Runs a model of f32 once, on a constant image, and prints where its first output is largest.
// usage: embed_cpp MODEL.xml
#include <ir_runtime/ir_runtime.h>

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embed_cpp MODEL.xml\n";
    return 2;
  }
  try {
    const auto model = ir::read_model(argv[1]);
    const ir::CompiledModel compiled = ir::compile_model(*model);
    ir::InferRequest request = compiled.create_infer_request();
    for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
      ir::Tensor input = request.input_tensor(i);
      std::ranges::fill(input.data<float>(), 0.5F);
    }
    request.infer();
    const ir::Tensor output = request.output_tensor(0);
    const auto scores = output.data<float>();
    if (scores.empty()) {
      std::cerr << "the first output has no elements\n";
      return 1;
    }
    const auto best = std::ranges::max_element(scores);
    std::cout << compiled.outputs().front().name() << " is largest at " << best - scores.begin() << ": "
              << *best << "\n";
  } catch (const ir::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
