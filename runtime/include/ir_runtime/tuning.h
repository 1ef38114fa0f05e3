// Choices between algorithms that were measured on a machine, to be kept in a file.
#ifndef IR_RUNTIME_TUNING_H_
#define IR_RUNTIME_TUNING_H_

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ir {

/// For steps that several algorithms can do: the name of the one to take, by a key of one line of text: SIMD
/// target, number of threads, kind of step, geometry.
///
///     AVX3 threads=2 convolution in=1x64x56x56 out=64x56x56 kernel=3x3 ... weights=constant
///
/// A choice says nothing of other targets and numbers of threads: a file may hold those of several machines.
/// Thread-safe. Results of algorithms may differ in their last bits, and so may those of a tuned model and
/// one that is not; the same choices give the same bits.
class Tuning {
 public:
  /// What `text()` gave; `name` is the file's, for messages. Throws Error `IR-tuning` with the line that is
  /// no choice, or is cut off, or stands twice.
  static std::shared_ptr<Tuning> parse(std::string_view text, const std::string& name);

  /// The algorithm for a key; nothing when it is not known.
  [[nodiscard]] std::optional<std::string> choice(std::string_view key) const;
  /// Throws Error `IR-tuning` when key or algorithm are of another form than those of files.
  void set_choice(const std::string& key, const std::string& algorithm);
  /// All choices, by key.
  [[nodiscard]] std::map<std::string, std::string, std::less<>> choices() const;

  /// A line "ir_runtime tuning 1", then one line "KEY = ALGORITHM" per choice, sorted.
  [[nodiscard]] std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> choices_;
};

/// Throws Error `IR-file` when the file cannot be read, `IR-limit` when it has more than 16 MiB, and what
/// Tuning::parse throws.
std::shared_ptr<Tuning> read_tuning(const std::filesystem::path& path);

/// Replaces the file when the new one is whole. Throws Error `IR-file`.
void write_tuning(const Tuning& tuning, const std::filesystem::path& path);

}  // namespace ir

#endif  // IR_RUNTIME_TUNING_H_
