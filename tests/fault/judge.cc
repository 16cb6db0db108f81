// Says from inside whether it is confined: judge VERDICT SECRET OUTSIDE DENIED HELD...
//
// VERDICT is the file it writes: "confined" and what it found, or "broken" and why. SECRET and
// DENIED must not be readable, nothing may be made in OUTSIDE. It tries to change every HELD file,
// of which the host must see nothing, and leaves a protected file in its directory, which must not
// stay there. What it found is what a run of the same policy may find again, and never more.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string broken;

void require(bool holds, const std::string& what) {
  if (!holds) broken += " " + what;
}

std::string content(const char* path) {
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char block[4096];
  for (ssize_t got = 0; (got = read(fd, block, sizeof block)) > 0;) {
    text.append(block, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

std::string field(std::string_view status, std::string_view name) {
  const std::string key = "\n" + std::string(name) + ":\t";
  const std::size_t at = status.find(key);
  if (at == std::string_view::npos) return "absent";
  const std::size_t from = at + key.size();
  return std::string(status.substr(from, status.find('\n', from) - from));
}

std::vector<std::string> names(const char* path) {
  std::vector<std::string> found;
  DIR* directory = opendir(path);
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') found.emplace_back(entry->d_name);
  }
  closedir(directory);
  std::sort(found.begin(), found.end());
  return found;
}

void files(const char* secret, const std::string& outside, const char* denied) {
  require(open(denied, O_RDONLY) < 0, "read-the-denied");
  require(open(secret, O_RDONLY) < 0, "read-the-secret");
  require(open((outside + "/made").c_str(), O_WRONLY | O_CREAT, 0600) < 0, "wrote-outside");
  require(open("/made", O_WRONLY | O_CREAT, 0600) < 0, "wrote-the-root");
  require(open("/usr/made", O_WRONLY | O_CREAT, 0600) < 0, "wrote-the-system");
  require(open("/etc/shadow", O_RDONLY) < 0, "read-shadow");
  struct statvfs root {};
  require(statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY) != 0, "root-writable");
}

void privileges() {
  const std::string status = content("/proc/self/status");
  require(field(status, "NoNewPrivs") == "1", "new-privileges");
  require(field(status, "Seccomp") == "2", "no-filter");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    require(field(status, set) == "0000000000000000", set);
  }
  require(field(status, "TracerPid") == "0", "traced");
  // Refused by the filter alone: none of the namespaces forbids it.
  require(syscall(SYS_bpf, 0, nullptr, 0) < 0 && errno == EPERM, "bpf");
  require(getuid() != 0 && geteuid() != 0, "root-inside");
}

void processes() {
  require(getppid() == 1 && getpid() < 10, "pid-namespace");
  // Same user, same pid namespace: only Landlock's scope refuses it.
  require(kill(1, 0) < 0 && errno == EPERM, "landlock-scope");
  for (int fd = 3; fd < 64; ++fd)
    require(fcntl(fd, F_GETFD) < 0, "descriptor" + std::to_string(fd));
}

void network() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  require(fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0,
          "network-route");
  close(fd);
}

// An existing protected file. A private copy may be written, the host's own may not; which of them
// it was is seen on the host.
void held(const char* path) {
  const int fd = open(path, O_WRONLY | O_TRUNC);
  if (fd >= 0) {
    require(write(fd, "changed\n", 8) == 8, std::string("cannot write ") + path);
    close(fd);
  }
  // Of a directory that is a private copy a file can be renamed, a single file that is one cannot.
  if (rename(path, (std::string(path) + ".gone").c_str()) == 0) unlink(path);
}

void leave_a_protected_file() {
  mkdir(".idea", 0755);
  const int fd = open(".idea/workspace.xml", O_WRONLY | O_CREAT, 0600);
  require(fd >= 0, "the-grant-is-not-writable");
  close(fd);
  const int config = open(".git/config", O_WRONLY | O_APPEND);
  if (config >= 0 && write(config, "[alias]\n", 8) != 8) require(false, "config");
  close(config);
}

// One word each: what can be seen, which limits hold, whose group this is.
std::string found() {
  std::string text;
  for (const char* path : {"/", "/etc", "/dev"}) {
    for (const std::string& name : names(path)) text += std::string(" sees:") + path + "/" + name;
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string entry = *variable;
    text += " env:" + entry.substr(0, entry.find('='));
  }
  for (const int resource : {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_DATA, RLIMIT_NPROC}) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    text += " limit:" + std::to_string(resource) + "=" + std::to_string(limit.rlim_max);
  }
  // The controllers in whose own group this run is, without its name.
  const std::string groups = content("/proc/self/cgroup");
  for (std::size_t at = 0; at < groups.size();) {
    const std::size_t end = groups.find('\n', at);
    const std::string line = groups.substr(at, end - at);
    if (line.find("/cordon-") != std::string::npos) {
      text += " group:" + line.substr(line.find(':') + 1, line.rfind(':') - line.find(':') - 1);
    }
    at = end == std::string::npos ? groups.size() : end + 1;
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  processes();  // first: what is opened below would count as inherited
  files(argv[2], argv[3], argv[4]);
  for (int i = 5; i < argc; ++i) held(argv[i]);
  leave_a_protected_file();
  privileges();
  network();
  const std::string verdict =
      broken.empty() ? "confined" + found() + "\n" : "broken" + broken + "\n";
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return 3;
  if (write(fd, verdict.data(), verdict.size()) != static_cast<ssize_t>(verdict.size())) return 3;
  return 0;
}
