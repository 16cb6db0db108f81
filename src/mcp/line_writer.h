// LineWriter: the one writer of a pipe. Whole lines leave in the order they came; the callers never
// wait. What may be lost is dropped when the reader is slow; the rest is bounded by whoever feeds
// the server, who stops taking requests while congested() holds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "mcp/outlet.h"

namespace cordon::mcp {

class LineWriter final : public Outlet {
 public:
  // `changed` is an eventfd that is written when congestion ends or the reader is gone.
  LineWriter(Fd out, int changed);
  ~LineWriter() override;

  void send(std::string message, Weight weight) override;
  void answer(std::string message, std::optional<int> error_code) override;
  void close() override {}  // on a shared pipe a request that was cancelled just stays silent

  [[nodiscard]] bool congested() const;
  [[nodiscard]] bool broken() const;  // the reader is gone
  // True if everything was written in time.
  [[nodiscard]] bool flush(std::chrono::milliseconds patience);

 private:
  void write_all();
  [[nodiscard]] bool write_line(const std::string& line) const;
  void tell_change() const;

  const Fd out_;
  const int changed_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable empty_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false;
  bool broken_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace cordon::mcp
