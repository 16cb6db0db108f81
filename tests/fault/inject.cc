// Runs a command, lets exactly one system call of exactly one of its processes fail (or kills that
// process at it), and tells what became of the command and whether anything of it was left.
//
//   inject FD trace -- CMD...                         every call: "call ROLE NAME OCCURRENCE"
//   inject FD ROLE NAME OCCURRENCE ERRNO|SIGKILL -- CMD...
//
// Answers go to descriptor FD. ROLE counts processes in the order of their making: 0 the command
// itself, 1 its first child, ... A process below role 0 is let go once it executes a program,
// unless its role is at most $FAULT_KEPT_ROLES: those execute programs that belong to the start.
// Threads have no role: in which order they are made and what they do differs from run to run.
// strace counts occurrences in every process at once and so cannot fail the third write of the
// first child alone, which is why this is here; for role 0 the occurrences are those of strace.
#include <elf.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct SystemCall {
  const char* name;
  int aarch64;
  int x86_64;
};

constexpr SystemCall kCalls[] = {
#include "syscall_numbers.inc"
};

#if defined(__aarch64__)
int number_of(const SystemCall& call) { return call.aarch64; }
#else
int number_of(const SystemCall& call) { return call.x86_64; }
#endif

const char* name_of(std::uint64_t number) {
  for (const SystemCall& call : kCalls) {
    if (number_of(call) == static_cast<int>(number)) return call.name;
  }
  return "unknown";
}

struct NamedError {
  const char* name;
  int number;
};
constexpr NamedError kErrors[] = {{"ENOSPC", ENOSPC}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM},
                                  {"EINTR", EINTR},   {"EIO", EIO},       {"EPERM", EPERM}};

struct Wanted {
  bool trace = false;
  int role = 0;
  std::string call;
  unsigned occurrence = 0;
  int error = 0;  // 0: SIGKILL
};

struct Tracee {
  int role = 0;
  bool counting = false;  // role 0 before its program, and everything that was let go, is not
  bool started = false;   // past the stop every traced process begins with
  bool failing = false;   // between the entry and the exit of the chosen call
  std::map<std::uint64_t, unsigned> seen;
};

// Of a machine that stands still for some seconds now and then: a hang is for good.
constexpr int kHangSeconds = 20;
constexpr int kLeftSeconds = 10;
volatile sig_atomic_t alarmed = 0;
int answers = -1;

void on_alarm(int) { alarmed = 1; }

void answer(const std::string& line) {
  if (write(answers, line.data(), line.size()) < 0) _exit(2);
}

void set_alarm(int seconds) {
  alarmed = 0;
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Keeps the kernel from carrying out the call at whose entry the process stands.
void skip_call(pid_t pid) {
#if defined(__aarch64__)
  int none = -1;
  iovec data{&none, sizeof none};
  ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &data);
#else
  ptrace(PTRACE_POKEUSER, pid, 8 * 15, -1L);                        // orig_rax
#endif
}

void set_answer(pid_t pid, int error) {
#if defined(__aarch64__)
  user_regs_struct registers{};
  iovec data{&registers, sizeof registers};
  ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &data);
  registers.regs[0] = static_cast<unsigned long long>(-error);
  ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &data);
#else
  ptrace(PTRACE_POKEUSER, pid, 8 * 10, static_cast<long>(-error));  // rax
#endif
}

class Tracer {
 public:
  Tracer(Wanted wanted, pid_t command) : wanted_(std::move(wanted)), command_(command) {
    tracees_[command].role = 0;
  }

