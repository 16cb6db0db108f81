#include "compat/seatbelt/seatbelt_backend.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "compat/seatbelt/profile.h"
#include "compat/seatbelt/seatbelt_init.h"
#include "plan/limits.h"
#include "plan/tree.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/sandbox_init.h"

namespace cordon::seatbelt {
namespace {

Error unsupported(std::string what, std::string hint) {
  return {.kind = ErrorKind::Unsupported, .what = std::move(what), .hint = std::move(hint)};
}

Result<void> refuse_layers(const Effective& effective, Plan& plan) {
  for (const Layer layer : effective.require) {
    const auto& accepted = effective.accept_missing;
    if (std::ranges::find(accepted, layer) == accepted.end()) {
      return fail(unsupported("the policy requires the layer " + std::string(name_of(layer)) +
                                  ", which seatbelt does not have",
                              "remove it from [require] layers, or use --backend native"));
    }
    plan.missing.push_back(layer);
  }
  return {};
}

Result<void> plan_bounds(const Effective& effective, const Caller& caller, Plan& plan) {
  if (effective.limits.memory) {
    return fail(unsupported("limit memory cannot be held by seatbelt: macOS bounds no memory",
                            "remove limits.memory from the policy, or use --backend native"));
  }
  if (effective.limits.pids && caller.uid == 0) {
    return fail(
        unsupported("limit pids cannot be held by seatbelt for root: nothing binds it there",
                    "remove limits.pids from the policy, or run as an ordinary user"));
  }
  // There are no cgroups.
  CORDON_TRY(limits, plan_limits(effective.limits, effective.net, HostFacts(), caller.uid));
  plan.limits.insert(plan.limits.end(), limits.planned.begin(), limits.planned.end());
  for (op::ResourceLimit& limit : limits.resource_limits)
    plan.confine.emplace_back(std::move(limit));
  return {};
}

}  // namespace

Result<Plan> make_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                       const PlanRequest& request) {
  const Effective& effective = clamped.effective();
  Plan plan;
  plan.backend = BackendKind::Seatbelt;
  CORDON_CHECK(refuse_layers(effective, plan));
  const ShownGrants grants = shown_grants(effective, facts, plan);
  const PrivatePlaces places = plan_private_places(effective, facts, caller, request, grants, plan);
  CORDON_TRY(profile, make_profile(clamped, facts, caller, places.all(), style_for(effective)));
  std::string text;
  for (const std::string& warning : profile.warnings) text += "; " + warning + "\n";
  text += profile.text;
  plan_command_among(places, effective, caller, request, plan);
  CORDON_CHECK(plan_bounds(effective, caller, plan));
  plan.confine.emplace_back(op::CloseDescriptors{});
  plan.confine.emplace_back(op::NewSession{});
  plan.confine.emplace_back(op::ChangeDirectory{plan.cwd});
  plan.confine.emplace_back(op::LoadProfile{kSandboxExec, std::move(text), effective.net.mode});
  plan.confine.emplace_back(op::Execute{plan.argv});
  return plan;
}

