#include "host/directory_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "host/look.h"

namespace cordon {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;
constexpr std::size_t kPortion = 64000;

EntryType type_of_mode(mode_t mode) {
  if (S_ISDIR(mode)) return EntryType::Directory;
  if (S_ISREG(mode)) return EntryType::Regular;
  if (S_ISLNK(mode)) return EntryType::Symlink;
  return EntryType::Other;
}

// Some file systems leave the type out of the entry; only then is a stat needed.
EntryType listed_type_of(int descriptor, const struct dirent64& entry) {
  switch (entry.d_type) {
    case DT_DIR:
      return EntryType::Directory;
    case DT_REG:
      return EntryType::Regular;
    case DT_LNK:
      return EntryType::Symlink;
    case DT_UNKNOWN:
      break;
    default:
      return EntryType::Other;
  }
  struct stat status {};
  if (::fstatat(descriptor, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    LookFailures::note(errno, entry.d_name);
    return EntryType::Other;
  }
  return type_of_mode(status.st_mode);
}

bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

DirectoryNames::DirectoryNames() : buffer_(new std::uint64_t[kBufferBytes / 8]) {}

bool DirectoryNames::read(int descriptor) { return read_names(descriptor, SIZE_MAX) == End::Whole; }

bool DirectoryNames::read_portion(int descriptor) {
  return read_names(descriptor, kPortion) == End::Portion;
}

DirectoryNames::End DirectoryNames::read_names(int descriptor, std::size_t most) {
  arena_.clear();
  spans_.clear();
  entries_.clear();
  ssize_t got = 0;
  while (entries_.size() < most &&
         (got = ::getdents64(descriptor, buffer_.get(), kBufferBytes)) > 0) {
    const char* const begin = static_cast<const char*>(static_cast<const void*>(buffer_.get()));
    for (const char* at = begin; at < begin + got;) {
      const auto* entry = static_cast<const struct dirent64*>(static_cast<const void*>(at));
      at += entry->d_reclen;
      if (is_dot(entry->d_name)) continue;
      const std::size_t length = std::strlen(entry->d_name);
      spans_.push_back({arena_.size(), length});
      arena_.append(entry->d_name, length);
      entries_.push_back({{}, listed_type_of(descriptor, *entry), entry->d_ino});
    }
  }
  const int error = errno;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries_[i].name = std::string_view(arena_).substr(spans_[i].begin, spans_[i].length);
  if (got < 0) LookFailures::note(error, "a directory");
  if (got < 0) return End::Failed;
  return got == 0 ? End::Whole : End::Portion;
}

const DirectoryEntry* DirectoryNames::find(std::string_view name) const {
  for (const DirectoryEntry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace cordon
