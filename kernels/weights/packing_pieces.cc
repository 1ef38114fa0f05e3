#include "kernels/weights/packing_pieces.h"

#include <algorithm>
#include <utility>

#include "kernels/matmul/gemm_kernels.h"

namespace ir::kernels {
namespace {

thread_local PackingListener* in_force = nullptr;

}  // namespace

PackingListener::PackingListener(const Packed& packed)
    : packed_(&packed), outer_(std::exchange(in_force, this)) {}

PackingListener::~PackingListener() { in_force = outer_; }

void PackingListener::tell(const void* part, std::size_t bytes) {
  if (in_force != nullptr) (*in_force->packed_)(part, bytes);
}

void pack_in_pieces(std::size_t count, FunctionRef<const void*(std::size_t)> source,
                    FunctionRef<void(std::size_t begin, std::size_t end)> pack) {
  // Few enough that little is in memory twice, so many that all threads have work.
  constexpr std::size_t kPieceBytes = std::size_t{1} << 22;
  if (count == 0) return;
  const auto bytes_between = [&](std::size_t first, std::size_t last) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(source(last)) -
                                    static_cast<const std::byte*>(source(first)));
  };
  const std::size_t bytes = bytes_between(0, count);
  const Split pieces(count, divide_up(count, std::max<std::size_t>(bytes / kPieceBytes, 1)));
  for (std::size_t piece = 0; piece < pieces.parts; ++piece) {
    const std::size_t begin = pieces.begin(piece);
    const std::size_t end = pieces.begin(piece + 1);
    pack(begin, end);
    PackingListener::tell(source(begin), bytes_between(begin, end));
  }
}

void pack_operand_in_pieces(const float* from, bool transposed, const AxisParts& columns,
                            const AxisParts& terms,
                            FunctionRef<void(const PartRange& columns, const PartRange& terms)> pack) {
  const AxisParts& outer = transposed ? columns : terms;
  const std::size_t inner = transposed ? terms.size : columns.size;
  const auto source = [&](std::size_t part) {
    return from + std::min(outer.begin(part), outer.size) * inner;
  };
  pack_in_pieces(outer.count, source, [&](std::size_t first, std::size_t last) {
    if (transposed) {
      pack({first, last}, {0, terms.count});
    } else {
      pack({0, columns.count}, {first, last});
    }
  });
}

}  // namespace ir::kernels