  // Until nothing of the command is left, or too long.
  void run() {
    set_alarm(kHangSeconds);
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == ECHILD) break;
      if (alarmed) {
        answer(ended_ ? "left\n" : "hang\n");
        kill_everything(getpid());
        set_alarm(kLeftSeconds);
      }
      if (pid < 0) continue;
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        tracees_.erase(pid);
        if (pid == command_) command_ended(status);
      } else if (WIFSTOPPED(status)) {
        stopped(pid, status);
      }
    }
    if (hit_) answer("hit\n");
  }

 private:
  void command_ended(int status) {
    answer(WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status)) + "\n"
                             : "signal " + std::to_string(WTERMSIG(status)) + "\n");
    ended_ = true;
    set_alarm(kLeftSeconds);
  }

  static void kill_everything(pid_t above) {
    const std::string id = std::to_string(above);
    std::FILE* list = std::fopen(("/proc/" + id + "/task/" + id + "/children").c_str(), "r");
    if (list == nullptr) return;
    int child = 0;
    std::vector<pid_t> children;
    while (std::fscanf(list, "%d", &child) == 1) children.push_back(child);
    std::fclose(list);
    for (const pid_t pid : children) {
      kill_everything(pid);
      kill(pid, SIGKILL);
    }
  }

  static bool is_thread(pid_t pid) {
    const std::string id = std::to_string(pid);
    std::FILE* status = std::fopen(("/proc/" + id + "/status").c_str(), "r");
    if (status == nullptr) return false;
    int group = pid;
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
      if (std::sscanf(line, "Tgid: %d", &group) == 1) break;
    }
    std::fclose(status);
    return group != pid;
  }

  static int kept_roles() {
    const char* text = std::getenv("FAULT_KEPT_ROLES");
    return text == nullptr ? 0 : std::atoi(text);
  }

  void stopped(pid_t pid, int status) {
    const auto [place, is_new] = tracees_.try_emplace(pid);
    Tracee& tracee = place->second;
    if (is_new) {
      const bool thread = is_thread(pid);
      tracee.role = thread ? kThread : next_role_++;
      tracee.counting = !thread;
    }
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    int deliver = 0;
    bool let_go = false;
    if (signal == (SIGTRAP | 0x80)) {
      at_call(pid, tracee);
      let_go = done_ && !tracee.failing;
    } else if (event == PTRACE_EVENT_EXEC) {
      let_go = tracee.role > kept_roles_;
      tracee.counting = true;
    } else if (event == 0) {
      deliver = signal == SIGSTOP && !tracee.started ? 0 : signal;
    }
    tracee.started = true;
    // The chosen call is past: what remains runs at its own speed.
    if (let_go) {
      ptrace(PTRACE_DETACH, pid, nullptr, static_cast<long>(deliver));
    } else {
      ptrace(PTRACE_SYSCALL, pid, nullptr, static_cast<long>(deliver));
    }
  }

  void at_call(pid_t pid, Tracee& tracee) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) < 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (!tracee.failing) return;
      set_answer(pid, wanted_.error);
      tracee.failing = false;
      return;
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !tracee.counting) return;
    const unsigned occurrence = ++tracee.seen[info.entry.nr];
    const char* name = name_of(info.entry.nr);
    if (wanted_.trace) {
      answer("call " + std::to_string(tracee.role) + " " + name + " " + std::to_string(occurrence) +
             "\n");
      return;
    }
    if (done_ || tracee.role != wanted_.role || occurrence != wanted_.occurrence ||
        wanted_.call != name) {
      return;
    }
    done_ = hit_ = true;
    if (wanted_.error == 0) {
      kill(pid, SIGKILL);
      return;
    }
    tracee.failing = true;
    // A close that fails has closed nevertheless.
    if (wanted_.call != "close") skip_call(pid);
  }

  Wanted wanted_;
  pid_t command_;
  std::map<pid_t, Tracee> tracees_;
  static constexpr int kThread = -1;
  int next_role_ = 1;
  int kept_roles_ = kept_roles();
  bool ended_ = false;
  bool done_ = false;
  bool hit_ = false;
};

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: inject FD trace -- CMD...\n"
               "       inject FD ROLE NAME OCCURRENCE ERRNO|SIGKILL -- CMD...\n");
  std::exit(2);
}

int error_of(const std::string& name) {
  if (name == "SIGKILL") return 0;
  for (const NamedError& error : kErrors) {
    if (name == error.name) return error.number;
  }
  usage();
}

Wanted parse(int argc, char** argv, int& command) {
  Wanted wanted;
  if (argc > 4 && std::strcmp(argv[2], "trace") == 0) {
    wanted.trace = true;
    command = 3;
  } else if (argc > 7) {
    wanted.role = std::atoi(argv[2]);
    wanted.call = argv[3];
    wanted.occurrence = static_cast<unsigned>(std::atoi(argv[4]));
    wanted.error = error_of(argv[5]);
    command = 6;
  } else {
    usage();
  }
  if (std::strcmp(argv[command++], "--") != 0 || command >= argc) usage();
  return wanted;
}

}  // namespace

int main(int argc, char** argv) {
  int first = 0;
  Wanted wanted = parse(argc, argv, first);
  answers = std::atoi(argv[1]);
  if (fcntl(answers, F_SETFD, FD_CLOEXEC) < 0) usage();
  // What the command leaves behind becomes a child of this process, and so cannot be overlooked.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  struct sigaction action {};
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  const pid_t command = fork();
  if (command < 0) return 2;
  if (command == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) < 0) _exit(2);
    raise(SIGSTOP);
    execv(argv[first], argv + first);
    _exit(2);
  }
  int status = 0;
  if (waitpid(command, &status, 0) != command || !WIFSTOPPED(status)) return 2;
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, command, nullptr, options) < 0) return 2;
  Tracer tracer(std::move(wanted), command);
  ptrace(PTRACE_SYSCALL, command, nullptr, nullptr);
  tracer.run();
  return 0;
}
