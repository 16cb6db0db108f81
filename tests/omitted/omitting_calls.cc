// Two functions of the C library, wrapped by the linker (--wrap).
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "omitted_layer.h"

extern "C" {

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);
int __real_execveat(int directory, const char* path, char* const* argv, char* const* environment,
                    int flags);
int __wrap_execveat(int directory, const char* path, char* const* argv, char* const* environment,
                    int flags);

// The first process means "everybody in the sandbox" by -1. Without a pid namespace that is
// everybody whom it may signal.
int __wrap_kill(pid_t pid, int signal) {
  using cordon::omitted::OmittedLayer;
  if (pid == -1 && cordon::omitted::leaves_out(OmittedLayer::Pid)) return 0;
  return __real_kill(pid, signal);
}

// Bubblewrap is executed without an environment, and what it executes has to know what to leave
// out.
int __wrap_execveat(int directory, const char* path, char* const* argv, char* const*, int flags) {
  static std::string layers;
  const char* value = ::getenv("CORDON_OMIT");
  layers = std::string("CORDON_OMIT=") + (value == nullptr ? "" : value);
  std::array<char*, 2> passed{layers.data(), nullptr};
  return __real_execveat(directory, path, argv, passed.data(), flags);
}
}
