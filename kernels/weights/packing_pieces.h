// Constants on their way into a kernel's own form, piece by piece: what was packed need not stay in memory
// until all of it is.
#ifndef KERNELS_WEIGHTS_PACKING_PIECES_H_
#define KERNELS_WEIGHTS_PACKING_PIECES_H_

#include <cstddef>
#include <span>

#include "kernels/threads/function_ref.h"

namespace ir::kernels {

/// Whether a kernel may read what it has packed once more: to pack it in another form, which is as fast where
/// the constant is part of a file.
enum class Rereads { maybe, never };

/// Is told which parts of constants have been packed, and whether the kernel that is being prepared may read
/// them again while it is. In force on the thread that makes it, as long as it lives; an inner one takes the
/// place of an outer one. What a part is of is for the listener to find out: kernels also pack what they have
/// made themselves.
class PackingListener {
 public:
  using Packed = FunctionRef<void(std::span<const std::byte> part, Rereads rereads)>;

  /// `packed` must outlive the listener.
  explicit PackingListener(const Packed& packed);
  ~PackingListener();
  PackingListener(const PackingListener&) = delete;
  PackingListener& operator=(const PackingListener&) = delete;

  /// For kernels: tells the listener in force, if there is one.
  static void tell(std::span<const std::byte> part, Rereads rereads = Rereads::maybe);

 private:
  const Packed* packed_;
  PackingListener* outer_;
};

/// Packs items [0, count), which lie one behind the other, by calls of pack(begin, end) for some of them at a
/// time, and tells about each. `source(i)` is where item i begins, also for i = count.
void pack_in_pieces(std::size_t count, FunctionRef<const void*(std::size_t)> source,
                    FunctionRef<void(std::size_t begin, std::size_t end)> pack,
                    Rereads rereads = Rereads::maybe);

/// Some neighbouring parts of an axis: from `first` up to, not with, `last`.
struct PartRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Parts of an axis; `begin(i)` is where part i begins, at most `size`, also for i = count.
struct AxisParts {
  std::size_t count = 0;
  std::size_t size = 0;
  FunctionRef<std::size_t(std::size_t)> begin;
};

/// The same for the right operand of a product, [terms, columns], or `transposed` [columns, terms]:
/// pack(columns, terms) for some parts of the axis of which whole ones lie together, and all of the other.
void pack_operand_in_pieces(const float* from, bool transposed, const AxisParts& columns,
                            const AxisParts& terms,
                            FunctionRef<void(const PartRange& columns, const PartRange& terms)> pack,
                            Rereads rereads = Rereads::maybe);

}  // namespace ir::kernels

#endif  // KERNELS_WEIGHTS_PACKING_PIECES_H_
