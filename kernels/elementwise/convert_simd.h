// The conversions that whole models go through, with SIMD code of their own; the others are plain loops.
#ifndef KERNELS_ELEMENTWISE_CONVERT_SIMD_H_
#define KERNELS_ELEMENTWISE_CONVERT_SIMD_H_

#include <cstddef>
#include <cstdint>

#include "kernels/base/float16.h"
#include "kernels/base/scalar_type.h"

namespace ir::kernels {

/// A boolean in memory.
struct Boolean {
  std::uint8_t byte;
};

// convert() of one span on the calling thread; same rules: pointers need not be aligned to their types.
void convert_span(const Float16* in, float* out, std::size_t count);
void convert_span(const BFloat16* in, float* out, std::size_t count);
void convert_span(const std::int8_t* in, float* out, std::size_t count);
void convert_span(const std::uint8_t* in, float* out, std::size_t count);
void convert_span(const std::int32_t* in, float* out, std::size_t count);
void convert_span(const double* in, float* out, std::size_t count);
void convert_span(const float* in, Float16* out, std::size_t count);
void convert_span(const float* in, BFloat16* out, std::size_t count);
void convert_span(const float* in, std::int8_t* out, std::size_t count);
void convert_span(const float* in, std::uint8_t* out, std::size_t count);
void convert_span(const float* in, std::int32_t* out, std::size_t count);
void convert_span(const float* in, double* out, std::size_t count);
void convert_span(const float* in, Boolean* out, std::size_t count);

/// Whether there is a `convert_span` for these types.
bool has_convert_span(ScalarType from, ScalarType to);

}  // namespace ir::kernels

#endif  // KERNELS_ELEMENTWISE_CONVERT_SIMD_H_
