#include "changes/take.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/held_back.h"
#include "changes/private_copies.h"
#include "changes/stage_judge.h"
#include "host/git/index.h"
#include "host/git/layout.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

constexpr mode_t kModeBits = 07777;

// Gives the owner `rights` for what `name` is, and returns the mode that it had; nothing if that
// cannot be done.
std::optional<mode_t> give_rights(int directory, const std::string& name, mode_t rights) {
  const Fd found(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0 || S_ISLNK(status.st_mode)) {
    return std::nullopt;
  }
  const mode_t mode = status.st_mode & kModeBits;
  const std::string link = "/proc/self/fd/" + std::to_string(found.get());
  if (::chmod(link.c_str(), mode | rights) != 0) return std::nullopt;
  return mode;
}

}  // namespace

KeptDirectory& KeptDirectory::operator=(KeptDirectory&& other) noexcept {
  close_again();
  directory_ = std::move(other.directory_);
  closed_ = std::exchange(other.closed_, std::nullopt);
  return *this;
}

void KeptDirectory::close_again() {
  if (closed_ && directory_.valid()) (void)::fchmod(directory_.get(), *closed_);
  closed_.reset();
}

KeptDirectory KeptDirectory::open(int directory, const std::string& name) {
  KeptDirectory opened;
  opened.directory_ = Fd(::openat(directory, name.c_str(), kOpenDirectory));
  if (opened.valid() && ::faccessat(opened.get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0) {
    return opened;
  }
  if (!opened.valid() && errno != EACCES) return opened;
  opened.closed_ = give_rights(directory, name, S_IRWXU);
  if (!opened.closed_) return opened;
  if (!opened.valid()) opened.directory_ = Fd(::openat(directory, name.c_str(), kOpenDirectory));
  return opened;
}

KeptDirectory KeptDirectory::open_below(int directory, std::string_view path) {
  KeptDirectory at = open(directory, ".");
  for (const std::string_view part : components(path)) {
    if (!at.valid()) return at;
    KeptDirectory below = open(at.get(), std::string(part));
    at = std::move(below);
  }
  return at;
}

Fd open_kept_file(int directory, const std::string& name) {
  constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd opened(::openat(directory, name.c_str(), kRead));
  if (opened.valid() || errno != EACCES) return opened;
  const auto mode = give_rights(directory, name, S_IRUSR);
  if (!mode) {
    errno = EACCES;
    return opened;
  }
  opened = Fd(::openat(directory, name.c_str(), kRead));
  if (opened.valid()) (void)::fchmod(opened.get(), *mode);
  return opened;
}

SourceDirectory::SourceDirectory(CopyFrom from, int above, const std::string& name) {
  if (from == CopyFrom::Run) {
    kept_ = KeptDirectory::open(above, name);
  } else {
    plain_ = Fd(::openat(above, name.c_str(), kOpenDirectory));
  }
}

Fd open_source_file(CopyFrom from, int directory, const std::string& name) {
  constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  return from == CopyFrom::Run ? open_kept_file(directory, name)
                               : Fd(::openat(directory, name.c_str(), kRead));
}

namespace {

// The top of the work tree that `path` lies in, if its index may be changed; else empty.
std::string top_around(const std::string& path, const Caller& caller) {
  for (std::string_view up = parent(path); up != "/"; up = parent(up)) {
    const std::string top(up);
    const auto git = inspect_path(join(top, ".git"));
    if (!git) continue;
    if (git->kind == FileKind::Directory) return top;
    const auto pointer = follow_git_file(top, caller);
    return pointer && pointer->leads_back ? top : std::string();
  }
  return {};
}

}  // namespace

std::vector<Error> follow_in_indexes(const std::vector<ChangeRecord>& before,
                                     const std::vector<ChangeRecord>& now, const Caller& caller) {
  std::map<std::pair<std::string, SkipMark>, std::vector<std::string>> names;
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
    const ChangeRecord& record = now[i];
    if (record.change != Change::Kind::Added || record.kept.empty()) continue;
    const bool is_applied = record.state == Change::State::Applied;
    if (!is_applied && before[i].state != Change::State::Applied) continue;
    const std::string top = top_around(record.path, caller);
    if (top.empty()) continue;
    names[{top, is_applied ? SkipMark::Clear : SkipMark::Set}].push_back(
        record.path.substr(top.size() + 1));
  }
  std::vector<Error> unmarked;
  for (const auto& [where, paths] : names) {
    auto marked = mark_skip_worktree_in(where.first, paths, where.second);
    if (!marked) unmarked.push_back(std::move(marked).error());
  }
  return unmarked;
}

namespace {

// Stands in `replaced` for: there was nothing.
constexpr const char* kNothing = "-";

Error cannot(const std::string& what, const std::string& path, int error_number) {
  return setup_error("cannot " + what + " " + quote(path), error_number);
}

struct Place {
  Fd above;
  std::string name;
};

Result<Place> open_place(const std::string& path) {
  Place place{open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY),
              std::string(basename(path))};
  if (!place.above.valid()) return fail(cannot("open the directory of", path, errno));
  return place;
}

