#include "host/credentials.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "host/walk.h"

namespace cordon {
namespace {

// Relative to a home; sorted.
constexpr std::array kStores = std::to_array<std::string_view>({
    ".ICEauthority",
    ".Xauthority",
    ".age",
    ".ansible/vault",
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/BraveSoftware",
    ".config/Code/User/globalStorage",
    ".config/Cursor/User/globalStorage",
    ".config/Signal",
    ".config/Slack",
    ".config/age",
    ".config/chromium",
    ".config/configstore",
    ".config/containers/auth.json",
    ".config/discord",
    ".config/doctl",
    ".config/fly",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/heroku",
    ".config/hub",
    ".config/microsoft-edge",
    ".config/op",
    ".config/opera",
    ".config/pip",
    ".config/pypoetry",
    ".config/rclone",
    ".config/sops",
    ".config/vivaldi",
    ".copilot",
    ".databrickscfg",
    ".docker",
    ".fly",
    ".gcloud",
    ".gem/credentials",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".kube",
    ".lesshst",
    ".local/share/atuin",
    ".local/share/fish/fish_history",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".minikube",
    ".mozilla",
    ".my.cnf",
    ".mylogin.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".nuget/NuGet/NuGet.Config",
    ".oci",
    ".password-store",
    ".pgpass",
    ".pip",
    ".psql_history",
    ".pulumi/credentials.json",
    ".pypirc",
    ".python_history",
    ".rediscli_history",
    ".s3cfg",
    ".sbt/.credentials",
    ".snowflake",
    ".snowsql",
    ".sqlite_history",
    ".ssh",
    ".subversion/auth",
    ".terraform.d",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".viminfo",
    ".wget-hsts",
    ".yarnrc.yml",
    ".zsh_history",
    "snap/chromium",
    "snap/firefox",
});

static_assert(std::is_sorted(kStores.begin(), kStores.end()));

constexpr std::string_view kReason = "credential store";

CredentialStore describe(const std::string& path, const FileInfo& seen, const Caller& caller) {
  CredentialStore store;
  store.name = {path, seen.kind, seen.id, std::string(kReason)};
  store.links = seen.kind == FileKind::Regular ? seen.links : 1;
  if (!seen.symlink) return store;
  const Result<Canonical> target = canonicalize(path, "/", caller);
  if (!target || target->kind == FileKind::Absent) return store;
  store.target = Masked{target->path, target->kind, target->id, std::string(kReason)};
  if (const auto object = inspect_path(target->path); object && object->kind == FileKind::Regular)
    store.links = object->links;
  return store;
}

class StoreSearch {
 public:
  StoreSearch(const Caller& caller, StoreScope scope) : caller_(caller), scope_(scope) {}

  void search(const std::string& home) {
    const Fd fd(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DirectoryNames names;
    if (!fd.valid() || !names.read(fd.get())) {
      // A home that cannot be listed may still be searched, so every name is tried.
      for (const std::string_view store : kStores) add(home, store);
      return;
    }
    for (const DirectoryEntry& entry : names.entries())
      each_store_in(entry.name, [&](std::string_view store) {
        if (store == entry.name && is_skipped(entry)) return;
        if (entry.name == ".config" && entry.type == EntryType::Directory) return;
        add(home, store);
      });
    const DirectoryEntry* config = names.find(".config");
    if (config != nullptr && config->type == EntryType::Directory) search_config(home, fd.get());
  }

  std::vector<CredentialStore> found;

 private:
  // Stores sort behind the name they begin with.
  template <typename Visit>
  static void each_store_in(std::string_view first, const Visit& visit) {
    for (auto at = std::lower_bound(kStores.begin(), kStores.end(), first);
         at != kStores.end() && at->starts_with(first); ++at)
      if (at->size() == first.size() || (*at)[first.size()] == '/') visit(*at);
  }

  [[nodiscard]] bool is_skipped(const DirectoryEntry& entry) const {
    return scope_ == StoreScope::Links && entry.type != EntryType::Symlink;
  }

  // Most stores lie here, so it is listed rather than asked for each.
  void search_config(const std::string& home, int home_fd) {
    const Fd fd(::openat(home_fd, ".config", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    DirectoryNames names;
    if (!fd.valid() || !names.read(fd.get())) {
      each_store_in(".config", [&](std::string_view store) { add(home, store); });
      return;
    }
    for (const DirectoryEntry& entry : names.entries()) {
      const std::string first = ".config/" + std::string(entry.name);
      each_store_in(first, [&](std::string_view store) {
        if (store == first && is_skipped(entry)) return;
        add(home, store);
      });
    }
  }

  void add(const std::string& home, std::string_view store) {
    const std::string path = join(home, store);
    const auto seen = inspect_path(path);
    if (!seen) return;
    // ~/.config may itself be a link: the store is masked where it really lies.
    std::string real = path;
    if (store.find('/') != std::string_view::npos)
      if (const Result<Canonical> directory = canonicalize(parent(path), "/", caller_))
        real = join(directory->path, basename(path));
    if (scope_ == StoreScope::Links && !seen->symlink && real == path) return;
    found.push_back(describe(real, *seen, caller_));
  }

  const Caller& caller_;
  StoreScope scope_;
};

}  // namespace

std::vector<CredentialStore> find_credential_stores(const Caller& caller, StoreScope scope) {
  StoreSearch search(caller, scope);
  for (const std::string& home : caller.homes) search.search(home);
  return std::move(search.found);
}

std::vector<std::string> store_places(const Caller& caller) {
  std::vector<std::string> places;
  for (const std::string& home : caller.homes)
    for (const std::string_view store : kStores) places.push_back(join(home, store));
  return places;
}

bool is_in_store(std::string_view path, const Caller& caller) {
  for (const std::string& home : caller.homes) {
    if (home == path || !contains(home, path)) continue;
    const std::string_view below = path.substr(home == "/" ? 1 : home.size() + 1);
    for (const std::string_view store : kStores)
      if (contains(store, below)) return true;
  }
  return false;
}

bool may_hold_store(std::string_view directory, const Caller& caller) {
  for (const std::string& home : caller.homes) {
    if (contains(directory, home)) return true;
    if (!contains(home, directory)) continue;
    const std::string_view below = directory.substr(home == "/" ? 1 : home.size() + 1);
    for (const std::string_view store : kStores)
      if (contains(below, store) || contains(store, below)) return true;
  }
  return false;
}

std::vector<Masked> credential_stores(const Caller& caller) {
  std::vector<Masked> out;
  for (const CredentialStore& store : find_credential_stores(caller, StoreScope::All)) {
    out.push_back(store.name);
    if (store.target) out.push_back(*store.target);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace cordon
