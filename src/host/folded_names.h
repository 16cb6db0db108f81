// A name that Cordon knows has many spellings where a file system folds case: `.GIT/config` is read
// by a git that opens `.git/config`, and the directory is listed as `.GIT`. ext4 and f2fs with
// casefold, FAT, NTFS, and what a Mac or Windows shares with Linux fold. Each has rules of its own,
// so a spelling is only a suspicion, and whoever asks looks whether both names lead to one object.
#pragma once

#include <string_view>

namespace cordon {

// The name of the table, or of git, that `name` may be another spelling of; empty if there is none,
// or if `name` is that one itself. It stays valid.
std::string_view known_spelling(std::string_view name);

}  // namespace cordon
