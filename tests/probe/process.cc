// Attempts on other processes and on what a process may know about itself.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <csignal>

#include <grp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

volatile char target_secret[32] = "TARGET-MEMORY-SECRET";
const char kReadOnly[16] = "untouched";

pid_t pid_of(const std::string& text) { return static_cast<pid_t>(number(text)); }

void sleep_milliseconds(long milliseconds) {
  const timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000};
  nanosleep(&time, nullptr);
}

std::string status_line(const std::string& status, const std::string& key) {
  const std::size_t at = status.find("\n" + key + ":");
  if (at == std::string::npos) return key + "=?";
  std::size_t begin = at + key.size() + 2;
  while (begin < status.size() && (status[begin] == '\t' || status[begin] == ' ')) ++begin;
  return key + "=" + status.substr(begin, status.find('\n', begin) - begin);
}

// A process for other attempts to aim at: says where its secret lies, then waits to be killed.
Verdict be_target(const Arguments&) {
  std::printf("%d %#lx\n", getpid(), reinterpret_cast<unsigned long>(&target_secret[0]));
  std::fflush(stdout);
  alarm(3600);  // longer than any suite that aims at it
  while (true) pause();
}

Verdict ptrace_process(const Arguments& a) {
  const long result = ptrace(PTRACE_SEIZE, pid_of(a[0]), nullptr, nullptr);
  return by_result(result);  // the seize ends with this process
}

Verdict process_vm(const Arguments& a) {
  char buffer[32] = {};
  const iovec local = {buffer, sizeof buffer - 1};
  const iovec remote = {reinterpret_cast<void*>(number(a[1])), sizeof buffer - 1};
  const ssize_t got = process_vm_readv(pid_of(a[0]), &local, 1, &remote, 1, 0);
  return by_result(got, buffer);
}

Verdict process_vm_write(const Arguments& a) {
  char buffer[1] = {'T'};
  const iovec local = {buffer, 1};
  const iovec remote = {reinterpret_cast<void*>(number(a[1])), 1};
  return by_result(process_vm_writev(pid_of(a[0]), &local, 1, &remote, 1, 0));
}

Verdict process_memory(const Arguments& a) {
  const int fd = open(("/proc/" + a[0] + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return refused("open");
  char buffer[32] = {};
  return by_result(pread(fd, buffer, sizeof buffer - 1, number(a[1])), buffer);
}

Verdict first_process_memory(const Arguments&) {
  return by_result(open("/proc/1/mem", O_RDWR | O_CLOEXEC));
}

Verdict environ_of(const Arguments& a) {
  const int fd = open(("/proc/" + a[0] + "/environ").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused("open");
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  if (got < 0) return refused("read");
  return done(std::string(buffer, static_cast<std::size_t>(got)));
}

Verdict signal_process(const Arguments& a) {
  const int signal = a.size() > 1 ? static_cast<int>(number(a[1])) : SIGCONT;
  return by_result(kill(pid_of(a[0]), signal));
}

Verdict signal_by_pidfd(const Arguments& a) {
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid_of(a[0]), 0));
  if (fd < 0) return refused("pidfd_open");
  return by_result(syscall(SYS_pidfd_send_signal, fd, SIGCONT, nullptr, 0));
}

Verdict take_descriptor(const Arguments& a) {
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid_of(a[0]), 0));
  if (fd < 0) return refused("pidfd_open");
  return by_result(syscall(SYS_pidfd_getfd, fd, static_cast<int>(number(a[1])), 0));
}

// Read-only pages of one's own can be written this way: the kernel forces the access.
Verdict write_own_memory(const Arguments&) {
  const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (fd < 0) return refused("open");
  const auto address = reinterpret_cast<off_t>(&kReadOnly[0]);
  return by_result(pwrite(fd, "X", 1, address));
}

Verdict capabilities(const Arguments&) {
  const std::string status = read_whole("/proc/self/status");
  if (status.empty()) return refused("status");
  std::string text;
  bool any = false;
  for (const char* key : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    const std::string line = status_line(status, key);
    any = any || line.find_first_not_of('0', line.find('=') + 1) != std::string::npos;
    text += (text.empty() ? "" : " ") + line;
  }
  return {any, 0, text};
}

Verdict show_status(const Arguments&) {
  const std::string status = read_whole("/proc/self/status");
  if (status.empty()) return refused("status");
  std::string text;
  for (const char* key : {"NoNewPrivs", "Seccomp", "Seccomp_filters", "Uid", "Gid", "NSpid"}) {
    text += (text.empty() ? "" : ";") + status_line(status, key);
  }
  return done(text);
}

Verdict groups(const Arguments&) {
  gid_t list[256];
  const int count = getgroups(256, list);
  if (count < 0) return refused();
  std::string text = "uid=" + std::to_string(geteuid()) + " gid=" + std::to_string(getegid());
  for (int i = 0; i < count; ++i) text += " " + std::to_string(list[i]);
  return done(text);
}

