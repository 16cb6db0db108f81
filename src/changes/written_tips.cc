#include "changes/written_tips.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/git/branch_tips.h"
#include "host/inspect.h"

namespace cordon {
namespace {

constexpr const char* kName = "written-tips";
constexpr off_t kMostBytes = off_t{64} * 1024 * 1024;

// A path has any byte but NUL; a line of this file has no line feed in it.
std::string one_line(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\\') {
      text += "\\\\";
    } else {
      text += c;
    }
  }
  return text;
}

std::string line_of(const UntoldRepository& one) {
  return "! " + std::to_string(one.id.device) + " " + std::to_string(one.id.inode) + " " +
         one_line(one.path);
}

// A line that a crash cut off. Whoever wrote it had not removed its note, and writes it again.
int cut_torn_line(int fd, off_t& size) {
  off_t end = size;
  char last = '\n';
  while (end > 0) {
    if (::pread(fd, &last, 1, end - 1) != 1) return errno != 0 ? errno : EIO;
    if (last == '\n') break;
    --end;
  }
  if (end == size) return 0;
  if (::ftruncate(fd, end) != 0) return errno;
  size = end;
  return 0;
}

}  // namespace

std::string WrittenTips::file_in(const std::string& state_directory) {
  return join(state_directory, kName);
}

Result<void> WrittenTips::add(const std::string& state_directory, const std::set<std::string>& tips,
                              std::span<const UntoldRepository> untold) {
  std::string text;
  for (const std::string& tip : tips) text.append(tip).push_back('\n');
  if (!untold.empty()) {
    // Told again by every run in such a repository: one line is enough.
    const WrittenTips known = read(state_directory);
    for (const UntoldRepository& one : untold) {
      if (std::ranges::find(known.untold_, UntoldRepository{one_line(one.path), one.id}) ==
          known.untold_.end()) {
        text.append(line_of(one)).push_back('\n');
      }
    }
  }
  if (text.empty()) return {};
  const auto cannot = [&](int error) {
    return fail(setup_error("cannot write " + quote(file_in(state_directory)), error));
  };
  CORDON_TRY(directory, open_private_directory(state_directory));
  const Fd file(::openat(directory.get(), kName,
                         O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat status {};
  if (!file.valid() || ::flock(file.get(), LOCK_EX) != 0 || ::fstat(file.get(), &status) != 0) {
    return cannot(errno);
  }
  if (!S_ISREG(status.st_mode)) return cannot(EINVAL);
  off_t size = status.st_size;
  // Full: nothing is trusted any more, so nothing has to be known.
  if (size > kMostBytes) return {};
  if (const int error = cut_torn_line(file.get(), size); error != 0) return cannot(error);
  if (const int error = write_whole(file.get(), text); error != 0) return cannot(error);
  if (::fdatasync(file.get()) != 0) return cannot(errno);
  if (size == 0 && ::fsync(directory.get()) != 0) return cannot(errno);
  return {};
}

Result<void> add_new_tips(const std::string& state_directory,
                          const std::set<std::string>& directories,
                          const std::set<std::string>& untold_before,
                          const std::set<std::string>& baseline) {
  std::set<std::string> written;
  std::vector<UntoldRepository> untold;
  for (const std::string& directory : directories) {
    const BranchTips now = read_branch_tips(directory);
    if (!now.told || untold_before.contains(directory)) {
      untold.push_back({directory, now.directory});
    }
    for (const BranchTip& tip : now.tips) {
      if (!tip.id.empty() && !baseline.contains(tip.id)) written.insert(tip.id);
    }
  }
  return WrittenTips::add(state_directory, written, untold);
}

bool WrittenTips::add_line(std::string_view line) {
  if (is_object_id(line)) {
    tips_.emplace(line);
    return true;
  }
  if (!line.starts_with("! ")) return false;
  line.remove_prefix(2);
  const std::size_t first = line.find(' ');
  const std::size_t second = first != std::string_view::npos ? line.find(' ', first + 1) : first;
  if (second == std::string_view::npos) return false;
  const auto device = parse_number(line.substr(0, first));
  const auto inode = parse_number(line.substr(first + 1, second - first - 1));
  if (!device || !inode) return false;
  untold_.push_back({std::string(line.substr(second + 1)), {*device, *inode}});
  return true;
}

WrittenTips WrittenTips::read(const std::string& state_directory) {
  WrittenTips found;
  const std::string name = file_in(state_directory);
  const std::string cure = ": look through the branches of your projects, then remove it";
  const Fd file(::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) {
    if (errno != ENOENT) found.problem_ = quote(name) + " cannot be read";
    return found;
  }
  struct stat status {};
  // Whoever is writing has not finished a line.
  if (::flock(file.get(), LOCK_SH) != 0 || ::fstat(file.get(), &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    found.problem_ = quote(name) + " cannot be read";
    return found;
  }
  if (status.st_size > kMostBytes) {
    found.problem_ = quote(name) + " is full" + cure;
    return found;
  }
  const auto text = read_all(file.get(), static_cast<std::size_t>(kMostBytes));
  if (!text) {
    found.problem_ = quote(name) + " cannot be read";
    return found;
  }
  std::string_view rest(*text);
  // Without its end the last line was never finished: the note of its run is still there.
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (!found.add_line(rest.substr(0, end))) {
      found.problem_ = quote(name) + " cannot be understood" + cure;
      return found;
    }
    rest.remove_prefix(end + 1);
  }
  return found;
}

bool WrittenTips::is_untold(const std::string& path, const FileId& id) const {
  const std::string line = one_line(path);
  return std::ranges::any_of(untold_, [&](const UntoldRepository& one) {
    return one.path == line || (one.id != FileId{} && one.id == id);
  });
}

}  // namespace cordon
