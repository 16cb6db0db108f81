// The settings of sandbox-runtime. There everything may be read but what is denied, and nothing
// written but what is allowed; unknown keys, which it drops without a word, are refused here.
#include <algorithm>
#include <array>

#include "base/path.h"
#include "config/decode.h"
#include "config/document_text.h"
#include "config/foreign/dialects.h"
#include "config/foreign/foreign_table.h"
#include "config/path_entry.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 19> kTopKeys{"network",
                                                    "filesystem",
                                                    "credentials",
                                                    "ignoreViolations",
                                                    "enableWeakerNestedSandbox",
                                                    "allowNestedUserNamespaces",
                                                    "enableWeakerNetworkIsolation",
                                                    "allowAppleEvents",
                                                    "allowPty",
                                                    "mandatoryDenySearchDepth",
                                                    "ripgrep",
                                                    "bwrapPath",
                                                    "socatPath",
                                                    "javaAgentJarPath",
                                                    "seccomp",
                                                    "git",
                                                    "windows",
                                                    "$schema",
                                                    "_comment"};
// Keys that say how, or that only permit more: without them less is permitted or the same.
constexpr std::array<std::string_view, 14> kIdleTopKeys{"ignoreViolations",
                                                        "enableWeakerNestedSandbox",
                                                        "allowNestedUserNamespaces",
                                                        "enableWeakerNetworkIsolation",
                                                        "allowAppleEvents",
                                                        "allowPty",
                                                        "mandatoryDenySearchDepth",
                                                        "ripgrep",
                                                        "bwrapPath",
                                                        "socatPath",
                                                        "javaAgentJarPath",
                                                        "seccomp",
                                                        "git",
                                                        "windows"};
constexpr std::array<std::string_view, 6> kFilesystemKeys{
    "denyRead", "allowRead", "allowWrite", "denyWrite", "allowGitConfig", "disabled"};
constexpr std::array<std::string_view, 2> kEntryKeys{"path", "literal"};
constexpr std::array<std::string_view, 2> kCredentialKeys{"files", "envVars"};
constexpr std::array<std::string_view, 2> kCredentialFileKeys{"path", "mode"};
constexpr std::array<std::string_view, 2> kCredentialVariableKeys{"name", "mode"};

struct Entry {
  std::string path;  // absolute, or a pattern that begins with an absolute path
  bool pattern = false;
  const Node* node = nullptr;
};

class SrtReader {
 public:
  SrtReader(const Node& document, const std::string& file, const Places& places)
      : document_(document), file_(file), places_(places), tables_(file, false) {}

  Result<Imported> read();

 private:
  Result<void> read_filesystem(const Section& top);
  Result<void> read_credentials(const Section& top);
  Result<std::vector<Entry>> entries(const Section& table, std::string_view key, bool required);
  Result<Entry> entry(const Section& table, const Node& node);
  Result<void> read_readable(const Section& fs, const std::vector<Entry>& denied,
                             const std::vector<Entry>& reopened);
  Result<void> hold_unwritable(const Section& fs, const std::vector<Entry>& denied,
                               std::vector<Entry>& allowed);
  Result<void> deny(const Section& table, const Entry& entry);

  const Node& document_;
  const std::string& file_;
  const Places& places_;
  ForeignTables tables_;
  Policy policy_;
};

