#include "tests/hostile/xml_spans.h"

#include <algorithm>

namespace ir::hostile {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kNameEnd = " \t\r\n/>=\"'<";

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  XmlSpans scan() {
    while (at_ < text_.size()) {
      const std::size_t tag = find('<', at_);
      if (text_.substr(at_, tag - at_).find_first_not_of(kSpace) != std::string_view::npos)
        spans_.texts.push_back({at_, tag});
      at_ = tag;
      if (at_ == text_.size()) break;
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (next == '/') {
        close();
      } else if (next == '?' || next == '!') {
        at_ = behind(find('>', at_));
      } else {
        open();
      }
    }
    return std::move(spans_);
  }

 private:
  [[nodiscard]] std::size_t find(char c, std::size_t from) const {
    return std::min(text_.find(c, from), text_.size());
  }
  [[nodiscard]] std::size_t behind(std::size_t position) const {
    return std::min(position + 1, text_.size());
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }
  Span name() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(kNameEnd, at_), text_.size());
    return {begin, at_};
  }

  void open() {
    XmlSpans::Element element;
    element.whole.begin = at_++;
    element.name = name();
    bool empty = false;
    while (at_ < text_.size() && text_[at_] != '>' && text_[at_] != '<') {
      empty = text_[at_] == '/';
      if (empty || kNameEnd.find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        attribute();
      }
    }
    at_ = at_ < text_.size() && text_[at_] == '>' ? at_ + 1 : at_;
    element.whole.end = at_;
    spans_.elements.push_back(element);
    if (!empty) open_.push_back(spans_.elements.size() - 1);
  }

  void attribute() {
    XmlSpans::Attribute found;
    found.name = name();
    skip_space();
    if (at_ == text_.size() || text_[at_] != '=') return;
    ++at_;
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return;
    found.value = {at_ + 1, find(text_[at_], at_ + 1)};
    at_ = behind(found.value.end);
    found.whole = {found.name.begin, at_};
    spans_.attributes.push_back(found);
  }

  // The elements that no tag closes end where they began.
  void close() {
    at_ += 2;
    const std::string_view wanted = name().in(text_);
    at_ = behind(find('>', at_));
    for (std::size_t i = open_.size(); i-- > 0;) {
      XmlSpans::Element& element = spans_.elements[open_[i]];
      if (element.name.in(text_) != wanted) continue;
      element.whole.end = at_;
      open_.resize(i);
      return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::size_t> open_;
  XmlSpans spans_;
};

}  // namespace

XmlSpans find_spans(std::string_view text) { return Scanner(text).scan(); }

}  // namespace ir::hostile
