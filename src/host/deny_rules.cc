#include "host/deny_rules.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/text.h"
#include "host/classify.h"
#include "host/inspect.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

// A pattern that can never match would look like protection and be none.
Result<void> check_pattern(std::string_view text) {
  for (const std::string_view part : split(text, '/')) {
    const std::size_t open = part.find('[');
    // "]" directly after "[", "[!" or "[^" stands for itself.
    if (open == std::string_view::npos) continue;
    std::size_t from = open + 1;
    if (from < part.size() && (part[from] == '!' || part[from] == '^')) ++from;
    if (part.find(']', from + 1) == std::string_view::npos)
      return fail(policy_error("deny " + quote(text) + " has a '[' without its ']'",
                               "close the bracket, or write ? for one character"));
  }
  if (text.find('\0') != std::string_view::npos)
    return fail(policy_error("a deny entry holds a NUL byte", "remove it"));
  return {};
}

// Splits before the first component that holds a glob character.
std::pair<std::string_view, std::string_view> split_at_glob(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (is_glob(text.substr(begin, end - begin)))
      return {text.substr(0, begin), text.substr(begin)};
    begin = end + 1;
  }
  return {text, {}};
}

Result<void> add_anchored(const PathRule& rule, std::string_view text, const Caller& caller,
                          std::vector<DenyGlob>& out) {
  const auto [prefix, pattern] = split_at_glob(text);
  if (has_dotdot(pattern))
    return fail(policy_error("deny " + quote(rule.text) + " has '..' behind a wildcard",
                             "write the path without it"));
  CORDON_TRY(anchor,
             canonicalize(prefix.empty() ? std::string_view("./") : prefix, rule.base, caller));
  std::string_view tail = pattern;
  while (tail.ends_with('/')) tail.remove_suffix(1);
  out.push_back({rule.text, anchor.path, std::string(tail)});
  // A link in the prefix is denied under both names: it may be turned to point elsewhere.
  if (anchor.lexical != anchor.path && !has_dotdot(anchor.lexical))
    out.push_back({rule.text, anchor.lexical, std::string(tail)});
  return {};
}

}  // namespace

Result<std::vector<DenyGlob>> resolve_denies(std::span<const PathRule> rules,
                                             const Caller& caller) {
  std::vector<DenyGlob> out;
  for (const PathRule& rule : rules) {
    CORDON_CHECK(check_pattern(rule.text));
    std::string_view text = rule.text;
    if (text.empty()) return fail(policy_error("a deny entry is empty", "name a path or a glob"));
    bool everywhere = false;
    while (text.starts_with("**/")) {
      text.remove_prefix(3);
      everywhere = true;
    }
    const bool place = text == "~" || text.front() == '@';
    if (text.find('/') == std::string_view::npos && !place) {
      out.push_back({rule.text, {}, std::string(text)});
    } else if (everywhere) {
      // The whole path counts: in a grant that begins inside `conf`, `**/conf/x` still names x.
      out.push_back({rule.text, "/", "**/" + std::string(text)});
    } else {
      CORDON_CHECK(add_anchored(rule, text, caller, out));
    }
  }
  return out;
}

bool is_git_directory(int directory) {
  const auto there = [&](const char* name) { return inspect_name(directory, name).has_value(); };
  if (there("HEAD")) return there("commondir") || (there("objects") && there("refs"));
  // What linked worktrees share needs no HEAD of its own.
  return there("worktrees") && there("objects") && there("refs");
}

bool is_fan_out(const WalkedDirectory& storage, const DirectoryEntry& entry, const FileInfo& seen) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return (storage.state() & walk_state::kGit) != 0 && storage.name() == "objects" &&
         entry.name.size() == 2 && entry.name.find_first_not_of(kHex) == std::string_view::npos &&
         seen.kind == FileKind::Directory && seen.links == 2;
}

bool lies_in_git_directory(const std::string& root) {
  for (std::string_view at = root; at != "/"; at = parent(at)) {
    const std::string here(at);
    if (here != root && basename(at) == ".git") return true;
    if (inspect_path(join(here, ".git"))) return false;
  }
  return false;
}

WalkedDirectory::State state_of_root(const std::string& root) {
  WalkedDirectory::State state = 0;
  std::string_view above = "/";
  for (const std::string_view part : components(root)) {
    if (is_package_directory(part)) state |= walk_state::kPackage;
    const ProtectedName* name = find_protected(basename(above), part);
    if (name != nullptr && name->kind == HoldKind::Build) state |= walk_state::kReported;
    above = std::string_view(root).substr(0, static_cast<std::size_t>(part.end() - root.data()));
  }
  return state;
}

}  // namespace cordon
