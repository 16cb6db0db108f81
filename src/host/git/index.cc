// As in base/sha256.cc: functions that only compute, and load no provider.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "host/git/index.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <map>

#include "base/fd.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/git/config.h"
#include "host/git/layout.h"
#include "host/inspect.h"

namespace cordon {
namespace {

constexpr std::size_t kIndexLimit = std::size_t{128} * 1024 * 1024;
constexpr std::size_t kHeader = 12;
constexpr std::size_t kStat = 40;        // of an entry, before the object name
constexpr std::size_t kModeOffset = 24;  // of the mode in it
constexpr std::uint32_t kExtended = 0x4000;
constexpr std::uint32_t kSkipWorktree = 0x4000;  // of the second word
constexpr std::uint32_t kNameMask = 0x0fff;

std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

// Git's checksum of an index: by the hash of its object names.
std::string digest_of(std::string_view bytes, std::size_t hash) {
  if (hash == 32) {
    const Digest digest = sha256(bytes);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
  }
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, bytes.data(), bytes.size());
  SHA1_Final(digest.data(), &context);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool is_mode(std::uint32_t mode) {
  constexpr std::array<std::uint32_t, 5> kModes = {0100644, 0100755, 0120000, 0160000, 040000};
  return std::ranges::find(kModes, mode) != kModes.end();
}

// The length of what the name before ends in and this one does not begin with, as git packs it.
std::optional<std::size_t> strip_length(std::string_view bytes, std::size_t& at) {
  std::size_t value = 0;
  for (unsigned count = 0; at < bytes.size() && count < 8; ++count) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value = count == 0 ? byte & 0x7fU : ((value + 1) << 7U) | (byte & 0x7fU);
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

std::optional<GitIndex> parse(std::string_view bytes, std::size_t hash) {
  GitIndex index;
  index.version = number(bytes, 4, 4);
  index.hash = hash;
  const std::uint32_t count = number(bytes, 8, 4);
  const std::size_t limit = bytes.size() - hash;
  std::size_t at = kHeader;
  std::string last;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t begin = at;
    if (limit < at + kStat + hash + 3) return std::nullopt;
    if (!is_mode(number(bytes, at + kModeOffset, 4))) return std::nullopt;
    const std::size_t flags_at = at + kStat + hash;
    const std::uint32_t flags = number(bytes, flags_at, 2);
    const bool extended = (flags & kExtended) != 0;
    if (extended && index.version < 3) return std::nullopt;
    at = flags_at + (extended ? 4 : 2);
    std::string name;
    if (index.version == 4) {
      const auto strip = strip_length(bytes, at);
      if (!strip || *strip > last.size()) return std::nullopt;
      name = last.substr(0, last.size() - *strip);
    }
    const std::size_t end = bytes.find('\0', at);
    if (end == std::string_view::npos || end >= limit) return std::nullopt;
    name.append(bytes.substr(at, end - at));
    if (name.empty() || std::min<std::size_t>(name.size(), kNameMask) != (flags & kNameMask)) {
      return std::nullopt;
    }
    at = index.version == 4 ? end + 1 : begin + ((end - begin + 8) & ~std::size_t{7});
    if (at > limit) return std::nullopt;
    last = name;
    index.entries.push_back({std::move(name), begin, flags_at, at - begin, extended});
  }
  index.end = at;
  // Extensions: a name of four letters, a length, the content.
  while (at < limit) {
    if (limit - at < 8) return std::nullopt;
    const std::size_t size = number(bytes, at + 4, 4);
    if (bytes.substr(at, 4) == "link" || size > limit - at - 8) return std::nullopt;
    at += 8 + size;
  }
  return index;
}

std::set<std::string> index_names(const std::string& path) {
  std::set<std::string> names;
  const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
  const auto bytes = above.valid()
                         ? read_regular(above.get(), std::string(basename(path)), kIndexLimit)
                         : std::nullopt;
  const auto index = bytes ? parse_git_index(*bytes) : std::nullopt;
  if (!index) return names;
  for (const GitIndexEntry& entry : index->entries) names.insert(entry.name);
  return names;
}

}  // namespace

std::string git_index_of(const std::string& top) {
  const std::string git = join(top, ".git");
  const auto seen = inspect_path(git);
  if (!seen || seen->symlink) return {};
  if (seen->kind == FileKind::Directory) return join(git, "index");
  const Fd above = open_canonical(top, O_PATH | O_DIRECTORY);
  const auto pointer =
      above.valid() ? read_regular(above.get(), ".git", kGitPointerLimit) : std::nullopt;
  constexpr std::string_view kWord = "gitdir: ";
  if (!pointer || !pointer->starts_with(kWord)) return {};
  const std::string directory =
      place_of_pointer(std::string_view(*pointer).substr(kWord.size()), top);
  return directory.empty() ? std::string() : join(directory, "index");
}

std::optional<GitIndex> parse_git_index(std::string_view bytes) {
  if (bytes.size() < kHeader + 20 || !bytes.starts_with("DIRC")) return std::nullopt;
  const std::uint32_t version = number(bytes, 4, 4);
  if (version < 2 || version > 4) return std::nullopt;
  // Nothing in the file says which of the two it is; with the wrong one the modes make no sense.
  if (auto index = parse(bytes, 20)) return index;
  return bytes.size() < kHeader + 32 ? std::nullopt : parse(bytes, 32);
}

bool tracks_the_same(std::string_view one, std::string_view other) {
  constexpr std::size_t kModeOffset = 24;
  constexpr std::size_t kModeBytes = 4;
  constexpr std::size_t kObjectOffset = 40;
  const auto a = parse_git_index(one);
  const auto b = parse_git_index(other);
  if (!a || !b || a->hash != b->hash || a->entries.size() != b->entries.size()) return false;
  const auto same = [&](const GitIndexEntry& x, std::size_t at_x, const GitIndexEntry& y,
                        std::size_t at_y, std::size_t size) {
    return x.begin + x.size <= one.size() && y.begin + y.size <= other.size() &&
           one.substr(at_x, size) == other.substr(at_y, size);
  };
  for (std::size_t i = 0; i < a->entries.size(); ++i) {
    const GitIndexEntry& x = a->entries[i];
    const GitIndexEntry& y = b->entries[i];
    if (x.name != y.name || x.extended != y.extended) return false;
    if (!same(x, x.begin + kModeOffset, y, y.begin + kModeOffset, kModeBytes) ||
        !same(x, x.begin + kObjectOffset, y, y.begin + kObjectOffset, a->hash) ||
        !same(x, x.flags, y, y.flags, x.extended ? 4 : 2)) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> mark_skip_worktree(std::string_view bytes,
                                              const std::vector<std::string>& names,
                                              SkipMark mark) {
  const auto index = parse_git_index(bytes);
  if (!index) return std::nullopt;
  // An extension with a small letter changes what the entries mean.
  for (std::size_t at = index->end; at + index->hash < bytes.size();) {
    if (bytes[at] < 'A' || bytes[at] > 'Z') return std::nullopt;
    at += 8 + number(bytes, at + 4, 4);
  }
  const auto is_named = [&](const std::string& entry) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      return entry == name || entry.starts_with(name + "/");
    });
  };
  std::string out(bytes.substr(0, kHeader));
  if (index->version == 2 && mark == SkipMark::Set) out[7] = 3;
  bool marked = false;
  for (const GitIndexEntry& entry : index->entries) {
    const std::uint32_t had = entry.extended ? number(bytes, entry.flags + 2, 2) : 0;
    const bool is_marked = (had & kSkipWorktree) != 0;
    if (!is_named(entry.name) || is_marked == (mark == SkipMark::Set)) {
      out.append(bytes.substr(entry.begin, entry.size));
      continue;
    }
    marked = true;
    const std::size_t begin = out.size();
    out.append(bytes.substr(entry.begin, entry.flags - entry.begin));
    const std::uint32_t flags = number(bytes, entry.flags, 2) | kExtended;
    const std::uint32_t more = mark == SkipMark::Set ? had | kSkipWorktree : had & ~kSkipWorktree;
    for (const std::uint32_t word : {flags, more}) {
      out.push_back(static_cast<char>(word >> 8U));
      out.push_back(static_cast<char>(word & 0xffU));
    }
    const std::size_t name_at = entry.flags + (entry.extended ? 4 : 2);
    if (index->version == 4) {
      out.append(bytes.substr(name_at, entry.begin + entry.size - name_at));
      continue;
    }
    out.append(entry.name);
    out.resize(begin + ((out.size() - begin + 8) & ~std::size_t{7}), '\0');
  }
  if (!marked) return std::nullopt;
  const std::string_view checksum = bytes.substr(bytes.size() - index->hash);
  const bool none = std::ranges::all_of(checksum, [](char c) { return c == '\0'; });
  return out + (none ? std::string(checksum) : digest_of(out, index->hash));
}

