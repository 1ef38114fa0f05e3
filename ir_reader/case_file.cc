#include "ir_reader/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "ir_reader/document.h"
#include "ir_reader/errors.h"
#include "ir_reader/near_names.h"
#include "ir_reader/new_file.h"
#include "ir_reader/number.h"
#include "ir_reader/packed_strings.h"
#include "ir_reader/regular_file.h"

namespace ir::reader {
namespace {

constexpr XmlLimits kLimits{
    .max_xml_bytes = 16 << 20, .max_xml_elements = 100'000, .max_attributes_per_element = 100};

using Names = std::vector<std::string_view>;

Names joined(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A tolerance that is misspelt, or that the metric does not look at, would let anything or nothing pass.
const Names& attributes_of(CaseMetric::Kind metric) {
  static const Names kElementwise{"rtol", "atol"};
  static const Names kRelativeL2{"tolerance"};
  static const Names kDetections{"confidence", "confidence_tolerance", "iou"};
  switch (metric) {
    case CaseMetric::Kind::relative_l2:
      return kRelativeL2;
    case CaseMetric::Kind::detections:
      return kDetections;
    case CaseMetric::Kind::elementwise:
      break;
  }
  return kElementwise;
}

const Names& attributes_of_any_metric() {
  using Kind = CaseMetric::Kind;
  static const Names kNames =
      joined(joined(attributes_of(Kind::elementwise), attributes_of(Kind::relative_l2)),
             attributes_of(Kind::detections));
  return kNames;
}

const Names kOfCase{"name", "model", "metric", "compare_first"};
const Names kOfTensor{"index", "element_type", "shape", "file"};

class CaseReader {
 public:
  explicit CaseReader(const std::filesystem::path& path)
      : document_(Document::load(path, kLimits)), folder_(path.parent_path()) {}

  CaseFile read() {
    const pugi::xml_node root = document_.root();
    if (std::string_view(root.name()) != "case")
      fail(root, fmt::format("the root element is <{}>, not <case>", root.name()));
    CaseFile file;
    file.name = root.attribute("name").as_string(folder_.filename().c_str());
    file.model = inside(root, root.attribute("model").as_string("model.xml"));
    require_known(root, joined(kOfCase, attributes_of_any_metric()), {"input", "output"});
    file.metric = metric(root);
    file.inputs = tensors(root, "input");
    file.outputs = tensors(root, "output");
    if (file.outputs.empty()) fail(root, "the case has no <output>: nothing would be compared");
    return file;
  }

 private:
  [[noreturn]] static void fail_at(SourceLocation where, std::string message, std::string hint = {}) {
    throw error_at("IR-case", std::move(where), std::move(message), std::move(hint));
  }

  [[noreturn]] void fail(const pugi::xml_node& node, std::string message) const {
    fail_at(document_.where(node), std::move(message));
  }

  void require_known(const pugi::xml_node& node, const Names& attributes, const Names& elements) const {
    std::set<std::string_view> seen;
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      const std::string_view name = attribute.name();
      if (std::ranges::find(attributes, name) == attributes.end()) {
        fail_at(document_.where(node, name),
                fmt::format("<{}> has an attribute '{}', which is not read", node.name(), name),
                did_you_mean(name, attributes));
      }
      if (!seen.insert(name).second)
        fail(node, fmt::format("<{}> has the attribute '{}' twice", node.name(), name));
    }
    for (const pugi::xml_node& child : node.children()) {
      const std::string_view name = child.name();
      if (child.type() != pugi::node_element) fail(node, fmt::format("<{}> holds text", node.name()));
      if (std::ranges::find(elements, name) != elements.end()) continue;
      fail_at(document_.where(child),
              fmt::format("<{}> has an element <{}>, which is not read", node.name(), name),
              did_you_mean(name, elements));
    }
  }

  // A case names files of its own folder only.
  std::filesystem::path inside(const pugi::xml_node& node, const std::string& name) const {
    const std::filesystem::path path(name);
    if (name.empty() || path.has_parent_path() || name == "." || name == "..") {
      fail(node, fmt::format("'{}' does not name a file in the case's folder", name));
    }
    std::filesystem::path file = folder_ / path;
    // Nor does a link lead out of it.
    std::error_code error;
    if (std::filesystem::is_symlink(file, error) &&
        std::filesystem::weakly_canonical(file, error).parent_path() !=
            std::filesystem::weakly_canonical(folder_.empty() ? "." : folder_, error)) {
      fail(node, fmt::format("'{}' is a link that leads out of the case's folder", name));
    }
    return file;
  }

  std::optional<double> number(const pugi::xml_node& node, const char* name) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) return std::nullopt;
    const std::string_view text = attribute.value();
    const auto value = number_of<double>(text);
    if (!value || !std::isfinite(*value) || *value < 0) {
      fail_at(document_.where(node, name),
              fmt::format("{}='{}' is no finite number of at least 0", name, text));
    }
    return value;
  }

