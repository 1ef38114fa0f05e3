#include <algorithm>

#include "hwy/base.h"
#include "kernels/base/scalar_type.h"
#include "kernels/indexing/scatter_operations.h"

namespace ir::kernels::scatter {

template <class Op, class T>
void update_run(const T* HWY_RESTRICT from, T* HWY_RESTRICT to, std::size_t count) {
  if constexpr (std::is_same_v<Op, Assign>) {
    std::copy_n(from, count, to);
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = Op::apply(to[i], from[i]);
  }
}

#define IR_INSTANTIATE(Op, T) template void update_run<Op, T>(const T*, T*, std::size_t);
#define IR_INSTANTIATE_ORDER(T) \
  IR_INSTANTIATE(Min, T)        \
  IR_INSTANTIATE(Max, T)
#define IR_INSTANTIATE_ARITHMETIC(T) \
  IR_INSTANTIATE(Assign, T)          \
  IR_INSTANTIATE(Sum, T)             \
  IR_INSTANTIATE(Sub, T)             \
  IR_INSTANTIATE(Prod, T)
IR_KERNELS_FOR_EACH_NUMBER(IR_INSTANTIATE_ORDER)
IR_INSTANTIATE_ORDER(bool)
IR_INSTANTIATE_ARITHMETIC(float)
IR_INSTANTIATE_ARITHMETIC(double)
IR_INSTANTIATE_ARITHMETIC(bool)
IR_INSTANTIATE_ARITHMETIC(std::uint8_t)
IR_INSTANTIATE_ARITHMETIC(std::uint16_t)
IR_INSTANTIATE_ARITHMETIC(std::uint32_t)
IR_INSTANTIATE_ARITHMETIC(std::uint64_t)
#undef IR_INSTANTIATE_ARITHMETIC
#undef IR_INSTANTIATE_ORDER
#undef IR_INSTANTIATE

}  // namespace ir::kernels::scatter
