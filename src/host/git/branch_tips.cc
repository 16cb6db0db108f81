#include "host/git/branch_tips.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr std::size_t kMostLoose = 4096;
constexpr std::size_t kMostPacked = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kMostRef = 4096;
constexpr int kDeepest = 32;
constexpr std::string_view kHeads = "refs/heads/";
constexpr std::string_view kTags = "refs/tags/";
constexpr std::size_t kSha1Digits = 40;
constexpr std::size_t kSha256Digits = 64;

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// As isspace() in git, which knows no vertical tab and no form feed.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The id that `text` begins with, in small letters: git takes capital ones as well.
std::optional<std::string> leading_id(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_hex_digit);
  const auto digits = static_cast<std::size_t>(end - text.begin());
  if (digits != kSha1Digits && digits != kSha256Digits) return std::nullopt;
  std::string id(text.substr(0, digits));
  for (char& c : id) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return id;
}

class LooseReader {
 public:
  explicit LooseReader(BranchTips& out) : out_(out) {}

  void read(int directory, const std::string& above, int depth) {
    if (depth > kDeepest || !names_.read(directory)) {
      out_.told = false;
      return;
    }
    struct Entry {
      std::string name;
      EntryType type;
    };
    std::vector<Entry> entries;
    for (const DirectoryEntry& entry : names_.entries()) {
      entries.push_back({std::string(entry.name), entry.type});
    }
    for (const Entry& entry : entries) {
      if (++seen_ > kMostLoose) out_.told = false;
      if (!out_.told) return;
      if (entry.type == EntryType::Directory) {
        const Fd below(::openat(directory, entry.name.c_str(),
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (below.valid()) {
          read(below.get(), above + entry.name + "/", depth + 1);
        } else if (errno != ENOENT) {
          out_.told = false;
        }
        continue;
      }
      file(directory, entry.name, above + entry.name);
    }
  }

 private:
  void file(int directory, const std::string& name, std::string branch) {
    const auto text = read_regular(directory, name, kMostRef);
    if (text) {
      out_.tips.push_back({std::move(branch), parse_loose_ref(*text).value_or(""), true});
      return;
    }
    // A lock that git has just removed is no ref.
    if (inspect_name(directory, name)) out_.told = false;
  }

  BranchTips& out_;
  DirectoryNames names_;
  std::size_t seen_ = 0;
};

}  // namespace

bool is_object_id(std::string_view text) {
  return (text.size() == kSha1Digits || text.size() == kSha256Digits) &&
         std::ranges::all_of(text, is_hex_digit);
}

std::optional<std::string> parse_loose_ref(std::string_view text) {
  auto id = leading_id(text);
  if (!id || text.size() == id->size()) return id;
  const char next = text[id->size()];
  return is_space(next) || next == '\0' ? id : std::nullopt;
}

bool parse_packed_refs(std::string_view text, std::vector<GitRef>& refs) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with('#')) continue;
    // What an annotated tag in the line before leads to.
    const bool peeled = line.starts_with('^');
    if (peeled) line.remove_prefix(1);
    auto id = leading_id(line);
    if (!id) return false;
    line.remove_prefix(id->size());
    if (peeled) {
      if (!line.empty() && !is_space(line.front())) return false;
      continue;
    }
    if (line.empty() || !is_space(line.front())) return false;
    line.remove_prefix(1);
    if (!line.starts_with("refs/")) return false;
    refs.push_back({std::string(line), *std::move(id), false});
  }
  return true;
}

bool parse_packed_heads(std::string_view text, std::vector<BranchTip>& tips) {
  std::vector<GitRef> refs;
  const bool understood = parse_packed_refs(text, refs);
  for (GitRef& ref : refs) {
    if (!ref.name.starts_with(kHeads)) continue;
    tips.push_back({ref.name.substr(kHeads.size()), std::move(ref.id), false});
  }
  return understood;
}

std::optional<std::string> parse_head(std::string_view text) {
  constexpr std::string_view kSymbolic = "ref: ";
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (is_object_id(text)) return std::string(text);
  const bool names = text.starts_with(kSymbolic) && is_ref_name(text.substr(kSymbolic.size())) &&
                     text.substr(kSymbolic.size()).starts_with(kHeads);
  return names ? std::optional<std::string>(text) : std::nullopt;
}

