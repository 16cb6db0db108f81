#include "host/git/config.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "policy/environment.h"

namespace cordon {
namespace {

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// One pass over the text; every function leaves `at_` behind what it took.
class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<GitSetting>> run() {
    if (text_.find('\0') != std::string_view::npos) return std::nullopt;
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (at_ < text_.size()) {
      const char c = next();
      if (c == '\n' || is_blank(c)) continue;
      if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[') {
        if (!read_section()) return std::nullopt;
      } else {
        --at_;
        if (!is_alpha(c) || section_.empty() || !read_setting()) return std::nullopt;
      }
    }
    return std::move(settings_);
  }

 private:
  // Past the end there is a newline, as git reads it; CR LF counts as one.
  char next() {
    if (at_ >= text_.size()) {
      ++at_;
      return '\n';
    }
    const char c = text_[at_++];
    if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') {
      ++at_;
      return '\n';
    }
    return c;
  }
  void skip_line() {
    while (at_ < text_.size() && next() != '\n') {
    }
  }

  bool read_section() {
    section_.clear();
    subsection_.clear();
    while (true) {
      const char c = next();
      if (c == ']') break;
      if (c == ' ' || c == '\t') return !section_.empty() && read_subsection();
      if (!is_alpha(c) && !is_digit(c) && c != '.' && c != '-') return false;
      section_ += lower_case(c);
    }
    // The old form [section.sub], in which everything is lower case.
    const std::size_t dot = section_.find('.');
    if (dot != std::string::npos) {
      subsection_ = section_.substr(dot + 1);
      section_.resize(dot);
    }
    return !section_.empty();
  }

  bool read_subsection() {
    char c = next();
    while (c == ' ' || c == '\t') c = next();
    if (c != '"') return false;
    while ((c = next()) != '"') {
      if (c == '\n') return false;
      if (c == '\\') c = next();
      if (c == '\n') return false;
      subsection_ += c;
    }
    return next() == ']';
  }

  bool read_setting() {
    std::string key;
    char c = next();
    while (is_alpha(c) || is_digit(c) || c == '-') {
      key += lower_case(c);
      c = next();
    }
    while (c == ' ' || c == '\t') c = next();
    std::optional<std::string> value;
    if (c != '\n') {
      if (c != '=') return false;
      value = read_value();
      if (!value) return false;
    }
    settings_.push_back({section_, subsection_, std::move(key), std::move(value)});
    return true;
  }

  std::optional<std::string> read_value() {
    std::string value;
    std::size_t keep = 0;  // blanks behind this are dropped at the end of the line
    bool quoted = false;
    bool comment = false;
    while (true) {
      const char c = next();
      if (c == '\n') {
        if (quoted) return std::nullopt;
        value.resize(keep);
        return value;
      }
      if (comment) continue;
      if (!quoted && is_blank(c)) {
        if (!value.empty()) value += c;
        continue;
      }
      if (!quoted && (c == '#' || c == ';')) {
        comment = true;
        continue;
      }
      if (c == '"') {
        quoted = !quoted;
        keep = value.size();
        continue;
      }
      if (c == '\\') {
        if (!read_escape(value)) return std::nullopt;
      } else {
        value += c;
      }
      keep = value.size();
    }
  }

