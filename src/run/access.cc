#include "run/access.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/inspect.h"
#include "plan/trust_files.h"
#include "plan/view.h"
#include "run/rights.h"

namespace cordon {
namespace {

std::string_view word_of(Access access) {
  switch (access) {
    case Access::Read:
      return "read";
    case Access::Write:
      return "written";
    case Access::Execute:
      return "executed";
  }
  return "";
}

class AccessQuestion {
 public:
  AccessQuestion(const JudgedRun& run, Access access, const std::string& path)
      : run_(run),
        access_(access),
        path_(path),
        view_(view_of(run.plan, path)),
        said_(decide(run.clamped, run.survey.facts, run.caller, access, path)) {}

  Result<AccessAnswer> answer() const {
    switch (view_.shown) {
      case Shown::Nothing:
        return nothing();
      case Shown::Masked:
        return refused(Settled::Mask, said_.allowed ? mask_words() : said_.reason);
      case Shown::Made:
        return shows_trust() ? trust() : own();
      case Shown::Process:
      case Shown::Device:
        return own();
      case Shown::Private:
        return private_space();
      case Shown::Kept:
        return kept_space();
      case Shown::Host:
      case Shown::Copy:
      case Shown::Config:
      case Shown::Staged:
        return host_object();
    }
    return nothing();
  }

 private:
  [[nodiscard]] bool writes() const { return access_ == Access::Write; }
  [[nodiscard]] std::string mask_words() const {
    return view_.reason.empty() ? "it is masked inside" : view_.reason;
  }

  [[nodiscard]] AccessAnswer refused(Settled by, std::string reason) const {
    return {{false, said_.rule, std::move(reason), {}}, by, false, {}};
  }
  [[nodiscard]] AccessAnswer permitted(std::string_view then, std::string reason) const {
    return {{true, said_.rule, std::move(reason), {}},
            Settled::Yes,
            true,
            writes() ? then : std::string_view{}};
  }
  // In the words of the rule, if it agrees.
  [[nodiscard]] std::string reason_for(bool allowed, std::string otherwise) const {
    return said_.allowed == allowed ? said_.reason : std::move(otherwise);
  }

  [[nodiscard]] AccessAnswer nothing() const {
    if (!inspect_path(path_) && said_.allowed) return absent();
    return refused(Settled::Policy, reason_for(false, "it is not shown inside"));
  }
  [[nodiscard]] AccessAnswer absent() const {
    if (is_in_store(path_, run_.caller)) {
      return refused(Settled::Mask,
                     "it is a place of credentials, which a grant that covers it hides");
    }
    AccessAnswer answer =
        refused(Settled::Absent, "there is nothing at this path; made, it could be " +
                                     std::string(word_of(access_)) + ": " + said_.reason);
    answer.verdict.change = "make it first";
    return answer;
  }

  // What the sandbox has of its own is as decide() has it, from the lists that the plan is made of.
  [[nodiscard]] AccessAnswer own() const {
    if (access_ == Access::Execute && view_.directory) {
      return refused(Settled::Kernel, "it is a directory, and no program");
    }
    if (said_.allowed) return permitted("gone", said_.reason);
    return refused(Settled::Policy, said_.reason);
  }

  [[nodiscard]] bool shows_trust() const {
    const std::string& copies = run_.request.trust_directory;
    return !copies.empty() && contains(copies, view_.source);
  }
  // The files of plan/trust_files.h, of which the policy says nothing.
  [[nodiscard]] AccessAnswer trust() const {
    const auto no = [](std::string reason) {
      return AccessAnswer{{false, "[[http]]", std::move(reason), {}}, Settled::Policy, false, {}};
    };
    const bool there = view_.there || path_ == join(kTrustInside, kTrustBundle) ||
                       path_ == join(kTrustInside, kRunAuthority) ||
                       path_ == join(kTrustInside, kJavaTrust);
    if (!there) return no("it is none of the files of certificates that are there inside");
    if (writes()) return no("the certificates of the run are read-only inside");
    if (access_ == Access::Execute) return no("it holds certificates, and no program");
    return {{true,
             "[[http]]",
             "certificates: those that the host trusts, and that of the authority made for the run",
             {}},
            Settled::Yes,
            true,
            {}};
  }