// Directories that the run made: they come with what is in them.
Result<Place> make_place(const std::string& path) {
  const std::string above(parent(path));
  std::string at(above);
  std::vector<std::string> missing;
  Fd fd;
  for (;;) {
    fd = open_canonical(at, O_PATH | O_DIRECTORY);
    if (fd.valid() || errno != ENOENT || at == "/") break;
    missing.emplace_back(basename(at));
    at = std::string(parent(at));
  }
  if (!fd.valid()) return fail(cannot("open the directory of", path, errno));
  for (auto name = missing.rbegin(); name != missing.rend(); ++name) {
    if (::mkdirat(fd.get(), name->c_str(), 0755) != 0 && errno != EEXIST) {
      return fail(cannot("make a directory for", path, errno));
    }
    fd = Fd(::openat(fd.get(), name->c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) return fail(cannot("open a directory for", path, errno));
  }
  return Place{std::move(fd), std::string(basename(path))};
}

// Whoever owns what stands there, or else the directory.
std::optional<Owner> owner_there(const Place& place) {
  struct stat status {};
  if (::fstatat(place.above.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 &&
      ::fstat(place.above.get(), &status) != 0) {
    return std::nullopt;
  }
  return Owner{status.st_uid, status.st_gid};
}

// Puts a copy of `from` under the name of `to`, at once, over what is there.
Result<void> put_copy(const std::string& from, const Place& to, const std::string& path) {
  CORDON_TRY(source, open_place(from));
  const std::string between = unguessable_name();
  if (between.empty()) return fail(cannot("write", path, EIO));
  const Fd above(::openat(to.above.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid()) return fail(cannot("write", path, errno));
  int error = exact_copy(CopyFrom::Run, source.above.get(), source.name, above.get(), between,
                         owner_there(to));
  if (error == 0) {
    const auto there = inspect_name(above.get(), to.name);
    const bool plain = !there || (there->kind != FileKind::Directory &&
                                  inspect_name(above.get(), between)->kind != FileKind::Directory);
    const unsigned how = !there ? RENAME_NOREPLACE : plain ? 0 : RENAME_EXCHANGE;
    if (::renameat2(above.get(), between.c_str(), above.get(), to.name.c_str(), how) != 0) {
      error = errno;
    }
  }
  // What was exchanged was copied aside before.
  if (inspect_name(above.get(), between)) (void)remove_tree(above.get(), between);
  if (error != 0) return fail(cannot("write", path, error));
  (void)::fsync(above.get());
  return {};
}

Result<void> remove_at(const Place& place, const std::string& path) {
  const Fd above(::openat(place.above.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = above.valid() ? remove_tree(above.get(), place.name) : errno;
  if (error != 0 && error != ENOENT) return fail(cannot("remove", path, error));
  return {};
}

class Taking {
 public:
  Taking(const std::string& handoff, Manifest& manifest, Noting noting = Noting::EachStep)
      : handoff_(handoff), manifest_(manifest), noting_(noting) {}

  Result<Taken> apply(const std::vector<std::string>& paths) {
    return each(paths, [&](ChangeRecord& record) { return apply_one(record); });
  }
  Result<Taken> discard(const std::vector<std::string>& paths) {
    return each(paths, [&](ChangeRecord& record) { return discard_one(record); });
  }
  Result<Taken> restore(const std::vector<std::string>& paths) {
    return each(paths, [&](ChangeRecord& record) { return restore_one(record); });
  }

 private:
  enum class Became { Nothing, Done, Conflict, Refused };

  template <typename One>
  Result<Taken> each(const std::vector<std::string>& paths, One one) {
    Taken taken;
    for (ChangeRecord& record : manifest_.records) {
      if (!is_selected(record, paths)) continue;
      CORDON_TRY(became, one(record));
      if (became == Became::Done) ++taken.done;
      if (became == Became::Conflict) taken.conflicts.push_back(record.path);
      if (became == Became::Refused) taken.refused.push_back({record.path, why_not(record)});
    }
    return taken;
  }

  Result<void> note() {
    return noting_ == Noting::ByCaller ? Result<void>() : write_manifest(handoff_, manifest_);
  }

  // Where what is replaced is kept.
  Result<std::string> aside(const ChangeRecord& record) {
    const std::string place = join(handoff_, manifest_.run_id);
    CORDON_TRY(into, open_private_directory(place));
    for (unsigned number = 0; number < 100000; ++number) {
      const std::string name = "replaced-" + std::to_string(number);
      if (!inspect_name(into.get(), name)) return join(place, name);
    }
    return fail(cannot("keep what stands at", record.path, EEXIST));
  }

  Result<Became> apply_one(ChangeRecord& record) {
    if (record.state != Change::State::Held && record.state != Change::State::Conflict) {
      return Became::Nothing;
    }
    const std::string wanted = record.kept.empty() ? kAbsent : fingerprint_kept(record.kept);
    // The others are taken all the same: a run leaves a FIFO among them without effort.
    if (wanted == kUnknown || (!record.kept.empty() && wanted == kAbsent)) return Became::Refused;
    const std::string now = fingerprint_path(record.path);
    if (now == wanted || (record.kept.empty() && went_with_another(record))) {
      record.state = Change::State::Applied;
      record.put = wanted;
      CORDON_CHECK(note());
      return Became::Done;
    }
    if (now != record.base || now == kUnknown) {
      record.state = Change::State::Conflict;
      CORDON_CHECK(note());
      return Became::Conflict;
    }
    CORDON_CHECK(keep_aside(record, now));
    if (record.kept.empty()) {
      CORDON_TRY(place, open_place(record.path));
      CORDON_CHECK(remove_at(place, record.path));
    } else {
      CORDON_TRY(place, make_place(record.path));
      CORDON_CHECK(put_copy(record.kept, place, record.path));
    }
    record.state = Change::State::Applied;
    record.put = wanted;
    CORDON_CHECK(note());
    return Became::Done;
  }

  static std::string why_not(const ChangeRecord& record) {
    const auto seen = inspect_path(record.kept);
    if (seen && !seen->symlink && seen->kind == FileKind::Other) return std::string(kNoFile);
    return "it cannot be copied; it lies at " + quote(record.kept);
  }

  // What lay in a directory that is something else by now: a link there may lead anywhere.
  [[nodiscard]] bool went_with_another(const ChangeRecord& record) const {
    return std::ranges::any_of(manifest_.records, [&](const ChangeRecord& one) {
      return one.change == Change::Kind::Type && one.state == Change::State::Applied &&
             one.path != record.path && contains(one.path, record.path);
    });
  }

  Result<void> keep_aside(ChangeRecord& record, const std::string& now) {
    if (now == kAbsent) {
      record.replaced = kNothing;
      return note();
    }
    CORDON_TRY(to, aside(record));
    CORDON_TRY(place, open_place(record.path));
    const Fd into(::open(std::string(parent(to)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int error = into.valid() ? exact_copy(CopyFrom::Host, place.above.get(), place.name,
                                                into.get(), std::string(basename(to)))
                                   : errno;
    if (error != 0) return fail(cannot("keep what stands at", record.path, error));
    record.replaced = to;
    return note();
  }

  Result<Became> discard_one(ChangeRecord& record) {
    if (record.state != Change::State::Held && record.state != Change::State::Conflict) {
      return Became::Nothing;
    }
    // Only what lies in the run's own directory is removed, whatever the manifest says.
    if (!record.kept.empty() && contains(join(handoff_, manifest_.run_id), record.kept)) {
      auto place = open_place(record.kept);
      if (place) CORDON_CHECK(remove_at(*place, record.kept));
    }
    record.state = Change::State::Discarded;
    record.kept.clear();
    CORDON_CHECK(note());
    return Became::Done;
  }

  Result<Became> restore_one(ChangeRecord& record) {
    if (record.state != Change::State::Applied || record.replaced.empty()) return Became::Nothing;
    const std::string before =
        record.replaced == kNothing ? kAbsent : fingerprint_path(record.replaced);
    std::string now = fingerprint_path(record.path);
    // What was put there may be closed, as the run had closed it.
    if (now == kUnknown) now = fingerprint_kept(record.path);
    if (now != before) {
      if (now != record.put) return Became::Conflict;
      if (record.replaced == kNothing) {
        CORDON_TRY(place, open_place(record.path));
        CORDON_CHECK(remove_at(place, record.path));
      } else {
        CORDON_TRY(place, make_place(record.path));
        CORDON_CHECK(put_copy(record.replaced, place, record.path));
      }
    }
    record.state = Change::State::Held;
    record.base = before;
    record.replaced.clear();
    record.put.clear();
    CORDON_CHECK(note());
    return Became::Done;
  }

  const std::string& handoff_;
  Manifest& manifest_;
  const Noting noting_;
};

}  // namespace

bool is_selected(const ChangeRecord& record, const std::vector<std::string>& paths) {
  return paths.empty() || std::ranges::any_of(paths, [&](const std::string& path) {
           return contains(path, record.path);
         });
}

Result<Taken> apply_changes(const std::string& handoff, Manifest& manifest,
                            const std::vector<std::string>& paths, Noting noting) {
  return Taking(handoff, manifest, noting).apply(paths);
}

Result<Taken> discard_changes(const std::string& handoff, Manifest& manifest,
                              const std::vector<std::string>& paths) {
  return Taking(handoff, manifest).discard(paths);
}

Result<Taken> restore_changes(const std::string& handoff, Manifest& manifest,
                              const std::vector<std::string>& paths) {
  return Taking(handoff, manifest).restore(paths);
}

}  // namespace cordon
