// Process: one contained run that goes on while the server answers other calls, with what it wrote.
// Safe for concurrent use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "mcp/call.h"
#include "mcp/full/output_store.h"
#include "mcp/tools/run_request.h"
#include "run/contained_run.h"

namespace cordon::mcp {

// What is known about a process at one moment.
struct ProcessStatus {
  std::string id;
  std::string name;
  bool running = true;
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
  void wait(const Call& call, std::chrono::milliseconds patience,
            const std::function<bool(const ProcessStatus&)>& enough) const;

  enum class Taken { All, Part, Ended, Closed };
  struct Written {
    Taken taken = Taken::All;
    std::size_t bytes = 0;
  };
  // As much as the process makes room for within the time.
  Written write(std::string_view bytes, std::chrono::milliseconds patience);
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
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  OutputStore out_;
  OutputStore err_;
  std::shared_ptr<const Report> report_;
  std::optional<std::chrono::steady_clock::time_point> ended_;
  std::mutex input_mutex_;
  Fd input_;  // the writing end
  std::thread thread_;
};

}  // namespace cordon::mcp
