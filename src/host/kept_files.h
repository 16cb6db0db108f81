// KeptFiles: protected files of a writable tree that no mount holds. Their content is copied before
// the command starts, compared when it is dead, and put back where it differs; the changed one is
// handed off. Every file is known by its path: that is where a tool of the host looks for it.
//
// Between start and end a changed file is there for everybody: that is the loss `protected`.
//
// Two runs may write one tree. What the first of them kept is the original for the second too:
// otherwise the second would take what the first has just changed for the truth, and put it back
// after the first has cleaned up.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "host/quarantine.h"
#include "host/survey.h"
#include "policy/protected_names.h"

namespace cordon {

// KeptList: what Cordon keeps of a writable tree before a run, as a list in a directory of the
// state directory. The contents lie beside it under numbers. The list is written last and under its
// final name at once: where there is one, everything it names was kept before the command started.

struct KeptEntry {
  enum class Type : char {
    File = 'f',
    Directory = 'd',  // everything in it is an entry too
    Link = 'l',
    Other = 'o',         // a FIFO, a socket: only known by its identity
    WayDirectory = 'w',  // leads to something kept and must answer to its name again
  };
  Type type = Type::File;
  KeptPath::Form form = KeptPath::Form::File;
  HoldKind kind = HoldKind::Git;
  std::string path;  // canonical
  FileId id;
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
  std::uint64_t links = 1;
  std::int64_t modified_ns = 0;
  std::string payload;  // of a file: the name of its content; of a link: where it leads
  bool operator==(const KeptEntry&) const = default;
};

// `directory` is where the contents lie.
Result<void> write_kept_list(int directory, std::span<const KeptEntry> entries);
// Nothing if there is none: it was not finished, and no command started, or it was given up.
Result<std::optional<std::vector<KeptEntry>>> read_kept_list(int directory);
// The first step of removing what was kept. What is left over then means nothing.
void give_up_kept_list(int directory);

// A run that is not over, or was killed and is not cleaned up after.
struct OtherRun {
  std::string kept_directory;         // empty: it keeps nothing
  std::vector<std::string> writable;  // its writable grants
  std::set<FileId> held;              // what was there when it began and could not be changed by it
};

class KeptFiles {
 public:
  // Copies everything into `directory`, which it makes. Refuses more than 16384 files or 256 MiB,
  // what cannot be read, and files with a name that is not known. On failure nothing is left.
  static Result<KeptFiles> keep(std::string directory, const Keeping& keeping,
                                std::span<const OtherRun> others);
  // Of a run that was killed.
  explicit KeptFiles(std::string directory) : directory_(std::move(directory)) {}

  // After the last process has ended. `roots` are the writable grants. What is as it was, or is so
  // again, is entered into `known`; everything else has appeared. On failure what could be done was
  // done, and the contents are kept for another attempt.
  Result<void> put_back(std::span<const std::string> roots, Quarantine& quarantine,
                        TreeSnapshot& known);
  // False if the command was never started, or everything was put back and only the note is left:
  // then nothing of the tree may be judged by that note, which does not know what was kept.
  [[nodiscard]] bool is_needed() const;
  // When nothing of it is needed any more, or the command was never started.
  void discard();

 private:
  std::string directory_;
  Fd lock_;  // from put_back() to discard(): no other run keeps or puts back meanwhile
};

}  // namespace cordon
