// The weights file of a model that is written.
#ifndef IR_READER_CONSTANT_WRITER_H_
#define IR_READER_CONSTANT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir_runtime/model.h"

namespace ir::reader {

/// Puts the constants of a model and of its bodies one after another, equal ones once, and knows where each
/// one lies. Bytes go to the stream as they come: none are kept but those of strings.
class ConstantWriter {
 public:
  struct Place {
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };

  /// Writes all constants, in the order that they had in the file that the model was read from; those without
  /// such a place come first. Throws Error `IR-constant-missing` when one has no elements.
  ConstantWriter(const Model& model, std::ostream& file);

  [[nodiscard]] Place place_of(const Node& constant) const { return places_.at(&constant); }

 private:
  struct Written {
    std::int64_t offset = 0;
    /// The elements, which the model keeps, or an entry of `packed_`.
    std::string_view bytes;
  };

  std::string_view bytes_of(const Tensor& tensor);
  std::int64_t offset_of(std::string_view bytes);

  std::ostream& file_;
  std::int64_t end_ = 0;
  std::unordered_map<const Node*, Place> places_;
  /// By hash of the bytes.
  std::unordered_multimap<std::size_t, Written> written_;
  std::deque<std::string> packed_;
};

}  // namespace ir::reader

#endif  // IR_READER_CONSTANT_WRITER_H_
