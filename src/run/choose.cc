#include "run/choose.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/path.h"
#include "base/text.h"
#include "host/host_settings.h"
#include "plan/limits.h"
#include "run/backends.h"
#include "sandbox/native/host_rules.h"

namespace cordon {
namespace {

// Strongest first.
constexpr std::array kOrder{BackendKind::Native, BackendKind::Bwrap, BackendKind::Landlock};

// Whether a run that names no backend may get this one, which then has a place in kOrder.
constexpr bool is_in_order(BackendKind kind) {
  switch (kind) {
    case BackendKind::Native:
    case BackendKind::Bwrap:
    case BackendKind::Landlock:
      return true;
    case BackendKind::Mxc:  // somebody else's program, which an operator has to want
    case BackendKind::Oci:  // the same
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      return false;
  }
  return false;
}
static_assert(std::ranges::all_of(kBackendKinds, [](BackendKind kind) {
  return is_in_order(kind) == (std::ranges::find(kOrder, kind) != kOrder.end());
}));

// The layer a backend always goes without. Of those that are only taken when named, the plan says
// it.
std::optional<Layer> missing_layer(BackendKind kind) {
  switch (kind) {
    case BackendKind::Landlock:
      return Layer::Namespaces;
    case BackendKind::Native:
    case BackendKind::Bwrap:
    case BackendKind::Mxc:
    case BackendKind::Oci:
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_permitted(BackendKind kind, const Effective& effective) {
  return !effective.backends ||
         std::ranges::find(*effective.backends, kind) != effective.backends->end();
}

bool names(const Ceiling& ceiling, BackendKind kind) {
  const auto& backends = ceiling.policy.require.backends;
  return !backends || std::ranges::find(*backends, kind) != backends->end();
}

std::string option_of(const BackendRequest& wish) {
  switch (wish.by) {
    case ChosenBy::Option:
      return "--backend";
    case ChosenBy::Variable:
      return "CORDON_BACKEND";
    case ChosenBy::Caller:
    case ChosenBy::Default:
      break;
  }
  return "the request";
}

// Which ceiling does not let it be used, and the line of it to change.
Error not_permitted(const BackendRequest& wish, BackendKind kind,
                    const std::vector<Ceiling>& ceilings) {
  const std::string name(name_of(kind));
  const auto against =
      std::ranges::find_if(ceilings, [&](const Ceiling& ceiling) { return !names(ceiling, kind); });
  const std::string file = against == ceilings.end() ? "a ceiling" : quote(against->id);
  return policy_error(
      "backend " + name + ", which " + option_of(wish) + " asks for, is not permitted by " + file,
      "name another one, or add \"" + name + "\" to backends in its [require]");
}

Error none_permitted(const std::vector<Ceiling>& ceilings) {
  std::string files;
  for (const Ceiling& ceiling : ceilings) {
    if (!ceiling.policy.require.backends) continue;
    files.append(files.empty() ? "" : ", ").append(quote(ceiling.id)).append(" permits");
    for (const BackendKind kind : *ceiling.policy.require.backends) {
      files.append(" ").append(name_of(kind));
    }
  }
  return policy_error("the ceilings permit no backend that a run could have: " + files,
                      "make one of native, bwrap and landlock stand in backends of each [require]");
}

// The ceilings that have to accept a missing layer and do not; with none, that there is none.
std::string acceptance(Layer layer, const std::vector<Ceiling>& ceilings) {
  const std::string line = "[require] accept_missing = [\"" + std::string(name_of(layer)) + "\"]";
  if (ceilings.empty()) {
    return "or accept what landlock goes without: cordon setup writes a ceiling with " + line;
  }
  std::string files;
  for (const Ceiling& ceiling : ceilings) {
    const RequireRules& require = ceiling.policy.require;
    const auto has = [&](const auto& layers) {
      return std::find(layers.begin(), layers.end(), layer) != layers.end();
    };
    if (has(require.accept_missing) && !has(require.layers)) continue;
    files.append(files.empty() ? "" : " and ").append(quote(ceiling.id));
  }
  return "or accept what landlock goes without: " + line + " in " + files;
}

std::string reasons(const std::vector<PassedOver>& passed_over) {
  std::string text;
  for (const PassedOver& passed : passed_over) {
    text.append(text.empty() ? "" : "; ").append(name_of(passed.backend));
    text.append(": ").append(passed.reason);
  }
  return text;
}

std::string cures(const std::vector<PassedOver>& passed_over) {
  std::string text;
  for (const PassedOver& passed : passed_over) {
    if (passed.cure.empty()) continue;
    text.append(text.empty() ? "" : "; ").append(passed.cure);
  }
  return text;
}

// Of the first refusal, and of those that would be met once it is cured: a container is started
// anew for each.
std::string cures_for(const native::Probe& first, const std::vector<native::Probe>& probes,
                      const HostSettings& settings) {
  std::string text = cure_for(first, probes, settings);
  // Without it none of the others could be tried.
  if (first.name == "user-namespace") return text;
  for (const native::Probe& probe : probes) {
    if (probe.ok || !native::is_required(probe)) continue;
    const std::string more = cure_for(probe, probes, settings);
    if (text.find(more) == std::string::npos) text.append("; and ").append(more);
  }
  return text;
}

std::optional<HostRefusal> refused_native() {
  const auto refusal = native::refused_by_host();
  if (!refusal) return std::nullopt;
  return HostRefusal{message(native::refusal_of(refusal->probe)),
                     cures_for(refusal->probe, refusal->probes, host_settings())};
}

// What bubblewrap needs is no cure for namespaces that are refused, since it needs them too: told
// is only why it is of no use.
std::optional<HostRefusal> refused_by_probe(BackendKind kind) {
  const auto backend = make_backend(kind);
  if (!backend) return HostRefusal{message(backend.error()), {}};
  const auto probed = (*backend)->probe();
  if (!probed) return HostRefusal{message(probed.error()), {}};
  return std::nullopt;
}

}  // namespace

IdentityMapping identity_mapping(BackendKind kind) {
  switch (kind) {
    case BackendKind::Native:
      return IdentityMapping::AnyOwner;
    case BackendKind::Bwrap:
    case BackendKind::Landlock:
    case BackendKind::Mxc:
    case BackendKind::Oci:
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      return IdentityMapping::OnlySelf;
  }
  return IdentityMapping::OnlySelf;
}

Result<BackendKind> parse_backend(std::string_view name) {
  if (const auto kind = backend_called(name)) return *kind;
  std::vector<std::string_view> names;
  for (const BackendKind kind : kBackendKinds) names.push_back(name_of(kind));
  Error error = usage_error("unknown backend " + quote(name), "known: " + known_backends());
  if (const auto near = nearest(name, names)) error.hint = "did you mean " + *near + "?";
  return fail(std::move(error));
}

Result<Capabilities> probe(BackendKind kind) {
  CORDON_TRY(backend, make_backend(kind));
  auto found = backend->probe();
  if (found || kind != BackendKind::Native) return found;
  Error error = std::move(found).error();
  if (auto refusal = refused_native(); refusal && !refusal->cure.empty()) {
    error.hint = std::move(refusal->cure);
  }
  return fail(std::move(error));
}

HostProbe ask_this_host() {
  return [](BackendKind kind) {
    return kind == BackendKind::Native ? refused_native() : refused_by_probe(kind);
  };
}

Result<BackendRequest> backend_request(std::optional<BackendKind> asked, ChosenBy by,
                                       const Caller& caller) {
  if (asked) return BackendRequest{asked, by};
  const auto variable = caller.environment.find("CORDON_BACKEND");
  if (variable == caller.environment.end()) return BackendRequest{};
  if (variable->second.empty()) {
    return fail(usage_error("CORDON_BACKEND is set but empty",
                            "name a backend in it (" + known_backends() + "), or unset it"));
  }
  auto kind = parse_backend(variable->second);
  if (!kind) {
    Error error = std::move(kind).error();
    error.what = "CORDON_BACKEND: " + error.what;
    return fail(std::move(error));
  }
  return BackendRequest{*kind, ChosenBy::Variable};
}

Result<BackendChoice> choose_backend(const BackendRequest& wish, const Effective& effective,
                                     const std::vector<Ceiling>& ceilings, Foresight foresight,
                                     const HostProbe& ask) {
  if (wish.backend) {
    if (!is_permitted(*wish.backend, effective)) {
      return fail(not_permitted(wish, *wish.backend, ceilings));
    }
    return BackendChoice{*wish.backend, wish.by, {}};
  }
  BackendChoice choice;
  bool any_permitted = false;
  std::string accept;
  for (const BackendKind kind : kOrder) {
    if (!is_permitted(kind, effective)) {
      choice.passed_over.push_back({kind, "a ceiling does not permit it", {}});
      continue;
    }
    any_permitted = true;
    const bool trusts = kind == BackendKind::Native && foresight == Foresight::TakeNative;
    const auto refusal = trusts ? std::nullopt : ask(kind);
    if (refusal) {
      choice.passed_over.push_back({kind, refusal->reason, refusal->cure});
      continue;
    }
    const auto layer = missing_layer(kind);
    if (layer &&
        std::ranges::find(effective.accept_missing, *layer) == effective.accept_missing.end()) {
      accept = acceptance(*layer, ceilings);
      choice.passed_over.push_back(
          {kind,
           "it goes without " + std::string(name_of(*layer)) + ", which not every ceiling accepts",
           {}});
      continue;
    }
    choice.backend = kind;
    return choice;
  }
  if (!any_permitted) return fail(none_permitted(ceilings));
  std::string hint = cures(choice.passed_over);
  if (!accept.empty()) hint.append(hint.empty() ? "" : "; ").append(accept);
  return fail({.kind = ErrorKind::Unavailable,
               .what = "nothing can contain a run on this host: " + reasons(choice.passed_over),
               .hint = std::move(hint)});
}

bool has_next(const BackendChoice& choice, const Effective& effective) {
  if (choice.by != ChosenBy::Default) return false;
  const auto* place = std::ranges::find(kOrder, choice.backend);
  return std::any_of(place + 1, kOrder.end(),
                     [&](BackendKind kind) { return is_permitted(kind, effective); });
}

Error with_passed_over(Error error, const BackendChoice& choice, const HostProbe& ask) {
  std::vector<PassedOver> passed_over = choice.passed_over;
  const bool wants_more =
      choice.backend == BackendKind::Landlock && error.kind == ErrorKind::Unsupported;
  if (passed_over.empty() && wants_more) {
    const auto refusal = ask(BackendKind::Native);
    if (!refusal) {
      error.hint.append(error.hint.empty() ? "use --backend native" : ", or use --backend native");
      return error;
    }
    passed_over.push_back({BackendKind::Native, refusal->reason, refusal->cure});
  }
  if (passed_over.empty()) return error;
  error.what.append("; ").append(reasons(passed_over));
  const std::string cure = cures(passed_over);
  if (!cure.empty()) {
    error.hint = error.hint.empty() ? cure : cure + "; or, without that, " + error.hint;
  }
  return error;
}

std::string choice_line(const BackendChoice& choice, const std::vector<Loss>& lost) {
  std::string words;
  for (const Loss loss : lost) {
    // A single file that git tracks, which native keeps and puts back: told when it was changed.
    const bool tracked = choice.backend == BackendKind::Native && loss == Loss::Protected;
    if (reach_of(loss) == Reach::Wider && !tracked) {
      words.append(words.empty() ? "" : ", ").append(name_of(loss));
    }
  }
  if (words.empty() && choice.passed_over.empty()) return {};
  std::string line = "contained by " + std::string(name_of(choice.backend));
  if (!choice.passed_over.empty())
    line.append(" (").append(reasons(choice.passed_over)).append(")");
  if (words.empty()) return line.append(", which holds what native does");
  return line.append(", which does not hold: ").append(words).append(" (docs/backends.md)");
}

namespace {

std::optional<std::uint64_t> sysctl(const HostSettings& settings, const std::string& name) {
  const auto found = settings.sysctls.find(name);
  if (found == settings.sysctls.end()) return std::nullopt;
  return found->second;
}

std::string set_sysctl(std::string_view name, std::string_view value) {
  std::string line = "sudo sysctl -w ";
  line.append(name).append("=").append(value).append("; keep it with a line \"");
  return line.append(name).append(" = ").append(value).append("\" in /etc/sysctl.d/60-cordon.conf");
}

constexpr const char* kContainerCure =
    "the container's seccomp profile forbids it: start the container with --security-opt "
    "seccomp=unconfined, or with a profile that permits clone, clone3, unshare, mount, fsopen, "
    "open_tree, move_mount, mount_setattr, pivot_root and sethostname";

constexpr const char* kRootCure =
    "root without CAP_SETFCAP cannot have its own uid in a user namespace: give it back "
    "(--cap-add SETFCAP for Docker and Podman, capabilities.add: [\"SETFCAP\"] for Kubernetes), or "
    "start cordon as another user (--user 1000:1000)";

// ENOSPC is a limit that is used up; each kind of namespace has its own.
std::string limit_cure(const native::Probe& probe) {
  if (probe.name == "mount-namespace") return set_sysctl("user.max_mnt_namespaces", "15000");
  if (probe.name == "pid-namespace") return set_sysctl("user.max_pid_namespaces", "15000");
  if (probe.name == "net-namespace") return set_sysctl("user.max_net_namespaces", "15000");
  if (probe.name == "user-namespace") return set_sysctl("user.max_user_namespaces", "15000");
  return "raise the limits user.max_*_namespaces (sysctl user)";
}

// ENOSYS: the call is not there at all.
std::string missing_call_cure(const HostSettings& settings) {
  if (!settings.filtered) {
    return "this kernel has no clone3 or was built without namespaces: use Linux 5.13 or newer "
           "with CONFIG_USER_NS";
  }
  if (settings.in_container) return kContainerCure;
  return "this process is already inside a sandbox: run cordon outside of it";
}

// Which setting of this host forbids namespaces, most specific first.
std::string namespace_cure(const native::Probe& probe, const HostSettings& settings) {
  if (probe.error_number == ENOSYS) return missing_call_cure(settings);
  if (probe.error_number == ENOSPC) return limit_cure(probe);
  if (probe.name == "identity-map" && probe.error_number == EPERM && !settings.may_map_root) {
    return kRootCure;
  }
  if (sysctl(settings, "kernel.unprivileged_userns_clone") == 0U && settings.uid != 0) {
    return set_sysctl("kernel.unprivileged_userns_clone", "1");
  }
  if (sysctl(settings, "kernel.apparmor_restrict_unprivileged_userns") == 1U && settings.uid != 0) {
    return "AppArmor takes the privileges from user namespaces of unprofiled programs: " +
           set_sysctl("kernel.apparmor_restrict_unprivileged_userns", "0") +
           "; or give Cordon's binary an AppArmor profile with \"userns,\"";
  }
  if (sysctl(settings, "user.max_user_namespaces") == 0U) {
    return set_sysctl("user.max_user_namespaces", "15000");
  }
  if (settings.in_chroot) {
    return "the kernel makes no user namespace inside a chroot: run cordon outside of it, or enter "
           "the tree as a mount of its own (systemd-nspawn, podman run --rootfs)";
  }
  if (settings.in_container) return kContainerCure;
  if (settings.filtered) {
    return "this process is already filtered: run cordon outside of its sandbox";
  }
  return "permit unprivileged user namespaces on this kernel";
}

bool passed(const std::vector<native::Probe>& probes, std::string_view name) {
  return std::ranges::any_of(
      probes, [&](const native::Probe& probe) { return probe.name == name && probe.ok; });
}

std::string proc_cure(const HostSettings& settings) {
  if (!settings.in_container) {
    return "something is mounted over parts of /proc (findmnt -R /proc): unmount it, since the "
           "kernel then refuses a fresh one";
  }
  return "the container masks parts of /proc, and the kernel then refuses a fresh one: start it "
         "with "
         "--security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL (Podman) or "
         "procMount: Unmasked (Kubernetes)";
}

}  // namespace

std::string cure_for(const native::Probe& probe, const std::vector<native::Probe>& probes,
                     const HostSettings& settings) {
  if (probe.name == "landlock") {
    return "use a kernel with CONFIG_SECURITY_LANDLOCK=y (Linux 5.13 or newer) and add landlock to "
           "the list of the boot parameter lsm=; in a container the seccomp profile must permit "
           "landlock_create_ruleset, landlock_add_rule and landlock_restrict_self";
  }
  if (probe.name == "seccomp" || probe.name == "no-new-privileges") {
    return "use a kernel with CONFIG_SECCOMP_FILTER=y";
  }
  if (probe.name == "seccomp-listener") {
    return "network mode allow needs Linux 5.19 or newer, and in a container a seccomp profile "
           "that "
           "permits listeners; the other modes do not";
  }
  // With mounts refused as such, the namespace is to be cured first.
  if (probe.name == "symlink-mount" && passed(probes, "mount-namespace")) {
    return "git's config files are read-only inside on this kernel; a newer one can mount symlinks";
  }
  if (probe.name == "fresh-proc" && probe.error_number == EPERM &&
      passed(probes, "mount-namespace")) {
    return proc_cure(settings);
  }
  // Only the pivot is refused so.
  if (probe.error_number == EINVAL && native::root_is_initramfs(native::read_mountinfo())) {
    return native::initramfs_cure();
  }
  // Without a user namespace none of the others can be made: its cure comes first.
  for (const native::Probe& first : probes) {
    if (first.name == "user-namespace" && !first.ok) return namespace_cure(first, settings);
  }
  return namespace_cure(probe, settings);
}

std::string cgroup_cure(const HostSettings& settings, const std::optional<IdleGroup>& idle) {
  if (idle) {
    const std::string& group = idle->path;
    std::string controllers;
    for (const std::string& name : idle->controllers) {
      controllers.append(controllers.empty() ? "+" : " +").append(name);
    }
    return "a group with processes in it hands no controllers on; from a shell that is alone in "
           "it: mkdir " +
           group + "/shell && echo $$ > " + group + "/shell/cgroup.procs && echo '" + controllers +
           "' > " + group + "/cgroup.subtree_control";
  }
  const std::string on_a_machine =
      settings.uid == 0
          ? "mount cgroup v2 at /sys/fs/cgroup and permit its controllers: echo '+memory +pids "
            "+cpu' > /sys/fs/cgroup/cgroup.subtree_control"
          : "have a group delegated: start the shell with systemd-run --user --scope -p "
            "Delegate=yes bash, or log in through systemd with Delegate=yes for user@.service";
  if (!settings.in_container) return on_a_machine;
  std::string cure =
      "give the container a writable cgroup of its own: --cgroupns=private with /sys/fs/cgroup "
      "mounted read-write";
  if (settings.container_sign.empty()) return cure;
  // A file alone may be left over from an image that became a machine.
  return cure + " (" + settings.container_sign +
         " says that this is a container); if it is none, " + on_a_machine;
}

Result<void> refuse_without_cgroup(const Effective& effective, const HostFacts& facts) {
  if (!lacks_required_cgroup(effective, facts)) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "the policy requires cgroup limits and no cgroup can be made here",
               .hint = cgroup_cure(host_settings(), idle_group()) +
                       "; or run without the requirement: memory is then watched"});
}

}  // namespace cordon
