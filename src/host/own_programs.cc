#include "host/own_programs.h"

#include <unistd.h>

#include <cerrno>

#include "base/path.h"

namespace cordon {

std::vector<std::string> own_places(std::string_view directory, std::string_view name) {
  constexpr std::string_view kTyped = CORDON_BIN;
  constexpr std::string_view kStarted = CORDON_LIBEXEC "/cordon";
  // What the layout is called is part of it: a program that was copied to /tmp/x must not start
  // what somebody put into /tmp/bin.
  const auto beside = [&](std::string_view own, std::string_view other) -> std::string {
    std::string_view prefix = directory;
    for (std::size_t i = 0; i < components(own).size(); ++i) prefix = parent(prefix);
    if (join(prefix, own) != directory) return {};
    return join(join(prefix, other), name);
  };
  std::vector<std::string> places{join(directory, name)};
  for (std::string place : {beside(kTyped, kStarted), beside(kStarted, kTyped)})
    if (!place.empty()) places.push_back(std::move(place));
  return places;
}

std::vector<std::string> own_programs(const Caller& caller) {
  if (caller.executable.empty()) return {};
  std::vector<std::string> programs{caller.executable};
  for (const char* name :
       {"cordon", "cordon-apply", "cordon-gate", "cordon-inside", "cordon-ship", "cordon-tools"}) {
    for (std::string& place : own_places(parent(caller.executable), name))
      programs.push_back(std::move(place));
  }
  return programs;
}

Result<std::string> own_program(const Caller& caller, std::string_view name) {
  for (const std::string& place : own_places(parent(caller.executable), name)) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return fail(setup_error("cannot find " + std::string(name), ENOENT,
                          "it belongs beside cordon: install it, or build it with ./cordon"));
}

}  // namespace cordon
