// Looks at every element of a constant for numbers that are none.
#ifndef IR_READER_VALUE_SCAN_H_
#define IR_READER_VALUE_SCAN_H_

#include <cstddef>
#include <cstdint>

#include "ir_runtime/element_type.h"

namespace ir::reader {

/// How many elements are what, and the index of the first one; the kinds do not overlap.
struct ValueCounts {
  struct Kind {
    std::int64_t count = 0;
    std::int64_t first = -1;
  };
  Kind nan;
  Kind infinite;
  /// Finite, but infinite once they are rounded to f16.
  Kind beyond_f16;
  /// Smaller than the smallest normal number of the type, and not 0; not counted for f16.
  Kind denormal;
  /// Neither of the above, nor 0.
  std::int64_t usual = 0;
  /// Finite ones of at least 1e30 and, other than 0, of less than 1e-30, which are counted above too.
  std::int64_t extreme = 0;
};

/// Whether elements of the type are looked at: f64, f32, bf16, f16.
bool is_scanned(ElementType type);

/// `memory` holds `count` elements at any alignment. Precondition: is_scanned(type).
ValueCounts scan_values(ElementType type, const std::byte* memory, std::int64_t count);

}  // namespace ir::reader

#endif  // IR_READER_VALUE_SCAN_H_
