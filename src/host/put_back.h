// PutBack: makes everything that was kept before a run as it was, after the run's last process has
// ended. The command had every right over these files but those of their owner's other programs, so
// nothing found is believed: a file may be a link, a directory, a FIFO, closed to its owner,
// another name of something else, or gone with the directories above it; a directory may be
// elsewhere under another name, with something else in its place.
//
// Everything is relative to descriptors and follows no symlink. A file comes back at once: its
// content is written under a name that nobody knows and then exchanged with what is there.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "host/inspect.h"
#include "host/kept_files.h"
#include "host/quarantine.h"
#include "host/survey.h"

namespace cordon {

class PutBack {
 public:
  // `entries` are sorted by path; `contents` is the directory their contents lie in.
  PutBack(std::span<const KeptEntry> entries, int contents, std::span<const std::string> roots,
          Quarantine& quarantine, TreeSnapshot& known)
      : entries_(entries),
        contents_(contents),
        roots_(roots),
        quarantine_(quarantine),
        known_(known) {}

  // What cannot be put back is told to the quarantine, and the others are put back all the same.
  void run();

 private:
  struct Closed {
    std::string path;
    FileId id;
    unsigned mode;  // the one it had
  };

  void find_ways();
  void way(const KeptEntry& entry);
  void directory(const KeptEntry& entry);
  void file(const KeptEntry& entry);
  void link(const KeptEntry& entry);
  void other(const KeptEntry& entry);
  void take_strangers(const KeptEntry& directory, int fd);
  void finish_directories();
  void close_again();

  // True if the file is as it was, or its newer version may stay.
  bool settled(const KeptEntry& entry, int above, const std::string& name, const FileInfo& seen);
  void replace(const KeptEntry& entry, int above, const std::string& name, bool is_there);
  // 0 or errno.
  int write_content(const KeptEntry& entry, int above, const std::string& name) const;
  // The directory of that path, made and opened to its owner if need be.
  Fd enter(const std::string& path, HoldKind kind);
  Fd enter_child(int above, const std::string& path, HoldKind kind);
  Fd open_file(int above, const std::string& name, const FileInfo& seen) const;
  [[nodiscard]] unsigned mode_left(const FileInfo& seen) const;
  void open_to_owner(int directory, const std::string& path);
  void failed(const KeptEntry& entry, int error_number);
  [[nodiscard]] bool is_in_made(const std::string& path) const;

  std::span<const KeptEntry> entries_;
  const int contents_;
  std::span<const std::string> roots_;
  Quarantine& quarantine_;
  TreeSnapshot& known_;
  std::vector<Closed> opened_;
  std::set<std::string> made_;  // directories that were gone
};

}  // namespace cordon
