// Backend: a mechanism that can carry out a plan. Child: a sandbox that was started.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "cordon/probe.h"
#include "egress/broker_sockets.h"
#include "plan/plan.h"

namespace cordon::native {
class Forerunner;
}  // namespace cordon::native

namespace cordon {

// The command's ends of its streams; -1 with a terminal.
struct CommandStreams {
  int in = -1;
  int out = -1;
  int err = -1;
  bool terminal = false;
  unsigned short rows = 0;  // of the caller's window, for a terminal
  unsigned short columns = 0;
};

struct ChildEnd {
  int wait_status = 0;
  Usage usage;
};

// Nothing has become of it yet.
struct ChildRuns {};
// The command was stopped, as by the suspend key of its terminal. Only told with a terminal.
struct ChildStopped {};
// The sandbox is gone without a word.
struct ChildLost {};

// What became of a Child: the command ended and with it everything but the sandbox's first process;
// it could not be executed; or nothing is known.
using ChildEvent = std::variant<ChildRuns, ChildStopped, ChildEnd, Error, ChildLost>;

// A descriptor, and the events of poll(2) on it that mean something. A negative descriptor: nothing
// tells, and one has to look from time to time.
struct PolledFor {
  int descriptor = -1;
  short events = 0;
};

// Private places whose content is gone with a run.
enum class GonePlace : std::size_t { Home, Tmp, VarTmp, Shm, Run };
inline constexpr std::size_t kGonePlaces = 5;
// By the names of their op::ScratchDirectory.
inline constexpr std::array<std::string_view, kGonePlaces> kGonePlaceNames = {
    "home", "tmp", "vartmp", "shm", "run"};
using GonePlaces = std::array<Fd, kGonePlaces>;

// A running sandbox. Its destructor kills the whole tree and reaps it.
class Child {
 public:
  virtual ~Child() = default;
  // Readable when event() has something to say.
  [[nodiscard]] virtual int event_descriptor() const = 0;
  // True if the kernel kills at a bound of the whole tree's memory.
  [[nodiscard]] virtual bool bounds_memory() const = 0;
  // Asks the kernel to tell by memory_news(). A command that ends at once never needs it, so it is
  // not part of the start.
  virtual void watch_memory() = 0;
  // Ready when something happened to the memory, which need not be a kill: ask memory_killed().
  [[nodiscard]] virtual PolledFor memory_news() const = 0;
  // True if that bound has killed; a kill for somebody else's limit is none. Takes the news, so
  // that memory_news() tells of what comes next.
  virtual bool memory_killed() = 0;
  virtual ChildEvent event() = 0;
  // Delivers a signal to every process of the sandbox but its first.
  virtual void signal(int number) = 0;
  // Kills everything and waits until it is gone.
  virtual void kill_and_wait() = 0;
  // The first process as the host sees it, for watching what descends from it.
  [[nodiscard]] virtual pid_t init_process() const = 0;
  // Bytes that belong to the sandbox's ipc namespace and to no process, as last told by event();
  // only where no cgroup counts them.
  [[nodiscard]] virtual std::uint64_t ipc_memory() const = 0;
  // Limits reached, as far as the kernel counted them. Call after the tree is gone.
  virtual std::vector<Denial> denials() = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> peak_memory() const = 0;
  // What the whole tree used. Call after it is gone.
  [[nodiscard]] virtual Usage tree_usage() const = 0;
};

// The supervisor's ends of what a sandbox was given.
struct SandboxEnds {
  // The master of the sandbox's own pty; invalid without a terminal.
  Fd terminal;
  // While nobody answers, calls wait; when the listener is closed, they fail with ENOSYS.
  BrokerSockets egress;
  // Where the plan publishes ports: answers with sockets of the sandbox's network (sys/sockets.h).
  // Else invalid.
  Fd socket_source;
  // The directories that are gone with the run: what was written there can still be told. Invalid
  // where there is none, or it lasts.
  GonePlaces gone_places;
};

// What a launch returns. The child is the last member, so that it is ended before anything that its
// processes may be waiting for is closed.
struct Launched {
  Enforcement enforcement;  // read back from inside before the command was released
  SandboxEnds ends;
  std::unique_ptr<Child> child;
};

// A sandbox that is being built, and whose command waits. Its destructor ends what was begun.
class Building {
 public:
  virtual ~Building() = default;
  // Returns once the command was released under everything the plan names, read back from inside;
  // or an error, and then nothing of it runs. At most once.
  [[nodiscard]] virtual Result<Launched> release() = 0;
};

// Of a backend that can begin nothing before the command: everything is done at the release.
class BuiltAtRelease final : public Building {
 public:
  using Launch = std::function<Result<Launched>()>;
  explicit BuiltAtRelease(Launch launch) : launch_(std::move(launch)) {}
  [[nodiscard]] Result<Launched> release() override { return launch_(); }

 private:
  Launch launch_;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual BackendKind kind() const = 0;
  [[nodiscard]] std::string_view name() const { return name_of(kind()); }
  // Mounted: the private home and scratch space exist for this run alone, at the usual paths.
  // OnDisk: they are directories of the host, which the run is given by name and which are removed
  // after it.
  enum class PrivateSpace { Mounted, OnDisk };
  [[nodiscard]] virtual PrivateSpace private_space() const = 0;
  // True if a run needs a directory of the host for itself, whatever its policy grants.
  [[nodiscard]] virtual bool needs_directory() const { return false; }
  // Probes by doing. An error says what is missing and how to get it.
  [[nodiscard]] virtual Result<Capabilities> probe() const = 0;
  [[nodiscard]] virtual Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                          const Caller& caller,
                                          const PlanRequest& request) const = 0;
  // What must be noted before build() because only a living process could remove it.
  [[nodiscard]] virtual std::vector<std::string> leftovers(const Plan& plan, const HostFacts& facts,
                                                           const std::string& run_id) const = 0;
  // Offers what was made of a sandbox before there was a plan; it outlives every build(). A backend
  // that has no use for it leaves it.
  virtual void start_from(native::Forerunner& /*ahead*/) {}
  // Begins to build; the sandbox's own process goes on with it meanwhile. Nothing of the command
  // runs before it is released. What is passed must outlive what is built, the plan the child too.
  [[nodiscard]] virtual Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const = 0;
};

// Makes a backend by its kind. One that is known and not part of this program is Unsupported.
using MakeBackend = std::function<Result<std::unique_ptr<Backend>>(BackendKind)>;

}  // namespace cordon
