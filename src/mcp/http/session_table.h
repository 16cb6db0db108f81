// SessionTable: the sessions of HTTP clients. Legacy clients have one by a random id; a modern
// request has one of its own for as long as it is open, and its client is told by the name that it
// gives. Safe for concurrent use.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mcp/session.h"

namespace cordon::mcp {

class SessionTable {
 public:
  // Legacy sessions. When there are too many, one is forgotten and its client is told to begin
  // anew: of those with the fewest requests the one that was idle longest, so that a flood of
  // handshakes displaces handshakes and no client at its work. One with a call in flight or a
  // process that goes on stays. Nothing: all do, or the system gives no random bytes.
  std::optional<std::string> add(const std::shared_ptr<Session>& session);
  std::shared_ptr<Session> find(const std::string& id);  // null if unknown
  bool remove(const std::string& id);                    // cancels its calls
  // The modern client of this name. Past a bound new names share one client.
  std::shared_ptr<Client> client_named(const std::string& name);

  // Sessions with a request open, whatever their era: they are cancelled at the end.
  void open(const std::shared_ptr<Session>& session);
  void closed(const std::shared_ptr<Session>& session);
  void cancel_all();

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<Session> session;
    std::uint64_t requests = 0;  // after the handshake; no more than matters are counted
  };

  std::mutex mutex_;
  std::list<Entry> known_;  // last used first
  std::list<std::shared_ptr<Session>> open_;
  std::map<std::string, std::shared_ptr<Client>> clients_;
};

}  // namespace cordon::mcp
