#include "faces/cli/session_place.h"

#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/random_id.h"
#include "base/text.h"
#include "changes/manifest.h"
#include "config/node.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr const char* kSocket = "socket";
constexpr const char* kNote = "session.json";
constexpr const char* kHandle = "handle";
constexpr const char* kLock = "lock";
constexpr std::size_t kMostNote = 64 * 1024;
constexpr int kBacklog = 64;

std::string sessions_directory(const Caller& caller) {
  return join(caller.runtime_directory, "sessions");
}

// A socket's address has 108 bytes, and a runtime directory may be longer: so by descriptor.
sockaddr_un address_in(int directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + kSocket;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<void> write_file(int directory, const char* name, const std::string& text) {
  const Fd file(
      ::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written = file.valid() && ::write(file.get(), text.data(), text.size()) ==
                                           static_cast<ssize_t>(text.size());
  if (!written) return fail(setup_error("cannot write " + quote(name) + " of the session", errno));
  return {};
}

std::string encode(const SessionNote& note) {
  Node node{NodeMap{}};
  node.set("id", note.id).set("agent", note.agent).set("conversation", note.conversation);
  node.set("backend", note.backend).set("cwd", note.cwd);
  node.set("started", note.started).set("server", note.server);
  return write_json(node, JsonStyle::Compact) + "\n";
}

std::optional<SessionNote> read_note(int directory) {
  const auto text = read_regular(directory, kNote, kMostNote);
  if (!text) return std::nullopt;
  const auto node = read_json(*text, kNote);
  if (!node) return std::nullopt;
  const auto word = [&](const char* name) {
    const Node* member = node->find(name);
    const std::string* found = member != nullptr ? member->text() : nullptr;
    return found != nullptr ? *found : std::string();
  };
  const auto number = [&](const char* name) {
    const Node* member = node->find(name);
    const auto* found = member != nullptr ? std::get_if<std::int64_t>(&member->value) : nullptr;
    return found != nullptr && *found > 0 ? static_cast<std::uint64_t>(*found) : 0;
  };
  SessionNote note{word("id"),  word("agent"),     word("conversation"), word("backend"),
                   word("cwd"), number("started"), number("server")};
  if (!is_run_id(note.id)) return std::nullopt;
  return note;
}

// Its server holds the lock for as long as it lives.
bool is_living(int directory) {
  const Fd lock(::openat(directory, kLock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.valid()) return false;
  if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

Fd open_directory(int above, const std::string& name) {
  return Fd(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void remove_place(const std::string& directory, int opened) {
  for (const char* name : {kSocket, kNote, kHandle, kLock}) ::unlinkat(opened, name, 0);
  ::rmdir(directory.c_str());
}

// Calls `seen` with each directory of a session, open.
template <typename Seen>
void each_session(const Caller& caller, const Seen& seen) {
  const std::string place = sessions_directory(caller);
  const Fd all = open_canonical(place, O_RDONLY | O_DIRECTORY);
  DirectoryNames names;
  if (!all.valid() || !names.read(all.get())) return;
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string name(entry.name);
    if (!is_run_id(name)) continue;
    const Fd one = open_directory(all.get(), name);
    if (one.valid()) seen(join(place, name), one.get());
  }
}

Error unknown_session(std::string_view id) {
  return {.kind = ErrorKind::Unavailable,
          .what = id == "last" ? std::string("no session is open")
                               : "there is no open session " + quote(id),
          .hint = "cordon session list shows the open ones; cordon session start opens one"};
}

Error foreign_session(const Caller& caller, const std::string& id) {
  return {.kind = ErrorKind::Unavailable,
          .what = "session " + id + " in " + quote(sessions_directory(caller)) +
                  " belongs to another user",
          .hint =
              "set XDG_RUNTIME_DIR to a directory of your own; cordon session start opens one "
              "there"};
}

}  // namespace

std::string new_handle() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 32> bytes{};
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t more = ::getrandom(bytes.data() + got, bytes.size() - got, 0);
    if (more > 0) got += static_cast<std::size_t>(more);
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  return text;
}

bool is_same_handle(std::string_view one, std::string_view other) {
  if (one.size() != other.size() || one.empty()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    different |= static_cast<unsigned char>(one[i]) ^
                 static_cast<unsigned>(static_cast<unsigned char>(other[i]));
  }
  return different == 0;
}

Result<SessionPlace> SessionPlace::make(const Caller& caller, const SessionNote& note,
                                        const std::optional<std::string>& handle_file) {
  SessionPlace place;
  place.directory_ = join(sessions_directory(caller), note.id);
  CORDON_TRY(opened, open_private_directory(place.directory_));
  place.opened_ = std::move(opened);
  const int directory = place.opened_.get();
  place.lock_ = Fd(::openat(directory, kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!place.lock_.valid() || ::flock(place.lock_.get(), LOCK_EX | LOCK_NB) < 0) {
    return fail(setup_error("cannot lock " + quote(place.directory_), errno));
  }
  place.listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_in(directory);
  const mode_t before = ::umask(0177);
  const bool bound = place.listener_.valid() &&
                     ::bind(place.listener_.get(), reinterpret_cast<const sockaddr*>(&address),
                            sizeof address) == 0 &&
                     ::listen(place.listener_.get(), kBacklog) == 0;
  const int error = errno;
  ::umask(before);
  if (!bound) return fail(setup_error("cannot listen in " + quote(place.directory_), error));
  if (handle_file) CORDON_CHECK(write_file(directory, kHandle, *handle_file + "\n"));
  CORDON_CHECK(write_file(directory, kNote, encode(note)));
  return place;
}

SessionPlace::~SessionPlace() { withdraw(); }

void SessionPlace::withdraw() {
  if (opened_.valid()) remove_place(directory_, opened_.get());
  opened_.reset();
}

std::string SessionPlace::handle_path() const { return join(directory_, kHandle); }

std::vector<SessionNote> living_sessions(const Caller& caller) {
  std::vector<SessionNote> found;
  each_session(caller, [&](const std::string&, int directory) {
    if (!is_living(directory)) return;
    if (auto note = read_note(directory)) found.push_back(std::move(*note));
  });
  std::ranges::sort(found, [](const SessionNote& one, const SessionNote& other) {
    return std::tie(one.started, one.id) < std::tie(other.started, other.id);
  });
  return found;
}

void forget_dead_sessions(const Caller& caller) {
  each_session(caller, [&](const std::string& path, int directory) {
    // One that is being made has no note yet.
    if (!is_living(directory) && read_note(directory)) remove_place(path, directory);
  });
}

bool is_same_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

Result<SessionNote> find_session(const Caller& caller, std::string_view id) {
  const std::vector<SessionNote> living = living_sessions(caller);
  if (id == "last" && !living.empty()) return living.back();
  const auto found = std::ranges::find(living, id, &SessionNote::id);
  if (found == living.end()) return fail(unknown_session(id));
  return *found;
}

Result<Fd> connect_session(const Caller& caller, const std::string& id) {
  const Fd directory = open_canonical(join(sessions_directory(caller), id), O_RDONLY | O_DIRECTORY);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_in(directory.get());
  if (!directory.valid() || !socket.valid() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    return fail(unknown_session(id));
  }
  if (!is_same_user(socket.get())) return fail(foreign_session(caller, id));
  return socket;
}

Result<std::string> read_handle(const Caller& caller, const std::string& id) {
  const Fd directory = open_canonical(join(sessions_directory(caller), id), O_RDONLY | O_DIRECTORY);
  const auto text =
      directory.valid() ? read_regular(directory.get(), kHandle, kMostNote) : std::nullopt;
  if (!text) {
    return fail(
        {.kind = ErrorKind::Unavailable,
         .what = "the handle of session " + id + " is not in its file",
         .hint = "whoever started it with --handle-fd has it: pass it on with --handle-fd"});
  }
  return text->substr(0, text->find_last_not_of("\n") + 1);
}

}  // namespace cordon