namespace {

constexpr int kTryTimeoutMs = 5000;
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
  CORDON_TRY(status, run_briefly(start, kTryTimeoutMs));
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

ChildEvent SeatbeltChild::event() {
  Ended ended;
  const ssize_t got = ::recv(kept_.channel.get(), &ended, sizeof ended, MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ChildRuns{};
  if (got <= 0) return ChildLost{};
  if (got < static_cast<ssize_t>(sizeof ended)) return ChildRuns{};
  (void)::recv(kept_.channel.get(), &ended, sizeof ended, 0);
  ended_ = ended;
  return ChildEnd{ended.wait_status, tree_usage()};
}

void SeatbeltChild::signal(int number) {
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(kept_.channel.get(), &byte, 1);
}

Usage SeatbeltChild::tree_usage() const {
  if (!ended_) return {};
  return {ended_->cpu_us / 1000, ended_->max_rss_bytes};
}

namespace {

Result<void> make_place(const Op& operation) {
  if (const auto* directory = std::get_if<op::MakeDirectory>(&operation)) {
    if (::mkdir(directory->path.c_str(), directory->mode) == 0) return {};
    return fail(setup_error("cannot make " + quote(directory->path), errno));
  }
  if (const auto* made = std::get_if<op::MakeFile>(&operation)) {
    const Fd file(::open(made->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         made->mode));
    const auto size = static_cast<ssize_t>(made->content.size());
    if (file.valid() && ::write(file.get(), made->content.data(), made->content.size()) == size) {
      return {};
    }
    return fail(setup_error("cannot make " + quote(made->path), errno));
  }
  return fail(setup_error("cannot " + describe(operation) + " in backend seatbelt", 0));
}

// The program is looked for here because sandbox-exec tells nobody why it could not become it.
Result<std::string> find_command(const Plan& plan) {
  int why = ENOENT;
  for (const std::string& candidate : plan.candidates) {
    const std::string path = candidate.starts_with('/') ? candidate : plan.cwd + "/" + candidate;
    struct stat status {};
    if (::stat(path.c_str(), &status) < 0) {
      if (errno != ENOENT && errno != ENOTDIR) why = errno;
      continue;
    }
    if (S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0) return path;
    why = EACCES;
  }
  return fail(native::command_error(plan, why));
}

Enforcement enforcement_of(const Plan& plan, NetMode net) {
  Enforcement found;
  found.backend = name_of(plan.backend);
  found.network = name_of(net);
  for (const PlannedLimit& limit : plan.limits) found.limits[limit.name] = name_of(limit.by);
  for (const Layer layer : plan.missing) found.missing.emplace_back(name_of(layer));
  found.lost = plan.lost;
  return found;
}

class Seatbelt final : public Backend {
 public:
  explicit Seatbelt(std::optional<std::string> program) : program_(std::move(program)) {}

  [[nodiscard]] BackendKind kind() const override { return BackendKind::Seatbelt; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::OnDisk; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    if (!program_) {
      return fail({.kind = ErrorKind::Unavailable,
                   .what = "backend seatbelt needs sandbox-exec, a program of macOS",
                   .hint = "use --backend native; --dry-run prints the profile"});
    }
    CORDON_CHECK(check_sandbox_exec(*program_));
    Capabilities can;
    can.backend = kind();
    can.fs_read = can.fs_write = can.execute = true;
    can.net_block = can.net_allow = true;
    can.deny_paths_supported = true;
    can.environment_scrub = true;
    return can;
  }

  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    return make_plan(clamped, facts, caller, request);
  }

  [[nodiscard]] std::vector<std::string> leftovers(const Plan&, const HostFacts&,
                                                   const std::string&) const override {
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts&, const std::string&,
      const CommandStreams& streams) const override {
    return std::make_unique<BuiltAtRelease>(
        [this, &plan, streams] { return launch(plan, streams); });
  }

 private:
  [[nodiscard]] Result<Launched> launch(const Plan& plan, const CommandStreams& streams) const;

  std::optional<std::string> program_;
};

Result<Launched> Seatbelt::launch(const Plan& plan, const CommandStreams& streams) const {
  CORDON_CHECK(probe());
  if (streams.terminal) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "backend seatbelt has no terminals",
                 .hint = "send its output through a pipe: cordon run ... | cat"});
  }
  CORDON_TRY(command, find_command(plan));
  for (const Op& operation : plan.build) CORDON_CHECK(make_place(operation));
  Start start;
  NetMode net = NetMode::None;
  std::vector<std::string> argv = plan.argv;
  argv.front() = command;
  for (const Op& operation : plan.confine) {
    if (const auto* limit = std::get_if<op::ResourceLimit>(&operation)) {
      start.bounds.push_back({native::resource_of(limit->name), limit->value});
    } else if (const auto* profile = std::get_if<op::LoadProfile>(&operation)) {
      start.argv = sandboxed(*program_, profile->text, argv);
      net = profile->net;
    }
  }
  start.environment = plan.environment;
  start.cwd = plan.cwd;
  start.in = streams.in;
  start.out = streams.out;
  start.err = streams.err;
  CORDON_TRY(kept, seatbelt::start(start));
  return Launched{enforcement_of(plan, net), {}, std::make_unique<SeatbeltChild>(std::move(kept))};
}

}  // namespace

std::unique_ptr<Backend> make_backend() {
#ifdef __APPLE__
  return make_backend_with(kSandboxExec);
#else
  return make_backend_with(std::nullopt);
#endif
}

std::unique_ptr<Backend> make_backend_with(std::optional<std::string> program) {
  return std::make_unique<Seatbelt>(std::move(program));
}

}  // namespace cordon::seatbelt
