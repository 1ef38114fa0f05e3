// What stands around a layer: where its inputs come from, and what reads its outputs.
#ifndef IR_READER_NEIGHBOURS_H_
#define IR_READER_NEIGHBOURS_H_

#include <optional>
#include <string>
#include <vector>

#include "ir_reader/topology.h"
#include "ir_runtime/model.h"

namespace ir::reader {

/// What the readers of an output declare of it.
struct Readers {
  /// As the output port, against inference.
  bool as_declared = false;
  /// As inference gives, against the output port.
  bool as_inferred = false;
};

class Neighbours {
 public:
  /// Refers to all three; `sources` may be filled later on.
  Neighbours(const ReadState& state, const LayerGraph& graph, const Sources& sources)
      : state_(state), graph_(graph), sources_(sources) {}

  /// "output port 1 of layer 'x' in line 3 comes by the edge in line 40"
  [[nodiscard]] std::string origin_of(const Layer& layer, std::size_t input) const;
  /// "input 1 is the constant 'axes' in line 12; ..." for the first few inputs that are one; empty when none
  /// is.
  [[nodiscard]] std::string constants_of(const Layer& layer) const;
  /// "output port 1 of layer 'x' in line 3 is read by nothing and fits: is from-layer="7" from-port="1"
  /// meant?" when that is so of one output.
  [[nodiscard]] std::string unread_for(const Layer& layer, std::size_t input);
  [[nodiscard]] Readers readers_of(const Layer& layer, std::size_t output, const ValueInfo& inferred);

 private:
  struct Reader {
    std::size_t layer = 0;
    std::size_t input = 0;
    std::size_t output = 0;
  };

  [[nodiscard]] std::size_t index_of(const Layer& layer) const { return &layer - graph_.layers.data(); }
  void find_readers();
  void find_unread();

  const ReadState& state_;
  const LayerGraph& graph_;
  const Sources& sources_;
  /// For each layer, by outputs, once one was asked for.
  std::vector<std::vector<Reader>> readers_;
  /// Outputs that nothing reads, up to a few, once they were asked for.
  std::optional<std::vector<Source>> unread_;
};

}  // namespace ir::reader

#endif  // IR_READER_NEIGHBOURS_H_
