#include "ir_runtime/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ir_runtime/diagnostics.h"

namespace ir {
namespace {

constexpr std::string_view kFirstWords = "ir_runtime tuning ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kEquals = " = ";
constexpr std::size_t kMostCharacters = 2000;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_algorithm(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_threads(std::string_view text) {
  constexpr std::string_view kName = "threads=";
  if (!text.starts_with(kName)) return false;
  text.remove_prefix(kName.size());
  return !text.empty() && text.front() != '0' && std::ranges::all_of(text, is_digit);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    if (end == text.size()) return words;
    text.remove_prefix(end + 1);
  }
}

// Target, threads, kind of step, and at least one word of geometry.
bool is_key(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  const auto is_word = [](std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
      return is_lower(c) || is_digit(c) || std::string_view("_=+-").find(c) != std::string_view::npos;
    });
  };
  return words.size() > 3 && !words[0].empty() &&
         std::ranges::all_of(words[0], [](char c) { return is_upper(c) || is_digit(c) || c == '_'; }) &&
         is_threads(words[1]) && is_algorithm(words[2]) &&
         std::all_of(words.begin() + 3, words.end(), is_word);
}

// What is wrong with a choice; empty when it is right.
std::string fault_of(std::string_view key, std::string_view algorithm) {
  if (!is_key(key))
    return fmt::format("'{}' is not of the form 'TARGET threads=N KIND GEOMETRY'", printable(key));
  if (!is_algorithm(algorithm)) return fmt::format("'{}' is no name of an algorithm", printable(algorithm));
  if (key.size() + kEquals.size() + algorithm.size() > kMostCharacters)
    return fmt::format("the choice takes more than {} characters", kMostCharacters);
  return {};
}

class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] int number() const { return number_; }
  std::string_view next() {
    ++number_;
    const std::size_t end = rest_.find('\n');
    if (std::min(end, rest_.size()) > kMostCharacters)
      fail(fmt::format("the line has more than {} characters", kMostCharacters));
    if (end == std::string_view::npos) fail("the line is cut off: no line break ends it");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  [[noreturn]] void fail(std::string message) const {
    throw Error({Diagnostic{Severity::error, "IR-tuning", {name_, number_, 1}, {}, std::move(message), {}}});
  }

 private:
  std::string_view rest_;
  const std::string& name_;
  int number_ = 0;
};

void check_first_line(Lines& lines) {
  const std::string_view line = lines.next();
  if (!line.starts_with(kFirstWords)) {
    lines.fail(fmt::format("'{}' is not '{}{}', with which tuning files begin", printable(line), kFirstWords,
                           kVersion));
  }
  const std::string_view version = line.substr(kFirstWords.size());
  if (version != kVersion)
    lines.fail(fmt::format("the format has version '{}', known is {}", printable(version), kVersion));
}

}  // namespace

std::shared_ptr<Tuning> Tuning::parse(std::string_view text, const std::string& name) {
  auto tuning = std::make_shared<Tuning>();
  Lines lines(text, name);
  check_first_line(lines);
  std::map<std::string_view, int> seen;
  while (!lines.at_end()) {
    const std::string_view line = lines.next();
    const std::size_t equals = line.rfind(kEquals);
    if (equals == std::string_view::npos)
      lines.fail(fmt::format("'{}' is not of the form 'KEY = ALGORITHM'", printable(line)));
    const std::string_view key = line.substr(0, equals);
    const std::string_view algorithm = line.substr(equals + kEquals.size());
    if (std::string fault = fault_of(key, algorithm); !fault.empty()) lines.fail(std::move(fault));
    const auto [first, is_new] = seen.emplace(key, lines.number());
    if (!is_new) lines.fail(fmt::format("the choice stands in line {}, too", first->second));
    tuning->choices_.emplace(key, algorithm);
  }
  return tuning;
}

std::optional<std::string> Tuning::choice(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = choices_.find(key);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void Tuning::set_choice(const std::string& key, const std::string& algorithm) {
  if (std::string fault = fault_of(key, algorithm); !fault.empty())
    throw Error("IR-tuning", std::move(fault));
  const std::lock_guard lock(mutex_);
  choices_[key] = algorithm;
}

std::map<std::string, std::string, std::less<>> Tuning::choices() const {
  const std::lock_guard lock(mutex_);
  return choices_;
}

std::string Tuning::text() const {
  std::string text = fmt::format("{}{}\n", kFirstWords, kVersion);
  for (const auto& [key, algorithm] : choices()) text += fmt::format("{}{}{}\n", key, kEquals, algorithm);
  return text;
}

}  // namespace ir
