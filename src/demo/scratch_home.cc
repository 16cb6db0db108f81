#include "demo/scratch_home.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/directory_names.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "host/tree_copy.h"
#include "run/run_note.h"

namespace cordon::demo {
namespace {

constexpr std::string_view kPrefix = "cordon-demo.";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// What the operator of the demonstration permits.
constexpr std::string_view kCeiling = R"(version = 1

[fs]
read = ["~/Documents"]
write = ["~/Downloads"]
deny = [".env"]
scratch = "16M"

[net]
mode = "none"

[limits]
wall = "10s"
memory = "256M"
pids = 32
)";

Caller living_in(const std::string& home, Caller caller) {
  caller.home = home;
  caller.homes = {home};
  caller.cwd = home;
  caller.config_directory = join(home, ".config/cordon");
  caller.state_directory = join(home, ".local/state/cordon");
  caller.runtime_directory = join(caller.state_directory, "run");
  caller.environment = {{"HOME", home}, {"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  return caller;
}

bool is_locked(const Fd& directory) { return ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0; }

// A demonstration that was killed could not remove its home. Its own state lies in there, so nobody
// else knows of the cgroups that are noted in it. The notes can be believed: no sandbox can write
// where they lie.
void remove_lost(const Fd& parent, const std::string& parent_path, const Caller& caller) {
  DirectoryNames names;
  if (!names.read(parent.get())) return;
  std::vector<std::string> found;
  for (const DirectoryEntry& entry : names.entries()) {
    if (entry.name.starts_with(kPrefix)) found.emplace_back(entry.name);
  }
  for (const std::string& name : found) {
    const Fd directory(::openat(parent.get(), name.c_str(), kDirectory));
    struct stat status {};
    if (!directory.valid() || ::fstat(directory.get(), &status) < 0) continue;
    if (status.st_uid != caller.uid || (status.st_mode & 077) != 0) continue;
    if (is_locked(directory)) continue;
    (void)recover_runs(living_in(join(join(parent_path, name), "home"), caller));
    remove_tree(parent.get(), name);
  }
}

// Between making a directory and locking it another demonstration may have taken it for lost.
Result<std::string> make_locked(const Fd& parent, const std::string& parent_path, Fd& directory) {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    std::string path = join(parent_path, std::string(kPrefix) + "XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) break;
    std::string name(basename(path));
    directory = Fd(::openat(parent.get(), name.c_str(), kDirectory));
    struct stat status {};
    if (directory.valid() && !is_locked(directory) && ::fstat(directory.get(), &status) == 0 &&
        status.st_nlink > 0) {
      return name;
    }
  }
  return fail(setup_error("cannot make a directory in " + quote(parent_path), errno,
                          "set XDG_STATE_HOME to a directory this user can write"));
}

}  // namespace

ScratchHome::ScratchHome(Fd parent, Fd directory, std::string parent_path, std::string name)
    : parent_(std::move(parent)),
      directory_(std::move(directory)),
      parent_path_(std::move(parent_path)),
      name_(std::move(name)) {}

ScratchHome::ScratchHome(ScratchHome&& other) noexcept = default;

ScratchHome::~ScratchHome() {
  if (directory_.valid()) remove_tree(parent_.get(), name_);
}

Result<ScratchHome> ScratchHome::make(const Caller& caller) {
  const std::string written = join(caller.state_directory, "demo");
  CORDON_TRY(parent, open_private_directory(caller.state_directory.empty() ? "" : written));
  CORDON_TRY(place, canonicalize_existing(written, "/", caller));
  remove_lost(parent, place.path, caller);
  Fd directory;
  CORDON_TRY(name, make_locked(parent, place.path, directory));
  ScratchHome home(std::move(parent), std::move(directory), place.path, std::move(name));
  CORDON_CHECK(home.furnish());
  return home;
}

Result<void> ScratchHome::furnish() const {
  struct Thing {
    std::string_view directory;
    std::string name;
    std::string_view content;
  };
  const std::array things{
      Thing{"Documents", "report.txt", kReport}, Thing{"Documents", ".env", kPassword},
      Thing{"Downloads", "readme.txt", "hello"}, Thing{"Private", "diary.txt", kDiary},
      Thing{".ssh", "id_ed25519", kKey},         Thing{".config/cordon", "ceiling.toml", kCeiling},
  };
  for (const Thing& thing : things) {
    CORDON_TRY(directory, open_private_directory(at(thing.directory)));
    if (const int error =
            put_file(directory.get(), thing.name, std::string(thing.content) + "\n", 0600);
        error != 0) {
      return fail(setup_error("cannot write " + quote(at(thing.directory)), error));
    }
  }
  for (const auto& [link, target] :
       {std::pair{"Downloads/shortcut", "Private"}, std::pair{"Downloads/papers", "Documents"}}) {
    if (::symlink(at(target).c_str(), at(link).c_str()) < 0) {
      return fail(setup_error("cannot link " + quote(at(link)), errno));
    }
  }
  return {};
}

std::string ScratchHome::at(std::string_view path) const {
  return join(join(join(parent_path_, name_), "home"), path);
}

Caller ScratchHome::resident(Caller caller) const {
  Caller resident = living_in(join(join(parent_path_, name_), "home"), std::move(caller));
  resident.environment[kVariable] = kVariableValue;
  return resident;
}

}  // namespace cordon::demo