Result<Entry> SrtReader::entry(const Section& table, const Node& node) {
  const std::string* text = node.text();
  bool literal = false;
  if (text == nullptr) {
    CORDON_TRY(form, tables_.open(node, "filesystem", kEntryKeys, UnknownKeys::Refused));
    CORDON_TRY(path, form.text("path"));
    CORDON_TRY(flag, form.flag("literal"));
    if (!path) return fail(form.error_at(node, "missing key \"path\""));
    text = path->text;
    literal = flag.value_or(false);
  }
  if (text->empty()) return fail(table.error_at(node, "empty path"));
  if (literal && is_glob(*text)) {
    return fail(table.error_at(node, "path " + shown(*text) + " holds a wildcard character"));
  }
  Entry entry{*text, is_glob(*text), &node};
  const bool at_home = entry.path == "~" || entry.path.starts_with("~/");
  if (at_home || !entry.path.starts_with('/')) {
    const std::string& place = at_home ? places_.home : places_.cwd;
    if (!place.starts_with('/') || is_glob(place)) {
      return fail(table.error_at(
          node, "path " + shown(*text) + " cannot be written out below " + shown(place)));
    }
    entry.path = at_home ? place + entry.path.substr(1) : join(place, entry.path);
    tables_.lose("filesystem", shown(*text) + " is written out as " + shown(entry.path));
  }
  // Only a trailing "/**" is known in lists that are not patterns.
  if (entry.path.ends_with("/**") && !is_glob(entry.path.substr(0, entry.path.size() - 3))) {
    entry.path.resize(std::max<std::size_t>(entry.path.size() - 3, 1));
    entry.pattern = false;
  }
  entry.path = normalize(entry.path);
  if (auto legal = check_path_entry(entry.path, PathUse::Read); !legal) {
    return fail(placed(table, node, std::move(legal).error()));
  }
  return entry;
}

Result<std::vector<Entry>> SrtReader::entries(const Section& table, std::string_view key,
                                              bool required) {
  if (required) CORDON_CHECK(require_key(table, key));
  std::vector<Entry> found;
  const Node* list = table.find(key);
  if (list == nullptr) return found;
  if (list->list() == nullptr) {
    return fail(table.error_at(*list, table.title(key) + " must be a list"));
  }
  for (const Node& node : *list->list()) {
    CORDON_TRY(one, entry(table, node));
    found.push_back(std::move(one));
  }
  return found;
}

Result<void> SrtReader::deny(const Section& table, const Entry& entry) {
  if (!entry.pattern && is_glob(entry.path)) {
    return fail(table.error_at(*entry.node, "path " + shown(entry.path) + " holds a wildcard"));
  }
  policy_.fs.deny.push_back({entry.path, {}});
  return {};
}

// Everything may be read but what is denied. If that is everything, what is opened again is a list
// of grants; inside another deny it would be an exception, which a policy does not have.
Result<void> SrtReader::read_readable(const Section& fs, const std::vector<Entry>& denied,
                                      const std::vector<Entry>& reopened) {
  bool closed = false;
  for (const Entry& entry : denied) {
    if (entry.path == "/") {
      closed = true;
    } else {
      CORDON_CHECK(deny(fs, entry));
    }
  }
  if (!closed) policy_.fs.read.push_back({"/", {}});
  for (const Entry& entry : reopened) {
    if (closed && !entry.pattern) {
      policy_.fs.read.push_back({entry.path, {}});
    } else {
      tables_.lose("filesystem.allowRead", shown(entry.path) + ": a deny wins over every grant");
    }
  }
  return {};
}

// There a path that must not be written wins over every grant, longer or shorter; in a policy the
// longer one wins, so writable paths inside are left out.
Result<void> SrtReader::hold_unwritable(const Section& fs, const std::vector<Entry>& denied,
                                        std::vector<Entry>& allowed) {
  for (const Entry& held : denied) {
    if (held.pattern) {
      return fail(fs.error_at(
          *held.node, "pattern " + shown(held.path) + " cannot be held as a path that is only read",
          "name the directory, or deny it altogether by \"denyRead\""));
    }
    policy_.fs.read.push_back({held.path, {}});
    std::vector<Entry> kept;
    for (Entry& entry : allowed) {
      CORDON_TRY(inside, lies_in(held.path, entry.path, places_));
      if (!inside) {
        kept.push_back(std::move(entry));
        continue;
      }
      tables_.lose("filesystem.allowWrite", shown(entry.path) + " lies in a path of \"denyWrite\"");
    }
    allowed = std::move(kept);
  }
  return {};
}

