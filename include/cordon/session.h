// Session: a sandbox that lasts, and commands in it.
//
//   auto session = cordon::Runner().open_session(request, {});
//   if (!session) return complain(session.error());
//   cordon::ExecRequest command;
//   command.argv = {"make", "test"};
//   const cordon::Report report = session->exec(command);
//
// Private home and /tmp, background processes and servers on loopback last from command to command.
// docs/embedding.md has more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cordon/runner.h"

namespace cordon {

class OpenSession;

// An agent user of a tenant of Microsoft Entra, and a policy of Intune for it. No session is bound
// to one: docs/embedding.md says what would have to be known first.
struct EntraIdentity {
  std::string agent_user_id;     // a UUID
  std::string tenant_id;         // a UUID
  std::string intune_policy_id;  // a UUID, or empty
};

// What a session is called in reports, and how long it may last.
struct SessionTerms {
  std::string agent;                         // who works in it, by its governance; may be empty
  std::string conversation;                  // likewise
  std::optional<std::uint64_t> idle_ms;      // without a command; absent: no bound
  std::optional<std::uint64_t> lifetime_ms;  // in all; absent: no bound
  // Refused: as a mistake if it is malformed, and else as Unsupported.
  std::optional<EntraIdentity> entra = {};
};

// One command in a session.
struct ExecRequest {
  std::vector<std::string> argv;            // looked up on PATH inside, if it has no '/'
  std::string cwd;                          // where it starts; empty: where the session started
  Input in;                                 // as in Request
  Output out;                               // as in Request
  std::optional<std::uint64_t> timeout_ms;  // beside the policy's; the smaller one counts
  std::optional<Cancel> cancel;             // ends what came of this command
};

// An open session, which Runner::open_session makes. Many threads may use one.
class Session {
 public:
  // Takes over what the other one opened.
  Session(Session&& other) noexcept;
  // The same, and ends its own.
  Session& operator=(Session&& other) noexcept;
  // Ends it.
  ~Session();

  // Sixteen hexadecimal digits, as in the reports of its commands.
  [[nodiscard]] const std::string& id() const;
  // Runs a command and waits for its end; what it leaves in the background goes on. The report has
  // an outcome or an error, never both.
  [[nodiscard]] Report exec(const ExecRequest& request) const;
  // Ends every process, and waits until what the session wrote is looked at and recorded: the
  // report of the whole session.
  Report stop();

 private:
  friend class Runner;
  explicit Session(std::unique_ptr<OpenSession> open);
  std::unique_ptr<OpenSession> open_;
};

}  // namespace cordon
