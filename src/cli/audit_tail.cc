#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>

#include "audit/day_files.h"
#include "audit/line_reader.h"
#include "audit/private_file.h"
#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

using audit::LineReader;

// How far the files were read.
struct Reached {
  std::string day;
  std::uint64_t offset = 0;
};

std::string shown(const std::string& line, bool json) {
  if (json) return sanitize(line) + "\n";
  const auto record = audit::decode_line(line);
  if (!record) return "? " + sanitize(line.substr(0, 60)) + "\n";
  std::string text = record->timestamp.substr(11, 12) + "  " + std::to_string(record->seq) + "  " +
                     record->action + " " + (record->resource.empty() ? "-" : record->resource) +
                     " " + (record->phase == audit::Phase::Note ? "note" : record->outcome);
  if (!record->reason.empty()) text += " (" + record->reason + ")";
  if (const auto code = audit::number_in(record->metadata, "exit_code")) {
    text += " exit " + std::to_string(*code);
  }
  return sanitize(text) + "\n";
}

// Complete lines from there on; a line that is still being written is left for later.
Result<void> read_on(int directory, Reached& reached,
                     const std::function<void(const std::string&)>& take) {
  CORDON_TRY(days, audit::list_days(directory));
  for (const std::string& day : days) {
    if (day < reached.day) continue;
    CORDON_TRY(file, audit::open_private_file(directory, audit::file_of_day(day), O_RDONLY));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(audit::audit_error("cannot read", errno));
    if (day != reached.day) reached = {day, 0};
    LineReader reader(file.get(), reached.offset, static_cast<std::uint64_t>(status.st_size));
    audit::Line line;
    for (;;) {
      CORDON_TRY(more, reader.next(line));
      if (!more || !line.complete) break;
      take(std::string(line.text));
      reached.offset = line.end();
    }
  }
  return {};
}

// Where the last `count` records begin, or somewhat before.
Result<Reached> near_the_end(int directory, std::uint64_t count) {
  CORDON_TRY(days, audit::list_days(directory));
  Reached reached;
  std::uint64_t found = 0;
  for (auto day = days.rbegin(); day != days.rend() && found < count; ++day) {
    CORDON_TRY(file, audit::open_private_file(directory, audit::file_of_day(*day), O_RDONLY));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(audit::audit_error("cannot read", errno));
    LineReader reader(file.get(), 0, static_cast<std::uint64_t>(status.st_size));
    audit::Line line;
    std::deque<std::uint64_t> starts;
    for (;;) {
      CORDON_TRY(more, reader.next(line));
      if (!more || !line.complete) break;
      starts.push_back(line.offset);
      if (starts.size() > count - found) starts.pop_front();
    }
    found += starts.size();
    reached = {*day, starts.empty() ? 0 : starts.front()};
  }
  return reached;
}

// The exit status.
Result<int> tail(const Arguments& arguments) {
  const bool json = arguments.has(FlagId::Json);
  std::uint64_t count = 10;
  if (const auto limit = arguments.value(FlagId::Limit)) {
    const auto number = parse_number(*limit);
    if (!number) return fail(usage_error("--limit " + quote(*limit) + " is not a number"));
    count = *number;
  }
  CORDON_TRY(where, audit_place());
  const auto absent =
      arguments.has(FlagId::Follow) ? audit::IfAbsent::Make : audit::IfAbsent::Refuse;
  CORDON_TRY(directory, audit::open_private_directory(where.place.directory, absent));
  // Watched before it is read: what is written in between is not missed.
  const Fd watch(::inotify_init1(IN_CLOEXEC));
  const bool watching =
      watch.valid() &&
      ::inotify_add_watch(watch.get(), where.place.directory.c_str(), IN_MODIFY | IN_CREATE) >= 0;
  CORDON_TRY(reached, near_the_end(directory.get(), count));
  bool any = false;
  bool written = true;
  const auto print = [&](const std::string& line) {
    any = true;
    written = written && say_answer(shown(line, json));
  };
  CORDON_CHECK(read_on(directory.get(), reached, print));
  while (arguments.has(FlagId::Follow) && written) {
    constexpr int kFallbackMs = 1000;
    pollfd polled{watch.get(), POLLIN, 0};
    ::poll(&polled, watching ? 1 : 0, watching ? -1 : kFallbackMs);
    char events[4096];
    if (watching && ::read(watch.get(), events, sizeof events) < 0 && errno != EINTR) break;
    CORDON_CHECK(read_on(directory.get(), reached, print));
  }
  if (!written) return kAnswerError;
  return any ? kAnswerYes : kAnswerNo;
}

}  // namespace

int verb_audit_tail(const Arguments& arguments) {
  const auto status = tail(arguments);
  return status ? *status : audit_failure_status(status.error());
}

}  // namespace cordon