  [[nodiscard]] AccessAnswer private_space() const {
    if (writes()) {
      if (!view_.writable) return refused(Settled::Policy, reason_for(false, "read-only inside"));
      return permitted("gone",
                       reason_for(true, "private to the sandbox: written, and gone after the run"));
    }
    if (access_ == Access::Read && view_.there) {
      return permitted({}, reason_for(true, "private to the sandbox"));
    }
    if (access_ == Access::Execute && view_.there) {
      return refused(Settled::Kernel, "it is private to the sandbox, and no program");
    }
    return refused(Settled::Policy,
                   reason_for(false, "the place is private inside, and empty at the start"));
  }

  [[nodiscard]] AccessAnswer kept_space() const {
    if (writes()) return permitted("private", reason_for(true, "private to the sandbox"));
    const std::string behind = view_.source + path_.substr(view_.place.size());
    const bool there = view_.there || inspect_path(behind).has_value();
    if (access_ == Access::Read && there) {
      return permitted({}, reason_for(true, "private to the sandbox, kept from run to run"));
    }
    return refused(Settled::Policy, reason_for(false, "the place is private inside"));
  }

  // Everything that the policy has to say about an object of the host.
  [[nodiscard]] std::optional<AccessAnswer> refused_by_policy(bool directory) const {
    if (writes()) {
      if (view_.writable && view_.may_write) return std::nullopt;
      const std::string why = view_.reason.empty() || view_.shown != Shown::Host
                                  ? "it is read-only inside"
                                  : "it is read-only inside: " + view_.reason;
      return refused(Settled::Policy, reason_for(false, why));
    }
    const bool may = access_ == Access::Execute ? view_.may_execute
                     : directory                ? view_.may_list
                                                : view_.may_read;
    if (may) return std::nullopt;
    return refused(Settled::Policy, reason_for(false, "nothing grants it to this command"));
  }

  [[nodiscard]] Result<AccessAnswer> host_object() const;
  [[nodiscard]] AccessAnswer written() const;
  [[nodiscard]] AccessAnswer held(std::string why) const;
  [[nodiscard]] AccessAnswer staged(const std::string& why) const;
  [[nodiscard]] std::optional<AccessAnswer> of_staged_git() const;
  [[nodiscard]] AccessAnswer not_by_rights(const Rights& rights, const Owner& as) const;

