#include "kernels/creation/eye.h"

#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {

void eye(std::size_t batch, std::size_t rows, std::size_t columns, std::int64_t diagonal, const void* one,
         std::size_t element_size, void* out) {
  const std::size_t row_bytes = columns * element_size;
  const std::size_t grain = grain_for_cost(cost_of_bytes(row_bytes));
  parallel_for(batch * rows, grain, [&](std::size_t begin, std::size_t end) {
    std::memset(static_cast<char*>(out) + begin * row_bytes, 0, (end - begin) * row_bytes);
    for (std::size_t line = begin; line < end; ++line) {
      // Row + diagonal may overflow for a diagonal far outside; the difference of two sizes does not.
      const auto row = static_cast<std::int64_t>(line % rows);
      if (diagonal < -row || diagonal >= static_cast<std::int64_t>(columns) - row) continue;
      const auto column = static_cast<std::size_t>(row + diagonal);
      std::memcpy(static_cast<char*>(out) + line * row_bytes + column * element_size, one, element_size);
    }
  });
}

}  // namespace ir::kernels
