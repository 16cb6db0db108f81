// Where a session of the command line can be found: a directory of its own below the runtime
// directory, which only its owner may enter. It holds a socket, over which its server is asked, a
// note about the session, and the handle, without which the server starts nothing.
//
// A handle is 256 random bits. Its server knows to which agent, conversation and session it belongs
// and when that ends; none of that can be read from it or changed in it. It is a file that its
// owner alone may read, or goes through a descriptor to whoever started the session; it is never an
// argument or a variable, and no sandbox sees the directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon {

struct SessionNote {
  std::string id;
  std::string agent;         // may be empty
  std::string conversation;  // likewise
  std::string backend;
  std::string cwd;
  std::uint64_t started = 0;  // seconds since 1970
  std::uint64_t server = 0;   // process id
};

std::string new_handle();
// In a time that does not tell how much of them is equal.
bool is_same_handle(std::string_view one, std::string_view other);

// The server's side: the directory is made, the socket listens, the note is written. All of it goes
// with this object.
class SessionPlace {
 public:
  // Without `handle_file` the handle is not written down.
  static Result<SessionPlace> make(const Caller& caller, const SessionNote& note,
                                   const std::optional<std::string>& handle_file);
  SessionPlace(SessionPlace&&) = default;
  SessionPlace& operator=(SessionPlace&&) = delete;
  ~SessionPlace();

  [[nodiscard]] int listener() const { return listener_.get(); }
  [[nodiscard]] std::string handle_path() const;
  // Nobody finds the session any more.
  void withdraw();

 private:
  SessionPlace() = default;
  std::string directory_;
  Fd opened_;
  Fd lock_;
  Fd listener_;
};

// The sessions whose server lives, the newest last. What a dead one left is skipped.
std::vector<SessionNote> living_sessions(const Caller& caller);
// Removes what dead servers left.
void forget_dead_sessions(const Caller& caller);

// Whether the process at the other end is this user's, as the kernel noted when it connected or
// listened. Each side asks before anything else: root passes the modes of the files, and the
// runtime directory may be another user's, since su and sudo -E leave its variable as it was.
bool is_same_user(int connection);

// "last" is the newest that lives.
Result<SessionNote> find_session(const Caller& caller, std::string_view id);
// Of a server of this user's alone: it is about to be given the handle, the command and the three
// streams of whoever asks, and what it answers is believed.
Result<Fd> connect_session(const Caller& caller, const std::string& id);
Result<std::string> read_handle(const Caller& caller, const std::string& id);

}  // namespace cordon
