// Which release of OpenVINO came with which opset, and which versions of operations are one and the same.
#ifndef IR_READER_OPSET_RELEASES_H_
#define IR_READER_OPSET_RELEASES_H_

#include <span>
#include <string_view>

namespace ir::reader {

/// The first release that has the opset, "2021.1"; empty for an opset of no release.
std::string_view release_of_opset(int opset);

/// The last release whose packages read an IR of this version, "2020.4"; empty when releases still do, or
/// never did.
std::string_view last_release_of_ir(int ir_version);

/// A class that means the same as an older one while its attribute `attribute` has one of `values`.
struct OpsetDowngrade {
  std::string_view type;
  /// First opset of the class.
  int from;
  /// First opset of the older class.
  int to;
  std::string_view attribute;
  std::span<const std::string_view> values;
};

std::span<const OpsetDowngrade> opset_downgrades();

}  // namespace ir::reader

#endif  // IR_READER_OPSET_RELEASES_H_
