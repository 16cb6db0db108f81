// The plan for an MXC executor: what native would build, as far as the executor can be told it in a
// document. The view is the executor's; limits, Landlock, the filter and the end of the tree are
// Cordon's own.
#include <algorithm>
#include <iterator>

#include "base/path.h"
#include "base/text.h"
#include "config/foreign/mxc_document.h"
#include "plan/plan.h"

namespace cordon {
namespace {

// The executor's own clock comes after Cordon's, which tells a timeout from an exit status.
constexpr std::uint64_t kExecutorGraceMilliseconds = 5000;
// Executed through the descriptor that Cordon hands down (backend/mxc/orders.h).
constexpr std::string_view kCommandLine = "exec /proc/self/fd/41 executor-inside";
// The executor shows all of it unless told otherwise.
constexpr std::string_view kEtc = "/etc";

Error cannot_hold(const std::string& what, std::string hint) {
  return {.kind = ErrorKind::Unsupported,
          .what = what + " cannot be held by mxc",
          .hint = std::move(hint)};
}

Result<void> refuse_unenforceable(const Effective& effective, const HostFacts& facts) {
  const std::string own = "use --policy strict and name what is granted, or --backend native";
  if (effective.scratch) {
    return fail(cannot_hold("fs.scratch, a private space with a bound,", own));
  }
  if (effective.home != HomeMode::None) return fail(cannot_hold("fs.home", own));
  if (effective.caches) return fail(cannot_hold("fs.caches", own));
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
  MxcPlanner(Plan native, const Effective& effective, const HostFacts& facts,
             const ExecutorChoice& executor)
      : native_(std::move(native)), effective_(effective), facts_(facts), executor_(executor) {}

  Result<Plan> make() {
    std::vector<Op> view;
    for (const Op& operation : native_.build) CORDON_CHECK(take(operation, view));
    if (!whole_etc_) output_.deny.emplace_back(kEtc);
    CORDON_CHECK(check_names());
    Plan plan = std::move(native_);
    plan.backend = "mxc";
    plan.build.clear();
    plan.seal.clear();
    std::ranges::move(start_, std::back_inserter(plan.build));
    plan.build.emplace_back(op::RunExecutor{executor_.path, executor_.sha256, document()});
    std::ranges::move(view, std::back_inserter(plan.build));
    add_rules(plan.build);
    // The executor leaves the command no capability, not even to drop one; that none is there is
    // measured.
    std::erase_if(plan.confine, [](const Op& operation) {
      return std::holds_alternative<op::DropCapabilities>(operation);
    });
    for (Op& operation : plan.confine) {
      // The broker's errands need a first process of Cordon's own.
      if (auto* filter = std::get_if<op::InstallSeccomp>(&operation)) filter->brokered = false;
    }
    return plan;
  }

 private:
  struct Take {
    MxcPlanner& planner;
    std::vector<Op>& view;

    Result<void> operator()(const op::EnterNamespaces& o) const {
      planner.start_.emplace_back(o);
      return {};
    }
    Result<void> operator()(const op::MapIdentity& o) const {
      planner.start_.emplace_back(o);
      return {};
    }
    Result<void> operator()(const op::BindSystem& o) const {
      planner.output_.read.push_back(o.path);
      if (contains(kEtc, o.path)) planner.etc_.push_back(o.path);
      view.emplace_back(o);
      return {};
    }
    Result<void> operator()(const op::Bind& o) const {
      planner.show(o.path, o.access);
      if (o.path == kEtc) planner.whole_etc_ = true;
      view.emplace_back(o);
      return {};
    }
    Result<void> operator()(const op::Hold& o) const {
      planner.show(o.path, o.access);
      view.emplace_back(o);
      return {};
    }
    // A configuration of git that is read-only, for want of a private copy.
    Result<void> operator()(const op::PrivateConfig& o) const {
      return (*this)(op::Hold{o.path, o.id, MountAccess::ReadOnly, "git configuration"});
    }
    Result<void> operator()(const op::Mask& o) const {
      // The executor's mask of a directory is one that can be written to: what a program moves
      // there is lost, and what it writes there is bounded by nothing.
      if (o.kind == FileKind::Directory && planner.lies_in_writable(o.path)) {
        return fail(cannot_hold("hiding " + quote(o.path) + " inside a writable grant",
                                "grant less, or use --backend native"));
      }
      planner.output_.deny.push_back(o.path);
      view.emplace_back(o);
      return {};
    }
    Result<void> operator()(const op::MakeSymlink& o) const {
      if (parent(o.path) == "/") planner.doubles_.push_back(o.path);
      return {};
    }
    Result<void> operator()(const op::ScratchDirectory& o) const {
      planner.absent_.push_back(o.path);
      return {};
    }
    Result<void> operator()(const op::LandlockAllow& o) const {
      // Native's /etc holds public files only; the executor's gets a rule for each of them.
      const bool too_wide = o.path == kEtc && !planner.whole_etc_;
      const bool absent = std::ranges::find(planner.absent_, o.path) != planner.absent_.end();
      if (!too_wide && !absent) view.emplace_back(o);
      return {};
    }
    // The executor makes its own root, /dev and /proc; the rest native needs for its own ends.
    template <typename Other>
    Result<void> operator()(const Other&) const {
      return {};
    }
  };

  Result<void> take(const Op& operation, std::vector<Op>& view) {
    return std::visit(Take{*this, view}, operation);
  }

  void show(const std::string& path, MountAccess access) {
    (access == MountAccess::ReadOnly ? output_.read : output_.write).push_back(path);
  }

  [[nodiscard]] bool lies_in_writable(std::string_view path) const {
    return std::ranges::any_of(output_.write,
                               [&](const std::string& root) { return contains(root, path); });
  }

  [[nodiscard]] Result<void> check_names() const {
    for (const auto* list : {&output_.read, &output_.write, &output_.deny}) {
      for (const std::string& path : *list) {
        if (mxc_can_name(path)) continue;
        return fail(
            cannot_hold("path " + quote(path), "it is not UTF-8 or has a quote in it: rename it"));
      }
    }
    return {};
  }

  void add_rules(std::vector<Op>& operations) const {
    for (const std::string& path : doubles_) {
      operations.emplace_back(
          op::LandlockAllow{path, LandlockUse::ReadExecute, FileKind::Directory});
    }
    if (whole_etc_) return;
    for (const std::string& path : etc_) {
      operations.emplace_back(op::LandlockAllow{path, LandlockUse::Read, kind_of(path)});
    }
  }

  [[nodiscard]] FileKind kind_of(const std::string& path) const {
    const auto found = std::ranges::find(facts_.system, path, &SystemEntry::path);
    const bool directory =
        found != facts_.system.end() && found->kind == SystemEntry::Kind::Directory;
    return directory ? FileKind::Directory : FileKind::Regular;
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

  Plan native_;
  const Effective& effective_;
  const HostFacts& facts_;
  const ExecutorChoice& executor_;
  MxcOutput output_;
  std::vector<Op> start_;
  std::vector<std::string> doubles_;  // "/lib": a link on the host, a mount in the executor's root
  std::vector<std::string> etc_;
  std::vector<std::string> absent_;  // private places of native's that the executor does not have
  bool whole_etc_ = false;
};

}  // namespace

Result<Plan> make_mxc_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                           const PlanRequest& request, const ExecutorChoice& executor) {
  CORDON_CHECK(refuse_unenforceable(clamped.effective(), facts));
  CORDON_TRY(native, make_native_plan(clamped, facts, caller, request));
  return MxcPlanner(std::move(native), clamped.effective(), facts, executor).make();
}

}  // namespace cordon
