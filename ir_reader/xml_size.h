// How many objects an XML text asks of a parser, found out before it is parsed.
#ifndef IR_READER_XML_SIZE_H_
#define IR_READER_XML_SIZE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ir::reader {

/// Where a text is beyond so many tags, attributes and pieces of text, which are never counted for fewer than
/// the parser makes objects of. A text that is not well-formed is counted somehow; the parser reports it.
std::optional<std::size_t> find_excess(std::string_view text, std::int64_t most);

}  // namespace ir::reader

#endif  // IR_READER_XML_SIZE_H_
