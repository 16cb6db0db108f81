#include "host/git_identity.h"

#include <fcntl.h>

#include <array>

#include "base/path.h"
#include "host/look.h"
#include "host/survey.h"

namespace cordon {
namespace {

constexpr std::size_t kLimit = std::size_t{1024} * 1024;
constexpr int kMaxIncludes = 10;

class UserConfig {
 public:
  explicit UserConfig(const Caller& caller) : caller_(caller) {}

  void read(const std::string& path) {
    // Dotfiles are often links to a repository of dotfiles, and these belong to the caller.
    const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const auto seen = fd.valid() ? look(fd.get()) : std::nullopt;
    if (!seen || seen->kind != FileKind::Regular) return;
    const auto text = read_all(fd.get(), kLimit);
    if (!text) return;
    auto parsed = parse_git_config(*text);
    if (!parsed) return;
    for (GitSetting& setting : *parsed) {
      const bool conditional = setting.section == "includeif";
      const bool include = (conditional || setting.section == "include") && setting.key == "path" &&
                           setting.value && !setting.value->empty();
      if (include) {
        const std::string target = absolute(*setting.value, path);
        found.referenced.push_back(target);
        if (!conditional && ++includes_ <= kMaxIncludes) read(target);
      }
      const bool hooks = setting.section == "core" && setting.key == "hookspath" && setting.value;
      // A relative one means another directory in each repository, and is looked for there.
      if (hooks && (setting.value->starts_with('/') || setting.value->starts_with("~/")))
        found.referenced.push_back(normalize(absolute(*setting.value, path)));
      found.settings.push_back(std::move(setting));
    }
  }

  UserGit found;

 private:
  [[nodiscard]] std::string absolute(const std::string& target, const std::string& file) const {
    if (target.starts_with("~/")) return join(caller_.home, target.substr(2));
    return target.front() == '/' ? target : join(parent(file), target);
  }

  const Caller& caller_;
  int includes_ = 0;
};

}  // namespace

UserGit read_user_git_config(const Caller& caller) {
  UserConfig config(caller);
  config.read("/etc/gitconfig");
  if (!caller.config_directory.empty())
    config.read(join(parent(caller.config_directory), "git/config"));
  if (!caller.home.empty()) config.read(join(caller.home, ".gitconfig"));
  return std::move(config.found);
}

std::string git_identity(std::span<const GitSetting> settings) {
  struct Wanted {
    const char* section;
    const char* key;
  };
  constexpr std::array<Wanted, 3> kWanted = {
      {{"user", "name"}, {"user", "email"}, {"init", "defaultbranch"}}};
  std::vector<GitSetting> kept;
  for (const Wanted& wanted : kWanted)
    if (auto value = last_value(settings, wanted.section, "", wanted.key))
      kept.push_back({wanted.section, "", wanted.key, std::move(value)});
  return write_git_config(kept);
}

std::string git_identity(const Caller& caller) {
  return git_identity(std::span<const GitSetting>(read_user_git_config(caller).settings));
}

}  // namespace cordon
