// run_code and start_process: contained runs that the server keeps.
#include <algorithm>

#include "faces/mcp/call.h"
#include "faces/mcp/full/full_table.h"
#include "faces/mcp/full/process_tools.h"
#include "faces/mcp/tools/excerpt.h"
#include "faces/mcp/tools/guidance.h"
#include "faces/mcp/tools/output_progress.h"
#include "faces/mcp/tools/run_answer.h"
#include "faces/mcp/tools/run_request.h"
#include "faces/mcp/tools/tool_context.h"

namespace cordon::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kDefaultWaitMs = 50'000;  // below every client's own deadline
constexpr std::int64_t kDefaultReadyMs = 10'000;
constexpr milliseconds kEndTimeout{10'000};
constexpr milliseconds kStartTimeout{10'000};

// No more is kept on disk than the operator lets be kept of a stream.
StoreBounds store_bounds(const CallCeilings& bounds) {
  StoreBounds kept;
  for (const Ceiling& ceiling : bounds.ceilings) {
    if (!ceiling.policy.limits.output) continue;
    kept.head = std::min(kept.head, *ceiling.policy.limits.output / 2);
    kept.tail = std::min(kept.tail, *ceiling.policy.limits.output / 2);
  }
  return kept;
}

Result<std::shared_ptr<Process>> start(FullToolContext& bench, const Call& call, RunRequest request,
                                       Process::Input input, std::string name) {
  Process::Order order;
  order.name = std::move(name);
  order.bounds = store_bounds(request.bounds);
  order.request = std::move(request);
  order.input = input;
  // A client that is gone is not kept by what it started.
  order.carry_out = [context = bench.context,
                     client = std::weak_ptr<Client>(call.client())](const RunRequest& asked) {
    return context->run(client, asked.bounds, asked.input, asked.caller, kind_of(asked));
  };
  order.directory = bench.state_directory;
  return bench.processes.start(std::move(order), call.client());
}

ToolResult no_process(ToolContext& context, const Call& call, const Caller& caller,
                      const std::string& tool, const Error& error) {
  const ToolFault fault{"Execution failed", error.what,
                        error.hint.empty() ? "Try again later." : error.hint,
                        "SandboxExecutionError"};
  return answer_fault(fault, context.refuse(caller, call, tool, error));
}

// Bytes so far and the last line, twice a second at most.
class Heartbeat {
 public:
  Heartbeat(Call& call, const Process& process, const SecretMask& mask)
      : call_(call), process_(process), mask_(mask) {}

  void beat(const ProcessStatus& status) {
    const auto now = steady_clock::now();
    const std::uint64_t bytes = status.out_bytes + status.err_bytes;
    if (!call_.wants_progress() || bytes == 0 || now - last_ < kProgressInterval) return;
    last_ = now;
    const bool out = status.out_bytes > 0;
    const std::uint64_t end = out ? status.out_bytes : status.err_bytes;
    const std::uint64_t begin = end > kProgressTail ? end - kProgressTail : 0;
    const auto piece = process_.read(out ? OutputFrom::Out : OutputFrom::Err, begin, kProgressTail);
    const Tail kind = piece.begin > 0 ? Tail::CutOff : Tail::Whole;
    call_.progress(static_cast<double>(bytes), std::nullopt, last_line(piece.bytes, kind, mask_));
  }

 private:
  Call& call_;
  const Process& process_;
  const SecretMask& mask_;
  steady_clock::time_point last_ = steady_clock::now();
};

// `status` is what the caller decided by: a run may end at any moment, and one that could not be
// started is not answered here.
ToolResult answer_running(const FullToolContext& bench, const Process& process,
                          const ProcessStatus& status, std::size_t room, NodeList refused) {
  Node node{NodeMap{}};
  node.set("success", true);
  add_status(node, status);
  if (refused.size() > kMostListed) refused.resize(kMostListed);
  const CallCeilings& bounds = process.request().bounds;
  const SecretMask& mask = bench.context->mask();
  if (!status.running) {
    add_guidance(node, guidance_of(*status.report, refused, bounds, mask));
  } else if (!refused.empty()) {
    node.set("help", help_for(bounds, refusals_of(refused, bounds)));
  }
  if (!refused.empty()) node.set("not_granted", std::move(refused));
  OutputRequest wish;
  wish.room = room;
  add_output(node, bench, process, status, wish);
  return answer_node(node, false);
}

// What was asked for and not granted in full is known once the run was judged; until then it is
// what was not even asked for.
NodeList refused_so_far(const Process& process, const ProcessStatus& status) {
  NodeList refused = process.request().refused;
  if (!status.running) {
    for (Node& entry :
         not_granted(*status.report, process.request().wish, process.request().bounds)) {
      refused.push_back(std::move(entry));
    }
  }
  return refused;
}

}  // namespace

ToolResult run_command(FullToolContext& bench, Call& call) {
  const std::string tool = "run_code";
  ToolContext& context = *bench.context;
  const Node& arguments = call.arguments();
  const std::string* deadline = text_member(arguments, "on_deadline");
  const bool goes_on = deadline != nullptr && *deadline == "background";
  // Who asks for a long run in the foreground knows how long its host waits.
  const std::int64_t foreground_ms =
      goes_on ? kDefaultWaitMs : number_member(arguments, "timeout_ms").value_or(kDefaultWaitMs);
  const std::int64_t wait_ms = number_member(arguments, "wait_ms").value_or(foreground_ms);
  auto made = run_request(context, call, tool, goes_on ? kLongestWallMs : kDefaultWallMs);
  if (auto* refused = std::get_if<ToolResult>(&made)) return std::move(*refused);
  auto& request = std::get<RunRequest>(made);
  if (!goes_on) {
    auto& wall = request.input.policy.limits.wall_ms;
    wall = std::min(wall.value_or(kLongestWallMs), static_cast<std::uint64_t>(wait_ms));
  }
  // As much as an answer may show, from the beginning or from the end.
  const std::size_t room = wanted_room(call);
  request.input.policy.limits.output = 2 * room;
  const Caller caller = request.caller;
  const auto process = start(bench, call, std::move(request), Process::Input::AsAsked, {});
  if (!process) return no_process(context, call, caller, tool, process.error());
  Heartbeat heartbeat(call, **process, context.mask());
  // A run that is to end by its own clock is waited for until it has.
  const milliseconds deadlines =
      goes_on ? milliseconds(wait_ms) : milliseconds(wait_ms) + kEndTimeout;
  (*process)->wait(call, deadlines, [&](const ProcessStatus& status) {
    heartbeat.beat(status);
    return false;
  });
  const ProcessStatus status = (*process)->status();
  if (status.running && (call.cancelled() || !goes_on)) (*process)->kill();
  if (status.running) {
    return answer_running(bench, **process, status, room, refused_so_far(**process, status));
  }
  const RunRequest& kept = (*process)->request();
  if (status.report->error) return answer_not_started(context, kept, *status.report);
  return answer_run(*status.report, kept.wish, kept.refused, kept.bounds, context.mask(),
                    {(*process)->id(), room});
}

ToolResult start_process(FullToolContext& bench, Call& call) {
  const std::string tool = "start_process";
  ToolContext& context = *bench.context;
  const Node& arguments = call.arguments();
  auto made = run_request(context, call, tool, kLongestWallMs);
  if (auto* refused = std::get_if<ToolResult>(&made)) return std::move(*refused);
  auto& request = std::get<RunRequest>(made);
  const Caller caller = request.caller;
  const auto process =
      start(bench, call, std::move(request), Process::Input::Open, text_argument(call, "name"));
  if (!process) return no_process(context, call, caller, tool, process.error());
  const std::string ready = text_argument(call, "ready_text");
  const std::int64_t ready_ms = number_member(arguments, "ready_ms").value_or(kDefaultReadyMs);
  bool is_ready = false;
  const auto shows = [&](OutputFrom from, std::uint64_t bytes) {
    constexpr std::uint64_t kLookedAt = std::uint64_t{64} << 10U;
    const std::uint64_t begin = bytes > kLookedAt ? bytes - kLookedAt : 0;
    return (*process)->read(from, begin, kLookedAt).bytes.find(ready) != std::string::npos;
  };
  // A sandbox that is still being built on a busy machine is no running command yet.
  (*process)->wait(call, kStartTimeout, [](const ProcessStatus& status) { return status.started; });
  // Without a text to wait for, only long enough to see it fail at once.
  const milliseconds deadlines = ready.empty() ? milliseconds(150) : milliseconds(ready_ms);
  Heartbeat heartbeat(call, **process, context.mask());
  (*process)->wait(call, deadlines, [&](const ProcessStatus& status) {
    heartbeat.beat(status);
    is_ready = !ready.empty() && (shows(OutputFrom::Out, status.out_bytes) ||
                                  shows(OutputFrom::Err, status.err_bytes));
    return is_ready;
  });
  if (call.cancelled()) (*process)->kill();
  const ProcessStatus status = (*process)->status();
  if (!status.running && status.report->error) {
    return answer_not_started(context, (*process)->request(), *status.report);
  }
  return answer_running(bench, **process, status, kResultBytes, refused_so_far(**process, status));
}

}  // namespace cordon::mcp
