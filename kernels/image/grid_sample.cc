#include "kernels/image/grid_sample.h"

#include "kernels/image/grid_sampler.h"

namespace ir::kernels {

template void grid_sample(const GridSampleParams&, const float*, const float*, float*);

}  // namespace ir::kernels
