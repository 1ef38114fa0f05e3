// Notes on the release of OpenVINO that a model needs, and on what would let older ones read it.
#ifndef IR_READER_RELEASE_NOTES_H_
#define IR_READER_RELEASE_NOTES_H_

#include <string>
#include <string_view>
#include <vector>

#include "ir_reader/audit.h"

namespace ir::reader {

/// Collects over a network and its bodies the layers of the newest opset: only these decide.
class ReleaseNotes {
 public:
  void collect(const GraphView& view);
  /// Adds the notes: the release, then layers that an older opset holds, too.
  void report(const ReadState& state);

 private:
  struct Use {
    SourceLocation where;
    LayerReference layer;
    std::string_view type;
    /// What an older opset has, and how to write that; empty when nothing is known.
    std::string downgrade;
    std::string hint;
  };

  static void find_downgrade(const Op& op, int needed, Use& use);

  int newest_ = 0;
  std::vector<Use> uses_;
};

}  // namespace ir::reader

#endif  // IR_READER_RELEASE_NOTES_H_
