#include "compat/safeclaw/apply/prepare.h"

#include <sys/stat.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/path.h"
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "sys/landlock.h"

namespace cordon::apply {

namespace {

Judged<RuleState> add_rule(int ruleset, const RuleObject& object, int abi) {
  const auto& [rule, fd] = object;
  if (!fd.valid()) return RuleState{rule.path, 0};
  struct stat status {};
  if (::fstat(fd.get(), &status) < 0) {
    return tl::unexpected(
        with_errno(Status::Landlock, "cannot look at " + quote(rule.path), errno));
  }
  const Target target = S_ISDIR(status.st_mode) ? Target::Directory : Target::File;
  const std::uint64_t rights = rights_of(rule.access, target, abi);
  if (const int error = sys::landlock_add_path(ruleset, fd.get(), rights); error < 0) {
    return tl::unexpected(
        with_errno(Status::Landlock, "cannot make a rule for " + quote(rule.path), -error));
  }
  return RuleState{rule.path, rights};
}

// About the first candidate that is there.
std::string advice_about(const std::vector<std::string>& candidates,
                         const std::vector<RuleObject>& objects) {
  for (const std::string& candidate : candidates) {
    const auto permitted = may_execute(candidate, objects);
    if (!permitted) continue;
    return *permitted ? "" : "no rule of the policy lets " + quote(candidate) + " be executed";
  }
  return {};
}

Judged<void> prepare_files(const SafeClawPolicy& policy, Preparation& made) {
  made.abi = sys::landlock_abi();
  if (made.abi == 0) return refuse(Status::Landlock, "the kernel has no Landlock, or it is off");
  if (made.abi < kOldestAbi) {
    return refuse(Status::Landlock, "Landlock of this kernel (ABI " + std::to_string(made.abi) +
                                        ") cannot withhold truncating; Linux 6.2 can");
  }
  made.handled = sys::landlock::file_rights(made.abi);
  const int ruleset =
      sys::landlock_create_ruleset(made.handled, sys::landlock::scopes(made.abi), 0);
  if (ruleset < 0) {
    return tl::unexpected(with_errno(Status::Landlock, "cannot make a Landlock ruleset", -ruleset));
  }
  made.ruleset = Fd(ruleset);
  CORDON_TRY(objects, open_rules(policy.allow));
  CORDON_CHECK(check_denies(policy.deny, objects));
  for (const RuleObject& object : objects) {
    CORDON_TRY(state, add_rule(ruleset, object, made.abi));
    made.rules.push_back(std::move(state));
  }
  made.advice = advice_about(made.candidates, objects);
  return {};
}

// As execvp looks for it, but never in the current directory by way of an empty entry.
std::vector<std::string> candidates_for(const std::string& command) {
  if (command.find('/') != std::string::npos) return {command};
  const char* path = std::getenv("PATH");
  std::vector<std::string> found;
  for (const std::string_view directory :
       split(std::string_view(path != nullptr ? path : "/usr/bin:/bin"), ':')) {
    if (!directory.empty()) found.push_back(std::string(directory) + "/" + command);
  }
  return found;
}

}  // namespace

Judged<Preparation> prepare(const SafeClawPolicy& policy, const Request& request) {
  Preparation made;
  CORDON_TRY(sockets, sockets_of(policy.network));
  CORDON_TRY(calls, resolve_calls(policy.syscalls, native_arch()));
  made.calls = std::move(calls);
  made.filter = compile_listed_filter(native_arch(), made.calls.calls, sockets);
  made.candidates = candidates_for(request.command.front());
  CORDON_CHECK(prepare_files(policy, made));
  return made;
}

Node describe(const Preparation& made) {
  NodeList rules;
  for (const RuleState& rule : made.rules) {
    rules.push_back(
        Node().set("path", rule.path).set("rights", text_nodes(right_names(rule.rights))));
  }
  NodeList names;
  for (const KnownSyscall& call : made.calls.calls) names.emplace_back(call.name);
  return Node()
      .set("schema", "cordon.apply/1")
      .set("landlock_abi", made.abi)
      .set("withheld", text_nodes(right_names(made.handled)))
      .set("rules", std::move(rules))
      .set("calls", Node()
                        .set("listed", std::move(names))
                        .set("renamed", text_nodes(made.calls.renamed))
                        .set("unanswered", text_nodes(made.calls.unanswered))
                        .set("without_effect", text_nodes(made.calls.without_effect)))
      .set("instructions", std::uint64_t{made.filter.size()});
}

}  // namespace cordon::apply
