// SessionTable: the sessions of HTTP clients. Legacy clients have one by a random id; a modern
// request has one of its own for as long as it is open. Safe for concurrent use.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mcp/session.h"

namespace cordon::mcp {

class SessionTable {
 public:
  // Legacy sessions. When there are too many, the one that was idle longest is forgotten; its
  // client is told to begin anew. Nothing: all are busy, or the system gives no random bytes.
  std::optional<std::string> add(const std::shared_ptr<Session>& session);
  std::shared_ptr<Session> find(const std::string& id);  // null if unknown
  bool remove(const std::string& id);                    // cancels its calls

  // Sessions with a request open, whatever their era: they are cancelled at the end.
  void open(const std::shared_ptr<Session>& session);
  void closed(const std::shared_ptr<Session>& session);
  void cancel_all();

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<Session> session;
  };

  std::mutex mutex_;
  std::list<Entry> known_;  // last used first
  std::list<std::shared_ptr<Session>> open_;
};

}  // namespace cordon::mcp