  CaseMetric metric(const pugi::xml_node& root) const {
    CaseMetric result;
    const std::string_view name = root.attribute("metric").as_string("elementwise");
    if (name == "relative_l2") {
      result.kind = CaseMetric::Kind::relative_l2;
    } else if (name == "detections") {
      result.kind = CaseMetric::Kind::detections;
    } else if (name != "elementwise") {
      fail(root, fmt::format("the metric '{}' is not known", name));
    }
    for (const std::string_view other : attributes_of_any_metric()) {
      const Names& own = attributes_of(result.kind);
      if (!root.attribute(other.data()) || std::ranges::find(own, other) != own.end()) continue;
      fail_at(document_.where(root, other), fmt::format("the metric '{}' does not look at '{}', only at {}",
                                                        name, other, fmt::join(own, ", ")));
    }
    result.relative = number(root, "rtol");
    result.absolute = number(root, "atol");
    result.tolerance = number(root, "tolerance").value_or(0);
    result.confidence = number(root, "confidence").value_or(0);
    result.confidence_tolerance = number(root, "confidence_tolerance").value_or(0);
    result.iou = number(root, "iou").value_or(0);
    if (const auto first = number(root, "compare_first")) {
      constexpr double kMost = 1e15;
      if (*first < 1 || *first > kMost || std::trunc(*first) != *first) {
        fail_at(document_.where(root, "compare_first"),
                fmt::format("compare_first='{}' is no count from 1 to {}",
                            root.attribute("compare_first").value(), kMost));
      }
      result.compare_first = static_cast<std::int64_t>(*first);
    }
    return result;
  }

  std::size_t index(const pugi::xml_node& node) const {
    constexpr std::uint32_t kMost = 65'535;
    const std::string_view text = node.attribute("index").as_string("0");
    const auto value = number_of<std::uint32_t>(text);
    if (!value || *value > kMost)
      fail(node, fmt::format("index='{}' is no number from 0 to {}", text, kMost));
    return *value;
  }

  std::vector<CaseTensor> tensors(const pugi::xml_node& root, const char* kind) const {
    std::vector<CaseTensor> result;
    std::set<std::size_t> indices;
    for (const pugi::xml_node& node : root.children(kind)) {
      result.push_back(tensor(node));
      if (!indices.insert(result.back().index).second)
        fail(node, fmt::format("there is an <{}> of index {} already", kind, result.back().index));
    }
    return result;
  }

  CaseTensor tensor(const pugi::xml_node& node) const {
    require_known(node, kOfTensor, {});
    CaseTensor result;
    result.index = index(node);
    const auto type = element_type_of(node.attribute("element_type").value());
    const auto shape = PartialShape::parse(node.attribute("shape").value());
    if (!type || *type == ElementType::dynamic) {
      fail(node, fmt::format("the element type '{}' is not known", node.attribute("element_type").value()));
    }
    if (!shape || !shape->is_static())
      fail(node, fmt::format("'{}' is no static shape", node.attribute("shape").value()));
    result.element_type = *type;
    result.shape = shape->to_shape();
    result.file = inside(node, node.attribute("file").value());
    return result;
  }

