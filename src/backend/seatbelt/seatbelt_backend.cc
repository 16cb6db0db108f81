#include "backend/seatbelt/seatbelt_backend.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backend/native/in_child.h"
#include "backend/native/launch_parts.h"
#include "backend/seatbelt/sandbox_exec.h"
#include "backend/seatbelt/seatbelt_child.h"
#include "backend/seatbelt/seatbelt_plan.h"
#include "base/text.h"

namespace cordon::seatbelt {
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
  found.backend = plan.backend;
  found.network = name_of(net);
  for (const PlannedLimit& limit : plan.limits) found.limits[limit.name] = name_of(limit.by);
  for (const Layer layer : plan.missing) found.missing.emplace_back(name_of(layer));
  found.lost = plan.lost;
  return found;
}

class Seatbelt final : public Backend {
 public:
  explicit Seatbelt(std::optional<std::string> program) : program_(std::move(program)) {}

  [[nodiscard]] std::string_view name() const override { return "seatbelt"; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    if (!program_) {
      return fail({.kind = ErrorKind::Unavailable,
                   .what = "backend seatbelt needs sandbox-exec, a program of macOS",
                   .hint = "use --backend native; --dry-run prints the profile"});
    }
    CORDON_CHECK(check_sandbox_exec(*program_));
    Capabilities can;
    can.backend = name();
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

  [[nodiscard]] Result<std::unique_ptr<Child>> launch(const Plan& plan, const HostFacts&,
                                                      const std::string&,
                                                      const CommandStreams& streams) const override;

 private:
  std::optional<std::string> program_;
};

Result<std::unique_ptr<Child>> Seatbelt::launch(const Plan& plan, const HostFacts&,
                                                const std::string&,
                                                const CommandStreams& streams) const {
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
  return std::make_unique<SeatbeltChild>(std::move(kept), enforcement_of(plan, net));
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
