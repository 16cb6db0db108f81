// The file that `--report` names, or a verb that writes a page. It is looked at before the command
// starts, so that a report that could not be written stops the run, and put in place whole after
// it: whatever fails in between, an older report stays as it was. Nothing is ever replaced but an
// empty file and an older report of the same kind.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "config/node.h"

namespace cordon {

inline constexpr MessageBounds kLargestReport{std::size_t{256} << 20U, std::size_t{4} << 20U};

// What is written, and so may be replaced.
struct ReportKind {
  std::string_view typed;   // what stands before the name on the command line: "--report "
  std::string_view called;  // "a report of an earlier run"
  std::string_view mark;    // in the head of a page
  std::string_view schema;  // of a document; empty: there is none
};
extern const ReportKind kReportOfRun;
extern const ReportKind kFleetPage;

class ReportFile {
 public:
  // Refuses what is neither absent, nor empty, nor a report, nor something that is written to
  // without being replaced: a fifo, a character device, or an open descriptor by its name
  // (/dev/stdout, /dev/stderr, /dev/fd/N). A symlink is refused: one that an earlier run left
  // behind could lead to what the command itself cannot reach.
  static Result<ReportFile> open(const std::string& path, const ReportKind& kind);
  [[nodiscard]] Result<void> write(std::string_view text) const;

 private:
  ReportFile(std::string path, const ReportKind& kind) : path_(std::move(path)), kind_(&kind) {}
  static Result<ReportFile> open_stream(const std::string& path, const ReportKind& kind,
                                        int descriptor);
  [[nodiscard]] Result<void> replace(std::string_view text) const;

  std::string path_;  // as written
  const ReportKind* kind_;
  Fd stream_;  // what is written to as it is
  // Or a name in a directory. The directory is held open, since the command may be able to put
  // another one in its place.
  Fd directory_;
  std::string name_;
};

}  // namespace cordon
