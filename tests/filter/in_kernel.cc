// Asks the running kernel for the verdict of the compiled filter on every system-call number, and
// on the arguments that matter, and compares it with what the interpreter says of the same program.
//
// No call that is asked about is ever carried out. A second filter, installed before Cordon's,
// answers each call with an errno of its own. Of two answers the kernel takes the stricter, and of
// two errnos that of the filter installed last: so Cordon's refusal comes back as it is, and what
// Cordon allows comes back as kHeld. A call whose sixth argument is kPass is let through by the
// second filter; this program needs a few such calls, and none that is asked about has it.
//
// Prints a JSON object: what was asked, what was killed, and the differences. Status 0 if there are
// none.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foreign_program.h"
#include "sandbox/native/seccomp_filter.h"
#include "support/bpf_interpreter.h"
#include "support/filter_calls.h"

namespace cordon {
namespace {

constexpr std::uint32_t kPass = 0x0c0dd0;
constexpr int kHeld = 3003;        // an errno that no call has
constexpr int kNotInstalled = 99;  // status of a child
constexpr int kNotAsked = -1;      // beside errno values

struct Asked {
  std::uint32_t number;
  Arguments arguments;
  std::uint32_t verdict;  // of the interpreter
};

std::vector<std::string> differences;

std::string describe(const FilterProfile& profile, std::uint32_t number,
                     const Arguments& arguments) {
  const auto name = syscall_name(native_arch(), static_cast<int>(number));
  std::string text = "net " + std::to_string(static_cast<int>(profile.net));
  if (profile.brokered) text += " brokered";
  if (profile.shares_host) text += " shares_host";
  text += ": " + std::to_string(number) + " " + std::string(name.value_or("unknown")) + " (";
  for (const std::uint64_t argument : arguments) text += " " + std::to_string(argument);
  return text + " )";
}

void differ(std::string what) {
  if (differences.size() < 50) differences.push_back(std::move(what));
}

// The filter that keeps calls from being carried out.
std::vector<sock_filter> holding() {
  constexpr std::uint32_t kSixth = offsetof(seccomp_data, args) + 5 * sizeof(std::uint64_t);
  return {{BPF_LD | BPF_W | BPF_ABS, 0, 0, kSixth},
          {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kPass},
          {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
          {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | kHeld}};
}

long raw(std::uint32_t number, const Arguments& arguments, std::uint64_t sixth) {
  const auto signed_number = static_cast<long>(static_cast<int>(number));
  return ::syscall(signed_number, arguments[0], arguments[1], arguments[2], arguments[3], 0x5412UL,
                   sixth);
}

void install(std::vector<sock_filter>& program) {
  sock_fprog described{static_cast<unsigned short>(program.size()), program.data()};
  const Arguments arguments{SECCOMP_SET_MODE_FILTER, 0,
                            reinterpret_cast<std::uintptr_t>(&described), 0};
  if (raw(SYS_seccomp, arguments, kPass) != 0) ::_exit(kNotInstalled);
}

[[noreturn]] void leave(int status) {
  raw(SYS_exit_group, {static_cast<std::uint64_t>(status)}, kPass);
  __builtin_trap();
}

int status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The kernel's answers, in the order of `calls`. What is allocated is allocated before the filter.
std::vector<int> answers_of(std::vector<sock_filter> filter, const std::vector<Asked>& calls) {
  const std::size_t bytes = calls.size() * sizeof(int);
  void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  int* answers = static_cast<int*>(shared);
  for (std::size_t i = 0; i < calls.size(); ++i) answers[i] = kNotAsked;
  std::vector<sock_filter> outer = holding();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    install(outer);
    install(filter);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const long result = raw(calls[i].number, calls[i].arguments, 0);
      answers[i] = result == -1 ? errno : 0;
    }
    leave(0);
  }
  const int status = status_of(child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    differ("a child that asks the kernel ended with status " + std::to_string(status));
  }
  std::vector<int> found(answers, answers + calls.size());
  ::munmap(shared, bytes);
  return found;
}

// How the child of one call ended: its errno, or the negated signal that killed it. A status has
// eight bits, and only kHeld is expected to need more.
int outcome_of(int status) {
  if (WIFSIGNALED(status)) return -WTERMSIG(status);
  return WEXITSTATUS(status) == 255 ? kHeld : WEXITSTATUS(status);
}

[[noreturn]] void leave_with(int error) { leave(error == kHeld ? 255 : error); }

// How one call ends in a child of its own.
template <typename Act>
int alone(const std::vector<sock_filter>* filter, Act act) {
  std::vector<sock_filter> outer = holding();
  std::vector<sock_filter> inner = filter != nullptr ? *filter : std::vector<sock_filter>{};
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    install(outer);
    if (filter != nullptr) install(inner);
    leave_with(act());
  }
  return outcome_of(status_of(child));
}

