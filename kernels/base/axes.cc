#include "kernels/base/axes.h"

#include <algorithm>

namespace ir::kernels {

AxesPlan::AxesPlan(Dims dims, std::span<const std::size_t> axes) {
  struct Part {
    Dim dim;
    bool reduced;
  };
  std::vector<Part> parts;  // innermost first, neighbours of a kind merged
  std::size_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!parts.empty() && parts.back().reduced == reduced) {
      parts.back().dim.size *= dims[i];
    } else {
      parts.push_back({{dims[i], stride}, reduced});
    }
    stride *= dims[i];
  }

  // The innermost kept dim, if it comes first, is `inner`; the innermost reduced dim is `length`.
  auto part = parts.begin();
  if (part != parts.end() && !part->reduced) inner_ = (part++)->dim.size;
  if (part != parts.end()) {
    length_ = part->dim.size;
    step_ = part->dim.stride;
    ++part;
  }
  for (; part != parts.end(); ++part) {
    (part->reduced ? block_dims_ : outer_dims_).push_back(part->dim);
    (part->reduced ? blocks_ : outer_) *= part->dim.size;
  }
}

// Without a division for the outermost dim, mostly the only one.
std::size_t AxesPlan::offset(const std::vector<Dim>& dims, std::size_t index) {
  if (dims.empty()) return 0;
  std::size_t sum = 0;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {  // innermost first
    sum += index % dims[i].size * dims[i].stride;
    index /= dims[i].size;
  }
  return sum + index * dims.back().stride;
}

}  // namespace ir::kernels
