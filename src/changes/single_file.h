// Single files, links and directories on their way between a stage and the host. Nothing is
// followed.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/fd.h"
#include "changes/take.h"

namespace cordon {

// A name in a directory that is open.
struct Spot {
  Fd above;
  std::string name;
};

// The same of what a run made.
struct KeptSpot {
  KeptDirectory above;
  std::string name;
};

// What a canonical path names on the host; nothing if its directory is not there, or is reached
// only through a symlink.
std::optional<Spot> spot_of(const std::string& path);
std::optional<struct stat> lstat_at(int directory, const std::string& name);

// Bits that are carried over. Of a directory a set-group bit too: it only hands the group on.
inline constexpr mode_t kFileBits = 0777;
inline constexpr mode_t kDirectoryBits = 03777;

// 0 or errno; a symlink has no mode of its own.
int change_mode(int directory, const std::string& name, mode_t mode);

// Copies one file or link; a directory is made empty. Bits that give power are left out. The copy
// has the times of the original: to a build tool they say what is newer. 0 or errno.
int copy_one(int from, const std::string& name, int into, const std::string& as);

// Whether a file that is made in one of two directories and renamed into the other cannot be told
// from one that was made there: they lie on one file system, under one quota, and hand on the same
// group, the same access list and the same label.
bool makes_alike(int directory, int other);

// Whether the host has under `name` the content and mode of what is kept as `as`, as far as
// copy_one keeps them. What cannot be read on the host is not equal: it is looked at and not
// changed.
bool is_equal(int host, const std::string& name, int kept, const std::string& as);

}  // namespace cordon
