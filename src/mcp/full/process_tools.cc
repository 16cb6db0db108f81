// The tools that work on processes which are there: read_output, write_stdin, stop_process and
// list_processes.
#include <algorithm>

#include "mcp/full/full_tools.h"
#include "mcp/full/process_answer.h"
#include "mcp/full/recorded_call.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInputPatience{500};
constexpr milliseconds kKillPatience{10'000};
constexpr std::int64_t kDefaultGraceMs = 1'000;

// A recorded call about one process, or the answer if there is none of that id.
struct About {
  RecordedCall recorded;
  std::shared_ptr<Process> process;
};
std::variant<About, ToolResult> about(Workbench& bench, const Call& call, const char* tool) {
  auto begun = RecordedCall::begin(*bench.toolbox, call, tool);
  if (auto* refused = std::get_if<ToolResult>(&begun)) return std::move(*refused);
  auto& recorded = std::get<RecordedCall>(begun);
  auto process = bench.processes.find(text_argument(call, "process_id"), call.client());
  if (process == nullptr) return recorded.failed(unknown_process());
  return About{std::move(recorded), std::move(process)};
}

OutputWish::Streams wanted_streams(const Call& call) {
  const std::string name = text_argument(call, "stream");
  if (name == "stdout") return OutputWish::Streams::Out;
  return name == "stderr" ? OutputWish::Streams::Err : OutputWish::Streams::Both;
}

bool has_more(const ProcessStatus& status, const OutputWish& wish) {
  const bool out = wish.streams != OutputWish::Streams::Err && status.out_bytes > wish.from.first;
  const bool err = wish.streams != OutputWish::Streams::Out && status.err_bytes > wish.from.second;
  return out || err;
}

}  // namespace

ToolResult read_output(Workbench& bench, Call& call) {
  auto found = about(bench, call, "read_output");
  if (auto* refused = std::get_if<ToolResult>(&found)) return std::move(*refused);
  auto& [recorded, process] = std::get<About>(found);
  const Node& arguments = call.arguments();
  OutputWish wish;
  wish.streams = wanted_streams(call);
  wish.only_with = text_argument(call, "grep");
  wish.room = wanted_room(call);
  ProcessStatus status = process->status();
  if (const std::string* cursor = text_member(arguments, "cursor")) {
    const auto place = bench.cursors.read(cursor_subject(process->id()), *cursor);
    if (!place) {
      return recorded.failed({"Invalid arguments", "cursor is not one of this process",
                              "Take next_cursor of the last answer, or leave cursor out.",
                              "InvalidArguments"});
    }
    wish.from = *place;
  } else if (const auto lines = number_member(arguments, "tail_lines")) {
    const auto count = static_cast<std::uint64_t>(*lines);
    wish.from.first = last_lines(*process, OutputFrom::Out, status.out_bytes, count);
    wish.from.second = last_lines(*process, OutputFrom::Err, status.err_bytes, count);
  }
  const std::int64_t wait_ms = number_member(arguments, "wait_ms").value_or(0);
  process->wait(call, milliseconds(wait_ms),
                [&](const ProcessStatus& now) { return has_more(now, wish); });
  status = process->status();
  Node node{NodeMap{}};
  node.set("success", true);
  add_status(node, status);
  add_output(node, bench, *process, status, wish);
  return recorded.done(std::move(node));
}

ToolResult write_stdin(Workbench& bench, Call& call) {
  auto found = about(bench, call, "write_stdin");
  if (auto* refused = std::get_if<ToolResult>(&found)) return std::move(*refused);
  auto& [recorded, process] = std::get<About>(found);
  const auto written = process->write(text_argument(call, "data"), kInputPatience);
  const ToolFault gone{"Write failed", "nobody reads the standard input of this process any more",
                       "read_output tells how it ended; start it again with start_process.",
                       "InvalidArguments"};
  if (written.taken == Process::Taken::Ended || written.taken == Process::Taken::Closed) {
    return recorded.failed(gone);
  }
  const bool all = written.taken == Process::Taken::All;
  if (all && flag_member(call.arguments(), "eof")) process->close_input();
  Node node{NodeMap{}};
  node.set("success", true).set("bytes_accepted", written.bytes).set("all_accepted", all);
  if (!all) node.set("help", "The process does not read: send the rest again later.");
  add_status(node, process->status());
  return recorded.done(std::move(node));
}

ToolResult stop_process(Workbench& bench, Call& call) {
  auto found = about(bench, call, "stop_process");
  if (auto* refused = std::get_if<ToolResult>(&found)) return std::move(*refused);
  auto& [recorded, process] = std::get<About>(found);
  const std::int64_t grace_ms =
      number_member(call.arguments(), "grace_ms").value_or(kDefaultGraceMs);
  const auto never = [](const ProcessStatus&) { return false; };
  if (grace_ms > 0) {
    process->ask_to_end();
    process->wait(call, milliseconds(grace_ms), never);
  }
  process->kill();
  process->wait(call, kKillPatience, never);
  const ProcessStatus status = process->status();
  Node node{NodeMap{}};
  node.set("success", !status.running);
  add_status(node, status);
  return recorded.done(std::move(node));
}

ToolResult list_processes(Workbench& bench, Call& call) {
  auto begun = RecordedCall::begin(*bench.toolbox, call, "list_processes");
  if (auto* refused = std::get_if<ToolResult>(&begun)) return std::move(*refused);
  constexpr std::size_t kFrame = 200;  // for everything but the entries
  auto processes = bench.processes.list(call.client());
  std::ranges::reverse(processes);  // the newest are asked for most
  NodeList entries;
  std::size_t bytes = kFrame;
  for (const auto& process : processes) {
    Node entry{NodeMap{}};
    add_status(entry, process->status());
    bytes += write_json(entry, JsonStyle::Compact).size() + 1;
    if (bytes > kResultBytes) break;
    entries.push_back(std::move(entry));
  }
  Node node{NodeMap{}};
  node.set("success", true);
  if (entries.size() < processes.size()) {
    node.set("older_not_listed", processes.size() - entries.size());
  }
  node.set("processes", std::move(entries)).set("most_running", bench.processes.bounds().running);
  return std::get<RecordedCall>(begun).done(std::move(node));
}

}  // namespace cordon::mcp
