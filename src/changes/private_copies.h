// Private copies: what a run sees and changes in place of protected files of the host.
//
// A protected directory (`.vscode`, `.claude`, `.git/hooks`) has to keep its content, and yet git
// has to be able to check out a branch that differs in it. A read-only mount does the first and
// breaks the second: checkout, merge, rebase and stash stop half way. So the directory is copied
// before the command starts, and the copy is mounted over it, writable. Inside everything succeeds;
// the host's directory is not touched by anybody. When the command is dead, the copy is compared
// with what was copied (changes/held_back.h), and what differs is kept aside for the person.
//
// The copies lie on disk, below the state directory, where no sandbox looks and the supervisor can
// read them at the end. A list beside them says what was copied from where. It is complete before
// the command starts, so that the copies of a run that was killed can be compared by the next
// start.
//
// One budget holds for all copies of a run: 64 MiB and 20,000 files. What does not fit, has a FIFO
// or a mount point in it, or cannot be read, is not copied, and its holder binds it read-only
// instead. Every file of a copy costs its creation before the launch: the samples that git puts
// into `hooks` are started by nobody and are left out. A file that changes while it is copied is no
// danger: it is what the person's other programs see too, and only the copy is compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "changes/take.h"
#include "host/owner.h"
#include "policy/effective.h"

namespace cordon {

// Copying a file, a symlink or a tree with its permission bits; set-id bits are left out. FIFOs,
// sockets and devices are refused: what is put into a project has content.

// 0 or errno; EEXIST if the name is taken. What was copied until a failure is removed. Root gives
// the copy to `owner`.
int exact_copy(CopyFrom side, int from, const std::string& name, int into, const std::string& as,
               const std::optional<Owner>& owner = {});

struct CopyRequest {
  std::string path;    // of the protected object
  std::string source;  // where its copy is to lie
  FileKind kind = FileKind::Directory;
  FileId id;
  std::string reason;
};

struct ConfigRequest {
  std::string path;
  std::string copy;
  std::string content;
};

// One object of a copy: what it was copied from, and what the copy was then.
struct CopiedEntry {
  enum class Type : char { File = 'f', Directory = 'd', Link = 'l' };
  std::string name;  // below the copied object; empty: that object itself
  Type type = Type::File;
  std::uint32_t mode = 0;
  FileId id;
  std::uint64_t size = 0;
  std::uint64_t changed_ns = 0;  // ctime of the original
  std::uint64_t copied_ns = 0;   // ctime of the copy
};

struct CopiedObject {
  CopyRequest what;
  std::vector<CopiedEntry> entries;  // parents before what is in them
};

struct CopiedConfig {
  std::string path;
  std::string copy;
  std::string base;  // the content that the copy began with
};

struct PrivateCopies {
  std::vector<CopiedObject> objects;
  std::vector<CopiedConfig> configs;
  [[nodiscard]] bool empty() const { return objects.empty() && configs.empty(); }
};

// What could not be copied, and why.
struct Uncopied {
  std::string path;
  std::string why;
};
struct MadeCopies {
  PrivateCopies copies;
  std::vector<Uncopied> uncopied;
};

// Makes the copies below `directory`, which it makes, for `owner` if the command is another user.
// Fails if an object is no longer the one that was judged.
Result<MadeCopies> make_private_copies(const std::string& directory,
                                       const std::vector<CopyRequest>& requests,
                                       const std::vector<ConfigRequest>& configs,
                                       const std::optional<Owner>& owner);

// Of a run that was killed; nothing if its command was never started.
Result<std::optional<PrivateCopies>> read_private_copies(const std::string& directory);

}  // namespace cordon