bool is_ref_name(std::string_view name) {
  if (!name.starts_with(kHeads) && !name.starts_with(kTags)) return false;
  if (name.size() > kMostRef || name.ends_with('.') || name.find("..") != std::string_view::npos ||
      name.find("@{") != std::string_view::npos) {
    return false;
  }
  const auto is_barred = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f ||
           std::string_view("~^:?*[\\").find(c) != std::string_view::npos;
  };
  if (std::ranges::any_of(name, is_barred)) return false;
  const std::string_view own = name.substr(name.find('/', 5) + 1);
  if (own.empty() || own == "@" || own == "HEAD" || own.starts_with('-')) return false;
  for (const std::string_view part : split(own, '/')) {
    if (part.empty() || part.starts_with('.') || part.ends_with(".lock")) return false;
  }
  return true;
}

std::optional<std::string> ref_value(const std::vector<GitRef>& refs, std::string_view name) {
  const GitRef* found = nullptr;
  for (const GitRef& ref : refs) {
    if (ref.name == name && (found == nullptr || ref.loose)) found = &ref;
  }
  if (found == nullptr || found->id.empty()) return std::nullopt;
  return found->id;
}

GitRefs read_git_refs(const std::string& directory) {
  GitRefs out;
  const Fd fd = open_canonical(directory, O_PATH | O_DIRECTORY);
  if (!fd.valid() || inspect_name(fd.get(), "reftable")) {
    out.told = false;
    return out;
  }
  const auto head = read_regular(fd.get(), "HEAD", kMostRef);
  out.head = head ? parse_head(*head).value_or("") : std::string();
  const auto packed = read_regular(fd.get(), "packed-refs", kMostPacked);
  if (packed ? !parse_packed_refs(*packed, out.refs)
             : inspect_name(fd.get(), "packed-refs").has_value()) {
    out.told = false;
  }
  std::erase_if(out.refs, [](const GitRef& ref) {
    return !ref.name.starts_with(kHeads) && !ref.name.starts_with(kTags);
  });
  for (const std::string_view kind : {kHeads, kTags}) {
    const std::string_view place = kind.substr(0, kind.size() - 1);
    const Fd below = open_beneath(fd.get(), place, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    BranchTips loose;
    if (below.valid()) {
      LooseReader(loose).read(below.get(), "", 0);
    } else if (errno != ENOENT) {
      out.told = false;
    }
    if (!loose.told) out.told = false;
    for (BranchTip& tip : loose.tips) {
      out.refs.push_back({std::string(kind) + tip.name, std::move(tip.id), true});
    }
  }
  return out;
}

BranchTips read_branch_tips(const std::string& directory) {
  BranchTips out;
  const Fd fd = open_canonical(directory, O_PATH | O_DIRECTORY);
  if (!fd.valid()) {
    out.told = errno == ENOENT || errno == ENOTDIR;
    return out;
  }
  const auto seen = inspect_fd(fd.get());
  if (!seen || inspect_name(fd.get(), "reftable")) {
    out.told = false;
    return out;
  }
  out.directory = seen->id;
  const auto packed = read_regular(fd.get(), "packed-refs", kMostPacked);
  if (packed ? !parse_packed_heads(*packed, out.tips)
             : inspect_name(fd.get(), "packed-refs").has_value()) {
    out.told = false;
  }
  const Fd heads = open_beneath(fd.get(), "refs/heads", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (heads.valid()) {
    LooseReader(out).read(heads.get(), "", 0);
  } else if (errno != ENOENT) {
    out.told = false;
  }
  return out;
}

std::set<std::string> BranchTips::values() const {
  std::set<std::string> values;
  for (const BranchTip& tip : tips) {
    if (!tip.id.empty()) values.insert(tip.id);
  }
  return values;
}

std::vector<BranchTip> BranchTips::branches() const {
  std::set<std::string_view> loose;
  for (const BranchTip& tip : tips) {
    if (tip.loose) loose.insert(tip.name);
  }
  std::vector<BranchTip> branches;
  for (const BranchTip& tip : tips) {
    if (!tip.id.empty() && (tip.loose || !loose.contains(tip.name))) branches.push_back(tip);
  }
  return branches;
}

}  // namespace cordon