namespace {

// For whoever finds the index locked or read-only: what Cordon would have done.
std::string by_hand(const std::string& top, const std::vector<std::string>& names, SkipMark mark) {
  const std::string git = "git -C " + shell_word(top);
  std::string paths;
  for (const std::string& name : names) paths += " " + shell_word(name);
  return git + " ls-files -z --" + paths + " | " + git + " update-index -z " +
         (mark == SkipMark::Set ? "--skip-worktree" : "--no-skip-worktree") + " --stdin";
}

}  // namespace

Result<void> mark_skip_worktree_in(const std::string& top, const std::vector<std::string>& names,
                                   SkipMark mark) {
  const std::string path = git_index_of(top);
  if (path.empty()) return {};
  const auto failed = [&](int error, const std::string& first = {}) {
    return fail(
        setup_error("cannot change " + quote(path), error, first + by_hand(top, names, mark)));
  };
  const Fd above = open_canonical(std::string(parent(path)), O_RDONLY | O_DIRECTORY);
  if (!above.valid()) return failed(errno);
  struct stat status {};
  // Before the lock is taken: one that nobody lets go would stop every later git.
  if (::fstatat(above.get(), "index", &status, AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno == ENOENT) return {};
    return failed(errno);
  }
  const Fd lock(::openat(above.get(), "index.lock",
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid()) {
    // A git that was killed leaves its lock, and one that is at work has it.
    const std::string first =
        "when no git is at work there: rm -f " + shell_word(path + ".lock") + "; ";
    return failed(errno, errno == EEXIST ? first : std::string());
  }
  const auto bytes = read_regular(above.get(), "index", kIndexLimit);
  const auto marked = bytes ? mark_skip_worktree(*bytes, names, mark) : std::nullopt;
  int error = !bytes ? EFBIG : 0;
  if (marked) error = write_whole(lock.get(), *marked);
  const auto put_in_place = [&] {
    return (::geteuid() != 0 || ::fchown(lock.get(), status.st_uid, status.st_gid) == 0) &&
           ::fchmod(lock.get(), status.st_mode & 0777U) == 0 &&
           ::renameat(above.get(), "index.lock", above.get(), "index") == 0;
  };
  if (marked && error == 0 && !put_in_place()) error = errno;
  if (!marked || error != 0) ::unlinkat(above.get(), "index.lock", 0);
  if (error != 0) return failed(error);
  return {};
}

namespace {

constexpr std::uint32_t kStageMask = 0x3000;
constexpr std::uint32_t kAssumeValid = 0x8000;

// One entry on its way from an index to the next: what stands before the name, without it.
struct CarriedEntry {
  std::string head;  // stat, mode and object name
  std::uint32_t flags = 0;
  std::optional<std::uint32_t> more;
};

std::uint32_t mode_number(const std::string& mode) {
  std::uint32_t value = 0;
  for (const char c : mode) value = value * 8 + static_cast<std::uint32_t>(c - '0');
  return value;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  const auto digit = [](char c) {
    return static_cast<unsigned>(c >= 'a' ? c - 'a' + 10 : c - '0');
  };
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

void add_number(std::string& out, std::uint32_t value, unsigned bytes) {
  while (bytes-- > 0) out.push_back(static_cast<char>((value >> (8 * bytes)) & 0xffU));
}

// Stat that matches no file.
CarriedEntry fresh_entry(const GitTreeEntry& entry) {
  CarriedEntry made;
  made.head.assign(kModeOffset, '\0');
  add_number(made.head, mode_number(entry.mode), 4);
  made.head.resize(kStat, '\0');
  made.head += from_hex(entry.id);
  return made;
}

bool is_entry(const CarriedEntry& carried, const GitTreeEntry& entry) {
  return number(carried.head, kModeOffset, 4) == mode_number(entry.mode) &&
         carried.head.substr(kStat) == from_hex(entry.id);
}

std::optional<std::map<std::string, CarriedEntry>> carried_entries(std::string_view bytes,
                                                                   std::size_t hash) {
  std::map<std::string, CarriedEntry> entries;
  if (bytes.empty()) return entries;
  const auto index = parse_git_index(bytes);
  if (!index || index->hash != hash) return std::nullopt;
  // An extension with a small letter changes what the entries mean.
  for (std::size_t at = index->end; at + index->hash < bytes.size();) {
    if (bytes[at] < 'A' || bytes[at] > 'Z') return std::nullopt;
    at += 8 + number(bytes, at + 4, 4);
  }
  for (const GitIndexEntry& entry : index->entries) {
    CarriedEntry carried;
    carried.head = bytes.substr(entry.begin, entry.flags - entry.begin);
    carried.flags = number(bytes, entry.flags, 2);
    if (entry.extended) carried.more = number(bytes, entry.flags + 2, 2);
    if ((carried.flags & kStageMask) != 0) return std::nullopt;
    if (!entries.emplace(entry.name, std::move(carried)).second) return std::nullopt;
  }
  return entries;
}

}  // namespace

std::optional<std::string> follow_in_index(std::string_view bytes, GitHash hash,
                                           const std::vector<GitTreeChange>& changes) {
  const std::size_t id_bytes = hash == GitHash::Sha1 ? 20 : 32;
  auto entries = carried_entries(bytes, id_bytes);
  if (!entries) return std::nullopt;
  for (const GitTreeChange& change : changes) {
    const auto found = entries->find(change.path);
    const bool there = found != entries->end();
    if (there ? !change.after.mode.empty() && is_entry(found->second, change.after)
              : change.after.mode.empty()) {
      continue;
    }
    if (there ? change.before.mode.empty() || !is_entry(found->second, change.before)
              : !change.before.mode.empty()) {
      return std::nullopt;
    }
    if (there && ((found->second.flags & kAssumeValid) != 0 ||
                  (found->second.more.value_or(0) & kSkipWorktree) != 0)) {
      return std::nullopt;
    }
    if (there) entries->erase(found);
    if (!change.after.mode.empty()) entries->emplace(change.path, fresh_entry(change.after));
  }
  const bool extended =
      std::ranges::any_of(*entries, [](const auto& one) { return one.second.more.has_value(); });
  std::string out = "DIRC";
  add_number(out, extended ? 3 : 2, 4);
  add_number(out, static_cast<std::uint32_t>(entries->size()), 4);
  for (const auto& [name, entry] : *entries) {
    const std::size_t begin = out.size();
    out += entry.head;
    const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(name.size(), kNameMask));
    const std::uint32_t more = entry.more ? kExtended : 0U;
    add_number(out, (entry.flags & kAssumeValid) | more | length, 2);
    if (entry.more) add_number(out, *entry.more, 2);
    out += name;
    out.resize(begin + ((out.size() - begin + 8) & ~std::size_t{7}), '\0');
  }
  return out + digest_of(out, id_bytes);
}

std::set<std::string> tracked_files(const std::vector<std::string>& paths,
                                    const std::vector<Grant>& writable) {
  std::set<std::string> tracked;
  std::map<std::string, std::set<std::string>> known;
  for (const std::string& path : paths) {
    // The index of a submodule is silent about its `.git`; that of the repository around it has the
    // directory.
    const bool pointer = basename(path) == ".git";
    const std::string_view tracks = pointer ? parent(path) : std::string_view(path);
    for (std::string_view up = parent(tracks); up != "/"; up = parent(up)) {
      const std::string index = git_index_of(std::string(up));
      if (index.empty()) continue;
      const auto covers = [&](const Grant& grant) { return contains(grant.path, index); };
      if (std::ranges::none_of(writable, covers)) break;
      auto found = known.find(index);
      if (found == known.end()) found = known.emplace(index, index_names(index)).first;
      if (found->second.contains(std::string(tracks.substr(up.size() + 1)))) tracked.insert(path);
      break;
    }
  }
  return tracked;
}

}  // namespace cordon
