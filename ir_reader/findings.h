// Collects diagnostics while a file is read, up to a bound.
#ifndef IR_READER_FINDINGS_H_
#define IR_READER_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir_runtime/diagnostics.h"

namespace ir::reader {

/// A finding that was kept, for what follows from it.
using FindingId = std::size_t;
inline constexpr FindingId kNoFinding = std::numeric_limits<FindingId>::max();

class Findings {
 public:
  explicit Findings(std::int64_t limit) : limit_(limit) {}

  /// Makes errors warnings as long as it lives, if it applies: of layers that are left out of the model.
  class Leniency {
   public:
    Leniency(Findings& findings, bool applies) : findings_(findings), before_(findings.lenient_) {
      findings.lenient_ = before_ || applies;
    }
    ~Leniency() { findings_.lenient_ = before_; }
    Leniency(const Leniency&) = delete;
    Leniency& operator=(const Leniency&) = delete;

   private:
    Findings& findings_;
    bool before_;
  };

  /// Keeps the finding; past the limit of its severity only the first error is kept, others are counted.
  FindingId add(Diagnostic diagnostic) {
    if (lenient_) forgive(diagnostic);
    const bool first_error = diagnostic.severity == Severity::error && error_count_++ == 0;
    Tally& tally = tally_of(diagnostic.severity);
    if (!first_error && tally.kept >= limit_) {
      ++tally.left_out;
      return kNoFinding;
    }
    ++tally.kept;
    all_.push_back(std::move(diagnostic));
    return all_.size() - 1;
  }
  /// Keeps a finding that only repeats `cause`. One that is graver than its cause stands by itself.
  void add_consequence(FindingId cause, Diagnostic diagnostic) {
    if (lenient_) forgive(diagnostic);
    if (cause != kNoFinding && diagnostic.severity > all_[cause].severity) {
      add(std::move(diagnostic));
      return;
    }
    if (diagnostic.severity == Severity::error) ++error_count_;
    if (cause == kNoFinding) return;
    if (consequences_ >= limit_) {
      ++all_[cause].more_consequences;
      return;
    }
    ++consequences_;
    all_[cause].consequences.push_back(std::move(diagnostic));
  }
  void error(std::string code, SourceLocation where, LayerReference layer, std::string message,
             std::string hint = {}) {
    add({Severity::error, std::move(code), std::move(where), std::move(layer), std::move(message),
         std::move(hint)});
  }
  void warning(std::string code, SourceLocation where, LayerReference layer, std::string message,
               std::string hint = {}) {
    add({Severity::warning, std::move(code), std::move(where), std::move(layer), std::move(message),
         std::move(hint)});
  }

  [[nodiscard]] std::int64_t errors() const { return error_count_; }
  /// Errors that a Leniency has made warnings.
  [[nodiscard]] std::int64_t forgiven() const { return forgiven_count_; }
  /// No finding would be kept, but for notes: whatever is costly to say need not be found out.
  [[nodiscard]] bool full() const { return errors_.kept >= limit_ && warnings_.kept >= limit_; }
  /// Some findings were not even counted.
  void stop_counting() { counted_all_ = false; }
  /// The first finding from `begin` on that has one of the codes.
  [[nodiscard]] FindingId first_of(std::initializer_list<std::string_view> codes, FindingId begin = 0) const {
    for (FindingId id = begin; id < all_.size(); ++id) {
      for (const std::string_view code : codes) {
        if (all_[id].code == code) return id;
      }
    }
    return kNoFinding;
  }
  /// Number of findings that stand by themselves; the id of the next one.
  [[nodiscard]] FindingId next() const { return all_.size(); }
  /// All that were kept, and behind them what was left out, in numbers.
  [[nodiscard]] std::vector<Diagnostic> take();

 private:
  void forgive(Diagnostic& diagnostic);

  struct Tally {
    std::int64_t kept = 0;
    std::int64_t left_out = 0;
  };
  Tally& tally_of(Severity severity) {
    return severity == Severity::error ? errors_ : severity == Severity::warning ? warnings_ : notes_;
  }

  std::vector<Diagnostic> all_;
  std::int64_t limit_;
  /// By severity: warnings do not crowd out errors.
  Tally errors_;
  Tally warnings_;
  Tally notes_;
  std::int64_t consequences_ = 0;
  std::int64_t error_count_ = 0;
  std::int64_t forgiven_count_ = 0;
  bool lenient_ = false;
  bool counted_all_ = true;
};

}  // namespace ir::reader

#endif  // IR_READER_FINDINGS_H_
