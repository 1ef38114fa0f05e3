// Ties constants to their elements in the weights file.
#ifndef IR_READER_CONSTANTS_H_
#define IR_READER_CONSTANTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "ir_reader/layers.h"
#include "ir_reader/weights.h"
#include "ir_runtime/ops/infrastructure.h"

namespace ir::reader {

/// A constant, and the bytes of the weights file that it names. They lie in the file.
struct ConstantPlace {
  LayerReference layer;
  SourceLocation where;
  ElementType type = ElementType::dynamic;
  Shape shape;
  std::int64_t offset = 0;
  std::int64_t size = 0;

  [[nodiscard]] std::int64_t end() const { return offset + size; }
};

/// Serves the network and all bodies of one file.
class ConstantReader {
 public:
  /// `weights` may be null: then there is no such file. `file` is where it was looked for.
  ConstantReader(std::shared_ptr<const Weights> weights, std::string file)
      : weights_(std::move(weights)), file_(std::move(file)) {}

  /// Gives the constant its elements, which are a view into the file, or a copy where they cannot be read in
  /// place. `data` is the element that says where they are. False when something is wrong with it, which the
  /// findings then tell.
  bool bind(const ReadState& state, LayerReference layer, const pugi::xml_node& data,
            op::v0::Constant& constant);
  /// After the last constant: what concerns many of them.
  void report_missing(Findings& findings) const;
  /// A note that constants were read without their values, if any was.
  void note_unchecked(const ReadState& state) const;

  /// In the order of the file.
  [[nodiscard]] const std::vector<ConstantPlace>& places() const { return places_; }
  [[nodiscard]] const std::shared_ptr<const Weights>& weights() const { return weights_; }
  /// Whether every constant has a place.
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  class Binding;
  // Offset, bytes and type.
  using CopyKey = std::tuple<std::int64_t, std::int64_t, ElementType>;

  std::shared_ptr<const Weights> weights_;
  std::string file_;
  std::vector<ConstantPlace> places_;
  bool whole_ = true;
  bool reported_absence_ = false;
  /// Constants that were read without weights.
  std::int64_t unchecked_ = 0;
  std::int64_t beyond_ = 0;
  std::int64_t furthest_end_ = 0;
  /// Constants that share a place share their copy.
  std::map<CopyKey, std::shared_ptr<const Tensor>> copies_;
};

}  // namespace ir::reader

#endif  // IR_READER_CONSTANTS_H_
