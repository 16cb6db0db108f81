// The formats are read line by line, and only as far as a list of keys needs: what a line could
// mean otherwise does not matter, since a line that is not understood is left out. A value that
// holds an address must not hold a login (user, password or a query), wherever in the value that
// is: the files are where people keep tokens of registries.
#include "host/home_settings.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/inspect.h"
#include "host/maven_settings.h"
#include "host/resolve.h"
#include "policy/environment.h"

namespace cordon {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} * 1024;

constexpr auto kNpmKeys = std::to_array<std::string_view>({"audit",
                                                           "engine-strict",
                                                           "fetch-retries",
                                                           "fetch-retry-maxtimeout",
                                                           "fetch-retry-mintimeout",
                                                           "fetch-timeout",
                                                           "fund",
                                                           "https-proxy",
                                                           "ignore-scripts",
                                                           "legacy-peer-deps",
                                                           "loglevel",
                                                           "maxsockets",
                                                           "noproxy",
                                                           "package-lock",
                                                           "prefer-offline",
                                                           "progress",
                                                           "proxy",
                                                           "registry",
                                                           "replace-registry-host",
                                                           "save-exact",
                                                           "save-prefix",
                                                           "tag"});
static_assert(std::ranges::is_sorted(kNpmKeys));

constexpr auto kPipKeys = std::to_array<std::string_view>(
    {"break-system-packages", "disable-pip-version-check", "extra-index-url", "index-url",
     "no-binary", "no-color", "no-index", "only-binary", "pre", "prefer-binary", "progress-bar",
     "proxy", "require-virtualenv", "retries", "timeout", "trusted-host", "upgrade-strategy"});
static_assert(std::ranges::is_sorted(kPipKeys));

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

struct Line {
  std::string_view key;
  std::string_view value;
};

std::optional<Line> read_line(std::string_view text) {
  if (text.empty() || text.front() == '#' || text.front() == ';') return std::nullopt;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return Line{trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

// "@scope:registry".
bool is_registry_of_scope(std::string_view key) {
  return key.starts_with('@') && key.ends_with(":registry") && std::ranges::count(key, ':') == 1 &&
         key.find('/') == std::string_view::npos;
}

bool is_section(std::string_view text) {
  return text.size() > 2 && text.front() == '[' && text.back() == ']';
}

}  // namespace

// A token can be the user, the password, or part of a query. `${NAME}` would be asked of an
// environment that has no such name.
bool is_public_setting(std::string_view value) {
  const bool address = value.find("://") != std::string_view::npos;
  const bool query = address && value.find_first_of("?#") != std::string_view::npos;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; };
  return !query && !may_hold_login(value) && value.find("${") == std::string_view::npos &&
         value.find('@') == std::string_view::npos && std::ranges::none_of(value, is_control);
}

std::string copied_npmrc(std::string_view text) {
  std::string kept;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trimmed(raw);
    // What follows is of that section alone, and npm has none that matters.
    if (is_section(line)) break;
    const auto read = read_line(line);
    if (!read || !is_public_setting(read->value)) continue;
    if (!std::ranges::binary_search(kNpmKeys, read->key) && !is_registry_of_scope(read->key))
      continue;
    kept.append(read->key).append("=").append(read->value).append("\n");
  }
  return kept;
}

namespace {

// One file of pip's, of which each key has words on one line or on several.
class PipFile {
 public:
  void begin_section(std::string_view name) {
    end_key();
    section_ = name;
  }
  void begin_key(std::string key) {
    end_key();
    key_ = std::move(key);
  }
  // Of several addresses one may have a login: the others still count.
  void add_words(std::string_view value) {
    if (key_.empty()) return;
    for (const std::string_view word : split(value, ' ')) {
      if (!word.empty() && is_public_setting(word)) words_.emplace_back(word);
    }
  }
  void end_key() {
    // A second header of one name is an error to pip.
    if (!words_.empty() && section_ != written_section_) {
      text_.append(section_).append("\n");
      written_section_ = section_;
    }
    for (const std::string& word : words_)
      text_.append(&word == &words_.front() ? key_ + " = " : "    ").append(word).append("\n");
    words_.clear();
    key_.clear();
  }
  std::string text() {
    end_key();
    return std::move(text_);
  }

