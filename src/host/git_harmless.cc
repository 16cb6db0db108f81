// The settings a fresh repository may carry: what git init, git clone and their like write, and
// what only changes how git stores or shows things.
#include <algorithm>
#include <array>

#include "host/git_config.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 79> kHarmlessPlain = {
    "advice.detachedhead",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "clone.defaultremotename",
    "color.branch",
    "color.diff",
    "color.status",
    "color.ui",
    "commit.cleanup",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.ignorestat",
    "core.logallrefupdates",
    "core.longpaths",
    "core.multipackindex",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.usereplacerefs",
    "core.warnambiguousrefs",
    "core.whitespace",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "extensions.compatobjectformat",
    "extensions.noop",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.preciousobjects",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "feature.manyfiles",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.recursesubmodules",
    "gc.auto",
    "gc.autodetach",
    "gc.reflogexpire",
    "index.sparse",
    "index.threads",
    "index.version",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "maintenance.auto",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "status.showuntrackedfiles",
    "submodule.active",
    "submodule.recurse",
    "user.email",
    "user.name",
};
static_assert(std::is_sorted(kHarmlessPlain.begin(), kHarmlessPlain.end()));

// Keys below a named remote, branch or submodule; those that hold an address are checked further.
constexpr std::array<std::string_view, 19> kHarmlessNamed = {
    "branch.description",
    "branch.merge",
    "branch.rebase",
    "remote.fetch",
    "remote.mirror",
    "remote.partialclonefilter",
    "remote.promisor",
    "remote.prune",
    "remote.prunetags",
    "remote.push",
    "remote.skipdefaultupdate",
    "remote.skipfetchall",
    "remote.tagopt",
    "submodule.active",
    "submodule.branch",
    "submodule.fetchrecursesubmodules",
    "submodule.ignore",
    "submodule.shallow",
    "submodule.update",
};
static_assert(std::is_sorted(kHarmlessNamed.begin(), kHarmlessNamed.end()));

constexpr std::array<std::string_view, 5> kAddresses = {
    "branch.pushremote", "branch.remote", "remote.pushurl", "remote.url", "submodule.url"};
static_assert(std::is_sorted(kAddresses.begin(), kAddresses.end()));

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& table, std::string_view name) {
  return std::binary_search(table.begin(), table.end(), name);
}

// "helper::address" starts the program git-remote-helper, and ext:: any program at all; a leading
// dash becomes an option of the transport's program.
bool is_plain_address(std::string_view address) {
  return !address.starts_with('-') && address.find("::") == std::string_view::npos &&
         std::none_of(address.begin(), address.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace

bool is_harmless(const GitSetting& setting) {
  const std::string name = setting.section + "." + setting.key;
  const std::string_view value = setting.value ? std::string_view(*setting.value) : "true";
  if (setting.subsection.empty()) return holds(kHarmlessPlain, name);
  // "!command" as an update method is run by the shell.
  if (name == "submodule.update") return !value.starts_with('!');
  if (holds(kAddresses, name)) return is_plain_address(value);
  return holds(kHarmlessNamed, name);
}

}  // namespace cordon
