#include "backend/native/in_child.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace cordon::native {

int resource_of(std::string_view name) {
  if (name == "nofile") return RLIMIT_NOFILE;
  if (name == "nproc") return RLIMIT_NPROC;
  if (name == "data") return RLIMIT_DATA;
  if (name == "fsize") return RLIMIT_FSIZE;
  if (name == "cpu") return RLIMIT_CPU;
  if (name == "core") return RLIMIT_CORE;
  return -1;
}

void default_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int signal : {SIGCHLD, SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool end_the_rest(TreeUsage& used) {
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  // Anything else than "no child is left" means that one may live.
  if (errno != ECHILD) return false;
  rusage usage{};
  if (::getrusage(RUSAGE_CHILDREN, &usage) < 0) return true;
  const auto micro = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
  };
  used.cpu_us = micro(usage.ru_utime) + micro(usage.ru_stime);
  used.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return true;
}

}  // namespace cordon::native
