#include "host/system_entries.h"

#include <sys/stat.h>

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "host/inspect.h"
#include "host/survey.h"
#include "host/walk.h"
#include "policy/decide.h"

namespace cordon {

std::vector<SystemEntry> root_entries() {
  std::vector<SystemEntry> entries;
  const Fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return entries;
  DirectoryNames names;
  names.read(root.get());
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string name(entry.name);
    switch (entry.type) {
      case EntryType::Directory:
        entries.push_back({"/" + name, SystemEntry::Kind::Directory, {}});
        break;
      case EntryType::Regular:
        entries.push_back({"/" + name, SystemEntry::Kind::File, {}});
        break;
      case EntryType::Symlink:
        if (auto target = read_link(root.get(), name))
          entries.push_back({"/" + name, SystemEntry::Kind::Symlink, std::move(*target)});
        break;
      case EntryType::Other:
        break;
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_kernel_tree(std::string_view path) {
  return path == "/proc" || path == "/sys" || path == "/dev";
}

std::vector<std::string> network_files() {
  std::vector<std::string> found;
  for (const std::string_view path : kNetworkFiles) {
    std::string file(path);
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

bool attaching_is_forbidden() {
  const Fd file(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char scope = '0';
  return file.valid() && ::read(file.get(), &scope, 1) == 1 && scope == '3';
}

std::vector<std::string_view> machine_secrets() {
  std::vector<std::string_view> found;
  for (const std::string_view path : kMachineSecrets)
    if (inspect_path(std::string(path))) found.push_back(path);
  return found;
}

namespace {

constexpr std::array<const char*, 7> kTop = {"/usr",   "/bin",   "/sbin",  "/lib",
                                             "/lib64", "/lib32", "/libx32"};

// What programs read from /etc and nobody keeps a secret in. Everything else there stays outside:
// a positive list, since each host adds files of its own.
constexpr std::array<std::string_view, 35> kEtc = {
    "R",
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "dotnet",
    "fonts",
    "gai.conf",
    "host.conf",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "mtab",
    "nodejs",
    "os-release",
    "perl",
    "php",
    "profile",
    "profile.d",
    "protocols",
    "services",
    "terminfo",
    "texmf",
    "timezone",
    "xml",
};
static_assert(std::is_sorted(kEtc.begin(), kEtc.end()));
constexpr std::array<std::string_view, 2> kEtcPrefixes = {"java-", "python3"};

struct Nested {
  std::string_view parent;
  const char* path;
};
// Directories of /etc of which only a part is public: the keys lie beside the certificates.
constexpr std::array<Nested, 6> kNested = {{{"pki", "pki/ca-trust"},
                                            {"pki", "pki/java"},
                                            {"pki", "pki/tls/certs"},
                                            {"ssl", "ssl/cert.pem"},
                                            {"ssl", "ssl/certs"},
                                            {"ssl", "ssl/openssl.cnf"}}};

// How many processors there are and what they can do: thread pools and compilers ask there. All
// else of /sys stays outside.
constexpr const char* kProcessors = "/sys/devices/system/cpu";

// Without these the dynamic loader, or the name a program was found under, does not work.
constexpr std::array<std::string_view, 5> kLoader = {"alternatives", "ld.so.cache", "ld.so.conf",
                                                     "ld.so.conf.d", "localtime"};

bool is_wanted(std::string_view name) {
  if (std::binary_search(kEtc.begin(), kEtc.end(), name)) return true;
  return std::any_of(kEtcPrefixes.begin(), kEtcPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

void add_entry(std::vector<SystemEntry>& out, int directory, const std::string& name,
               std::string path, EntryType type, SystemEntry::Tier tier) {
  switch (type) {
    case EntryType::Directory:
      out.push_back({std::move(path), SystemEntry::Kind::Directory, {}, tier});
      break;
    case EntryType::Regular:
      out.push_back({std::move(path), SystemEntry::Kind::File, {}, tier});
      break;
    case EntryType::Symlink:
      if (auto target = read_link(directory, name))
        out.push_back({std::move(path), SystemEntry::Kind::Symlink, std::move(*target), tier});
      break;
    case EntryType::Other:
      break;
  }
}

EntryType entry_type_of(const FileInfo& seen) {
  if (seen.symlink) return EntryType::Symlink;
  if (seen.kind == FileKind::Directory) return EntryType::Directory;
  return seen.kind == FileKind::Regular ? EntryType::Regular : EntryType::Other;
}

void add_loader_files(std::vector<SystemEntry>& out, int etc) {
  for (const std::string_view name : kLoader) {
    const std::string file(name);
    if (const auto seen = inspect_name(etc, file))
      add_entry(out, etc, file, "/etc/" + file, entry_type_of(*seen), SystemEntry::Tier::Loader);
  }
}

void add_etc(std::vector<SystemEntry>& out, SystemEntry::Tier tier) {
  const Fd etc(::open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!etc.valid()) return;
  if (tier == SystemEntry::Tier::Loader) return add_loader_files(out, etc.get());
  DirectoryNames names;
  names.read(etc.get());
  for (const DirectoryEntry& entry : names.entries()) {
    if (is_wanted(entry.name)) {
      const std::string name(entry.name);
      const bool loader = std::find(kLoader.begin(), kLoader.end(), name) != kLoader.end();
      add_entry(out, etc.get(), name, "/etc/" + name, entry.type,
                loader ? SystemEntry::Tier::Loader : SystemEntry::Tier::Programs);
      continue;
    }
    for (const Nested& nested : kNested) {
      if (nested.parent != entry.name) continue;
      const auto seen = inspect_name(etc.get(), nested.path);
      if (!seen) continue;
      add_entry(out, etc.get(), nested.path, std::string("/etc/") + nested.path,
                entry_type_of(*seen), SystemEntry::Tier::Programs);
    }
  }
}

}  // namespace

std::vector<SystemEntry> system_entries(SystemEntry::Tier tier) {
  std::vector<SystemEntry> out;
  out.reserve(48);
  for (const char* path : kTop)
    if (const auto seen = inspect_path(path))
      add_entry(out, AT_FDCWD, path, path, entry_type_of(*seen), SystemEntry::Tier::Loader);
  add_etc(out, tier);
  if (tier == SystemEntry::Tier::Programs) {
    if (const auto seen = inspect_path(kProcessors))
      add_entry(out, AT_FDCWD, kProcessors, kProcessors, entry_type_of(*seen), tier);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace cordon
