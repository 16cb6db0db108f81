// A program in the place of bubblewrap that does not do what it is asked to. Each build has one
// behaviour; the tests are test_impostors.py.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

enum class Behaviour {
  NoNamespaces,  // executes the first process where it is
  HostRoot,      // in every namespace, with the host's files
  Mute,          // never answers
  Old,           // lacks an option
  Failing,       // says why it gives up
};

constexpr Behaviour kBehaviour = Behaviour::CORDON_IMPOSTOR;

constexpr const char* kOptions[] = {
    "--args",    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
    "--uid",     "--unshare-net",  "--gid",         "--as-pid-1",    "--unshare-cgroup",
    "--cap-add", "--perms",        "--size",        "--tmpfs",       "--dev-bind"};

int help() {
  for (const char* option : kOptions) std::printf("    %s\n", option);
  if (kBehaviour != Behaviour::Old) std::puts("    --bind-fd FD DEST\n    --ro-bind-fd FD DEST");
  return 0;
}

int run(char** words) {
  while (*words != nullptr && std::strcmp(*words, "--") != 0) ++words;
  if (*words == nullptr) return 1;
  if (kBehaviour == Behaviour::HostRoot) {
    constexpr int kAll = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                         CLONE_NEWCGROUP | CLONE_NEWNET;
    if (::unshare(kAll) < 0) return 1;
    const pid_t first = ::fork();
    if (first != 0) return ::waitpid(first, nullptr, 0) < 0 ? 1 : 0;
  }
  ::execv(words[1], words + 1);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (kBehaviour == Behaviour::Mute) ::pause();
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) return help();
  if (kBehaviour == Behaviour::Failing) {
    std::fputs("bwrap: I would rather \033[31mnot\n", stderr);
    return 1;
  }
  return run(argv + 1);
}
