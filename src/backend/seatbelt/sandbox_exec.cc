#include "backend/seatbelt/sandbox_exec.h"

#include <sys/wait.h>

#include "backend/seatbelt/keeper.h"
#include "base/text.h"

namespace cordon::seatbelt {
namespace {

constexpr int kPatience = 5000;
constexpr const char* kPermits = "(version 1)\n(allow default)\n";
constexpr const char* kDenies = "(version 1)\n(allow default)\n(deny file-write*)\n";

Error dead(const std::string& program, const std::string& what) {
  return {.kind = ErrorKind::Unavailable,
          .what = quote(program) + " " + what,
          .hint = "the command was not started; there is no other mechanism on this system"};
}

Result<bool> writes(const std::string& program, const char* profile) {
  Start start;
  start.argv = sandboxed(program, profile, {"/bin/sh", "-c", ": > /dev/null"});
  start.cwd = "/";
  CORDON_TRY(status, run_briefly(start, kPatience));
  if (!status) return fail(dead(program, "did not end within 5 s"));
  return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

}  // namespace

std::vector<std::string> sandboxed(const std::string& program, const std::string& profile,
                                   const std::vector<std::string>& command) {
  std::vector<std::string> argv{program, "-p", profile};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

Result<void> check_sandbox_exec(const std::string& program) {
  CORDON_TRY(works, writes(program, kPermits));
  if (!works) return fail(dead(program, "cannot run a command"));
  CORDON_TRY(escapes, writes(program, kDenies));
  if (escapes) return fail(dead(program, "does not confine what it runs"));
  return {};
}

}  // namespace cordon::seatbelt