  bool read_escape(std::string& value) {
    switch (next()) {
      case '\n':
        return at_ <= text_.size();
      case 'n':
        value += '\n';
        return true;
      case 't':
        value += '\t';
        return true;
      case 'b':
        value += '\b';
        return true;
      case '\\':
        value += '\\';
        return true;
      case '"':
        value += '"';
        return true;
      default:
        return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_;
  std::string subsection_;
  std::vector<GitSetting> settings_;
};

std::string escape(std::string_view text, std::string_view specials) {
  std::string result;
  for (const char c : text) {
    if (specials.find(c) == std::string_view::npos)
      result += c;
    else if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (c == '\b')
      result += "\\b";
    else
      result += std::string("\\") + c;
  }
  return result;
}

}  // namespace

std::optional<std::vector<GitSetting>> parse_git_config(std::string_view text) {
  return ConfigReader(text).run();
}

std::string write_git_config(std::span<const GitSetting> settings) {
  std::string result;
  const GitSetting* last = nullptr;
  for (const GitSetting& setting : settings) {
    if (last == nullptr || last->section != setting.section ||
        last->subsection != setting.subsection) {
      result += "[" + setting.section;
      if (!setting.subsection.empty()) result += " \"" + escape(setting.subsection, "\\\"") + "\"";
      result += "]\n";
    }
    result += "\t" + setting.key;
    if (setting.value) result += " = \"" + escape(*setting.value, "\\\"\n\t\b") + "\"";
    result += "\n";
    last = &setting;
  }
  return result;
}

std::optional<std::string> last_value(std::span<const GitSetting> settings,
                                      std::string_view section, std::string_view subsection,
                                      std::string_view key) {
  std::optional<std::string> result;
  for (const GitSetting& setting : settings)
    if (setting.section == section && setting.subsection == subsection && setting.key == key)
      result = setting.value.value_or("true");
  return result;
}

namespace {

constexpr int kDeepestInclude = 10;  // git's own bound: beyond it every git command fails

// Only the local file, as for the caller: a name service would load modules before the launch.
std::optional<std::string> home_of(std::string_view user) {
  const auto passwd = read_regular(AT_FDCWD, "/etc/passwd", kPasswdLimit);
  if (!passwd) return std::nullopt;
  for (const std::string_view line : split(*passwd, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() >= 7 && fields[0] == user) return std::string(fields[5]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> git_path(std::string_view written, std::string_view base,
                                    const Caller& caller) {
  constexpr std::string_view kPrefix = "%(prefix)/";
  if (written.starts_with(kPrefix)) return normalize(join("/usr", written.substr(kPrefix.size())));
  if (written.starts_with('/')) return normalize(written);
  if (!written.starts_with('~')) return normalize(join(base, written));
  const std::size_t slash = written.find('/');
  const std::string_view user =
      written.substr(1, slash == std::string_view::npos ? slash : slash - 1);
  const auto home = user.empty() ? std::optional(caller.home) : home_of(user);
  if (!home || home->empty()) return std::nullopt;
  if (slash == std::string_view::npos) return *home;
  return normalize(join(*home, written.substr(slash + 1)));
}

void GitConfigFiles::read(const std::string& path) { read(path, When::Always, 0); }

void GitConfigFiles::read(const std::string& path, When when, int depth) {
  if (depth > kDeepestInclude || !seen_.insert(path).second) return;
  const auto text = read_followed(path, kGitConfigLimit);
  auto parsed = text ? parse_git_config(*text) : std::nullopt;
  if (!parsed) return;
  for (GitSetting& setting : *parsed) {
    const bool on_condition = setting.section == "includeif";
    const bool include = (on_condition || setting.section == "include") && setting.key == "path";
    if (include && setting.value && !setting.value->empty()) {
      if (const auto target = git_path(*setting.value, parent(path), caller_)) {
        included.push_back(*target);
        read(*target, on_condition ? When::OnCondition : when, depth + 1);
      }
    }
    (when == When::Always ? settings : conditional).push_back(std::move(setting));
  }
}

namespace {

// Where git looks, the least of them first.
std::vector<std::string> user_files(const Caller& caller) {
  std::vector<std::string> files = {"/etc/gitconfig"};
  if (!caller.config_directory.empty())
    files.push_back(join(parent(caller.config_directory), "git/config"));
  if (!caller.home.empty()) files.push_back(join(caller.home, ".gitconfig"));
  return files;
}

// A variable takes the place of one for whoever has it set; both count here, since the person's
// next shell may be without it.
std::vector<std::string> named_files(const Caller& caller) {
  std::vector<std::string> files;
  for (const char* name : {"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"}) {
    const auto named = caller.environment.find(name);
    if (named != caller.environment.end() && named->second.starts_with('/'))
      files.push_back(normalize(named->second));
  }
  return files;
}

// Variables that git takes a command or a directory from, with the setting they stand for.
struct GitVariable {
  std::string_view name;
  std::string_view section;
  std::string_view key;
};
constexpr auto kVariables = std::to_array<GitVariable>({
    {"EDITOR", "core", "editor"},
    {"GIT_ASKPASS", "core", "askpass"},
    {"GIT_EDITOR", "core", "editor"},
    {"GIT_EXTERNAL_DIFF", "diff", "external"},
    {"GIT_PAGER", "core", "pager"},
    {"GIT_PROXY_COMMAND", "core", "gitproxy"},
    {"GIT_SEQUENCE_EDITOR", "sequence", "editor"},
    {"GIT_SSH", "core", "sshcommand"},
    {"GIT_SSH_COMMAND", "core", "sshcommand"},
    {"GIT_TEMPLATE_DIR", "init", "templatedir"},
    {"PAGER", "core", "pager"},
    {"SSH_ASKPASS", "core", "askpass"},
    {"VISUAL", "core", "editor"},
});

// What stands in the place of a configuration file: GIT_CONFIG_KEY_0=core.hooksPath and its value.
std::optional<GitSetting> numbered_setting(const Caller& caller, std::uint64_t number) {
  const auto at = [&](const char* prefix) -> const std::string* {
    const auto found = caller.environment.find(prefix + std::to_string(number));
    return found == caller.environment.end() ? nullptr : &found->second;
  };
  const std::string* key = at("GIT_CONFIG_KEY_");
  const std::string* value = at("GIT_CONFIG_VALUE_");
  const std::size_t first = key == nullptr ? std::string::npos : key->find('.');
  if (first == std::string::npos || value == nullptr) return std::nullopt;
  const std::size_t last = key->rfind('.');
  GitSetting setting;
  setting.section = lower_case(key->substr(0, first));
  if (last > first) setting.subsection = key->substr(first + 1, last - first - 1);
  setting.key = lower_case(key->substr(last + 1));
  setting.value = *value;
  return setting;
}

// They hold wherever the person's shell is, and no file shows it.
void add_variables(const Caller& caller, std::vector<GitSetting>& settings) {
  constexpr std::uint64_t kMostNumbered = 256;
  for (const GitVariable& variable : kVariables) {
    const auto found = caller.environment.find(std::string(variable.name));
    if (found == caller.environment.end() || found->second.empty()) continue;
    settings.push_back(
        {std::string(variable.section), {}, std::string(variable.key), found->second});
  }
  const auto written = caller.environment.find("GIT_CONFIG_COUNT");
  const auto count = written == caller.environment.end() ? std::optional<std::uint64_t>(0)
                                                         : parse_number(written->second);
  for (std::uint64_t i = 0; i < std::min(count.value_or(0), kMostNumbered); ++i)
    if (auto setting = numbered_setting(caller, i)) settings.push_back(*std::move(setting));
}

}  // namespace

UserGit read_user_git_config(const Caller& caller) {
  GitConfigFiles files(caller);
  for (const std::string& path : user_files(caller)) files.read(path);
  for (const std::string& path : named_files(caller)) {
    // It may have any name, which no table knows.
    files.included.push_back(path);
    files.read(path);
  }
  add_variables(caller, files.conditional);
  return {std::move(files.settings), std::move(files.conditional), std::move(files.included)};
}

namespace {

struct CopiedKey {
  std::string_view section;
  std::string_view key;
  auto operator<=>(const CopiedKey&) const = default;
};

// Whose values are words of git's own. A key that is not here stays outside, whatever it does.
constexpr auto kCopied = std::to_array<CopiedKey>({
    {"branch", "autosetupmerge"},
    {"branch", "autosetuprebase"},
    {"branch", "sort"},
    {"color", "ui"},
    {"column", "ui"},
    {"commit", "cleanup"},
    {"commit", "verbose"},
    {"core", "abbrev"},
    {"core", "autocrlf"},
    {"core", "commentchar"},
    {"core", "eol"},
    {"core", "quotepath"},
    {"core", "safecrlf"},
    {"core", "whitespace"},
    {"diff", "algorithm"},
    {"diff", "colormoved"},
    {"diff", "mnemonicprefix"},
    {"diff", "noprefix"},
    {"diff", "renames"},
    {"diff", "submodule"},
    {"fetch", "prune"},
    {"fetch", "prunetags"},
    {"init", "defaultbranch"},
    {"log", "abbrevcommit"},
    {"log", "date"},
    {"log", "decorate"},
    {"log", "follow"},
    {"merge", "conflictstyle"},
    {"merge", "ff"},
    {"merge", "log"},
    {"pull", "ff"},
    {"pull", "rebase"},
    {"push", "autosetupremote"},
    {"push", "default"},
    {"push", "followtags"},
    {"rebase", "autosquash"},
    {"rebase", "autostash"},
    {"rebase", "updaterefs"},
    {"rerere", "enabled"},
    {"status", "branch"},
    {"status", "short"},
    {"status", "showuntrackedfiles"},
    {"submodule", "recurse"},
    {"tag", "sort"},
    {"user", "email"},
    {"user", "name"},
});
static_assert(std::ranges::is_sorted(kCopied));

bool is_plain(std::string_view value) {
  return value.size() <= 1024 && value.find('\n') == std::string_view::npos &&
         !may_hold_login(value);
}

// A subcommand with its arguments. One that begins with "!" is a line for a shell, one that begins
// with an option may set what git runs.
bool is_subcommand(std::string_view value) {
  return !value.empty() && is_alpha(value.front()) && is_plain(value);
}

// Only as git-lfs writes it: the program is looked up on PATH, and clean is what makes a pointer of
// a large file.
bool is_lfs(std::string_view key, std::string_view value) {
  struct Own {
    std::string_view key;
    std::string_view value;
  };
  constexpr auto kOwn = std::to_array<Own>({{"clean", "git-lfs clean -- %f"},
                                            {"smudge", "git-lfs smudge -- %f"},
                                            {"smudge", "git-lfs smudge --skip -- %f"},
                                            {"process", "git-lfs filter-process"},
                                            {"process", "git-lfs filter-process --skip"},
                                            {"required", "true"}});
  return std::ranges::any_of(kOwn,
                             [&](const Own& own) { return own.key == key && own.value == value; });
}

bool is_copied(const GitSetting& setting, std::string_view value) {
  if (setting.section == "filter" && setting.subsection == "lfs") return is_lfs(setting.key, value);
  if (!setting.subsection.empty()) return false;
  if (setting.section == "alias") return is_subcommand(value);
  if (setting.section == "advice") return value == "true" || value == "false";
  return std::ranges::binary_search(kCopied, CopiedKey{setting.section, setting.key}) &&
         is_plain(value);
}

}  // namespace

std::string copied_git_settings(std::span<const GitSetting> settings) {
  std::vector<GitSetting> kept;
  for (const GitSetting& setting : settings) {
    const auto same = [&](const GitSetting& other) {
      return other.section == setting.section && other.subsection == setting.subsection &&
             other.key == setting.key;
    };
    // The last one decides, also if it is one that stays outside.
    std::erase_if(kept, same);
    std::string value = setting.value.value_or("true");
    if (!is_copied(setting, value)) continue;
    kept.push_back({setting.section, setting.subsection, setting.key, std::move(value)});
  }
  std::ranges::stable_sort(
      kept, {}, [](const GitSetting& one) { return std::tie(one.section, one.subsection); });
  return write_git_config(kept);
}

std::string copied_git_settings(const Caller& caller) {
  return copied_git_settings(std::span<const GitSetting>(read_user_git_config(caller).settings));
}

}  // namespace cordon