  const JudgedRun& run_;
  Access access_;
  const std::string& path_;
  View view_;
  Verdict said_;
};

Result<AccessAnswer> AccessQuestion::host_object() const {
  const auto seen = inspect_path(path_);
  const bool directory = seen && seen->kind == FileKind::Directory;
  if (auto found = refused_by_policy(directory)) return *std::move(found);
  if (!seen && !writes()) return absent();
  if (access_ == Access::Execute && seen->kind != FileKind::Regular) {
    return refused(Settled::Kernel, directory ? "it is a directory, and no program"
                                              : "it is no file, and no program");
  }
  if (access_ == Access::Execute && view_.shown == Shown::Config) {
    return refused(Settled::Kernel, "inside it is a copy of a configuration, and no program");
  }
  // What is not there yet is made in the nearest directory that is.
  std::string place = path_;
  auto found = seen;
  while (!found && place != "/" && place != view_.place) {
    place = std::string(parent(place));
    found = inspect_path(place);
  }
  if (!seen && found && found->kind != FileKind::Directory) {
    return refused(Settled::Kernel, quote(place) + " is no directory");
  }
  constexpr std::array<int, 3> kModes{R_OK, W_OK, X_OK};
  int mode = kModes[static_cast<std::size_t>(access_)];
  if (writes() && found && found->kind == FileKind::Directory) mode |= X_OK;
  const Owner as = run_.owner.value_or(Owner{run_.caller.uid, run_.caller.gid});
  CORDON_TRY(rights, rights_to(view_.source, place, mode, as));
  if (rights.error != 0) return not_by_rights(rights, as);
  if (writes()) return written();
  return permitted({}, reason_for(true, "it is shown inside"));
}

AccessAnswer AccessQuestion::held(std::string why) const {
  AccessAnswer answer{{false, said_.rule, {}, {}}, Settled::Held, true, "held"};
  answer.verdict.reason = "written inside, and held back at the end: " + std::move(why);
  return answer;
}

AccessAnswer AccessQuestion::staged(const std::string& why) const {
  const bool review = run_.clamped.effective().stage == StageEnd::Review;
  return permitted("staged", why + (review ? "; in the stage, applied by cordon changes apply"
                                           : "; in the stage, applied when the run is over"));
}

// Of a git directory in a stage commits and the names that lead to them arrive, checked, and what
// is checked out with them (changes/stage_git.h). Nothing else does, and nothing file by file.
std::optional<AccessAnswer> AccessQuestion::of_staged_git() const {
  if (view_.shown != Shown::Staged) return std::nullopt;
  const auto& known = run_.survey.facts.git;
  const auto git = std::ranges::find_if(
      known, [&](const GitDirectory& one) { return contains(one.path, path_); });
  if (git == known.end() || git->path == path_) return std::nullopt;
  const std::string_view name = std::string_view(path_).substr(git->path.size() + 1);
  const bool arrives = name == "HEAD" || name == "index" || name == "objects" ||
                       std::ranges::any_of(std::array{"objects/", "refs/heads/", "refs/tags/"},
                                           [&](const char* way) { return name.starts_with(way); });
  if (!arrives) return held("of a git directory in a stage no single file is applied");
  return staged("commits, branches and new tags arrive as git has checked them");
}

// The call succeeds; where the host sees what was written is another matter.
AccessAnswer AccessQuestion::written() const {
  const auto is_kept = [&](const KeptPath& kept) { return contains(kept.path, path_); };
  const bool put_back = std::ranges::any_of(run_.plan.keeping.paths, is_kept);
  if (auto found = of_staged_git()) return *std::move(found);
  if (view_.shown == Shown::Config) {
    return permitted("merged", reason_for(true, "writes go to a private copy of this run"));
  }
  if (view_.shown == Shown::Copy || put_back || !said_.allowed) {
    return held(reason_for(false, "protected files stay as they are"));
  }
  return view_.shown == Shown::Staged ? staged(said_.reason) : permitted("written", said_.reason);
}

AccessAnswer AccessQuestion::not_by_rights(const Rights& rights, const Owner& as) const {
  if (rights.error == EROFS || rights.error == EPERM) {
    AccessAnswer answer =
        refused(Settled::Kernel, rights.error == EROFS
                                     ? "its file system is mounted read-only on the host"
                                     : "the host's file system keeps it as it is (chattr)");
    answer.verdict.rule = "file system";
    return answer;
  }
  struct statvfs system {};
  struct stat status {};
  const bool known = ::stat(rights.at.c_str(), &status) == 0;
  if (access_ == Access::Execute && rights.at == path_ && known &&
      ::statvfs(path_.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0) {
    AccessAnswer answer = refused(Settled::Kernel, "its file system is mounted noexec on the host");
    answer.verdict.rule = "file system";
    return answer;
  }
  if (rights.error != EACCES || !known) {
    return refused(Settled::Kernel, "the kernel does not let " + quote(rights.at) + " be used (" +
                                        std::to_string(rights.error) + ")");
  }
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
  AccessAnswer answer = refused(
      Settled::Rights, quote(rights.at) + " belongs to uid " + std::to_string(status.st_uid) +
                           ", mode " + mode.data() + ", and the command runs as uid " +
                           std::to_string(as.uid) + " with no more rights than that");
  answer.verdict.rule = "permissions";
  // Whoever owns it may open it to themselves; what belongs to others is theirs.
  if (status.st_uid == as.uid) {
    const bool way = rights.at != path_ && S_ISDIR(status.st_mode);
    const std::string_view letters = way && !writes()             ? "x"
                                     : S_ISDIR(status.st_mode)    ? (writes() ? "wx" : "r")
                                     : access_ == Access::Execute ? "x"
                                     : writes()                   ? "w"
                                                                  : "r";
    answer.verdict.change = "chmod u+" + std::string(letters) + " " + quote(rights.at);
  }
  return answer;
}

}  // namespace

Result<AccessAnswer> access_to(const JudgedRun& run, Access access, const std::string& path) {
  return AccessQuestion(run, access, path).answer();
}

}  // namespace cordon
