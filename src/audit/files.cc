#include "audit/files.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "audit/record.h"
#include "audit/record_line.h"
#include "base/private_directory.h"
#include "base/text.h"

namespace cordon::audit {
namespace {

constexpr const char* kStateHint = "set XDG_STATE_HOME to a directory this user can write";

bool of_this_user_alone(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

}  // namespace

Result<Fd> open_private_directory(const std::string& path, IfAbsent absent) {
  if (path.empty() || path.front() != '/') {
    return fail(
        audit_error("there is no directory for the audit log", 0, "set HOME or XDG_STATE_HOME"));
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::open(path.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT && absent == IfAbsent::Make) {
    if (const auto made = make_private_directories(path); !made) {
      return fail(audit_error("cannot make " + quote(path), made.error().error_number, kStateHint));
    }
    fd = Fd(::open(path.c_str(), kFlags));
  }
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) < 0) {
    const int why = errno;
    if (why == ENOTDIR || why == ELOOP) {
      return fail(audit_error("audit directory " + quote(path) + " is a symlink or no directory",
                              why, "remove it, or set XDG_STATE_HOME"));
    }
    return fail(audit_error("cannot open the audit directory " + quote(path), why, kStateHint));
  }
  if (!of_this_user_alone(status)) {
    return fail(audit_error("audit directory " + quote(path) + " is open to others", 0,
                            "make it yours and chmod 700 it"));
  }
  return fd;
}

Result<Fd> open_private_file(int directory, const std::string& name, int flags) {
  // Non-blocking: a FIFO planted under this name would otherwise stop the launch for ever.
  Fd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) < 0) {
    return fail(audit_error("cannot open audit/" + name, errno));
  }
  if (!S_ISREG(status.st_mode) || !of_this_user_alone(status)) {
    return fail(audit_error("audit/" + name + " is not a file of this user alone", 0,
                            "make it yours and chmod 600 it"));
  }
  return fd;
}

namespace {
constexpr std::string_view kSuffix = ".jsonl";
}  // namespace

std::string file_of_day(const std::string& day) { return day + std::string(kSuffix); }

Result<std::vector<std::string>> list_days(int directory) {
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  // A descriptor of its own: the stream moves the offset and closes it.
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, Close> stream(own < 0 ? nullptr : ::fdopendir(own));
  if (!stream) return fail(audit_error("cannot list the audit directory", errno));
  std::vector<std::string> days;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name(entry->d_name);
    if (!name.ends_with(kSuffix)) continue;
    const std::string_view day = name.substr(0, name.size() - kSuffix.size());
    if (start_of_day(day)) days.emplace_back(day);
  }
  if (errno != 0) return fail(audit_error("cannot list the audit directory", errno));
  std::ranges::sort(days);
  return days;
}

namespace {
constexpr std::size_t kPiece = std::size_t{256} * 1024;
}  // namespace

Result<void> LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  const std::size_t wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, until_ - read_to_));
  buffer_.resize(held + wanted);
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(file_, buffer_.data() + held + done, wanted - done,
                                static_cast<off_t>(read_to_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(audit_error("cannot read the audit log", errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  buffer_.resize(held + done);
  read_to_ += done;
  if (done < wanted) until_ = read_to_;  // shorter than was said
  return {};
}

Result<bool> LineReader::next(Line& line) {
  line = Line{};
  line.offset = at_;
  std::size_t searched = 0;
  for (;;) {
    const std::string_view held = std::string_view(buffer_).substr(begin_);
    const std::size_t newline = held.find('\n', searched);
    const bool found = newline != std::string_view::npos;
    const bool at_end = read_to_ == until_;
    if (!found && !at_end && held.size() <= kLongestLine) {
      searched = held.size();
      CORDON_CHECK(fill());
      continue;
    }
    if (!found && at_end && held.empty() && !line.overlong) return false;
    if (!found && !at_end) {
      // Skip to the newline without keeping what lies between.
      line.overlong = true;
      line.length += held.size();
      begin_ = buffer_.size();
      searched = 0;
      CORDON_CHECK(fill());
      continue;
    }
    const std::size_t taken = found ? newline : held.size();
    line.length += taken;
    line.complete = found;
    line.overlong = line.overlong || line.length >= kLongestLine;
    if (!line.overlong) line.text = held.substr(0, taken);
    begin_ += taken + (found ? 1 : 0);
    at_ = line.end();
    line.number = ++number_;
    return true;
  }
}

}  // namespace cordon::audit