Result<void> SrtReader::read_filesystem(const Section& top) {
  CORDON_CHECK(require_key(top, "filesystem"));
  CORDON_TRY(fs, tables_.member(top, "", "filesystem", kFilesystemKeys, UnknownKeys::Refused));
  CORDON_TRY(disabled, fs.flag("disabled"));
  if (disabled && *disabled) {
    return fail(fs.error_at_key(*fs.find("disabled"), "\"disabled\" takes every file rule away",
                                "remove it: a run is always contained"));
  }
  CORDON_TRY(git, fs.flag("allowGitConfig"));
  if (git && *git) tables_.lose("filesystem.allowGitConfig", "git's configuration stays protected");
  CORDON_TRY(denied, entries(fs, "denyRead", true));
  CORDON_TRY(reopened, entries(fs, "allowRead", false));
  CORDON_TRY(writable, entries(fs, "allowWrite", true));
  CORDON_TRY(unwritable, entries(fs, "denyWrite", true));
  CORDON_CHECK(read_readable(fs, denied, reopened));
  for (const Entry& entry : writable) {
    if (entry.pattern) {
      return fail(fs.error_at(*entry.node, "pattern " + shown(entry.path) + " cannot be granted",
                              "name the directories that may be written"));
    }
    if (auto legal = check_path_entry(entry.path, PathUse::Write); !legal) {
      return fail(placed(fs, *entry.node, std::move(legal).error()));
    }
  }
  CORDON_CHECK(hold_unwritable(fs, unwritable, writable));
  for (const Entry& entry : writable) policy_.fs.write.push_back({entry.path, {}});
  constexpr std::uint64_t kScratch = 1ULL << 30U;
  policy_.fs.scratch = kScratch;
  return {};
}

Result<void> SrtReader::read_credentials(const Section& top) {
  CORDON_TRY(credentials,
             tables_.member(top, "", "credentials", kCredentialKeys, UnknownKeys::Refused));
  constexpr std::array<std::string_view, 1> kModes{"deny"};
  for (const std::string_view key : kCredentialKeys) {
    const Node* list = credentials.find(key);
    if (list == nullptr) continue;
    if (list->list() == nullptr) return fail(credentials.error_at(*list, "must be a list"));
    for (const Node& node : *list->list()) {
      const bool file = key == "files";
      CORDON_TRY(one, tables_.open(node, "credentials." + std::string(key),
                                   file ? std::span<const std::string_view>(kCredentialFileKeys)
                                        : kCredentialVariableKeys,
                                   UnknownKeys::Refused));
      CORDON_TRY(mode, one_of(one, "mode", kModes));
      if (!mode) return fail(one.error_at(node, "missing key \"mode\""));
      if (!file) continue;  // a variable that is not passed on is not inside
      const Node* path = one.find("path");
      if (path == nullptr) return fail(one.error_at(node, "missing key \"path\""));
      CORDON_TRY(denied, entry(one, *path));
      CORDON_CHECK(deny(one, denied));
    }
  }
  return {};
}

Result<Imported> SrtReader::read() {
  policy_.name = file_;
  policy_.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                            Layer::Capabilities};
  policy_.env.pass = {"LANG", "LC_ALL", "LC_CTYPE", "TERM", "COLORTERM", "NO_COLOR", "TZ"};
  CORDON_TRY(top, tables_.open(document_, "", kTopKeys, UnknownKeys::Refused));
  CORDON_CHECK(read_srt_network(top, tables_, policy_.net));
  CORDON_CHECK(read_filesystem(top));
  CORDON_CHECK(read_credentials(top));
  for (const std::string_view key : kIdleTopKeys) {
    if (top.find(key) != nullptr) {
      tables_.lose(std::string(key), "it has no meaning for this sandbox");
    }
  }
  tables_.lose("environment", "only a few harmless variables are passed on, not all of them");
  return Imported{std::move(policy_), std::move(tables_).take_losses()};
}

}  // namespace

Result<Imported> import_srt(const Node& document, const std::string& file, const Places& places) {
  return SrtReader(document, file, places).read();
}

}  // namespace cordon
