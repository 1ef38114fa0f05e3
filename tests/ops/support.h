// What every test of operations uses: tensors from literals, evaluation of one operation, expected failures.
#ifndef TESTS_OPS_SUPPORT_H_
#define TESTS_OPS_SUPPORT_H_

#include <cmath>
#include <string>
#include <vector>

#include "ir_runtime/model.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"
#include "tests/catch.h"

namespace ir::test {

template <class T>
Tensor tensor(Shape shape, std::vector<T> values) {
  return Tensor::of<T>(std::move(shape), std::span<const T>(values));
}

inline Tensor f32(Shape shape, std::vector<float> values) {
  return tensor<float>(std::move(shape), std::move(values));
}
inline Tensor i64(Shape shape, std::vector<std::int64_t> values) {
  return tensor<std::int64_t>(std::move(shape), std::move(values));
}
inline Tensor i32(Shape shape, std::vector<std::int32_t> values) {
  return tensor<std::int32_t>(std::move(shape), std::move(values));
}

/// Many different ones, negative ones, too.
inline Tensor bytes(Shape shape) {
  Tensor made(ElementType::i8, std::move(shape));
  int value = 0;
  for (std::int8_t& byte : made.data<std::int8_t>())
    byte = static_cast<std::int8_t>((value++ * 37) % 255 - 127);
  return made;
}

/// The only output of `op`.
inline Tensor run(const Op& op, const std::vector<Tensor>& inputs) { return evaluate(op, inputs).at(0); }

/// An input of which the type and shape are known, not the elements.
inline ValueInfo value(ElementType type, PartialShape shape) {
  return {type, std::move(shape), nullptr, std::nullopt};
}

inline PartialShape infer_shape(const Op& op, const std::vector<ValueInfo>& inputs, std::size_t output = 0) {
  return infer_outputs(op, inputs).at(output).shape;
}

/// "CODE: message" of the failure that inference ends with; "no failure" when it does not. A failure says
/// what was found and what was expected.
inline std::string failure_of(const Op& op, const std::vector<ValueInfo>& inputs) {
  try {
    (void)infer_outputs(op, inputs);
  } catch (const InferenceFailure& failure) {
    INFO(failure.message);
    CHECK_FALSE(failure.compared.found.empty());
    CHECK_FALSE(failure.compared.expected.empty());
    CHECK(failure.compared.found != failure.compared.expected);
    return failure.code + ": " + failure.message;
  }
  return "no failure";
}

/// "CODE: message" of the Error that evaluation ends with, when the data is bad or there is no kernel.
inline std::string error_of(const Op& op, const std::vector<Tensor>& inputs) {
  try {
    (void)evaluate(op, inputs);
  } catch (const Error& error) {
    return error.code() + ": " + error.diagnostics().front().message;
  }
  return "no error";
}

/// An i64 vector of which the elements are known in part.
inline ValueInfo partly_known(std::vector<Dimension> elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  return {ElementType::i64, Shape{count}, nullptr, std::move(elements)};
}

template <class T>
void check_equal(const Tensor& got, const Shape& shape, const std::vector<T>& values) {
  CHECK(got.shape() == shape);
  const auto data = got.data<T>();
  CHECK(std::vector<T>(data.begin(), data.end()) == values);
}

inline void check_close(const Tensor& got, const Shape& shape, const std::vector<float>& values,
                        double tolerance = 1e-5) {
  REQUIRE(got.shape() == shape);
  const auto data = got.data<float>();
  REQUIRE(data.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << ": got " << data[i] << ", expected " << values[i]);
    const bool equal =
        (std::isnan(data[i]) && std::isnan(values[i])) || data[i] == values[i] ||
        std::abs(double{data[i]} - double{values[i]}) <= tolerance * (1.0 + std::abs(double{values[i]}));
    CHECK(equal);
  }
}

}  // namespace ir::test

#endif  // TESTS_OPS_SUPPORT_H_
