// What tests of compiled models use: one way to run them, and data that is easy to tell apart.
#ifndef TESTS_EXECUTION_SUPPORT_H_
#define TESTS_EXECUTION_SUPPORT_H_

#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir_runtime/compiled_model.h"
#include "tests/ops/support.h"

namespace ir::test {

/// Copies of the outputs of one run.
inline std::vector<Tensor> infer(InferRequest& request, const CompiledModel& compiled,
                                 const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i)
    outputs.push_back(request.output_tensor(i).clone());
  return outputs;
}

/// Compiles a model and runs it once.
inline std::vector<Tensor> results_of(const Model& model, const std::vector<Tensor>& inputs,
                                      const CompileOptions& options = {}) {
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  return infer(request, compiled, inputs);
}

/// "CODE: message" of the Error that `work` ends with; with the layer's name in front when the error has one.
template <class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    return (first.layer.name.empty() ? "" : first.layer.name + ": ") + first.code + ": " + first.message;
  }
  return "no error";
}

/// Numbers in [-1, 1), the same for the same seed.
inline Tensor noise(Shape shape, unsigned seed) {
  Tensor tensor(ElementType::f32, std::move(shape));
  std::mt19937 random(seed);
  for (float& value : tensor.data<float>()) value = static_cast<float>(random() % 2048) / 1024.0F - 1.0F;
  return tensor;
}

/// Relative L2 error.
inline double relative_error(const Tensor& got, const Tensor& expected) {
  const Tensor a = got.converted(ElementType::f32);
  const Tensor b = expected.converted(ElementType::f32);
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < b.data<float>().size(); ++i) {
    const double want = b.data<float>()[i];
    error += std::pow(a.data<float>()[i] - want, 2);
    size += want * want;
  }
  return std::sqrt(error / size);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.element_type() == b.element_type() && a.shape() == b.shape() &&
         (a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0);
}

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return same_bits(x, y); });
}

}  // namespace ir::test

#endif  // TESTS_EXECUTION_SUPPORT_H_
