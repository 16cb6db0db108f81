#include "audit/day_files.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "audit/moment.h"
#include "audit/record.h"

namespace cordon::audit {
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

}  // namespace cordon::audit
