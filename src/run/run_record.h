// RunRecord: what the audit log gets to know of one run. Its beginning is durable before anything
// is started; its end is recorded on every path.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "audit/recorder.h"
#include "run/line.h"

namespace cordon {

class RunRecord {
 public:
  // Closes what dead processes left open. An error if the log cannot be used and the operator does
  // not accept that.
  static Result<RunRecord> open(const RunInput& input, const Caller& caller);

  Result<void> begin(const JudgedRun& run, const std::string& policy_hash);
  // Between begin() and close(). A run that another backend takes over begins a record of its own.
  [[nodiscard]] bool is_open() const { return open_; }
  // After begin(): exactly one of them.
  AuditMark close(const Outcome& outcome);
  AuditMark close(const Error& error);
  // Instead of begin(): nothing was started.
  AuditMark refuse(const Error& error);

 private:
  RunRecord(const RunInput& input, const Caller& caller, std::unique_ptr<audit::Recorder> own,
            audit::Recorder& recorder, audit::Redactor redactor);
  [[nodiscard]] audit::Action action() const;
  AuditMark close(const audit::Closing& closing);

  const RunInput& input_;
  const Caller& caller_;
  std::unique_ptr<audit::Recorder> own_;
  audit::Recorder& recorder_;
  audit::Redactor redactor_;
  audit::Recorder::Ticket ticket_;
  std::string place_;  // where the command starts
  bool open_ = false;
};

}  // namespace cordon