// The same of `count` calls, each in a child of its own. The kernel compiles the filter once, for
// the process that starts these children: they have their parent's filters. kNotAsked: no child was
// made.
template <typename Act>
std::vector<int> each_alone(std::vector<sock_filter> filter, std::size_t count, Act act) {
  if (count == 0) return {};
  const std::size_t bytes = count * sizeof(int);
  void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  int* ends = static_cast<int*>(shared);
  for (std::size_t i = 0; i < count; ++i) ends[i] = kNotAsked;
  std::vector<sock_filter> outer = holding();
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    install(outer);
    install(filter);
    for (std::size_t i = 0; i < count; ++i) {
      const long child = raw(SYS_clone, {SIGCHLD, 0, 0, 0}, kPass);
      if (child == 0) leave_with(act(i));
      int status = 0;
      const Arguments wait{static_cast<std::uint64_t>(child),
                           reinterpret_cast<std::uintptr_t>(&status), 0, 0};
      if (child > 0 && raw(SYS_wait4, wait, kPass) == child) ends[i] = outcome_of(status);
    }
    leave(0);
  }
  if (const int status = status_of(parent); status != 0) {
    differ("the parent of many children ended with status " + std::to_string(status));
  }
  std::vector<int> found(ends, ends + count);
  ::munmap(shared, bytes);
  return found;
}

// For the trampolines that the kernel itself puts into a traced program. Newer kernels ask no
// filter about these calls; made by anybody else, uretprobe ends the caller and uprobe answers
// ENXIO. libseccomp has no name for the second.
constexpr std::uint32_t kUprobeOfX86 = 336;

