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

namespace cordon {
namespace {

constexpr const char* kHowToExport =
    "cordon audit export > FILE.jsonl writes one, as does cordon audit export --from URL";

// The lines of a file or of a pipe, each with its number.
class Lines {
 public:
  explicit Lines(int file) : file_(file) {}

  struct Line {
    std::string_view text;
    std::uint64_t number = 0;
    bool complete = true;  // false: the file ends before its newline
    bool overlong = false;
  };
  // False at the end.
  Result<bool> next(Line& line) {
    for (;;) {
      const std::size_t end = std::string_view(buffer_).find('\n', begin_ + searched_);
      if (end != std::string::npos) {
        take(line, end - begin_, true);
        begin_ = end + 1;
        return true;
      }
      searched_ = buffer_.size() - begin_;
      if (searched_ > kLongest) {
        // Nothing more of it is kept: it is told, and nothing behind it is read.
        take(line, 0, true);
        line.overlong = true;
        return true;
      }
      CORDON_TRY(more, fill());
      if (more) continue;
      if (begin_ == buffer_.size()) return false;
      take(line, buffer_.size() - begin_, false);
      begin_ = buffer_.size();
      return true;
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  // A record is 64 KiB at most; the name of a node and two numbers stand beside it.
  static constexpr std::size_t kLongest = std::size_t{160} << 10U;

  void take(Line& line, std::size_t length, bool complete) {
    line = {std::string_view(buffer_).substr(begin_, length), ++number_, complete, false};
    searched_ = 0;
  }
  Result<bool> fill() {
    constexpr std::size_t kAtOnce = std::size_t{256} << 10U;
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kAtOnce);
    ssize_t got = -1;
    do {
      got = ::read(file_, buffer_.data() + before, kAtOnce);
    } while (got < 0 && errno == EINTR);
    const int number = errno;
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) return fail(setup_error("cannot read", number));
    bytes_ += static_cast<std::uint64_t>(got);
    return got > 0;
  }

  int file_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;  // behind `begin_`, without a newline
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

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

Error bad_line(const std::string& path, const Lines::Line& line, const std::string& why,
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
  Lines lines(file.get());
  LineReading reading(take);
  std::uint64_t good = 0;
  Lines::Line line;
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
  Lines lines(child.answer());
  LineReading reading(take);
  Lines::Line line;
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
