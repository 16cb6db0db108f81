#include "changes/config_write_back.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/git/settings.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/snapshot.h"

namespace cordon {
namespace {

constexpr std::size_t kConfigLimit = std::size_t{1024} * 1024;

using Section = std::pair<std::string, std::string>;

bool is_plain_name(std::string_view name, bool with_slashes) {
  if (name.empty() || name.front() == '-' || name.front() == '.' || name.front() == '/' ||
      name.find("..") != std::string_view::npos) {
    return false;
  }
  return std::ranges::all_of(name, [&](char c) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return word || c == '-' || c == '_' || c == '.' || c == '+' || c == '#' || c == '@' ||
           (c == '/' && with_slashes);
  });
}

bool fills_own_refs(std::string_view refspec, const std::string& remote) {
  if (refspec.starts_with('+')) refspec.remove_prefix(1);
  const std::size_t colon = refspec.find(':');
  if (colon == std::string_view::npos || refspec.find(':', colon + 1) != std::string_view::npos) {
    return false;
  }
  return refspec.starts_with("refs/heads/") &&
         refspec.substr(colon + 1).starts_with("refs/remotes/" + remote + "/") &&
         refspec.find("..") == std::string_view::npos;
}

bool may_be_written(const GitSetting& setting) {
  if (setting.subsection.empty() || !is_harmless(setting)) return false;
  const std::string name = setting.section + "." + setting.key;
  const std::string value = setting.value.value_or("true");
  if (name == "remote.url") {
    return is_plain_name(setting.subsection, false) && is_address_of_a_host(value);
  }
  if (name == "remote.fetch") {
    return is_plain_name(setting.subsection, false) && fills_own_refs(value, setting.subsection);
  }
  if (name == "branch.remote") {
    return is_plain_name(setting.subsection, true) && (value == "." || is_plain_name(value, false));
  }
  if (name == "branch.merge") {
    return is_plain_name(setting.subsection, true) && value.starts_with("refs/") &&
           is_plain_name(value, true);
  }
  if (name == "branch.rebase") {
    constexpr std::array kValues = {"true", "false", "merges", "interactive"};
    return is_plain_name(setting.subsection, true) &&
           std::ranges::find(kValues, value) != kValues.end();
  }
  if (name == "submodule.url") {
    return is_plain_name(setting.subsection, true) && is_address_of_a_host(value);
  }
  if (name == "submodule.active") {
    return is_plain_name(setting.subsection, true) && (value == "true" || value == "false");
  }
  return false;
}

// The values of every setting, in order: what git makes of the file.
std::map<std::string, std::vector<std::optional<std::string>>> values_of(
    const std::vector<GitSetting>& settings) {
  std::map<std::string, std::vector<std::optional<std::string>>> values;
  for (const GitSetting& setting : settings) values[setting_name(setting)].push_back(setting.value);
  return values;
}

}  // namespace

std::string setting_name(const GitSetting& setting) {
  std::string name = setting.section;
  if (!setting.subsection.empty()) name += "." + setting.subsection;
  return name + "." + setting.key;
}

std::optional<ConfigChange> judge_config_change(std::string_view base, std::string_view now) {
  const auto before = parse_git_config(base);
  const auto after = parse_git_config(now);
  if (!before || !after) return std::nullopt;
  ConfigChange change;
  std::set<Section> there;
  for (const GitSetting& setting : *before) there.emplace(setting.section, setting.subsection);
  const auto is_new = [&](const GitSetting& setting) {
    return !there.contains({setting.section, setting.subsection});
  };
  std::set<Section> without_address;
  for (const GitSetting& setting : *after) {
    if (setting.key == "url" && !may_be_written(setting))
      without_address.emplace(setting.section, setting.subsection);
  }
  std::vector<GitSetting> rest;
  for (const GitSetting& setting : *after) {
    const bool written = is_new(setting) && may_be_written(setting) &&
                         !without_address.contains({setting.section, setting.subsection});
    (written ? change.written : rest).push_back(setting);
  }
  const auto had = values_of(*before);
  const auto has = values_of(rest);
  for (const auto& [name, values] : has) {
    const auto found = had.find(name);
    if (found == had.end() || found->second != values) change.held.push_back(name);
  }
  for (const auto& [name, values] : had)
    if (!has.contains(name)) change.held.push_back(name);
  std::ranges::sort(change.held);
  return change;
}

Result<WroteBack> write_back_config(const std::string& path, std::string_view base,
                                    const std::vector<GitSetting>& settings, std::string& text,
                                    GitLock git_lock) {
  const auto failed = [&](int error_number) {
    return fail(setup_error("cannot write " + quote(path), error_number));
  };
  const Fd above = open_canonical(std::string(parent(path)), O_RDONLY | O_DIRECTORY);
  if (!above.valid()) return failed(errno);
  const std::string name(basename(path));
  const std::string lock = git_lock == GitLock::Keep ? name + ".lock" : unguessable_name();
  struct stat status {};
  if (lock.empty()) return failed(EIO);
  if (::fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode)) {
    return WroteBack::HostChanged;
  }
  const Fd file(::openat(above.get(), lock.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() && errno == EEXIST) return WroteBack::Locked;
  if (!file.valid()) return failed(errno);
  // Under the lock: from here on nobody who keeps git's protocol writes the file.
  if (read_regular(above.get(), name, kConfigLimit) != std::string(base)) {
    ::unlinkat(above.get(), lock.c_str(), 0);
    return WroteBack::HostChanged;
  }
  text = base;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += write_git_config(settings);
  int error = write_whole(file.get(), text);
  if (error == 0 && ::geteuid() == 0 && ::fchown(file.get(), status.st_uid, status.st_gid) != 0) {
    error = errno;
  }
  if (error == 0 && ::fchmod(file.get(), status.st_mode & 0777U) != 0) error = errno;
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (error == 0 && ::renameat(above.get(), lock.c_str(), above.get(), name.c_str()) != 0) {
    error = errno;
  }
  if (error == 0) return WroteBack::Done;
  ::unlinkat(above.get(), lock.c_str(), 0);
  return failed(error);
}

Result<bool> put_back_config(const std::string& path, std::string_view base) {
  const Fd above = open_canonical(std::string(parent(path)), O_RDONLY | O_DIRECTORY);
  const std::string name(basename(path));
  struct stat status {};
  if (!above.valid() || ::faccessat(above.get(), "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ||
      ::fstat(above.get(), &status) != 0) {
    return false;
  }
  const Fd file(::openat(above.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid() && errno == EEXIST) return false;
  int error = file.valid() ? write_whole(file.get(), base) : errno;
  if (error == 0 && ::geteuid() == 0 && ::fchown(file.get(), status.st_uid, status.st_gid) != 0) {
    error = errno;
  }
  if (error != 0) return fail(setup_error("cannot write " + quote(path), error));
  return true;
}

}  // namespace cordon
