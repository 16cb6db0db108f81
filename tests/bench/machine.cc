#include "machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace bench {

namespace fs = std::filesystem;

Scratch::Scratch() {
  // Not below /tmp: that is private inside a sandbox, and a home there would be too.
  std::string pattern = "/var/tmp/cordon-bench.XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
  fs::create_directories(empty());
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Scratch::directory(const std::string& name) const {
  std::string path = home() + "/" + name;
  fs::create_directories(path);
  return path;
}

std::string Scratch::file(const std::string& name, const std::string& text) const {
  std::string path = path_ + "/" + name;
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  return path;
}

std::string Scratch::tree(unsigned files) const {
  constexpr unsigned kPerDirectory = 100;
  for (unsigned made = 0; made < files; made += kPerDirectory) {
    const std::string place = directory(fmt::format("tree/{}/{}", made / 10'000, made));
    for (unsigned i = 0; i < kPerDirectory; ++i) std::ofstream(fmt::format("{}/{}.txt", place, i));
  }
  return home() + "/tree";
}

std::string describe_machine() {
  utsname name{};
  ::uname(&name);
  return fmt::format("{} {}, {}, {} processors, started by {}.", name.sysname, name.release,
                     name.machine, ::sysconf(_SC_NPROCESSORS_ONLN),
                     ::geteuid() == 0 ? "root" : "an ordinary user");
}

}  // namespace bench
