#include "mcp/full/own_records.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "audit/day_files.h"
#include "audit/line_reader.h"
#include "base/private_directory.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostNoted = 64;
constexpr std::size_t kMostDays = 2;
constexpr std::uint64_t kLookedAt = std::uint64_t{1} << 20U;  // of each day's end
constexpr std::array<std::string_view, 8> kShown{"timestamp", "event_id", "action",   "phase",
                                                 "outcome",   "reason",   "resource", "seq"};

Node shown_record(const Node& record) {
  Node node{NodeMap{}};
  for (const std::string_view name : kShown) {
    if (const Node* member = record.find(name)) node.set(std::string(name), *member);
  }
  return node;
}

Result<void> read_day(int directory, const std::string& day, const std::deque<std::string>& ids,
                      NodeList& records) {
  const Fd file(
      ::openat(directory, audit::file_of_day(day).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) {
    return fail(audit::audit_error("cannot read the log", errno));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  audit::LineReader reader(file.get(), size > kLookedAt ? size - kLookedAt : 0, size);
  audit::Line line;
  for (;;) {
    CORDON_TRY(more, reader.next(line));
    if (!more) return {};
    if (!line.complete || line.overlong) continue;
    // A first line that is cut in two is no document.
    const auto record = read_json(line.text, "record");
    const std::string* id = record ? text_member(*record, "event_id") : nullptr;
    if (id != nullptr && std::ranges::find(ids, *id) != ids.end()) {
      records.push_back(shown_record(*record));
    }
  }
}

}  // namespace

void OwnRecords::note(const std::string& event_id) {
  const std::lock_guard lock(mutex_);
  ids_.push_back(event_id);
  if (ids_.size() > kMostNoted) ids_.pop_front();
}

Result<NodeList> OwnRecords::read(const audit::Place& place) const {
  std::deque<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = ids_;
  }
  CORDON_TRY(directory, open_private_directory(place.directory));
  CORDON_TRY(days, audit::list_days(directory.get()));
  if (days.size() > kMostDays) days.erase(days.begin(), days.end() - kMostDays);
  NodeList records;
  for (const std::string& day : days) CORDON_CHECK(read_day(directory.get(), day, ids, records));
  return records;
}

}  // namespace cordon::mcp