 private:
  std::string text_;
  std::string section_;
  std::string written_section_;
  std::string key_;
  std::vector<std::string> words_;
};

}  // namespace

std::string copied_pip_conf(std::string_view text) {
  PipFile file;
  bool in_section = false;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    // A line that begins with white space continues the value above it.
    if (is_space(raw.front())) {
      file.add_words(line);
      continue;
    }
    file.end_key();
    if (is_section(line)) {
      in_section = true;
      file.begin_section(line);
      continue;
    }
    const auto read = read_line(line);
    if (!read || !in_section) continue;
    std::string key(read->key);
    std::ranges::replace(key, '_', '-');
    if (!std::ranges::binary_search(kPipKeys, std::string_view(key))) continue;
    file.begin_key(std::move(key));
    file.add_words(read->value);
  }
  return file.text();
}

namespace {

class Collected {
 public:
  Collected(const Caller& caller, std::vector<HomeFile>& files) : caller_(caller), files_(files) {}

  // The content of a file of the person's, through links; nothing from a credential store.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const {
    const Result<Canonical> place = canonicalize(path, "/", caller_);
    if (!place || place->kind != FileKind::Regular) return std::nullopt;
    return read_followed(place->path, kLargestFile);
  }

  void add(std::string name, std::string content) {
    if (!content.empty()) files_.push_back({std::move(name), std::move(content)});
  }

 private:
  const Caller& caller_;
  std::vector<HomeFile>& files_;
};

// Git looks for both beside its own configuration unless a setting names another place.
void add_git_file(const Caller& caller, const UserGit& git, const char* key,
                  const std::string& name, Collected& out) {
  const auto named = last_value(git.settings, "core", "", key);
  const auto path = named ? git_path(*named, caller.home, caller)
                          : std::optional(join(parent(caller.config_directory), "git/" + name));
  if (!path || is_in_store(*path, caller)) return;
  if (auto content = out.read(*path)) out.add(".config/git/" + name, *std::move(content));
}

constexpr std::string_view kMavenSettings = ".m2/settings.xml";

HasPlace places_of(const Effective& effective) {
  return [&effective](std::string_view path) {
    const auto covers = [&](const Grant& grant) {
      return contains(grant.path, path) ||
             (grant.lexical.starts_with('/') && contains(grant.lexical, path));
    };
    return std::ranges::any_of(effective.read, covers) ||
           std::ranges::any_of(effective.write, covers);
  };
}

}  // namespace

std::vector<HomeFile> home_settings(const Caller& caller, const UserGit& git,
                                    const Effective& effective) {
  std::vector<HomeFile> files;
  if (caller.home.empty() || caller.config_directory.empty()) return files;
  Collected out(caller, files);
  add_git_file(caller, git, "excludesfile", "ignore", out);
  add_git_file(caller, git, "attributesfile", "attributes", out);
  if (const auto text = out.read(join(caller.home, ".npmrc")))
    out.add(".npmrc", copied_npmrc(*text));
  if (const auto text = out.read(join(parent(caller.config_directory), "pip/pip.conf")))
    out.add(".config/pip/pip.conf", copied_pip_conf(*text));
  if (const auto text = out.read(join(caller.home, ".pip/pip.conf")))
    out.add(".pip/pip.conf", copied_pip_conf(*text));
  const std::string maven = join(caller.home, kMavenSettings);
  if (const auto text = out.read(maven)) {
    auto copy = copied_maven_settings(*text, maven, caller.home, places_of(effective));
    if (copy) out.add(std::string(kMavenSettings), *std::move(copy));
  }
  return files;
}

std::optional<Error> unread_settings(const Caller& caller) {
  if (caller.home.empty()) return std::nullopt;
  const std::string maven = join(caller.home, kMavenSettings);
  const auto text = read_followed(maven, kLargestFile);
  if (!text) {
    if (!inspect_path(maven)) return std::nullopt;
    return policy_error(quote(maven) + " is no readable file of at most 64 KiB");
  }
  const auto nowhere = [](std::string_view) { return false; };
  const auto copy = copied_maven_settings(*text, maven, caller.home, nowhere);
  if (copy) return std::nullopt;
  return copy.error();
}

}  // namespace cordon
