#include "faces/cli/learned_policy.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/text.h"
#include "config/node.h"
#include "policy/presets.h"

namespace cordon {
namespace {

// A string of JSON is one of TOML as well.
std::string toml_string(const std::string& text) {
  return write_json(Node(text), JsonStyle::Compact);
}

std::string times_asked(const Learned& learned, const LearnedLine& line) {
  const Proposal& proposal = line.proposal;
  std::string text = proposal.only_looked ? "looked for " : "asked for ";
  text += proposal.count == 1 ? "once" : std::to_string(proposal.count) + " times";
  const bool reads = std::ranges::any_of(learned.lines, [&](const LearnedLine& other) {
    return other.live && is_covered_by_write(other.proposal, {proposal});
  });
  return reads && !line.live ? text + "; in place of what it covers above" : text;
}

class LearnedText {
 public:
  LearnedText(const Learned& learned, const Caller& caller) : learned_(learned), caller_(caller) {}

  void comment(const std::string& text) { text_.append("# ").append(sanitize(text)).append("\n"); }
  void line(const std::string& text) { text_.append(text).append("\n"); }
  void blank() { text_.append("\n"); }

  // The list of one key; false if there is nothing for it.
  bool list(Proposal::Kind kind, std::string_view key) {
    const bool live = write_list(kind, key, true);
    const bool behind = write_list(kind, key, false);
    return live || behind;
  }
  [[nodiscard]] bool has(Proposal::Kind kind) const {
    return std::ranges::any_of(learned_.lines,
                               [&](const LearnedLine& one) { return one.proposal.kind == kind; });
  }
  [[nodiscard]] bool has_live(Proposal::Kind kind) const {
    return std::ranges::any_of(learned_.lines, [&](const LearnedLine& one) {
      return one.proposal.kind == kind && one.live;
    });
  }
  std::string take() && { return std::move(text_); }

 private:
  bool write_list(Proposal::Kind kind, std::string_view key, bool live) {
    const std::string begin = live ? "" : "# ";
    bool any = false;
    for (const LearnedLine& one : learned_.lines) {
      if (one.proposal.kind != kind || one.live != live) continue;
      if (!any) line(begin + std::string(key) + " = [");
      any = true;
      line(begin + "  " + toml_string(policy_value(one.proposal, caller_)) + ",  # " +
           times_asked(learned_, one));
    }
    if (any) line(begin + "]");
    return any;
  }

  const Learned& learned_;
  const Caller& caller_;
  std::string text_;
};

void list_gone(const std::vector<std::string>& gone, const Caller& caller, LearnedText& text) {
  constexpr std::size_t kMostNames = 8;
  for (const std::string& path : std::span(gone).first(std::min(gone.size(), kMostNames))) {
    text.comment("  " + policy_value({Proposal::Kind::Write, path, 0, false}, caller));
  }
  if (gone.size() > kMostNames)
    text.comment("  and " + std::to_string(gone.size() - kMostNames) + " more");
}

}  // namespace

std::string learned_toml(const Learned& learned, const Policy& base, const Caller& caller) {
  LearnedText text(learned, caller);
  std::string command;
  for (const std::string& word : learned.argv) {
    command.append(command.empty() ? "" : " ").append(shell_word(word));
  }
  text.comment("For: " + command);
  text.comment("Found in " + std::to_string(learned.rounds) +
               (learned.rounds == 1 ? " round" : " rounds") + "; the last ended with " +
               learned.ended + ".");
  text.comment("All of it was chosen by the command: read it before you use it.");
  if (base.file.empty()) {
    text.line("version = 1");
    text.line("extends = " + toml_string(base.name));
  } else {
    text.comment("These lines are to be added to " + base.file);
  }
  const bool files = text.has(Proposal::Kind::Read) || text.has(Proposal::Kind::Write);
  if (files) {
    text.blank();
    text.line("[fs]");
    text.list(Proposal::Kind::Read, "read");
    text.list(Proposal::Kind::Write, "write");
  }
  if (text.has(Proposal::Kind::Host)) {
    text.blank();
    text.line(text.has_live(Proposal::Kind::Host) ? "[net]" : "# [net]");
    text.list(Proposal::Kind::Host, "allow");
  }
  if (!learned.left_out.empty()) {
    text.blank();
    text.comment("Left out:");
    for (const LeftOut& one : learned.left_out) text.comment("  " + one.what + ": " + one.why);
  }
  if (!learned.gone.empty()) {
    text.blank();
    text.comment(
        "Private places that something was written to, or below: it is gone with the run.");
    text.comment("A line of write keeps what is to stay:");
    list_gone(learned.gone, caller, text);
  }
  return std::move(text).take();
}

}  // namespace cordon
