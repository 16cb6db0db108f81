#include "host/git/settings.h"

#include <algorithm>
#include <array>
#include <string>

namespace cordon {
namespace {

// The settings a fresh repository may carry: what git init, git clone and their like write, and
// what only changes how git stores or shows things.

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
    GitKey{"gc", "recentobjectshook", kPlain, Command, "run by gc, prune and repack"},
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
