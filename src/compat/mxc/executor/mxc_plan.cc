// The plan for an MXC executor. Native's view is built around it first, so that the executor itself
// sees no more than the policy grants; the document then has it show that view to the command.
// Limits, Landlock, the filter and the end of the tree are Cordon's own.
#include <algorithm>
#include <iterator>

#include "base/path.h"
#include "base/text.h"
#include "compat/mxc/mxc_document.h"
#include "plan/plan.h"

namespace cordon {
namespace {

// The executor's own clock comes after Cordon's, which tells a timeout from an exit status.
constexpr std::uint64_t kExecutorGraceMilliseconds = 5000;
// Executed through the descriptor that Cordon hands down (compat/mxc/executor/inside.h).
constexpr std::string_view kCommandLine = "exec /proc/self/fd/41 executor-inside";
// Bubblewrap builds its root here.
constexpr std::string_view kTmp = "/tmp";
// The part of the private space that has copies of git configurations: the executor's own /dev
// covers the place where native shows them.
constexpr std::string_view kGitCopies = "git";

Error cannot_hold(const std::string& what, std::string hint) {
  return {.kind = ErrorKind::Unsupported,
          .what = what + " cannot be held by mxc",
          .hint = std::move(hint)};
}

Result<void> refuse_unenforceable(const Effective& effective, const HostFacts& facts) {
  if (effective.net.mode == NetMode::Allow) {
    return fail(cannot_hold("network mode allow",
                            "use --net none or --net open, or --backend native for names"));
  }
  if (!effective.net.publish.empty()) {
    return fail(cannot_hold("net.publish", "remove the list, or use --backend native"));
  }
  if (!effective.sockets.empty()) {
    return fail(cannot_hold("net.sockets", "remove the list, or use --backend native"));
  }
  // Only Landlock keeps the command out of what the executor's root has of its own.
  if (facts.landlock_abi <= 0) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "this kernel has no Landlock, which backend mxc cannot go without",
                 .hint = "boot with lsm=landlock,..."});
  }
  return {};
}

class MxcPlanner {
 public:
  MxcPlanner(Plan native, const Effective& effective, const ExecutorChoice& executor)
      : plan_(std::move(native)), effective_(effective), executor_(executor) {}

  Result<Plan> make() {
    plan_.backend = BackendKind::Mxc;
    plan_.seal.clear();
    std::vector<Op> operations = std::move(plan_.build);
    plan_.build.clear();
    for (const Op& operation : operations) std::visit(Take{*this}, operation);
    CORDON_CHECK(check_names());
    const auto pivoted = std::ranges::find_if(plan_.build, [](const Op& operation) {
      return std::holds_alternative<op::PivotRoot>(operation);
    });
    plan_.build.insert(std::next(pivoted),
                       op::RunExecutor{executor_.path, executor_.sha256, document()});
    for (const std::string& path : doubles_) {
      // An executor knows the libraries of its own architecture: it may leave /lib64 out.
      plan_.build.emplace_back(
          op::LandlockAllow{path, LandlockUse::ReadExecute, FileKind::Directory, {}, true});
    }
    // The executor leaves the command no capability, not even to drop one; that none is there is
    // measured.
    std::erase_if(plan_.confine, [](const Op& operation) {
      return std::holds_alternative<op::DropCapabilities>(operation);
    });
    for (Op& operation : plan_.confine) {
      // A bind for the broker is made by an init of Cordon's own, and there is none.
      if (auto* filter = std::get_if<op::InstallSeccomp>(&operation)) {
        filter->brokered = filter->watched = false;
      }
    }
    return std::move(plan_);
  }

 private:
  struct Take {
    MxcPlanner& planner;

    void operator()(const op::BindSystem& o) const {
      planner.output_.read.push_back(o.path);
      planner.plan_.build.emplace_back(o);
    }
    void operator()(const op::Bind& o) const {
      planner.show(o.path, o.access);
      planner.plan_.build.emplace_back(o);
    }
    void operator()(const op::Skeleton& o) const {
      planner.show(o.path, MountAccess::ReadOnly);
      planner.plan_.build.emplace_back(o);
    }
    void operator()(const op::ScratchDirectory& o) const {
      if (o.name == kGitCopies) return;
      planner.show(o.path, MountAccess::ReadWrite);
      planner.plan_.build.emplace_back(o);
    }
    void operator()(const op::ScratchFile& o) const {
      if (!contains(kGitCopies, o.name)) planner.plan_.build.emplace_back(o);
    }
    // A configuration of git that is read-only, for want of a private copy.
    void operator()(const op::PrivateConfig& o) const {
      planner.plan_.build.emplace_back(
          op::Hold{o.path, o.id, MountAccess::ReadOnly, "git configuration"});
    }
    void operator()(const op::MakeSymlink& o) const {
      if (parent(o.path) == "/") planner.doubles_.push_back(o.path);
      planner.plan_.build.emplace_back(o);
    }
    void operator()(const op::PivotRoot& o) const {
      planner.plan_.build.emplace_back(op::MakeDirectory{std::string(kTmp)});
      planner.plan_.build.emplace_back(o);
    }
    void operator()(const op::LandlockAllow& o) const {
      const bool copies = o.use == LandlockUse::ReadWrite && contains("/dev/cordon", o.path);
      if (!copies) planner.plan_.build.emplace_back(o);
    }
    // The kernel lets bubblewrap mount a /proc only where a whole one is seen: the init has one
    // that is neither masked nor read-only.
    void operator()(const op::MountProc&) const {}
    // Nobody would answer there.
    void operator()(const op::OpenResolver&) const {}
    // What the executor shows are whole grants.
    void operator()(const op::ReadOnlyWay&) const {}
    void operator()(const op::MaskProc&) const {}
    template <typename Other>
    void operator()(const Other& o) const {
      planner.plan_.build.emplace_back(o);
    }
  };

  void show(const std::string& path, MountAccess access) {
    (access == MountAccess::ReadOnly ? output_.read : output_.write).push_back(path);
  }

  [[nodiscard]] Result<void> check_names() const {
    for (const auto* list : {&output_.read, &output_.write}) {
      for (const std::string& path : *list) {
        if (mxc_can_name(path)) continue;
        return fail(
            cannot_hold("path " + quote(path), "it is not UTF-8 or has a quote in it: rename it"));
      }
    }
    return {};
  }

  std::string document() {
    output_.command_line = kCommandLine;
    output_.cwd = "/";
    if (effective_.limits.wall_ms) {
      output_.timeout_ms = *effective_.limits.wall_ms + kExecutorGraceMilliseconds;
    }
    if (effective_.net.mode == NetMode::Open) output_.network = MxcOutput::Network::Host;
    return write_json(mxc_document(output_), JsonStyle::Compact);
  }

  Plan plan_;
  const Effective& effective_;
  const ExecutorChoice& executor_;
  MxcOutput output_;
  std::vector<std::string> doubles_;  // "/lib": a link on the host, a mount in the executor's root
};

}  // namespace

Result<Plan> make_mxc_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                           const PlanRequest& request, const ExecutorChoice& executor) {
  CORDON_CHECK(refuse_unenforceable(clamped.effective(), facts));
  CORDON_TRY(native, make_native_plan(clamped, facts, caller, request));
  return MxcPlanner(std::move(native), clamped.effective(), executor).make();
}

}  // namespace cordon
