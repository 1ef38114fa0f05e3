// What is odd about a weights file as a whole, and about the numbers in it.
#ifndef IR_READER_WEIGHTS_CHECK_H_
#define IR_READER_WEIGHTS_CHECK_H_

#include <span>

#include "ir_reader/constants.h"
#include "ir_reader/findings.h"
#include "ir_reader/weights.h"

namespace ir::reader {

/// Constants that share some of their bytes, and bytes that belong to none; zeros of less than 64 bytes in
/// front of an aligned constant are padding. With `notes` harmless ones, too. Takes no longer than sorting
/// the constants.
void check_layout(std::span<const ConstantPlace> constants, const Weights& weights, bool notes,
                  Findings& findings);

/// Bytes that different places hold more than once. Reads constants of which others have the size.
void check_duplicates(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings);

/// NaN, infinity, numbers that f16 cannot hold, denormal numbers, and constants most of whose numbers are
/// extreme. Reads all floating-point constants, each place once.
void check_values(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings);

/// Whether the constants' places add up to a small multiple of the file, so that reading each takes no longer
/// than reading the file a few times. Else a finding says so.
bool worth_reading(std::span<const ConstantPlace> constants, const Weights& weights, Findings& findings);

}  // namespace ir::reader

#endif  // IR_READER_WEIGHTS_CHECK_H_
