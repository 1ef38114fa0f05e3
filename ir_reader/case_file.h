// Test cases: a model with inputs and the outputs that are expected of it (case.xml).
#ifndef IR_READER_CASE_FILE_H_
#define IR_READER_CASE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ir_runtime/tensor.h"

namespace ir::reader {

/// How outputs are compared.
struct CaseMetric {
  enum class Kind { elementwise, relative_l2, detections };
  Kind kind = Kind::elementwise;
  /// elementwise: |a-b| <= absolute or <= relative * max(|a|, |b|); unset tolerances: exact for integers,
  /// 1e-4 absolute for floating types.
  std::optional<double> relative;
  std::optional<double> absolute;
  /// relative_l2: ||a-b|| <= tolerance * ||b||.
  double tolerance = 0;
  /// detections: rows of at least `confidence` must match.
  double confidence = 0;
  double confidence_tolerance = 0;
  double iou = 0;
  /// Only that many elements of each output count.
  std::optional<std::int64_t> compare_first;
};

struct CaseTensor {
  std::size_t index = 0;
  ElementType element_type = ElementType::f32;
  Shape shape;
  std::filesystem::path file;
};

struct CaseFile {
  std::string name;
  std::filesystem::path model;
  CaseMetric metric;
  std::vector<CaseTensor> inputs;
  std::vector<CaseTensor> outputs;
};

/// Reads a case. Paths in it count from its folder and stay inside. Throws Error `IR-case` (or what
/// Document::load throws).
CaseFile read_case(const std::filesystem::path& path);

/// The elements of a case's tensor. Files hold them dense and little endian; u4 and i4 with the first element
/// in the high half of a byte, the order of OpenVINO 2022.1, which wrote such cases first (a Tensor, like an
/// IR constant of today, has it in the low half). With `first` the file may hold only that many of them,
/// which then come as a vector. Throws Error `IR-case` when the file has another size, and `IR-limit` before
/// anything is read when it has more than `max_input_bytes`.
Tensor read_case_tensor(const CaseTensor& tensor, std::optional<std::int64_t> first = std::nullopt,
                        std::int64_t max_input_bytes = std::int64_t{1} << 30);

/// Writes tensors next to `path` (input0.bin, output0.bin, ...) and the case that names them. Throws Error
/// `IR-file`.
void write_case(const std::filesystem::path& path, const std::string& model, const CaseMetric& metric,
                const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

}  // namespace ir::reader

#endif  // IR_READER_CASE_FILE_H_