  Document document_;
  std::filesystem::path folder_;
};

/// Case files hold u4 and i4 with the first element in the high half of its byte, tensors in the low half.
void swap_halves(Tensor& tensor) {
  if (tensor.element_type() != ElementType::u4 && tensor.element_type() != ElementType::i4) return;
  auto* bytes = static_cast<std::uint8_t*>(tensor.raw());
  for (std::size_t i = 0; i < tensor.byte_size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(bytes[i] << 4 | bytes[i] >> 4);
}

void write_tensors(const std::filesystem::path& folder, const char* kind, const std::vector<Tensor>& tensors,
                   pugi::xml_node root) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor tensor = tensors[i].clone();
    swap_halves(tensor);
    const std::string name = fmt::format("{}{}.bin", kind, i);
    NewFile file(folder / name);
    if (tensor.element_type() == ElementType::string) {
      file.stream() << pack_strings(tensor);
    } else {
      file.stream().write(static_cast<const char*>(tensor.raw()),
                          static_cast<std::streamsize>(tensor.byte_size()));
    }
    file.finish();
    file.put_in_place();
    pugi::xml_node node = root.append_child(kind);
    node.append_attribute("index") = i;
    node.append_attribute("element_type") = std::string(name_of(tensor.element_type())).c_str();
    node.append_attribute("shape") = fmt::format("{}", fmt::join(tensor.shape(), ",")).c_str();
    node.append_attribute("file") = name.c_str();
  }
}

}  // namespace

CaseFile read_case(const std::filesystem::path& path) { return CaseReader(path).read(); }

namespace {

Tensor read_strings(const CaseTensor& tensor, const RegularFile& file) {
  const std::string bytes = file.text();
  try {
    return unpack_strings(tensor.shape, std::as_bytes(std::span(bytes)));
  } catch (const Error& error) {
    throw file_error("IR-case", file.name(), error.diagnostics().front().message);
  }
}

}  // namespace

Tensor read_case_tensor(const CaseTensor& tensor, std::optional<std::int64_t> first,
                        std::int64_t max_input_bytes) {
  const RegularFile file(tensor.file);
  if (file.size() > max_input_bytes) {
    throw file_error(
        "IR-limit", file.name(),
        fmt::format("the file has {} bytes, the limit max_input_bytes is {}", file.size(), max_input_bytes));
  }
  if (tensor.element_type == ElementType::string) return read_strings(tensor, file);
  const auto size_of = [&](const Shape& shape) {
    const auto count = element_count(shape);
    return count ? storage_bytes(tensor.element_type, *count) : std::nullopt;
  };
  Shape shape = tensor.shape;
  if (first && size_of(shape) > file.size()) shape = {*first};
  // Nothing is allocated before the file is known to fill it.
  if (const auto bytes = size_of(shape); bytes != file.size()) {
    throw file_error("IR-case", file.name(),
                     fmt::format("the file has {} bytes, a tensor of {} {} takes {}", file.size(),
                                 name_of(tensor.element_type), to_string(shape),
                                 bytes ? fmt::format("{}", *bytes) : "more than any file has"));
  }
  Tensor result(tensor.element_type, shape);
  file.read_into(result.raw());
  swap_halves(result);
  return result;
}

void write_case(const std::filesystem::path& path, const std::string& model, const CaseMetric& metric,
                const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  pugi::xml_node root = document.append_child("case");
  root.append_attribute("model") = model.c_str();
  const auto number = [&](const char* name, double value) {
    root.append_attribute(name) = fmt::format("{}", value).c_str();
  };
  switch (metric.kind) {
    case CaseMetric::Kind::elementwise:
      root.append_attribute("metric") = "elementwise";
      if (metric.relative) number("rtol", *metric.relative);
      if (metric.absolute) number("atol", *metric.absolute);
      break;
    case CaseMetric::Kind::relative_l2:
      root.append_attribute("metric") = "relative_l2";
      number("tolerance", metric.tolerance);
      break;
    case CaseMetric::Kind::detections:
      root.append_attribute("metric") = "detections";
      number("confidence", metric.confidence);
      number("confidence_tolerance", metric.confidence_tolerance);
      number("iou", metric.iou);
      break;
  }
  if (metric.compare_first)
    root.append_attribute("compare_first") = static_cast<long long>(*metric.compare_first);
  write_tensors(path.parent_path(), "input", inputs, root);
  write_tensors(path.parent_path(), "output", outputs, root);
  NewFile file(path);
  document.save(file.stream(), "  ");
  file.finish();
  file.put_in_place();
}

}  // namespace ir::reader
