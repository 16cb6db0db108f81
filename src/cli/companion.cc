#include "cli/companion.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "cli/own_executable.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "host/own_programs.h"

namespace cordon {

Result<std::string> main_program() {
  CORDON_TRY(self, own_executable());
  for (const std::string& place : own_places(parent(self), "cordon")) {
    std::unique_ptr<char, void (*)(void*)> found(::realpath(place.c_str(), nullptr), std::free);
    if (found && ::access(found.get(), X_OK) == 0) return std::string(found.get());
  }
  return fail(setup_error("cannot tell where cordon lies", 0,
                          "cordon mcp --print-config HOST prints what to write"));
}

int become_companion(const Verb& verb, std::span<const char* const> words) {
  const std::size_t blank = verb.name.find(' ');
  std::string group(verb.name.substr(0, blank));
  // Several verbs share one program, which is told which of them it is.
  const bool shared = group == "changes";
  const std::string name = shared ? "cordon-tools" : "cordon-" + group;
  const std::string sub_verb(verb.name.substr(blank + 1));
  const auto self = own_executable();
  std::vector<char*> argv;
  std::string first = name;
  std::string second = sub_verb;
  argv.push_back(first.data());
  if (shared) argv.push_back(group.data());
  argv.push_back(second.data());
  for (const char* word : words) argv.push_back(const_cast<char*>(word));
  argv.push_back(nullptr);
  int why = ENOENT;
  if (self) {
    for (const std::string& place : own_places(parent(*self), name)) {
      ::execv(place.c_str(), argv.data());
      if (errno != ENOENT && errno != ENOTDIR) why = errno;
    }
  }
  Error error = setup_error("cannot start " + name, why,
                            "it belongs beside cordon: install it, or build it with ./cordon");
  say_error(error);
  return verb.usage_status;
}

}  // namespace cordon
