// Answers what a Seatbelt profile of the generated subset permits. It stands in for macOS in tests,
// reads the text from the outside as its kernel would, and refuses every form it does not know.
#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.h"

namespace cordon::testing {

class SbplProfile {
 public:
  explicit SbplProfile(std::string_view text) : text_(text) {
    while (skip_blanks()) rules_.push_back(read_rule());
    if (rules_.empty() || !saw_default_) throw std::runtime_error("no default");
  }

  // `operation` is "file-read*", "file-write*", "network-outbound", ...; the last rule that matches
  // decides.
  [[nodiscard]] bool allows(std::string_view operation, const std::string& path = "") const {
    bool allowed = false;
    for (const Rule& rule : rules_) {
      if (rule.covers(operation) && rule.matches(path)) allowed = rule.allow;
    }
    return allowed;
  }
  [[nodiscard]] std::size_t size() const { return rules_.size(); }

 private:
  struct Rule {
    bool allow = false;
    std::vector<std::string> operations;
    std::string filter;  // empty: everything
    std::string value;

    [[nodiscard]] bool covers(std::string_view operation) const {
      for (const std::string& own : operations) {
        if (own == "default" || own == operation) return true;
      }
      return false;
    }
    [[nodiscard]] bool matches(const std::string& path) const {
      if (filter.empty()) return true;
      if (filter == "literal") return path == value;
      if (filter == "subpath") return !path.empty() && contains(value, path);
      if (filter == "regex") return std::regex_search(path, compiled(value));
      return false;  // of a kind that no path matches
    }
  };

  // Compiling one costs far more than asking it, and profiles share most of theirs.
  static const std::regex& compiled(const std::string& text) {
    static std::map<std::string, std::regex> known;
    auto found = known.find(text);
    if (found == known.end()) found = known.emplace(text, std::regex(text)).first;
    return found->second;
  }

  bool skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == ' ')) ++at_;
    return at_ < text_.size();
  }
  void expect(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) {
      throw std::runtime_error("expected " + std::string(1, c) + " at " + std::to_string(at_));
    }
    ++at_;
  }
  [[nodiscard]] char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string word() {
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ')' && text_[at_] != '(' &&
           text_[at_] != '\n' && text_[at_] != '"') {
      ++at_;
    }
    if (at_ == from) throw std::runtime_error("expected a word at " + std::to_string(at_));
    return text_.substr(from, at_ - from);
  }
  std::string string_literal(bool raw) {
    if (raw) expect('#');
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (!raw && text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) out.push_back(text_[at_++]);
    }
    expect('"');
    return out;
  }
  Rule read_rule() {
    expect('(');
    const std::string verdict = word();
    Rule rule;
    if (verdict == "version") {
      if (word() != "1") throw std::runtime_error("version");
      expect(')');
      return rule;
    }
    if (verdict != "allow" && verdict != "deny") throw std::runtime_error("unknown " + verdict);
    rule.allow = verdict == "allow";
    while (peek() != '(' && peek() != ')') rule.operations.push_back(word());
    for (const std::string& operation : rule.operations) {
      static const std::vector<std::string> kKnown{
          "default",          "process-fork", "process-exec", "signal",
          "sysctl-read",      "file-read*",   "file-write*",  "file-ioctl",
          "network-outbound", "network-bind", "system-socket"};
      if (std::find(kKnown.begin(), kKnown.end(), operation) == kKnown.end()) {
        throw std::runtime_error("unknown operation " + operation);
      }
      saw_default_ = saw_default_ || operation == "default";
    }
    if (rule.operations.empty()) throw std::runtime_error("no operation");
    if (peek() == '(') {
      expect('(');
      rule.filter = word();
      if (rule.filter == "literal" || rule.filter == "subpath") {
        rule.value = string_literal(false);
      } else if (rule.filter == "regex") {
        rule.value = string_literal(true);
      } else if (rule.filter == "target" || rule.filter == "local") {
        rule.value = word();
      } else {
        throw std::runtime_error("unknown filter " + rule.filter);
      }
      expect(')');
    }
    expect(')');
    return rule;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool saw_default_ = false;
  std::vector<Rule> rules_;
};

}  // namespace cordon::testing
