// KeptList: what Cordon keeps of a writable tree before a run, as a list in a directory of the
// state directory. The contents lie beside it under numbers. The list is written last and under its
// final name at once: where there is one, everything it names was kept before the command started.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/keeping.h"

namespace cordon {

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

}  // namespace cordon