std::vector<std::uint32_t> for_the_kernel_alone() {
  std::vector<std::uint32_t> numbers;
  if (const auto call = find_syscall("uretprobe")) {
    if (const auto number = call->number(native_arch()))
      numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  if (native_arch() == Arch::X86_64) numbers.push_back(kUprobeOfX86);
  return numbers;
}

std::vector<Asked> calls_for(const std::vector<sock_filter>& program) {
  BpfInterpreter interpreter(program);
  std::vector<Asked> calls;
  const std::vector<std::uint32_t> left_out = for_the_kernel_alone();
  const auto add = [&](std::uint32_t number, const Arguments& arguments) {
    const auto verdict = interpreter.run(call(token(native_arch()), number, arguments));
    if (!verdict) std::abort();
    if (std::ranges::find(left_out, number) != left_out.end()) return;
    calls.push_back({number, arguments, *verdict});
  };
  constexpr std::uint64_t kNoise = std::uint64_t{0xdeadbeef} << 32;
  for (const std::uint32_t high : {0U, 0x40000000U, 0x80000000U, 0xc0000000U}) {
    for (std::uint32_t number = 0; number < kNumbers; ++number) {
      for (Arguments arguments : kUsualArguments) {
        add(number | high, arguments);
        for (std::uint64_t& argument : arguments) argument |= kNoise;
        add(number | high, arguments);
      }
    }
  }
  for (const std::uint32_t number : kOddNumbers) add(number, {});
  for (const auto& [name, values] : interesting()) {
    const auto number = find_syscall(name)->number(native_arch());
    if (!number) continue;
    for (const auto first : values[0])
      for (const auto second : values[1])
        for (const auto third : values[2])
          for (const auto fourth : values[3])
            add(static_cast<std::uint32_t>(*number), {first, second, third, fourth});
  }
  return calls;
}

int expected_answer(std::uint32_t verdict) {
  // Of the supervisor's answer and the second filter's errno, the errno is the stricter.
  if (verdict == SECCOMP_RET_ALLOW || verdict == SECCOMP_RET_USER_NOTIF) return kHeld;
  if ((verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO) {
    return static_cast<int>(verdict & SECCOMP_RET_DATA);
  }
  return verdict == SECCOMP_RET_KILL_PROCESS ? -SIGSYS : kNotAsked;
}

struct Account {
  std::size_t answers = 0;
  std::size_t killed = 0;
  std::size_t left_to_supervisor = 0;
  std::size_t int80 = 0;
  std::size_t kernels_own = 0;
  std::string program32 = "none";
};

void compare(const FilterProfile& profile, const std::vector<Asked>& living,
             const std::vector<int>& answers, Account& account) {
  for (std::size_t i = 0; i < living.size(); ++i) {
    ++account.answers;
    if (answers[i] == expected_answer(living[i].verdict)) continue;
    differ(describe(profile, living[i].number, living[i].arguments) + ": kernel " +
           std::to_string(answers[i]) + ", interpreter " +
           std::to_string(expected_answer(living[i].verdict)));
  }
}

void ask_all(const FilterProfile& profile, std::size_t each, Account& account) {
  const std::vector<sock_filter> filter = compile_filter(native_arch(), profile);
  std::vector<Asked> living;
  std::vector<Asked> killed;
  for (const Asked& asked : calls_for(filter)) {
    (expected_answer(asked.verdict) == -SIGSYS ? killed : living).push_back(asked);
  }
  compare(profile, living, answers_of(filter, living), account);
  // Each of the children below would get the pages of it.
  living = {};
  // The gate is the same code for every profile; one number costs a process, twice.
  if (profile.net != NetMode::None || profile.brokered) return;
  const auto same_number = [](const Asked& one, const Asked& other) {
    return one.number == other.number;
  };
  killed.erase(std::unique(killed.begin(), killed.end(), same_number), killed.end());
  std::erase_if(killed, [each](const Asked& one) { return one.number % each != 0; });
  const auto act = [&](std::size_t i) {
    return raw(killed[i].number, killed[i].arguments, 0) == -1 ? errno : 0;
  };
  const std::vector<int> found = each_alone(filter, killed.size(), act);
  for (std::size_t i = 0; i < killed.size(); ++i) {
    const Asked& asked = killed[i];
    if (found[i] != -SIGSYS) {
      differ(describe(profile, asked.number, asked.arguments) + ": not killed but " +
             std::to_string(found[i]));
    }
    ++account.killed;
    // Without the filter the same number is only held: it was the filter that killed.
    if (asked.number % 64 == 0 && alone(nullptr, [&] { return act(i); }) != kHeld) {
      differ(describe(profile, asked.number, asked.arguments) + ": killed without the filter too");
    }
  }
}

// Held by the filter, as on older kernels, or nothing but the end of the caller or an error.
void ask_for_the_kernels_own(Account& account) {
  for (const std::uint32_t number : for_the_kernel_alone()) {
    const int found = alone(nullptr, [&] { return raw(number, {}, 0) == -1 ? errno : 0; });
    const int otherwise = number == kUprobeOfX86 ? ENXIO : -SIGILL;
    if (found != kHeld && found != otherwise) {
      differ(std::to_string(number) + " of the kernel's own: " + std::to_string(found));
    }
    ++account.kernels_own;
  }
}

// connect, bind and listen reach the kernel here, on no descriptor at all. Without a listener a
// call that is left to the supervisor answers ENOSYS.
void ask_supervised(const FilterProfile& profile, Account& account) {
  const std::vector<sock_filter> filter = compile_filter(native_arch(), profile);
  BpfInterpreter interpreter(filter);
  for (const char* name : {"connect", "bind", "listen", "renameat2"}) {
    const auto number = static_cast<std::uint32_t>(*find_syscall(name)->number(native_arch()));
    const Arguments arguments{kAllBits, 0, 0, 0};
    const auto verdict = interpreter.run(call(token(native_arch()), number, arguments));
    const bool supervised = verdict == SECCOMP_RET_USER_NOTIF;
    const int found =
        alone(&filter, [&] { return raw(number, arguments, kPass) == -1 ? errno : 0; });
    // Of a rename the flags are looked at first, and there are none such.
    const int bare = std::string_view(name) == "renameat2" ? EINVAL : EBADF;
    if (found != (supervised ? ENOSYS : bare)) {
      differ(describe(profile, number, arguments) + ": " + std::to_string(found));
    }
    if (supervised) ++account.left_to_supervisor;
  }
}

#if defined(__x86_64__)
// A call of i386 from a 64-bit program: other numbers for other calls, and another architecture for
// the filter.
int call_by_int80(std::uint32_t number) {
  long result = number;
  asm volatile("int $0x80"
               : "+a"(result)
               : "b"(0L), "c"(0L), "d"(0L), "S"(0L), "D"(0L)
               : "memory", "r8", "r9", "r10", "r11");
  const int answer = static_cast<int>(result);
  return answer < 0 ? -answer : 0;
}

void ask_int80(std::size_t each, Account& account) {
  const std::vector<sock_filter> filter = compile_filter(native_arch(), {});
  if (const int found = alone(nullptr, [] { return call_by_int80(20); }); found != kHeld) {
    differ("int 0x80 does not lead to a filter at all: " + std::to_string(found));
    return;
  }
  constexpr std::size_t kInt80Numbers = 512;
  const std::vector<int> found = each_alone(filter, kInt80Numbers / each, [each](std::size_t i) {
    return call_by_int80(static_cast<std::uint32_t>(i * each));
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != -SIGSYS) {
      differ("int 0x80 with " + std::to_string(i * each) + ": " + std::to_string(found[i]));
    }
    ++account.int80;
  }
}
#else
void ask_int80(std::size_t, Account&) {}
#endif

// A program of the 32-bit architecture that the kernel runs beside this one, if it runs any.
void ask_program32(Account& account) {
  const ForeignProgram program = foreign_program();
  const auto execute = [&](const std::vector<sock_filter>* filter) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      std::vector<sock_filter> copy = filter != nullptr ? *filter : std::vector<sock_filter>{};
      if (filter != nullptr) install(copy);
      program.execute();
      ::_exit(errno == ENOEXEC ? kNotInstalled - 1 : kNotInstalled);
    }
    return status_of(child);
  };
  const int control = execute(nullptr);
  if (WIFEXITED(control) && WEXITSTATUS(control) == kNotInstalled - 1) return;
  if (!WIFEXITED(control) || WEXITSTATUS(control) != kForeignStatus) {
    differ("a 32-bit program ends with status " + std::to_string(control) + " without a filter");
    return;
  }
  const std::vector<sock_filter> filter = compile_filter(native_arch(), {});
  const int held = execute(&filter);
  const bool killed = WIFSIGNALED(held) && WTERMSIG(held) == SIGSYS;
  account.program32 = killed ? "killed" : "not killed";
  if (!killed) differ("a 32-bit program ends with status " + std::to_string(held));
}

