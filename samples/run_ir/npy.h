// NumPy's .npy files.
#ifndef SAMPLES_RUN_IR_NPY_H_
#define SAMPLES_RUN_IR_NPY_H_

#include <filesystem>
#include <ostream>

#include "ir_runtime/tensor.h"

namespace run_ir {

/// Reads a dense array of version 1 to 3, in C or Fortran order and either order of bytes; bytes ('S') and
/// characters ('U', which become UTF-8) of fixed length are strings. Throws ir::Error `IR-npy`, and what
/// read_file throws.
ir::Tensor read_npy(const std::filesystem::path& path);

/// Writes version 1.0. Types that NumPy lacks (bf16, packed types) are written as f32; strings as bytes of
/// one length, which drops zeros at their ends.
void write_npy(std::ostream& stream, const ir::Tensor& tensor);
/// Writes the whole file or nothing. Throws ir::Error `IR-file`.
void write_npy(const std::filesystem::path& path, const ir::Tensor& tensor);

}  // namespace run_ir

#endif  // SAMPLES_RUN_IR_NPY_H_
