// SshAgentFilter: what a sandbox is connected with in place of the person's ssh agent. Two requests
// go through, the list of keys and a signature with one of them; every other one, to add or remove
// a key, to lock the agent, or to load a library into it (CVE-2023-38408), is answered with a
// failure and never reaches the agent. What the agent answers is passed on if it is an answer to
// that request.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "egress/meter.h"

namespace cordon {

// Thread-safe. `stop` has to be readable before it is destroyed.
class SshAgentFilter {
 public:
  // `agent` is the path of its socket.
  SshAgentFilter(std::string agent, Attempts& attempts, int stop)
      : agent_(std::move(agent)), attempts_(attempts), stop_(stop) {}
  SshAgentFilter(const SshAgentFilter&) = delete;
  SshAgentFilter& operator=(const SshAgentFilter&) = delete;
  ~SshAgentFilter();

  // A new connection, of which `end` is for the sandbox. An errno if there can be none.
  int open(Fd& end);

 private:
  struct Carrier {
    Fd inside;
    Fd agent;
    std::atomic<bool> ended = false;
    std::thread thread;
  };
  void carry(Carrier& carrier);
  // False when the connection is over.
  bool answer_one(const Carrier& carrier);

  const std::string agent_;
  Attempts& attempts_;
  const int stop_;
  std::mutex mutex_;
  std::list<Carrier> carriers_;
};

}  // namespace cordon
