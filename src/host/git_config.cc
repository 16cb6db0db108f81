#include "host/git_config.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/resolve.h"

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

// Found without opening it: to open a FIFO or a device may act.
std::optional<std::string> read_config(const std::string& path) {
  const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const auto seen = place.valid() ? look(place.get()) : std::nullopt;
  if (!seen || seen->kind != FileKind::Regular) return std::nullopt;
  const std::string self = "/proc/self/fd/" + std::to_string(place.get());
  const Fd file(::open(self.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() ? read_all(file.get(), kGitConfigLimit) : std::nullopt;
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
  const auto text = read_config(path);
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

using enum GitValue;
constexpr auto kPlain = GitKey::Scope::Plain;
constexpr auto kNamed = GitKey::Scope::Named;
constexpr auto kBoth = GitKey::Scope::Both;

// From git-config(1) of git 2.39 and the release notes up to 2.51, section by section. Data that
// git only reads (core.attributesFile, core.excludesFile, blame.ignoreRevsFile, commit.template)
// is left out: it names no program.
constexpr std::array kKeys{
    GitKey{"core", "fsmonitor", kPlain, Command, "run by status, diff, add and commit"},
    GitKey{"core", "hookspath", kPlain, Directory, "hooks are taken from it"},
    GitKey{"core", "editor", kPlain, Command, "run by commit, rebase and tag"},
    GitKey{"core", "pager", kPlain, Command, "run by log, diff and show on a terminal"},
    GitKey{"core", "sshcommand", kPlain, Command, "run by fetch and push over ssh"},
    GitKey{"core", "askpass", kPlain, Command, "run when a password is asked for"},
    GitKey{"core", "gitproxy", kPlain, Command, "run by fetch over the git protocol"},
    GitKey{"core", "alternaterefscommand", kPlain, Command, "run by push and fetch"},
    GitKey{"sequence", "editor", kPlain, Command, "run by rebase --interactive"},
    GitKey{"pager", "*", kPlain, Command, "run by the command of that name on a terminal"},
    GitKey{"interactive", "difffilter", kPlain, Command, "run by add --patch"},
    GitKey{"alias", "*", kBoth, Bang, "run when the alias is typed"},
    GitKey{"credential", "helper", kBoth, Command, "run by fetch and push that need a password"},
    GitKey{"filter", "clean", kNamed, Command, "run by add and status"},
    GitKey{"filter", "smudge", kNamed, Command, "run by checkout"},
    GitKey{"filter", "process", kNamed, Command, "run by add, status and checkout"},
    GitKey{"diff", "external", kPlain, Command, "run by diff"},
    GitKey{"diff", "command", kNamed, Command, "run by diff"},
    GitKey{"diff", "textconv", kNamed, Command, "run by diff, log, show and blame"},
    GitKey{"merge", "driver", kNamed, Command, "run by merge, rebase and stash"},
    GitKey{"difftool", "cmd", kNamed, Command, "run by difftool"},
    GitKey{"difftool", "path", kNamed, Command, "run by difftool"},
    GitKey{"mergetool", "cmd", kNamed, Command, "run by mergetool"},
    GitKey{"mergetool", "path", kNamed, Command, "run by mergetool"},
    GitKey{"guitool", "cmd", kNamed, Command, "run from a menu of git gui"},
    GitKey{"gpg", "program", kBoth, Command, "run to sign and to verify"},
    GitKey{"gpg", "defaultkeycommand", kNamed, Command, "run to sign with ssh"},
    GitKey{"init", "templatedir", kPlain, Directory, "hooks are copied from it by init and clone"},
    GitKey{"uploadpack", "packobjectshook", kPlain, Command, "run by a fetch from here"},
    GitKey{"remote", "uploadpack", kNamed, Command, "run by fetch"},
    GitKey{"remote", "receivepack", kNamed, Command, "run by push"},
    GitKey{"remote", "vcs", kNamed, Command, "names the helper that fetch runs"},
    GitKey{"remote", "url", kNamed, Address, "fetch runs what ext:: names"},
    GitKey{"remote", "pushurl", kNamed, Address, "push runs what ext:: names"},
    GitKey{"branch", "remote", kNamed, Address, "pull runs what ext:: names"},
    GitKey{"branch", "pushremote", kNamed, Address, "push runs what ext:: names"},
    GitKey{"submodule", "url", kNamed, Address, "submodule update runs what ext:: names"},
    GitKey{"submodule", "update", kNamed, Bang, "run by submodule update"},
    GitKey{"trailer", "command", kNamed, Command, "run by commit --trailer"},
    GitKey{"trailer", "cmd", kNamed, Command, "run by commit --trailer"},
    GitKey{"hook", "command", kNamed, Command, "run as a hook"},
    GitKey{"browser", "cmd", kNamed, Command, "run by help --web"},
    GitKey{"browser", "path", kNamed, Command, "run by help --web"},
    GitKey{"man", "cmd", kNamed, Command, "run by help"},
    GitKey{"man", "path", kNamed, Command, "run by help"},
    GitKey{"instaweb", "httpd", kPlain, Command, "run by instaweb"},
    GitKey{"instaweb", "browser", kPlain, Command, "run by instaweb"},
    GitKey{"tar", "command", kNamed, Command, "run by archive"},
    GitKey{"imap", "tunnel", kPlain, Command, "run by imap-send"},
    GitKey{"sendemail", "smtpserver", kBoth, Command, "run by send-email"},
    GitKey{"sendemail", "sendmailcmd", kBoth, Command, "run by send-email"},
    GitKey{"sendemail", "tocmd", kBoth, Command, "run by send-email"},
    GitKey{"sendemail", "cccmd", kBoth, Command, "run by send-email"},
    GitKey{"sendemail", "headercmd", kBoth, Command, "run by send-email"},
    GitKey{"svn", "authorsprog", kPlain, Command, "run by git svn"},
    GitKey{"svn", "authors-prog", kPlain, Command, "run by git svn"},
    GitKey{"lfs", "path", kNamed, Command, "a transfer agent of git lfs"},
    GitKey{"lfs", "clean", kNamed, Command, "an extension of git lfs, run by add"},
    GitKey{"lfs", "smudge", kNamed, Command, "an extension of git lfs, run by checkout"},
    GitKey{"annex", "*", kBoth, Command, "git annex runs the commands in it"},
};

bool fits(GitKey::Scope scope, const GitSetting& setting) {
  switch (scope) {
    case GitKey::Scope::Plain:
      return setting.subsection.empty();
    case GitKey::Scope::Named:
      return !setting.subsection.empty();
    case GitKey::Scope::Both:
      return true;
  }
  return true;
}

}  // namespace

std::span<const GitKey> git_keys() { return kKeys; }

const GitKey* find_git_key(const GitSetting& setting) {
  const auto* found = std::ranges::find_if(kKeys, [&](const GitKey& key) {
    return key.section == setting.section && (key.key == "*" || key.key == setting.key) &&
           fits(key.scope, setting);
  });
  return found == kKeys.end() ? nullptr : found;
}

}  // namespace cordon
