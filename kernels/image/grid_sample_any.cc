// The types that models hardly sample, compiled for size.
#include "kernels/base/scalar_type.h"
#include "kernels/image/grid_sample.h"
#include "kernels/image/grid_sampler.h"

namespace ir::kernels {

template void grid_sample(const GridSampleParams&, const float*, const double*, float*);

#define IR_INSTANTIATE(T)                                                         \
  template void grid_sample(const GridSampleParams&, const T*, const float*, T*); \
  template void grid_sample(const GridSampleParams&, const T*, const double*, T*);
IR_INSTANTIATE(double)
IR_KERNELS_FOR_EACH_INTEGER(IR_INSTANTIATE)
#undef IR_INSTANTIATE

}  // namespace ir::kernels
