#include "run/trusted_files.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/path.h"
#include "base/text.h"
#include "host/canonical.h"
#include "host/resolve.h"
#include "host/writable.h"
#include "policy/decide.h"
#include "policy/refusal.h"
#include "run/secret_program.h"
#include "run/secret_source.h"

namespace cordon {
namespace {

// A policy the contained code could rewrite would hold for this run only.
Result<void> refuse_writable_source(const std::vector<Grant>& write, const std::string& file,
                                    const std::string& own_directory) {
  PathTrace trace;
  const TracedPath way = trace.to(file);
  // Missing, it could be made by the command.
  if (way.end.empty()) {
    return fail(policy_error("policy file " + quote(file) + " can no longer be looked at",
                             "it is to stay where it was read for as long as runs use it"));
  }
  if (const Grant* grant = replaceable_by(write, way, own_directory)) {
    return fail(policy_error(
        "policy file " + quote(file) + " lies in the writable grant " + quote(grant->path),
        "the command could rewrite it: keep project policies as policies/NAME.toml in the "
        "configuration directory and use \"@cwd\" in them"));
  }
  const PassedPlace* end = trace.seen(way.end);
  if (end == nullptr)
    return fail(setup_error("cannot look at the policy file " + quote(file), errno));
  const FileInfo& seen = end->info;
  const auto beside = [&](const Grant& grant) { return grant.id.device == seen.id.device; };
  if (seen.links < 2 || std::ranges::none_of(write, beside)) return {};
  return fail(policy_error("policy file " + quote(file) + " has another name",
                           "that one may lie in a writable grant: make a copy of the file"));
}

// What is started outside to tell a secret must be nothing that the command could rewrite: it would
// run there whenever the command makes the host refuse the secret.
Result<void> refuse_writable_program(const SecretRule& secret, const Effective& effective,
                                     const Caller& caller) {
  const auto found = replaceable_part(secret, caller, effective.write);
  if (!found) return {};
  return fail(
      policy_error("the command could rewrite " + quote(found->file) + ", which the secret " +
                       quote(secret.name) + " starts outside: it " +
                       (found->by_another_name ? "has another name, which may lie" : "lies") +
                       " in the writable grant " + quote(found->grant),
                   "keep it where the command cannot write, and name that place in "
                   "\"from\" of its [[secret]]"));
}

}  // namespace

Result<void> refuse_writable_sources(const Clamped& clamped, const Policy& policy,
                                     const std::vector<Ceiling>& ceilings, const Caller& caller) {
  const Result<Canonical> found = canonicalize(caller.config_directory, "/", caller);
  const std::string own = found ? found->path : caller.config_directory;
  const auto check = [&](const std::string& file) -> Result<void> {
    return file.empty() ? Result<void>()
                        : refuse_writable_source(clamped.effective().write, file, own);
  };
  CORDON_CHECK(check(policy.file));
  for (const Ceiling& ceiling : ceilings) CORDON_CHECK(check(ceiling.policy.file));
  return {};
}

Result<void> check_secrets(const Clamped& clamped, const HostFacts& facts, const Caller& caller) {
  const Effective& effective = clamped.effective();
  for (const SecretRule& secret : effective.secrets) {
    CORDON_CHECK(refuse_writable_program(secret, effective, caller));
    const auto file = file_of(secret, caller);
    if (!file) continue;
    CORDON_TRY(place, canonicalize(*file, "/", caller));
    // What can be written can be read.
    const Verdict verdict = decide(clamped, facts, caller, Access::Read, place.path);
    if (!verdict.allowed) continue;
    return fail(policy_error(
        "the command could read the file of the secret " + quote(secret.name) + ": " + verdict.rule,
        "--deny " + quote(place.path) + ", or keep the secret elsewhere"));
  }
  return {};
}

}  // namespace cordon
