#include "host/quarantine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr unsigned kOwnerOnlyDirectory = 0700;
constexpr std::size_t kMostQuarantined = 1000;
constexpr std::size_t kMostErrors = 16;
constexpr std::size_t kLongestShown = 4096;

// Opens a directory to its owner, whatever mode it was left with; returns the mode it had.
std::optional<unsigned> open_to_owner(int directory) {
  const auto seen = inspect_fd(directory);
  if (!seen || seen->kind != FileKind::Directory) return std::nullopt;
  const unsigned mode = seen->mode & 07777;
  const std::string self = "/proc/self/fd/" + std::to_string(directory);
  if (::chmod(self.c_str(), mode | kOwnerOnlyDirectory) != 0) return std::nullopt;
  return mode;
}

int try_rename(int directory, const std::string& name, int into, const std::string& as) {
  return ::renameat2(directory, name.c_str(), into, as.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
}

// A directory without write permission for its owner may still hold what has to go, and one that is
// moved elsewhere must itself be writable.
int rename_from(int directory, const std::string& name, int into, const std::string& as) {
  int error = try_rename(directory, name, into, as);
  if (error != EACCES) return error;
  const Fd object(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (object.valid()) open_to_owner(object.get());
  const std::optional<unsigned> before = open_to_owner(directory);
  error = try_rename(directory, name, into, as);
  if (before) ::chmod(("/proc/self/fd/" + std::to_string(directory)).c_str(), *before);
  return error;
}

}  // namespace

std::string handoff_name(std::string_view path) {
  std::string result;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      result += '%';
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  if (result.size() > kLongestName) result = "..." + result.substr(result.size() - kLongestName);
  if (result.empty() || result == "." || result == "..") result = "%2E";
  return result;
}

std::string handoff_path(std::string_view name) {
  if (name.starts_with("...") && name.size() >= kLongestName) return {};
  std::string path;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const auto digit = [](char c) { return c >= 'A' ? c - 'A' + 10 : c - '0'; };
    const bool coded = name[at] == '%' && at + 2 < name.size();
    path += coded ? static_cast<char>(digit(name[at + 1]) * 16 + digit(name[at + 2])) : name[at];
    if (coded) at += 2;
  }
  return path;
}

Quarantine::Quarantine(std::string handoff_directory, std::string run_id, std::string cwd)
    : handoff_directory_(std::move(handoff_directory)),
      run_id_(std::move(run_id)),
      cwd_(std::move(cwd)) {}

std::string Quarantine::shown(const std::string& path) const {
  std::string_view shown = path;
  if (path != cwd_ && contains(cwd_, path)) shown.remove_prefix(cwd_ == "/" ? 1 : cwd_.size() + 1);
  if (shown.size() <= kLongestShown) return std::string(shown);
  return std::string(shown.substr(0, kLongestShown / 4)) + "/.../" +
         std::string(shown.substr(shown.size() - kLongestShown / 2));
}

void Quarantine::add(Quarantined entry) {
  if (handoff_.size() < kMostQuarantined) return handoff_.push_back(std::move(entry));
  ++(entry.moved_to.empty() ? more_named_ : more_moved_);
}

void Quarantine::failed(Error error) {
  if (errors_.size() < kMostErrors) errors_.push_back(std::move(error));
}

Result<void> Quarantine::open_directory() {
  if (into_.valid()) return {};
  if (run_id_.empty() || run_id_.find('/') != std::string::npos || run_id_.front() == '.')
    return fail(setup_error("the run has no usable name for its handoff directory", 0));
  CORDON_TRY(outer, open_private_directory(handoff_directory_));
  if (::mkdirat(outer.get(), run_id_.c_str(), kOwnerOnlyDirectory) != 0 && errno != EEXIST)
    return fail(setup_error("cannot make a handoff directory", errno));
  place_ = join(handoff_directory_, run_id_);
  CORDON_TRY(inner, open_private_directory(place_));
  into_ = std::move(inner);
  return {};
}

