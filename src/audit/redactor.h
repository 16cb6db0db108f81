// Redactor: turns what a run is about into labels that may be kept. What is not one of Cordon's own
// words becomes a keyed hash: equal values can be matched on this installation, and nothing can be
// read or guessed from the log.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/key.h"
#include "audit/record.h"
#include "cordon/change.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "policy/approval.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon::audit {

// One request of a run, as it is.
struct RequestAction {
  std::string rule;    // that decided, in the policy's words
  std::string method;  // empty: it could not be read
  std::string path;    // likewise
  std::string secret;  // the name of the one that is added; empty: none is
  std::string run;     // the event id of the run
};

// What an action is about, as it is: none of it is stored.
struct Action {
  std::string name = "run";
  std::string tool;  // empty: none
  std::string tool_call_id;
  std::string session;       // that it happens in; empty: none
  std::string agent;         // of that session, as it was started for; empty: none was named
  std::string conversation;  // likewise
  std::string backend;
  std::string cwd;                       // canonical
  std::string path;                      // what a file tool works on, canonical; empty: the cwd
  std::string host;                      // "HOST:PORT" that access is asked for; empty: none
  std::span<const std::string> argv;     // the caller's
  std::string policy_hash;               // as in the report, or empty
  const Policy* policy = nullptr;        // what was asked for
  const Effective* effective = nullptr;  // what it was clamped to, once that is known
  std::span<const Ceiling> ceilings;
  std::span<const Approval> approved;  // beyond them
  std::span<const Reduction> reductions;
  const RequestAction* request = nullptr;  // of the action "request"
};

class Redactor {
 public:
  Redactor(const Key& key, const Caller& caller);

  [[nodiscard]] Pending pending(const Action& action) const;
  [[nodiscard]] Closing closing(const Outcome& outcome, std::span<const Change> changes) const;
  [[nodiscard]] static Closing refusal(const Error& error);

  // A directory everybody has, or one of ours, as it is ("/usr", "@cwd", "@home"); anything below
  // as the nearest of those and a hash of the whole path: "@cwd/#5d41402abc4b2a76".
  [[nodiscard]] Label path(std::string_view canonical) const;
  // The same without @cwd: which project it was.
  [[nodiscard]] Label place(std::string_view canonical) const;
  // Up to 64 letters, digits, '_' and '-' as they are, anything else as a hash.
  [[nodiscard]] Label word(std::string_view text) const;
  [[nodiscard]] Label argv(std::span<const std::string> argv) const;
  [[nodiscard]] CeilingMark ceiling(const Ceiling& ceiling) const;

 private:
  struct Root {
    std::string path;
    std::string name;
  };
  [[nodiscard]] Label below(const std::vector<Root>& roots, std::string_view canonical) const;
  [[nodiscard]] Label hashed(std::string_view use, std::string_view text) const;
  [[nodiscard]] ConnectionMark connection(const Connection& tried) const;
  [[nodiscard]] std::vector<Label> grants(const std::vector<Grant>& grants) const;
  [[nodiscard]] Label policy_name(const Policy& policy) const;

  Key key_;
  std::vector<Root> roots_;          // longest first
  std::vector<Root> project_roots_;  // with @cwd
};

// The hash part of a path's label, for those who ask whether a path occurs.
std::string path_hash(const Key& key, std::string_view canonical);

}  // namespace cordon::audit