Verdict namespaces(const Arguments&) {
  std::string text;
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    char target[128];
    const ssize_t size =
        readlink((std::string("/proc/self/ns/") + kind).c_str(), target, sizeof target);
    if (size < 0) return refused(kind);
    text += (text.empty() ? "" : " ") + std::string(target, static_cast<std::size_t>(size));
  }
  return done(text);
}

Verdict show_environment(const Arguments&) {
  std::string text;
  for (char** entry = environ; *entry != nullptr; ++entry) text += std::string(*entry) + "\n";
  return done(text);
}

Verdict process_ids(const Arguments&) {
  return done("pid=" + std::to_string(getpid()) + " ppid=" + std::to_string(getppid()) +
              " sid=" + std::to_string(getsid(0)) + " pgid=" + std::to_string(getpgid(0)));
}

Verdict be_undumpable(const Arguments&) { return by_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }

// Stays under a marker that a census of the host finds; if given a file, keeps writing to it.
Verdict linger(const Arguments& a) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  const int fd = a.size() > 2 ? open(a[2].c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
  for (long left = number(a[1]) * 100; left > 0; --left) {
    if (fd >= 0 && write(fd, ".", 1) < 0) return refused("write");
    sleep_milliseconds(10);
  }
  return done();
}

// Executes `linger` with the given arguments from a process nobody waits for.
void start_daemon(const Arguments& a) {
  const pid_t first = fork();
  if (first == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    setsid();
    Arguments words = {"probe", "linger"};
    words.insert(words.end(), a.begin(), a.end());
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    execv("/proc/self/exe", raw.data());
    _exit(97);
  }
  if (first > 0) waitpid(first, nullptr, 0);
}

Verdict daemonize(const Arguments& a) {
  start_daemon(a);
  return done();
}

Verdict orphans(const Arguments& a) {
  for (long i = number(a[0]); i > 0; --i) start_daemon({a[1], a[2]});
  return done();
}

Verdict ignore_signals(const Arguments& a) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  std::printf("ready\n");
  std::fflush(stdout);
  sleep_milliseconds(number(a[0]) * 1000);
  return done();
}

volatile sig_atomic_t seen_signal = 0;

Verdict catch_signal(const Arguments& a) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    std::signal(signal, [](int number_seen) { seen_signal = number_seen; });
  }
  std::printf("ready\n");
  std::fflush(stdout);
  for (long left = number(a[0]) * 100; left > 0 && seen_signal == 0; --left) sleep_milliseconds(10);
  if (seen_signal == 0) return {false, 0, "none"};
  return done(std::string("SIG") + sigabbrev_np(seen_signal));
}

Verdict stop_self(const Arguments& a) {
  raise(SIGSTOP);
  sleep_milliseconds(number(a[0]) * 1000);
  return done();
}

// Holds the standard streams open in a child of a parent that ends at once.
Verdict hold_pipes(const Arguments& a) {
  const pid_t child = fork();
  if (child == 0) {
    sleep_milliseconds(number(a[0]) * 1000);
    _exit(0);
  }
  return by_result(child);
}

Verdict end_by_signal(const Arguments& a) {
  const auto signal_number = static_cast<int>(number(a[0]));
  std::signal(signal_number, SIG_DFL);
  kill(getpid(), signal_number);
  sleep_milliseconds(1000);
  return {false, 0, "still here"};
}

constexpr Attempt kAttempts[] = {
    {"target", "", 0, be_target},
    {"ptrace", "PID", 1, ptrace_process},
    {"process-vm", "PID ADDRESS", 2, process_vm},
    {"process-vm-write", "PID ADDRESS", 2, process_vm_write},
    {"proc-mem", "PID ADDRESS", 2, process_memory},
    {"proc1-mem", "", 0, first_process_memory},
    {"environ-of", "PID", 1, environ_of},
    {"kill", "PID [SIGNAL]", 1, signal_process},
    {"pidfd-kill", "PID", 1, signal_by_pidfd},
    {"pidfd-getfd", "PID FD", 2, take_descriptor},
    {"self-mem-write", "", 0, write_own_memory},
    {"caps", "", 0, capabilities},
    {"status", "", 0, show_status},
    {"groups", "", 0, groups},
    {"ns", "", 0, namespaces},
    {"env", "", 0, show_environment},
    {"ids", "", 0, process_ids},
    {"dumpable", "", 0, be_undumpable},
    {"linger", "MARKER SECONDS [FILE]", 2, linger},
    {"daemonize", "MARKER SECONDS [FILE]", 2, daemonize},
    {"orphans", "N MARKER SECONDS", 3, orphans},
    {"ignore-signals", "SECONDS", 1, ignore_signals},
    {"catch-signal", "SECONDS", 1, catch_signal},
    {"stop-self", "SECONDS", 1, stop_self},
    {"hold-pipes", "SECONDS", 1, hold_pipes},
    {"raise", "SIGNAL", 1, end_by_signal},
};

}  // namespace

std::span<const Attempt> process_attempts() { return kAttempts; }

}  // namespace probe