Result<std::string> Quarantine::move(int directory, const std::string& name,
                                     const std::string& path) {
  int error = 0;
  if (const Result<void> opened = open_directory(); opened) {
    const std::string base = handoff_name(shown(path));
    for (unsigned attempt = 0; attempt < 1000; ++attempt) {
      const std::string as = attempt == 0 ? base : base + "~" + std::to_string(++collisions_);
      error = rename_from(directory, name, into_.get(), as);
      if (error == EXDEV) error = move_by_copy(directory, name, into_.get(), as, budget_);
      if (error == EEXIST) continue;
      if (error == 0) return join(place_, as);
      break;
    }
  } else {
    error = opened.error().error_number;
  }
  // The object cannot leave its file system, or is too much to be copied: it stays, under a name
  // that no tool knows.
  const std::string harmless = "cordon-handoff-" + run_id_ + "-" + std::to_string(++taken_);
  if (rename_from(directory, name, directory, harmless) == 0) return join(parent(path), harmless);
  return fail(setup_error("a protected file that appeared cannot be taken away: " + quote(path),
                          error, "remove it by hand before using this directory"));
}

void Quarantine::take(int directory, const std::string& name, const std::string& path,
                      HoldKind kind) {
  (void)was_taken(directory, name, path, kind);
}

bool Quarantine::was_taken(int directory, const std::string& name, const std::string& path,
                           HoldKind kind) {
  Result<std::string> moved = move(directory, name, path);
  if (moved) {
    add({shown(path), std::string(name_of(kind)), std::move(*moved)});
    return true;
  }
  if (inspect_name(directory, name) || errno != ENOENT) failed(std::move(moved).error());
  return false;
}

void Quarantine::take_changed(int directory, const std::string& name, const std::string& path,
                              HoldKind kind) {
  Result<std::string> moved = move(directory, name, path);
  if (!moved) return failed(std::move(moved).error());
  add({shown(path), std::string(name_of(kind)), std::move(*moved), true, {}});
}

void Quarantine::put_back(const std::string& path, HoldKind kind) {
  add({shown(path), std::string(name_of(kind)), {}, true, {}});
}

bool Quarantine::keep_original(int content, const std::string& path, HoldKind kind) {
  if (!open_directory()) return false;
  const std::string base = handoff_name(shown(path) + ".original");
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    const std::string as = attempt == 0 ? base : base + "~" + std::to_string(attempt);
    const Fd copy(::openat(into_.get(), as.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!copy.valid() && errno == EEXIST) continue;
    if (!copy.valid()) return false;
    if (::lseek(content, 0, SEEK_SET) != 0 || copy_bytes(content, copy.get()) != 0) {
      ::unlinkat(into_.get(), as.c_str(), 0);
      return false;
    }
    add({shown(path), std::string(name_of(kind)), {}, false, join(place_, as)});
    return true;
  }
  return false;
}

void Quarantine::report(const std::string& path, HoldKind kind) {
  add({shown(path), std::string(name_of(kind)), {}});
}

void Quarantine::unchecked(const std::string& path, std::string_view why) {
  add({shown(path), "unchecked: " + std::string(why), {}});
}

Result<std::vector<Quarantined>> Quarantine::finish() {
  if (!errors_.empty()) {
    Error first = std::move(errors_.front());
    for (std::size_t i = 1; i < errors_.size(); ++i) first.notes.push_back(message(errors_[i]));
    return fail(std::move(first));
  }
  std::sort(handoff_.begin(), handoff_.end(),
            [](const Quarantined& a, const Quarantined& b) { return a.path < b.path; });
  const auto count = [](std::size_t number) { return "and " + std::to_string(number) + " more"; };
  if (more_moved_ > 0) handoff_.push_back({count(more_moved_), "not listed", place_});
  if (more_named_ > 0) handoff_.push_back({count(more_named_), "not listed", {}});
  return std::move(handoff_);
}

}  // namespace cordon
