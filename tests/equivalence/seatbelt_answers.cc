// Answers attempts of the probe as a Seatbelt profile would, by the evaluator. No macOS takes part.
//
//   seatbelt_answers [OPTION of `cordon run`]... CMD <ATTEMPTS
//
// The policy is judged on this host as for a run. Attempts and answers are in the probe's own form;
// an attempt that a profile does not concern has "ok": null. A policy that no profile can hold is
// {"error": ...} and the status 125.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "compat/seatbelt/profile.h"
#include "config/node.h"
#include "faces/cli/arguments.h"
#include "faces/cli/policy_options.h"
#include "host/resolve.h"
#include "run/line.h"
#include "support/sbpl_evaluator.h"

namespace {

using namespace cordon;
using testing::SbplProfile;

constexpr auto kReading = std::to_array<std::string_view>({"list", "open-read", "read", "stat"});
constexpr auto kWriting =
    std::to_array<std::string_view>({"append", "chmod", "creat", "mkdir", "mkfifo", "open-write",
                                     "rename", "truncate", "unlink", "utimes", "write"});
// A connection to a socket file or to oneself is an outgoing one as any other there.
constexpr auto kConnecting =
    std::to_array<std::string_view>({"connect", "loopback", "unix-connect"});

struct Asked {
  SbplProfile profile;
  Caller caller;
};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void say(const Node& node) { std::puts(write_json(node, JsonStyle::Compact).c_str()); }

// Whether every path among the words is permitted; null where macOS has no such place.
Node file_answer(const Asked& asked, const char* operation,
                 std::span<const std::string_view> words) {
  bool allowed = true;
  for (const std::string_view word : words) {
    if (!word.starts_with('/')) continue;  // the mode of chmod
    if (contains("/proc", word) || contains("/dev/shm", word)) return {};
    // The kernel judges what a path leads to.
    const auto place = canonicalize(word, "/", asked.caller);
    allowed = allowed && place && asked.profile.allows(operation, seatbelt::real_path(place->path));
  }
  return allowed;
}

Node answer_to(const Asked& asked, std::span<const std::string_view> words) {
  const auto places = words.subspan(1);
  if (is_one_of(kReading, words[0])) return file_answer(asked, "file-read*", places);
  if (is_one_of(kWriting, words[0])) return file_answer(asked, "file-write*", places);
  if (is_one_of(kConnecting, words[0])) return asked.profile.allows("network-outbound");
  return {};
}

Result<Asked> profile_for(std::span<const char* const> words) {
  Arguments arguments;
  CORDON_CHECK(parse_arguments(*find_verb("run"), words, arguments));
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(asked, asked_policy(arguments, caller));
  CORDON_TRY(judged, judge_policy(asked.policy, asked.ceilings, caller));
  CORDON_TRY(profile, seatbelt::make_profile(judged.clamped, judged.survey.facts, caller, {},
                                             seatbelt::Style::DenyDefault));
  return Asked{SbplProfile(profile.text), caller};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<const char*> words(argv + std::min(argc, 1), argv + argc);
  const auto asked = profile_for(words);
  if (!asked) {
    Node error{NodeMap{}};
    error.set("kind", name_of(asked.error().kind)).set("message", message(asked.error()));
    say(Node(NodeMap{}).set("error", error));
    return asked.error().exit_status;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto attempt = split(line, '\t');
    Node answer{NodeMap{}};
    answer.set("attempt", attempt[0]).set("ok", answer_to(*asked, attempt));
    say(answer.set("errno", "EPERM").set("detail", ""));  // the error of every refusal there
  }
  return 0;
}
