// choose: which backend carries out a run. It stands between survey and plan: the ceilings have
// said what is permitted and what may be missing, the host is asked what works, and only then is a
// plan made for one backend.
//
// A run that names no backend gets the first of native, bwrap and landlock that every ceiling
// permits, that works on this host and that goes without no layer unless every ceiling accepts it.
// One that is named (--backend over CORDON_BACKEND) is taken or refused: nothing stands in for it.
//
// Asking native costs processes, and almost every host answers yes. So a run takes native at its
// word (Foresight::TakeNative) unless the host shows a sign of the contrary, and asks for certain
// only when native's launch was refused, before anything of the command has run. A query
// (--dry-run, policy explain) asks at once. Both believe the same probe, so both come to the same
// backend.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cordon/backend_kind.h"
#include "cordon/loss.h"
#include "cordon/policy.h"
#include "host/cgroup.h"
#include "host/host_settings.h"
#include "host/owner.h"
#include "policy/effective.h"
#include "policy/host_facts.h"
#include "sandbox/native/probe.h"

namespace cordon {

// Why a backend does not work on this host, and what to change.
struct HostRefusal {
  std::string reason;
  std::string cure;
};
// Asks the host by doing. Each backend is asked when its turn comes, and not before.
using HostProbe = std::function<std::optional<HostRefusal>(BackendKind)>;
HostProbe ask_this_host();

// Whom a command of root's can be made to run as.
IdentityMapping identity_mapping(BackendKind kind);

// An unknown name is a usage error.
Result<BackendKind> parse_backend(std::string_view name);

enum class Foresight { TakeNative, AskHost };

struct BackendRequest {
  std::optional<BackendKind> backend;
  ChosenBy by = ChosenBy::Default;
};
// What was asked for on the command line or by the library, else CORDON_BACKEND. A variable that is
// empty or names no backend is a usage error: it was meant to say something.
Result<BackendRequest> backend_request(std::optional<BackendKind> asked, ChosenBy by,
                                       const Caller& caller);

// Pure but for `ask`. The first error wins: what no ceiling permits is refused before the host is
// asked.
Result<BackendChoice> choose_backend(const BackendRequest& wish, const Effective& effective,
                                     const std::vector<Ceiling>& ceilings, Foresight foresight,
                                     const HostProbe& ask);

// True if the choice was open and there is a backend after the chosen one.
bool has_next(const BackendChoice& choice, const Effective& effective);

// A refusal of the chosen backend's plan or launch, with why a stronger one could not be used and
// what to change here. Of landlock's refusals: what would help on this host, which is asked whether
// native works only then.
Error with_passed_over(Error error, const BackendChoice& choice, const HostProbe& ask);

// The one line about a run that native does not carry out, or that goes without something; empty if
// there is nothing to say. `lost` is the plan's.
std::string choice_line(const BackendChoice& choice, const std::vector<Loss>& lost);

// What to change on this distribution so that a probe of the host passes. doctor prints it, and a
// run that is refused because the host refuses a mechanism names it.

// `probes`: all that were made, for a cause that only the others tell.
std::string cure_for(const native::Probe& probe, const std::vector<native::Probe>& probes,
                     const HostSettings& settings);
// `idle`: the caller's own group, if it could hand controllers on and does not.
std::string cgroup_cure(const HostSettings& settings, const std::optional<IdleGroup>& idle);
// Refuses a policy that requires cgroup limits where there is none, with that cure. The plans
// refuse it too, and know the cure of no host.
Result<void> refuse_without_cgroup(const Effective& effective, const HostFacts& facts);

}  // namespace cordon
