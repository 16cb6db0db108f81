#include "compat/oci/judge.h"

#include <net/if.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/resolve.h"
#include "policy/cure.h"
#include "policy/decide.h"
#include "policy/presets.h"

namespace cordon::oci {
namespace {

// What every container has, whatever [env] lists.
constexpr std::array<std::string_view, 6> kOwnVariables{"PATH",     "HOME",      "TERM",
                                                        "HOSTNAME", "container", "LANG"};

constexpr std::array kEveryLayer{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                 Layer::Capabilities, Layer::Cgroup};

// Where a key of a ceiling or of a policy stands, for whoever has to change it.
Place place_in(const std::string& file, const Caller& caller, std::string_view section,
               std::string_view key) {
  if (file.empty()) return {};
  const auto text = read_trusted_file(file, caller);
  const auto document = text ? read_document(*text, file) : Result<Node>(Node());
  if (!text || !document) return {file};
  const Node* part = document->find(section);
  if (part == nullptr) return {file, 1, 1};
  const Node* member = part->find(key);
  const Node& found = member != nullptr ? *member : *part;
  return {file, found.key_line != 0 ? found.key_line : 1, found.key_column};
}

std::string key_of(PathMode mode) { return mode == PathMode::Write ? "write" : "read"; }

struct FoundBind {
  AskedBind asked;
  Canonical place;
  bool socket = false;
};

// An interface beside the loopback leads somewhere. Nobody can tell: it counts as one.
bool has_other_interfaces(int space) {
  const pid_t child = ::fork();
  if (child < 0) return true;
  if (child == 0) {
    if (::setns(space, CLONE_NEWNET) < 0) ::_exit(1);
    struct if_nameindex* all = ::if_nameindex();
    if (all == nullptr) ::_exit(1);
    for (const struct if_nameindex* one = all; one->if_index != 0; ++one) {
      if (std::string_view(one->if_name) != "lo") ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

bool is_own_namespace(std::string_view type, const struct stat& status) {
  const std::string name = type == "network" ? "net" : type == "mount" ? "mnt" : std::string(type);
  for (const char* process : {"/proc/self/ns/", "/proc/1/ns/"}) {
    struct stat own {};
    if (::stat((process + name).c_str(), &own) == 0 && own.st_dev == status.st_dev &&
        own.st_ino == status.st_ino) {
      return true;
    }
  }
  return false;
}

class Judge {
 public:
  Judge(const Demands& demands, const NodeRules& rules, const Caller& caller)
      : demands_(demands), rules_(rules), caller_(caller) {}

  Result<JudgedContainer> judge() {
    made_.complaints = demands_.complaints;
    if (rules_.ceilings.empty()) {
      return fail(policy_error(
          "this node has no ceiling, and without one nothing is permitted",
          "write what containers may have at most into " + std::string(kSystemCeiling)));
    }
    bounds_ = rules_.ceilings;
    if (rules_.named) bounds_.push_back(as_bound(*rules_.named, rules_.ceilings));
    CORDON_TRY(resolved, resolve_ceilings(bounds_, caller_));
    resolved_ = std::move(resolved);
    find_binds();
    namespaces();
    ask();
    auto judged = judge_policy(made_.asked, bounds_, caller_,
                               {.helper = {},
                                .start = std::nullopt,
                                .keep = Keep::Something,
                                .approved = {},
                                .ceilings = resolved_,
                                .asked = std::nullopt});
    if (!judged) return fail(std::move(judged).error());
    made_.judgement = std::move(*judged);
    paths();
    network();
    layers();
    limits();
    protect();
    narrow();
    return std::move(made_);
  }

 private:
  void complain(std::string where, std::string what, std::string hint, Place rule = {}) {
    made_.complaints.push_back(
        {std::move(where), std::move(what), std::move(hint), std::move(rule)});
  }
  void reduce(std::string what, std::string asked, std::optional<std::string> got) {
    made_.reductions.push_back({.what = std::move(what),
                                .asked = std::move(asked),
                                .got = std::move(got),
                                .because = Reduction::Because::Narrowed});
  }

  [[nodiscard]] bool lies_in(const std::vector<std::string>& places,
                             const std::string& path) const {
    return std::ranges::any_of(
        places, [&](const std::string& place) { return path != place && contains(place, path); });
  }

  void find_binds() {
    std::vector<AskedBind> all = demands_.binds;
    all.push_back({"root.path", demands_.root, "/", demands_.root_writable});
    for (const AskedBind& asked : all) {
      if (asked.source.empty()) continue;
      const bool is_root = asked.where == "root.path";
      auto place = canonicalize(asked.source, "/", caller_);
      if (!place) {
        complain(asked.where, place.error().what, place.error().hint);
        continue;
      }
      // The runtime looks the name up again: what links lead to is decided here.
      made_.narrowing.sources[asked.where] = place->path;
      struct stat status {};
      if (::stat(place->path.c_str(), &status) < 0) {
        complain(asked.where, quote(asked.source) + " is not there",
                 "make it before the container is started");
        continue;
      }
      if (lies_in(is_root ? rules_.roots : rules_.own, place->path)) continue;
      const bool socket = S_ISSOCK(status.st_mode);
      if (is_root ? !S_ISDIR(status.st_mode)
                  : !S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode) && !socket) {
        complain(asked.where, quote(asked.source) + " is neither a file nor a directory",
                 "leave it out: no policy of Cordon grants a device");
        continue;
      }
      constexpr std::array<std::string_view, 3> kKernels{"/proc", "/sys", "/dev"};
      if (std::ranges::any_of(kKernels, [&](std::string_view kernel) {
            return contains(kernel, place->path) || contains(place->path, kernel);
          })) {
        complain(asked.where, quote(asked.source) + " shows the host's processes or devices",
                 "bind a directory that is no part of them");
        continue;
      }
      binds_.push_back({asked, std::move(*place), socket});
    }
  }

  void namespaces() {
    bool network = false;
    for (const AskedNamespace& one : demands_.namespaces) {
      const bool is_network = one.type == "network";
      network = network || is_network;
      if (one.path.empty()) {
        // A hook gets to set it up.
        if (is_network && demands_.has_hooks) open_because_ = "a hook may connect its network";
        continue;
      }
      const Fd space(::open(one.path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat status {};
      if (!space.valid() || ::fstat(space.get(), &status) < 0) {
        complain("linux.namespaces", quote(one.path) + " cannot be looked at",
                 "start what it belongs to first");
        continue;
      }
      const bool own = is_own_namespace(one.type, status);
      if (is_network) {
        if (own) {
          open_because_ = "it shares the network of the host";
          shares_host_ = true;
        } else if (has_other_interfaces(space.get())) {
          open_because_ = "its network leads out of the host, and nobody judges names there";
        }
      } else if (own) {
        complain("linux.namespaces", "the " + one.type + " namespace of the host is shared",
                 "ask the engine for a private one");
      }
    }
    if (!network) {
      open_because_ = "it shares the network of the host";
      shares_host_ = true;
    }
  }

  // The engine's document, as a policy that asks for the same.
  void ask() {
    Policy& asked = made_.asked;
    asked.name = "container";
    for (const FoundBind& bind : binds_) {
      PathRule rule{bind.place.path, {}};
      if (bind.socket) {
        asked.net.sockets.push_back(std::move(rule));
      } else {
        (bind.asked.writable ? asked.fs.write : asked.fs.read).push_back(std::move(rule));
      }
    }
    if (!open_because_.empty()) asked.net.mode = share_the_hosts_network();
    asked.limits = demands_.limits;
  }

  [[nodiscard]] const Effective& effective() const { return made_.judgement->clamped.effective(); }

  // Of the bounds that do not let a path be seen, or written.
  void refuse_path(const FoundBind& bind, PathMode mode) {
    const std::string what =
        quote(bind.place.path) + (mode == PathMode::Write ? " is to be written" : " is to be read");
    for (const ResolvedCeiling& bound : resolved_) {
      if (PathModes(bound.read, bound.write).at(bind.place.path) >= mode) continue;
      return complain(bind.asked.where,
                      what + ", and " + title_of(bound.ceiling) + " does not grant it",
                      "leave it out, or " + cure_for_path(bound, bind.place.path, mode),
                      place_in(bound.ceiling.policy.file, caller_, "fs", key_of(mode)));
    }
    complain(bind.asked.where,
             quote(bind.place.path) +
                 " is held back: it is denied, holds credentials, or belongs to Cordon or to PATH",
             "leave it out: no ceiling grants it");
  }

  void refuse_socket(const FoundBind& bind) {
    for (const ResolvedCeiling& bound : resolved_) {
      const auto is_it = [&](const Grant& grant) { return grant.path == bind.place.path; };
      if (std::ranges::any_of(bound.sockets, is_it)) continue;
      return complain(bind.asked.where,
                      "the socket " + quote(bind.place.path) +
                          " leads to a service of the host, "
                          "and " +
                          title_of(bound.ceiling) + " does not list it",
                      "leave it out, or " + cure_for_socket(bound.ceiling, bind.place.path),
                      place_in(bound.ceiling.policy.file, caller_, "net", "sockets"));
    }
  }

  void paths() {
    const PathModes granted(effective().read, effective().write);
    for (FoundBind& bind : binds_) {
      if (bind.socket) {
        const auto is_it = [&](const Grant& grant) { return grant.path == bind.place.path; };
        if (std::ranges::none_of(effective().sockets, is_it)) refuse_socket(bind);
        continue;
      }
      const PathMode got = granted.at(bind.place.path);
      const PathMode asked = bind.asked.writable ? PathMode::Write : PathMode::Read;
      if (got >= asked) {
        kept_.push_back(&bind);
      } else if (bind.asked.where == "root.path" && got == PathMode::Read) {
        made_.narrowing.root_read_only = true;
        reduce("write", bind.place.path, "read-only");
        kept_.push_back(&bind);
      } else {
        refuse_path(bind, asked);
      }
    }
  }

  void network() {
    if (open_because_.empty() || effective().net.mode == NetMode::Open) return;
    for (const ResolvedCeiling& bound : resolved_) {
      if (!bound.ceiling.bounds_net || bound.ceiling.policy.net.mode == NetMode::Open) continue;
      return complain(
          "linux.namespaces",
          open_because_ + ", and " + title_of(bound.ceiling) + " does not permit mode \"open\"",
          "start it with a network of its own that leads nowhere (podman run "
          "--network none), or " +
              cure_for_open_network(bound.ceiling),
          place_in(bound.ceiling.policy.file, caller_, "net", "mode"));
    }
  }

  [[nodiscard]] bool may_be_missing(Layer layer) const {
    const auto& required = effective().require;
    const auto& accepted = effective().accept_missing;
    return std::ranges::find(required, layer) == required.end() ||
           std::ranges::find(accepted, layer) != accepted.end();
  }

  // Of the first bound of which `asks` is true.
  void first_bound(const auto& asks, std::string what, std::string hint, std::string_view section,
                   std::string_view key) {
    for (const Ceiling& bound : bounds_) {
      if (!asks(bound)) continue;
      return complain("", std::move(what), std::move(hint),
                      place_in(bound.policy.file, caller_, section, key));
    }
    complain("", std::move(what), std::move(hint));
  }

  void layers() {
    const auto requires_layer = [](Layer layer) {
      return [layer](const Ceiling& bound) {
        const auto& list = bound.policy.require.layers;
        return std::ranges::find(list, layer) != list.end();
      };
    };
    if (!may_be_missing(Layer::Landlock)) {
      first_bound(requires_layer(Layer::Landlock),
                  "Landlock is required, and a container's document has no place for it",
                  "run the command with cordon run, or accept_missing = [\"landlock\"] below "
                  "[require] in the node's ceiling",
                  "require", "layers");
    }
    if (!rules_.makes_groups && !may_be_missing(Layer::Cgroup)) {
      first_bound(requires_layer(Layer::Cgroup),
                  "a control group is required, and a runtime that is not root's goes without one "
                  "and says nothing",
                  "let the engine run as root", "require", "layers");
    }
    if (effective().backends) {
      first_bound([](const Ceiling& bound) { return bound.policy.require.backends.has_value(); },
                  "a container is started by a runtime, which is none of the backends that are "
                  "permitted",
                  "take backends out of [require]", "require", "backends");
    }
    made_.narrowing.keeps_capabilities = all_accept_missing(rules_.ceilings, Layer::Capabilities);
  }

  void limits() {
    Limits& held = made_.narrowing.limits;
    held = effective().limits;
    for (const LimitField& field : limit_fields()) {
      const auto& asked = demands_.limits.*field.member;
      const auto& got = held.*field.member;
      if (asked && got && *got < *asked) {
        reduce("limits." + std::string(field.key), format_limit(field.unit, *asked),
               format_limit(field.unit, *got));
      }
    }
    const auto sets = [](std::optional<std::uint64_t> Limits::*member) {
      return [member](const Ceiling& bound) { return (bound.policy.limits.*member).has_value(); };
    };
    constexpr const char* kNobody = ", and nobody holds it for a container";
    if (held.wall_ms) {
      first_bound(sets(&Limits::wall_ms), std::string("limits.wall is set") + kNobody,
                  "take it out, and give the engine a time limit: podman run --timeout, "
                  "activeDeadlineSeconds",
                  "limits", "wall");
    }
    if (held.output_total) {
      first_bound(sets(&Limits::output_total), std::string("limits.output_total is set") + kNobody,
                  "take it out, and bound the engine's log", "limits", "output_total");
    }
    if (!rules_.makes_groups && (held.memory || held.pids || held.cpus_milli)) {
      complain("",
               "limits of memory, processes and processors need a control group, and a runtime "
               "that is not root's goes without one and says nothing",
               "let the engine run as root, or take these limits out");
    }
    const bool writes = std::ranges::any_of(kept_, [](const FoundBind* bind) {
      return bind->asked.writable && bind->asked.where != "root.path";
    });
    if (writes && effective().mode == WriteMode::Staged) {
      first_bound(
          [](const Ceiling& bound) {
            return bound.mode == WriteMode::Staged || bound.stage == StageEnd::Review;
          },
          "what is written is to be staged, and a container writes at once",
          "bind it read-only, or run the command with cordon run", "fs", "mode");
    }
    made_.narrowing.scratch.reset();
    for (const Ceiling& bound : bounds_) {
      const auto& most = bound.policy.fs.scratch;
      auto& least = made_.narrowing.scratch;
      if (most) least = std::min(least.value_or(*most), *most);
    }
  }

  // Where a path of the host is inside, if it is below something that is bound.
  [[nodiscard]] std::vector<std::string> inside(const std::string& path, bool written) const {
    std::vector<std::string> places;
    for (const FoundBind* bind : kept_) {
      if (!contains(bind->place.path, path) || path == bind->place.path) continue;
      if (written && (!bind->asked.writable || is_read_only_root(*bind))) continue;
      const std::string rest =
          path.substr(bind->place.path == "/" ? 1 : bind->place.path.size() + 1);
      places.push_back(join(bind->asked.destination, rest));
    }
    return places;
  }

  [[nodiscard]] bool is_read_only_root(const FoundBind& bind) const {
    return bind.asked.where == "root.path" && made_.narrowing.root_read_only;
  }

  void hold(const std::string& path, FileKind kind, bool writable) {
    // A runtime would follow a link and bind what it leads to.
    struct stat status {};
    if (::lstat(path.c_str(), &status) < 0 || S_ISLNK(status.st_mode)) return;
    for (const std::string& place : inside(path, true)) {
      made_.narrowing.held.push_back(
          {path, place, S_ISDIR(status.st_mode) ? FileKind::Directory : kind, writable});
    }
  }

  void protect() {
    const HostFacts& facts = made_.judgement->survey.facts;
    for (const Masked& masked : facts.masked) {
      for (const FoundBind* bind : kept_) {
        if (!contains(masked.path, bind->place.path)) continue;
        complain(bind->asked.where, quote(bind->place.path) + " is held back: " + masked.reason,
                 "leave it out: nothing grants it");
      }
      for (std::string& place : inside(masked.path, false)) {
        made_.narrowing.masked.push_back(std::move(place));
      }
    }
    for (const Pinned& pinned : facts.pinned) hold(pinned.path, pinned.file, true);
    for (const GitDirectory& git : facts.git) {
      for (const Held& held : git.pinned) hold(held.path, held.file, true);
    }
    for (const Grant& grant : effective().read) hold(grant.path, grant.kind, false);
    for (const Pinned& closed : facts.closed) hold(closed.path, closed.file, false);
    for (const Held& held : facts.held) {
      hold(held.path, held.file, false);
      for (const FoundBind* bind : kept_) {
        if (!bind->asked.writable || !contains(held.path, bind->place.path)) continue;
        complain(bind->asked.where,
                 quote(bind->place.path) + " is protected from being written: " + reason_of(held),
                 "bind it read-only");
      }
    }
    for (const GitDirectory& git : facts.git) {
      for (const Held& held : git.held) hold(held.path, held.file, false);
      for (const GitDirectory::Config& config : git.configs) {
        hold(config.path, FileKind::Regular, false);
      }
    }
    // Parents first: a mount over a directory hides what was mounted below it.
    std::ranges::stable_sort(made_.narrowing.held, {}, [](const HeldInside& held) {
      return components(held.destination).size();
    });
  }

  void narrow() {
    Narrowing& narrowing = made_.narrowing;
    bool shows_directories = false;
    for (const FoundBind* bind : kept_) {
      if (bind->place.kind != FileKind::Directory) continue;
      shows_directories = true;
      narrowing.directories.insert(bind->asked.destination);
    }
    // A local socket that lies in a directory of the host, or an abstract one of its network, is a
    // service of the host, and nobody judges each connection.
    narrowing.profile.local_sockets = !shows_directories && !shares_host_;
    narrowing.profile.ping = !open_because_.empty();
    narrowing.dropped_variables = refused_variables(demands_.variables, bounds_);
    for (const std::string& name : narrowing.dropped_variables) {
      reduce("env", name, std::nullopt);
    }
    if (rules_.named && !rules_.named->fs.scratch && demands_.root_writable) {
      narrowing.root_read_only = true;
      reduce("scratch", "a root that can be written", "read-only");
    }
  }

  const Demands& demands_;
  const NodeRules& rules_;
  const Caller& caller_;
  std::vector<Ceiling> bounds_;
  std::vector<ResolvedCeiling> resolved_;
  std::vector<FoundBind> binds_;
  std::vector<const FoundBind*> kept_;
  std::string open_because_;  // empty: nothing but a loopback of its own
  bool shares_host_ = false;
  JudgedContainer made_;
};

}  // namespace

Result<JudgedContainer> judge_container(const Demands& demands, const NodeRules& rules,
                                        const Caller& caller) {
  return Judge(demands, rules, caller).judge();
}

bool all_accept_missing(const std::vector<Ceiling>& ceilings, Layer layer) {
  return !ceilings.empty() && std::ranges::all_of(ceilings, [&](const Ceiling& ceiling) {
    const RequireRules& rules = ceiling.policy.require;
    return std::ranges::find(rules.accept_missing, layer) != rules.accept_missing.end() &&
           std::ranges::find(rules.layers, layer) == rules.layers.end();
  });
}

Ceiling as_bound(const Policy& policy, const std::vector<Ceiling>& ceilings) {
  Ceiling bound;
  bound.id = policy.file.empty() ? policy.name : policy.file;
  bound.policy = policy;
  bound.bounds_net = true;
  bound.bounds_env = true;
  if (policy.fs.mode == WriteMode::Staged) bound.mode = policy.fs.mode;
  // What is accepted is for the ceilings to say; a policy adds no voice to that.
  auto& required = bound.policy.require;
  required.accept_missing.clear();
  for (const Layer layer : kEveryLayer) {
    if (!all_accept_missing(ceilings, layer)) continue;
    required.accept_missing.push_back(run_without(layer));
    std::erase(required.layers, layer);
  }
  return bound;
}

std::set<std::string> refused_variables(const std::vector<std::string>& variables,
                                        const std::vector<Ceiling>& bounds) {
  std::set<std::string> refused;
  for (const std::string& name : variables) {
    if (std::ranges::find(kOwnVariables, name) != kOwnVariables.end()) continue;
    const auto permits = [&](const Ceiling& bound) { return permits_variable(bound, name); };
    if (!std::ranges::all_of(bounds, permits)) refused.insert(name);
  }
  return refused;
}

Error refusal_of(const std::vector<Complaint>& complaints) {
  const auto words = [](const Complaint& complaint) {
    return complaint.where.empty() ? complaint.what : complaint.where + ": " + complaint.what;
  };
  const Complaint& first = complaints.front();
  Error error = policy_error("the container is refused: " + words(first), first.hint);
  if (!first.rule.file.empty()) error.place = first.rule;
  for (std::size_t i = 1; i < complaints.size(); ++i) {
    const Place& rule = complaints[i].rule;
    const std::string place =
        rule.file.empty() ? "" : rule.file + ":" + std::to_string(rule.line) + ": ";
    error.notes.push_back(place + words(complaints[i]) + "; " + complaints[i].hint);
  }
  return error;
}

}  // namespace cordon::oci
