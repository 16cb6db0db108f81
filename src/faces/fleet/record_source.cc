#include "faces/fleet/record_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "audit/fleet_line.h"
#include "base/fd.h"
#include "base/text.h"
#include "faces/cli/audit_forms.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/verbs.h"
#include "faces/fleet/numbered_lines.h"

namespace cordon {
namespace {

constexpr const char* kHowToExport =
    "cordon audit export > FILE.jsonl writes one, as does cordon audit export --from URL";

// A record is 64 KiB at most; the name of a node and two numbers stand beside it.
constexpr std::size_t kLongestRecord = std::size_t{160} << 10U;

// One line, as either of the two forms.
class LineReading {
 public:
  explicit LineReading(const TakeRecord& take) : take_(take) {}

  // Why it is no record.
  std::optional<std::string> read(std::string_view text, std::string_view node) {
    if (!audit::is_fleet_line(text)) return read_record(text, node, std::nullopt);
    const auto line = audit::read_fleet_line(text);
    if (!line) return "the line is no record of a fleet";
    if (!line->record.empty()) return read_record(line->record, line->node, line->received_us);
    take_({line->node, line->seq, nullptr, line->received_us});
    return std::nullopt;
  }

 private:
  std::optional<std::string> read_record(std::string_view text, std::string_view node,
                                         std::optional<std::int64_t> received_us) {
    const auto done = audit::decode_line(text, record_);
    if (!done) return done.error().what;
    if (!record_.intact) return "its hash is not that of its bytes";
    take_({node, record_.seq, &record_, received_us});
    return std::nullopt;
  }

  const TakeRecord& take_;
  audit::Record record_;
};

Error bad_line(const std::string& path, const NumberedLine& line, const std::string& why,
               std::uint64_t good) {
  Error error = usage_error(good == 0 ? "this is no export of an audit log: " + why
                                      : "this line is no record of an audit log: " + why,
                            kHowToExport);
  error.place = Place{path, static_cast<unsigned>(line.number), 1};
  if (good == 0) return error;
  if (!line.complete) {
    error.what = "the file ends in the middle of a record";
    error.hint = "it was cut off, as by a full disk: export that log anew";
  } else {
    error.hint =
        "export that log anew; if this line alone is bad, a copy without it can be read: "
        "sed " +
        std::to_string(line.number) + "d " + shell_word(path) + " > COPY.jsonl";
  }
  return error;
}

}  // namespace

bool is_database(std::string_view from) {
  return from.starts_with("postgresql://") || from.starts_with("postgres://");
}

Result<void> read_records(const std::string& path, const std::string& node,
                          const TakeRecord& take) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    Error unreadable = usage_error(
        "cannot read " + quote(path),
        "--from takes postgresql://USER@HOST/DATABASE or a file that cordon audit export wrote");
    unreadable.error_number = errno;
    return fail(std::move(unreadable));
  }
  if (S_ISDIR(status.st_mode))
    return fail(usage_error(quote(path) + " is a directory", "name a file of records in it"));
  const auto progress = audit_progress("reading");
  const auto size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  NumberedLines lines(file.get(), kLongestRecord);
  LineReading reading(take);
  std::uint64_t good = 0;
  NumberedLine line;
  for (;;) {
    auto more = lines.next(line);
    if (!more) {
      more.error().what += " " + quote(path);
      return fail(std::move(more).error());
    }
    if (!*more) break;
    constexpr std::uint64_t kOften = 4096;
    if (progress && size != 0 && line.number % kOften == 0) progress(lines.bytes(), size);
    if (line.text.empty() && !line.overlong) continue;
    auto why = line.overlong ? std::optional<std::string>("the line is too long")
                             : reading.read(line.text, node);
    if (why) {
      if (progress && size != 0) progress(size, size);
      return fail(bad_line(path, line, *why, good));
    }
    ++good;
  }
  if (progress && size != 0) progress(size, size);
  return {};
}

Result<bool> ask_database(const DatabaseQuestion& question, const TakeRecord& take) {
  std::vector<std::string> words{"audit", "export", "--from", question.url};
  for (const auto& [name, value] : {std::pair{"--since", &question.since},
                                    {"--until", &question.until},
                                    {"--node", &question.node}}) {
    if (!value->empty()) words.insert(words.end(), {name, *value});
  }
  CORDON_TRY(child, HelperChild::start("cordon-ship", words));
  NumberedLines lines(child.answer(), kLongestRecord);
  LineReading reading(take);
  NumberedLine line;
  std::optional<std::string> why;
  while (!why) {
    CORDON_TRY(more, lines.next(line));
    if (!more) break;
    why = line.overlong ? "the line is too long" : reading.read(line.text, {});
    // The end of one that was cut off is told by its status.
    if (!line.complete) why.reset();
  }
  const int status = child.end();
  if (why) {
    return fail(setup_error("cordon-ship answered with what is no record: " + *why, 0,
                            "cordon and cordon-ship belong to one release: install both anew"));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) <= kAnswerNo) return true;
  if (WIFEXITED(status)) return false;
  return fail(setup_error("cordon-ship was killed while it answered", 0));
}

}  // namespace cordon
