// ClientSessions: sandboxes that last, one for each client of a server. Which calls go into one is
// decided here.
//
//   cordon mcp            every call has a sandbox of its own
//   cordon mcp --session  commands share one; file tools, and commands that ask for less than all
//                         that is permitted, have their own, since both see the same files
//   cordon mcp --stage    every call shares one, whose writes are in a stage: only there can they
//   be
//                         seen. So it is under a ceiling that says stage = "review".
//
// A session has what the ceilings and a person's approvals permit when it is opened. When those
// change, the next call gets another session, which goes on in the same stage.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "faces/mcp/call.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "run/open_session.h"

namespace cordon::mcp {

enum class Sharing { None, Session, Stage };

// What a call is, as far as this is concerned.
enum class CallKind {
  Command,
  NarrowedCommand,  // it asks for less than all that is permitted
  File,
};

class ClientSessions {
 public:
  using Tell = std::function<void(const std::string& line)>;
  ClientSessions(Sharing asked, Tell tell) : asked_(asked), tell_(std::move(tell)) {}
  ~ClientSessions();
  ClientSessions(const ClientSessions&) = delete;
  ClientSessions& operator=(const ClientSessions&) = delete;

  // What is shared under these ceilings.
  [[nodiscard]] Sharing sharing(const CallCeilings& bounds) const;

  // Carries out `input`, in the client's session or alone. A client is not kept by its calls: it
  // may go while one runs, and then what it started is ended.
  Report run(const std::weak_ptr<Client>& client, const CallCeilings& bounds, const RunInput& input,
             const Caller& caller, CallKind kind);

  // What waits in the stage of the client's session; nothing if it has none.
  std::optional<Result<std::vector<ChangeRecord>>> staged_changes(
      const std::shared_ptr<Client>& client);

 private:
  struct Entry {
    std::weak_ptr<Client> client;
    std::vector<Ceiling> ceilings;
    std::vector<Approval> approved;
    std::shared_ptr<OpenSession> session;
    std::shared_ptr<Activity> activity;  // ends the session when the client goes
  };
  Result<std::shared_ptr<OpenSession>> session_of(const std::shared_ptr<Client>& client,
                                                  const CallCeilings& bounds, const RunInput& input,
                                                  const Caller& caller);
  void end(Entry entry) const;

  const Sharing asked_;
  const Tell tell_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace cordon::mcp