std::vector<FilterProfile> all_profiles() {
  std::vector<FilterProfile> profiles(std::begin(kProfiles), std::end(kProfiles));
  profiles.push_back({NetMode::None, true, true});
  return profiles;
}

// Of the numbers that cost a process each, those that `each` divides.
int ask(const std::vector<FilterProfile>& profiles, std::size_t each) {
  // A killed process would leave its memory behind as a file.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  Account account;
  for (const FilterProfile& profile : profiles) {
    ask_all(profile, each, account);
    ask_supervised(profile, account);
  }
  ask_for_the_kernels_own(account);
  ask_int80(each, account);
  ask_program32(account);
  std::printf(
      "{\"architecture\": \"%s\", \"answers\": %zu, \"killed\": %zu, \"supervised\": %zu, "
      "\"int80\": %zu, \"kernels_own\": %zu, \"program32\": \"%s\", \"differences\": [",
      std::string(name_of(native_arch())).c_str(), account.answers, account.killed,
      account.left_to_supervisor, account.int80, account.kernels_own, account.program32.c_str());
  const char* separator = "";
  for (const std::string& difference : differences) {
    std::printf("%s\"%s\"", separator, difference.c_str());
    separator = ", ";
  }
  std::printf("]}\n");
  return differences.empty() ? 0 : 1;
}

}  // namespace
}  // namespace cordon

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "few") {
    return cordon::ask({{cordon::NetMode::None}, {cordon::NetMode::Allow}}, 8);
  }
  if (count != 1) {
    std::fprintf(stderr, "usage: %s [few]\n", words[0]);
    return 2;
  }
  return cordon::ask(cordon::all_profiles(), 1);
}
