#include "host/canonical.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/resolve.h"

namespace cordon {
namespace {

constexpr int kMaxSymlinks = 40;

Error unresolvable(std::string_view text, int error_number) {
  LookFailures::note(error_number, text);
  Error error = policy_error("the path " + quote(text) + " cannot be resolved",
                             "name an existing path that you may reach");
  error.error_number = error_number;
  return error;
}

// Physical resolution, component by component, for paths whose tail does not exist.
class ComponentWalk {
 public:
  explicit ComponentWalk(std::string_view text) : text_(text) {}

  Result<Canonical> run(const std::string& absolute) {
    push(absolute);
    if (!restart()) return fail(unresolvable(text_, errno));
    while (!todo_.empty()) {
      const std::string name = std::move(todo_.front());
      todo_.pop_front();
      if (name == "..") {
        if (!done_.empty()) done_.pop_back();
        if (!step("..")) return fail(unresolvable(text_, errno));
        continue;
      }
      Fd next(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!next.valid() && errno == ENOENT) return missing(name);
      const std::optional<FileInfo> seen = next.valid() ? inspect_fd(next.get()) : std::nullopt;
      if (!seen) return fail(unresolvable(text_, errno));
      if (seen->symlink) {
        CORDON_CHECK(follow(next.get()));
        continue;
      }
      if (seen->kind != FileKind::Directory && !todo_.empty())
        return fail(unresolvable(text_, ENOTDIR));
      done_.push_back(name);
      at_ = std::move(next);
    }
    Canonical result;
    const std::optional<FileInfo> seen = inspect_fd(at_.get());
    if (!seen) return fail(unresolvable(text_, errno));
    result.path = path();
    result.kind = seen->kind;
    result.id = seen->id;
    return result;
  }

 private:
  bool restart() {
    done_.clear();
    at_ = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return at_.valid();
  }
  bool step(const char* name) {
    at_ = Fd(::openat(at_.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    return at_.valid();
  }
  void push(std::string_view more) {
    const std::string normal =
        normalize(more.front() == '/' ? std::string(more) : "/" + std::string(more));
    const std::vector<std::string_view> parts = components(normal);
    todo_.insert(todo_.begin(), parts.begin(), parts.end());
  }
  Result<void> follow(int link) {
    if (++links_ > kMaxSymlinks) return fail(unresolvable(text_, ELOOP));
    const std::optional<std::string> target = read_link(link, "");
    if (!target || target->empty()) return fail(unresolvable(text_, errno));
    if (target->front() == '/' && !restart()) return fail(unresolvable(text_, errno));
    push(*target);
    return {};
  }
  // What does not exist has no symlinks, but ".." behind it has no meaning either.
  Result<Canonical> missing(const std::string& name) {
    done_.push_back(name);
    for (std::string& rest : todo_) {
      if (rest == "..") return fail(unresolvable(text_, ENOENT));
      done_.push_back(std::move(rest));
    }
    Canonical result;
    result.path = path();
    if (result.path.size() >= PATH_MAX) return fail(unresolvable(text_, ENAMETOOLONG));
    return result;
  }
  [[nodiscard]] std::string path() const {
    std::string result;
    for (const std::string& part : done_) result += "/" + part;
    return result.empty() ? "/" : result;
  }

  std::string_view text_;
  std::deque<std::string> todo_;
  std::vector<std::string> done_;
  Fd at_;
  int links_ = 0;
};

std::optional<Canonical> canonical_of(int descriptor, std::string path) {
  const std::optional<FileInfo> seen = inspect_fd(descriptor);
  if (!seen) return std::nullopt;
  return Canonical{{}, std::move(path), seen->kind, seen->id};
}

// What the kernel says an open object is called, believed only if that name leads to it again:
// a removed object is called "x (deleted)".
std::optional<Canonical> named_by_kernel(int descriptor) {
  const std::optional<std::string> name =
      read_link(AT_FDCWD, "/proc/self/fd/" + std::to_string(descriptor));
  if (!name || name->empty() || name->front() != '/') return std::nullopt;
  const Fd again = open_canonical(*name, O_PATH);
  if (!again.valid()) return std::nullopt;
  std::optional<Canonical> there = canonical_of(again.get(), *name);
  const std::optional<FileInfo> here = inspect_fd(descriptor);
  if (!there || !here || there->id != here->id) return std::nullopt;
  return there;
}

Result<Canonical> resolve_absolute(std::string_view text, const std::string& absolute) {
  if (!has_dotdot(absolute)) {
    const Fd plain = open_canonical(absolute, O_PATH);
    if (plain.valid()) {
      if (std::optional<Canonical> found = canonical_of(plain.get(), absolute)) return *found;
    } else if (errno == ENOENT) {
      // The kernel goes from name to name and stops at the first symlink (ELOOP) or missing name.
      // At a missing one, no link came before it and nothing is behind it: this is the spelling.
      Canonical absent;
      absent.path = absolute;
      return absent;
    }
  }
  const Fd opened(::open(absolute.c_str(), O_PATH | O_CLOEXEC));
  if (opened.valid()) {
    if (std::optional<Canonical> found = named_by_kernel(opened.get())) return *found;
  } else if (errno != ENOENT) {
    return fail(unresolvable(text, errno));
  }
  return ComponentWalk(text).run(absolute);
}

}  // namespace

Result<std::string> spell_absolute(std::string_view text, std::string_view base,
                                   const Caller& caller) {
  if (text.empty()) return fail(policy_error("a path entry is empty", "name a path"));
  if (text.find('\0') != std::string_view::npos)
    return fail(policy_error("a path entry holds a NUL byte", "remove it"));
  std::string result;
  if (text == "@cwd") {
    result = caller.cwd;
  } else if (text.front() == '@') {
    return fail(policy_error("the path " + quote(text) + " is no known place",
                             "use @cwd, or ./" + std::string(text) + " for a name like that"));
  } else if (text.front() == '~') {
    if (text.size() > 1 && text[1] != '/')
      return fail(policy_error("the path " + quote(text) + " names another user's home",
                               "write ~ or ~/x for your own, or an absolute path"));
    if (has_dotdot(text))
      return fail(policy_error("the path " + quote(text) + " leaves the home by '..'",
                               "write the absolute path"));
    if (caller.home.empty())
      return fail(policy_error("the path " + quote(text) + " needs a home and there is none",
                               "give the account a home, set HOME, or write an absolute path"));
    result = join(caller.home, text.substr(text.size() > 1 ? 2 : 1));
  } else if (text.front() == '/') {
    result = std::string(text);
  } else {
    result = join(base.empty() ? std::string_view(caller.cwd) : base, text);
  }
  if (result.size() >= PATH_MAX)
    return fail(policy_error("a path entry is longer than the system allows", "shorten it"));
  return normalize(result);
}

Result<Canonical> canonicalize(std::string_view text, std::string_view base, const Caller& caller) {
  CORDON_TRY(absolute, spell_absolute(text, base, caller));
  CORDON_TRY(found, resolve_absolute(text, absolute));
  found.lexical = std::move(absolute);
  return found;
}

Result<Canonical> canonicalize_existing(std::string_view text, std::string_view base,
                                        const Caller& caller) {
  CORDON_TRY(found, canonicalize(text, base, caller));
  if (found.kind == FileKind::Absent)
    return fail(policy_error("the path " + quote(text) + " does not exist",
                             "create it first, or name another one"));
  return found;
}

}  // namespace cordon
