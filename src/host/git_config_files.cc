#include "host/git_config_files.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/text.h"
#include "host/git_limits.h"
#include "host/look.h"
#include "host/resolve.h"

namespace cordon {
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

}  // namespace cordon
