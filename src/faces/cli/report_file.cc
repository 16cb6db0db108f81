#include "faces/cli/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/random_id.h"
#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/html_page.h"
#include "host/inspect.h"
#include "run/line.h"

namespace cordon {

const ReportKind kReportOfRun{"--report ", "a report of an earlier run", kPageOfReport,
                              "cordon.report/1"};
const ReportKind kFleetPage{"", "a page of cordon fleet report", kPageOfFleet, ""};

namespace {

// The number behind a name that stands for an open descriptor. Told by the name alone: nobody can
// plant one.
std::optional<int> named_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(prefix)) continue;
    constexpr std::uint64_t kMost = 1U << 20U;
    const auto number = parse_number(path.substr(prefix.size()));
    if (number && *number < kMost) return static_cast<int>(*number);
  }
  return std::nullopt;
}

bool is_report(std::string_view text, const ReportKind& kind) {
  constexpr std::string_view kPage = "<!DOCTYPE html>";
  constexpr std::size_t kNear = 512;
  if (text.starts_with(kPage)) {
    return text.substr(0, kNear).find(kind.mark) != std::string_view::npos;
  }
  if (kind.schema.empty()) return false;
  const auto read = read_json_message(text, kLargestReport);
  if (!read) return false;
  const Node* schema = read->find("schema");
  return schema != nullptr && schema->text() != nullptr && *schema->text() == kind.schema;
}

std::string cure_for_write(int number) {
  return number == ENOSPC || number == EDQUOT ? "free some space there, or name a file elsewhere"
                                              : "name a file elsewhere";
}

enum class NameStanding { Absent, Replaceable, WrittenTo };

// What has the name now, and whether a report may take its place or be written to it.
Result<NameStanding> standing_of(int directory, const std::string& name, const std::string& path,
                                 const ReportKind& kind) {
  const auto refused = [&](const std::string& what, const std::string& hint) {
    return fail(usage_error(std::string(kind.typed) + quote(path) + " " + what, hint));
  };
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno == ENOENT) return NameStanding::Absent;
    return fail(setup_error("cannot look at the report file " + quote(path), errno));
  }
  if (S_ISLNK(status.st_mode)) {
    return refused("is a symlink", "name the file itself; /dev/fd/N names an open descriptor");
  }
  if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) return NameStanding::WrittenTo;
  if (S_ISDIR(status.st_mode)) return refused("is a directory", "name a file in it");
  if (!S_ISREG(status.st_mode)) return refused("is no file", "name another one");
  if (status.st_size == 0) return NameStanding::Replaceable;
  const auto text = read_regular(directory, name, kLargestReport.bytes);
  if (text && is_report(*text, kind)) return NameStanding::Replaceable;
  return refused("is not " + std::string(kind.called) + ", so it is not replaced",
                 "name another file, or remove this one first");
}

// A new file under a name of its own, on the disk before anything relies on it: with delayed
// allocation a full disk is told only then.
int write_new(int directory, const std::string& name, std::string_view text) {
  Fd file(::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600));
  if (!file.valid()) return errno;
  if (!write_all(file.get(), text) || ::fsync(file.get()) < 0) return errno;
  return ::close(file.release()) < 0 ? errno : 0;
}

// Gives a file its name unless that is taken.
int give_name(int directory, const std::string& from, const std::string& to) {
  if (::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;  // not every file system knows how
  if (::linkat(directory, from.c_str(), directory, to.c_str(), 0) < 0) return errno;
  ::unlinkat(directory, from.c_str(), 0);
  return 0;
}

}  // namespace

Result<ReportFile> ReportFile::open_stream(const std::string& path, const ReportKind& kind,
                                           int descriptor) {
  ReportFile report(path, kind);
  report.stream_ = Fd(descriptor);
  const int flags = descriptor < 0 ? -1 : ::fcntl(descriptor, F_GETFL);
  if (flags < 0) {
    const int number = errno;
    return fail(setup_error("cannot open the report file " + quote(path), number,
                            number == ENXIO ? "nobody reads from it: start the reader first" : ""));
  }
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return fail(usage_error(std::string(kind.typed) + quote(path) + " is open for reading only",
                            "name a descriptor that can be written to"));
  }
  return report;
}

Result<ReportFile> ReportFile::open(const std::string& path, const ReportKind& kind) {
  if (const auto descriptor = named_descriptor(path)) {
    return open_stream(path, kind, ::fcntl(*descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }
  if (path == "-") {
    return fail(usage_error(std::string(kind.typed) + "- is no name of a file",
                            "write /dev/stdout for standard output, ./- for a file of that name"));
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  ReportFile report(path, kind);
  report.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  if (report.name_.empty()) {
    return fail(usage_error(std::string(kind.typed) + quote(path) + " names no file",
                            "give it the name of a file in that directory"));
  }
  report.directory_ = Fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!report.directory_.valid()) {
    return fail(setup_error("cannot open the directory of the report file " + quote(path), errno,
                            "make the directory first, or name a file elsewhere"));
  }
  CORDON_TRY(standing, standing_of(report.directory_.get(), report.name_, path, kind));
  if (standing == NameStanding::WrittenTo) {
    constexpr int kHow = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    return open_stream(path, kind, ::openat(report.directory_.get(), report.name_.c_str(), kHow));
  }
  if (::faccessat(report.directory_.get(), ".", W_OK | X_OK, AT_EACCESS) < 0) {
    return fail(setup_error("cannot make the report file " + quote(path), errno,
                            "its directory must be writable: name a file elsewhere"));
  }
  return report;
}

Result<void> ReportFile::write(std::string_view text) const {
  if (!stream_.valid()) return replace(text);
  if (write_all(stream_.get(), text)) return {};
  return fail(
      setup_error("cannot write the report file " + quote(path_), errno, cure_for_write(errno)));
}

Result<void> ReportFile::replace(std::string_view text) const {
  const int directory = directory_.get();
  const std::string temporary = ".cordon-report-" + random_id();
  const auto failed = [&](int number) {
    ::unlinkat(directory, temporary.c_str(), 0);
    return fail(setup_error("cannot write the report file " + quote(path_), number,
                            cure_for_write(number)));
  };
  if (const int error = write_new(directory, temporary, text); error != 0) return failed(error);
  // Look at it once more: the command, or somebody else, may have put something there meanwhile.
  const auto standing = standing_of(directory, name_, path_, *kind_);
  if (!standing) {
    ::unlinkat(directory, temporary.c_str(), 0);
    return fail(standing.error());
  }
  switch (*standing) {
    case NameStanding::Absent:
      if (const int error = give_name(directory, temporary, name_); error != 0)
        return failed(error);
      return {};
    case NameStanding::Replaceable:
      if (::renameat(directory, temporary.c_str(), directory, name_.c_str()) < 0) {
        return failed(errno);
      }
      return {};
    case NameStanding::WrittenTo:
      return failed(EEXIST);
  }
  return {};
}

}  // namespace cordon
