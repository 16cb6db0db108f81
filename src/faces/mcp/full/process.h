// Process: one contained run that goes on while the server answers other calls, with what it wrote.
// Safe for concurrent use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "faces/mcp/call.h"
#include "faces/mcp/full/output.h"
#include "faces/mcp/tools/run_request.h"
#include "faces/mcp/tools/secret_mask.h"
#include "run/line.h"

namespace cordon::mcp {

// What is known about a process at one moment.
struct ProcessStatus {
  std::string id;
  std::string name;
  bool started = false;      // the command was let go
  bool running = true;       // it has not ended, and has not failed to start
  std::uint64_t age_ms = 0;  // since it was started
  std::uint64_t out_bytes = 0;
  std::uint64_t err_bytes = 0;
  std::shared_ptr<const Report> report;  // once it has ended
};

class Process final : public Activity {
 public:
  enum class Input {
    AsAsked,  // what the request says
    Open,     // a pipe that write() fills
  };
  struct Order {
    std::string id;
    std::string name;
    RunRequest request;
    Input input = Input::AsAsked;
    std::function<Report(const RunRequest&)> carry_out;
    std::string directory;  // for the files of its output
    StoreBounds bounds;
  };
  // Begins at once. Fails only if there is no pipe or no thread to be had.
  static Result<std::shared_ptr<Process>> start(Order order);
  // Kills it and waits.
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const RunRequest& request() const { return request_; }
  [[nodiscard]] std::chrono::steady_clock::time_point started() const { return started_; }
  [[nodiscard]] ProcessStatus status() const;
  [[nodiscard]] OutputStore::Piece read(OutputFrom from, std::uint64_t offset,
                                        std::uint64_t most) const;

  // Waits until `enough` is true, the process has ended, the time is over or the call is cancelled.
  // `enough` is asked whenever something was written.
  void wait(const Call& call, std::chrono::milliseconds deadlines,
            const std::function<bool(const ProcessStatus&)>& enough) const;

  enum class Taken { All, Part, Ended, Closed };
  struct Written {
    Taken taken = Taken::All;
    std::size_t bytes = 0;
  };
  // As much as the process makes room for within the time.
  Written write(std::string_view bytes, std::chrono::milliseconds deadlines);
  void close_input();

  void ask_to_end() const { terminate_.cancel(); }
  void kill() const { cancel_.cancel(); }
  [[nodiscard]] bool goes_on() const override { return status().running; }
  void end() override { kill(); }

 private:
  explicit Process(Order order);
  void run();
  void hear(OutputFrom from, std::string_view bytes);
  [[nodiscard]] ProcessStatus status_now() const;  // with the lock held

  const std::string id_;
  const std::string name_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const Cancel cancel_;
  const Cancel terminate_;
  RunRequest request_;
  const std::function<Report(const RunRequest&)> carry_out_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  OutputStore out_;
  OutputStore err_;
  bool is_started_ = false;
  std::shared_ptr<const Report> report_;
  std::optional<std::chrono::steady_clock::time_point> ended_;
  std::mutex input_mutex_;
  Fd input_;  // the writing end
  std::thread thread_;
};

// ProcessTable: the processes of one server, each of one client. Their names mean nothing to
// another server, nor to another client of the same one. Those that ended stay readable until newer
// ones of the same client need their room. A process dies with its client, and all with the table.

struct TableBounds {
  std::size_t running = 16;  // of one client
  std::size_t running_of_all = 64;
  std::size_t kept = 24;  // ended ones of one client
};

class ProcessTable {
 public:
  explicit ProcessTable(TableBounds bounds) : bounds_(bounds) {}
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // `order.id` is set here. An error if too many are running.
  Result<std::shared_ptr<Process>> start(Process::Order order,
                                         const std::shared_ptr<Client>& client);
  // Null: not one of this client, or forgotten.
  [[nodiscard]] std::shared_ptr<Process> find(const std::string& id,
                                              const std::shared_ptr<Client>& client) const;
  // Of this client, in the order they were started.
  [[nodiscard]] std::vector<std::shared_ptr<Process>> list(
      const std::shared_ptr<Client>& client) const;
  // Of all clients, for the account of the server.
  [[nodiscard]] std::vector<std::shared_ptr<Process>> list_all() const;
  [[nodiscard]] const TableBounds& bounds() const { return bounds_; }

 private:
  const TableBounds bounds_;
  mutable std::mutex mutex_;
  struct Entry {
    std::shared_ptr<Process> process;
    std::weak_ptr<Client> client;

    [[nodiscard]] bool is_of(const std::shared_ptr<Client>& wanted) const {
      return !client.expired() && client.lock() == wanted;
    }
    [[nodiscard]] bool running() const { return process->status().running; }
  };
  std::vector<Entry> entries_;
};

// OutputPage: the next part of what a process wrote, as a model may read it: control characters
// escaped, secrets masked, and never more than there is room for.

struct PageRequest {
  OutputFrom from = OutputFrom::Out;
  std::uint64_t offset = 0;
  std::size_t room = 0;   // in bytes of JSON
  std::string only_with;  // lines that hold this; empty: all
  bool ended = false;     // nothing follows: a line or character that is not complete is shown
};
struct OutputPage {
  std::string text;
  std::uint64_t next = 0;     // where the following page begins
  std::uint64_t missing = 0;  // bytes that were asked for and are not kept
  std::size_t masked = 0;
};
OutputPage output_page(const Process& process, const SecretMask& mask, const PageRequest& request);

// Where the last `lines` lines begin, as far as they are within reach.
std::uint64_t last_lines(const Process& process, OutputFrom from, std::uint64_t bytes,
                         std::uint64_t lines);

}  // namespace cordon::mcp
