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

void PackingListener::tell(std::span<const std::byte> part, Rereads rereads) {
  if (in_force != nullptr) (*in_force->packed_)(part, rereads);
}

void pack_in_pieces(std::size_t count, FunctionRef<const void*(std::size_t)> source,
                    FunctionRef<void(std::size_t begin, std::size_t end)> pack, Rereads rereads) {
  // So small that little is in memory twice, so large, and so few, that all threads have work and hardly stop
  // for it.
  constexpr std::size_t kMostPieces = 32;
  constexpr std::size_t kLeastBytes = std::size_t{3} << 19;
  constexpr std::size_t kMostBytes = std::size_t{1} << 22;
  if (count == 0) return;
  const auto bytes_of = [&](std::size_t begin, std::size_t end) {
    return std::span(static_cast<const std::byte*>(source(begin)),
                     static_cast<const std::byte*>(source(end)));
  };
  const std::size_t bytes = bytes_of(0, count).size();
  const std::size_t piece_bytes =
      std::max(std::clamp(bytes / 2, kLeastBytes, kMostBytes), bytes / kMostPieces);
  const std::size_t parts = std::max<std::size_t>(bytes / piece_bytes, 1);
  const Split pieces(count, divide_up(count, parts));
  for (std::size_t piece = 0; piece < pieces.parts; ++piece) {
    const std::size_t begin = pieces.begin(piece);
    const std::size_t end = pieces.begin(piece + 1);
    pack(begin, end);
    PackingListener::tell(bytes_of(begin, end), rereads);
  }
}

void pack_operand_in_pieces(const float* from, bool transposed, const AxisParts& columns,
                            const AxisParts& terms,
                            FunctionRef<void(const PartRange& columns, const PartRange& terms)> pack,
                            Rereads rereads) {
  const AxisParts& outer = transposed ? columns : terms;
  const std::size_t inner = transposed ? terms.size : columns.size;
  const auto source = [&](std::size_t part) {
    return from + std::min(outer.begin(part), outer.size) * inner;
  };
  const auto pack_outer = [&](std::size_t first, std::size_t last) {
    if (transposed) {
      pack({first, last}, {0, terms.count});
    } else {
      pack({0, columns.count}, {first, last});
    }
  };
  pack_in_pieces(outer.count, source, pack_outer, rereads);
}

}  // namespace ir::kernels
