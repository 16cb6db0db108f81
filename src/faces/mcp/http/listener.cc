#include "faces/mcp/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "faces/mcp/http/transport.h"
#include "faces/mcp/stdio.h"

namespace cordon::mcp {
namespace {

constexpr std::chrono::seconds kHead{3};
constexpr std::chrono::seconds kBody{30};
constexpr std::chrono::seconds kNextRequest{60};

// Its thread wakes up, finds the connection closed and gives its place back.
void end(int socket) { ::shutdown(socket, SHUT_RDWR); }

}  // namespace

void RequestDeadlines::set(Connection& connection, State state, Clock::duration time) {
  connection = {state, ++changes_, Clock::now() + time};
}

std::size_t RequestDeadlines::count(State state) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      connections_, [&](const auto& entry) { return entry.second.state == state; }));
}

void RequestDeadlines::make_room(State state, std::size_t most) {
  if (count(state) < most) return;
  auto oldest = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (at->second.state != state) continue;
    if (oldest == connections_.end() || at->second.order < oldest->second.order) oldest = at;
  }
  end(oldest->first);
  connections_.erase(oldest);
}

void RequestDeadlines::connected(int socket) {
  const std::lock_guard lock(mutex_);
  make_room(State::Stranger, kMostStrangers);
  set(connections_[socket], State::Stranger, kHead);
}

void RequestDeadlines::known(int socket) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;  // it was ended meanwhile
  if (found->second.state == State::Stranger &&
      count(State::Known) + count(State::Waiting) >= kMostKnown && count(State::Waiting) > 0)
    make_room(State::Waiting, 0);
  set(found->second, State::Known, kBody);
}

// No deadline while it is worked on.
void RequestDeadlines::received(int socket) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(socket);
  if (found == connections_.end() || found->second.state == State::Stranger) return;
  found->second.deadline = Clock::time_point::max();
}

// A stranger that was refused stays one.
void RequestDeadlines::answered(int socket) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(socket);
  if (found == connections_.end() || found->second.state == State::Stranger) return;
  set(found->second, State::Waiting, kNextRequest);
}

void RequestDeadlines::closed(int socket) {
  const std::lock_guard lock(mutex_);
  connections_.erase(socket);
}

void RequestDeadlines::end_overdue() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(connections_, [&](const auto& entry) {
    if (entry.second.deadline > now) return false;
    end(entry.first);
    return true;
  });
}

namespace {

constexpr int kBacklog = 64;
using Kind = HttpAddress::Kind;

Fd stream_socket(int family) { return Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

template <typename T>
bool bind_to(const Fd& socket, const T& address) {
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Error cannot_listen(const std::string& where) {
  return setup_error("cannot listen on " + where, errno, "choose another address");
}

Result<Fd> listen_loopback(const HttpAddress& address, std::uint16_t& port) {
  const bool four = address.kind == Kind::Loopback4;
  Fd socket = stream_socket(four ? AF_INET : AF_INET6);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in in4{};
  in4.sin_family = AF_INET;
  in4.sin_port = htons(address.port);
  in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(address.port);
  in6.sin6_addr = in6addr_loopback;
  if (!socket.valid() || !(four ? bind_to(socket, in4) : bind_to(socket, in6)) ||
      ::listen(socket.get(), kBacklog) < 0) {
    return fail(cannot_listen("loopback port " + std::to_string(address.port)));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) < 0) {
    return fail(cannot_listen("loopback"));
  }
  // sin_port and sin6_port lie at the same place.
  std::memcpy(&in4, &bound, sizeof in4);
  port = ntohs(in4.sin_port);
  return socket;
}

// What is left of a server that was killed can be told from one that lives: nobody accepts.
bool is_abandoned(const sockaddr_un& address) {
  const Fd socket = stream_socket(AF_UNIX);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 &&
         errno == ECONNREFUSED;
}

Result<Fd> listen_unix(const Fd& directory, const std::string& name) {
  // Through the directory that was checked; the kernel's name for it is short, too.
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(setup_error("the name of the socket is too long", 0, "choose a shorter one"));
  }
  path.copy(static_cast<char*>(address.sun_path), path.size());
  Fd socket = stream_socket(AF_UNIX);
  // The name is born with the mode of the socket, and nobody can connect before listen().
  if (!socket.valid() || ::fchmod(socket.get(), 0600) < 0) return fail(cannot_listen(quote(name)));
  bool bound = bind_to(socket, address);
  struct stat status {};
  if (!bound && errno == EADDRINUSE &&
      ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISSOCK(status.st_mode) && is_abandoned(address)) {
    ::unlinkat(directory.get(), name.c_str(), 0);
    bound = bind_to(socket, address);
  }
  if (!bound || ::listen(socket.get(), kBacklog) < 0) return fail(cannot_listen(quote(name)));
  return socket;
}

}  // namespace

Result<HttpAddress> parse_http_address(std::string_view text) {
  if (text.starts_with('/')) {
    const std::string path = normalize(text);
    if (has_dotdot(path) || basename(path).empty()) {
      return fail(usage_error("not the path of a socket: " + quote(text)));
    }
    return HttpAddress{Kind::Unix, 0, path};
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view name = text.substr(0, colon);
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_number(text.substr(colon + 1));
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) {
    return fail(usage_error("not an address: " + quote(text), "use 127.0.0.1:PORT or a path"));
  }
  const auto number = static_cast<std::uint16_t>(*port);
  if (name == "127.0.0.1" || name == "localhost") return HttpAddress{Kind::Loopback4, number, {}};
  if (name == "[::1]") return HttpAddress{Kind::Loopback6, number, {}};
  return fail(usage_error("only loopback and Unix sockets are served, not " + quote(text),
                          "use 127.0.0.1:PORT or a path, and a tunnel for other machines"));
}

Result<HttpListener> HttpListener::open(const HttpAddress& address) {
  HttpListener listener;
  if (address.kind == Kind::Unix) {
    CORDON_TRY(directory, open_private_directory(std::string(parent(address.path))));
    const std::string name(basename(address.path));
    CORDON_TRY(socket, listen_unix(directory, name));
    listener.directory_ = std::move(directory);
    listener.name_ = name;
    listener.socket_ = std::move(socket);
    return listener;
  }
  std::uint16_t port = 0;
  CORDON_TRY(socket, listen_loopback(address, port));
  listener.socket_ = std::move(socket);
  listener.port_ = port;
  return listener;
}

HttpListener::~HttpListener() {
  if (directory_.valid()) ::unlinkat(directory_.get(), name_.c_str(), 0);
}

Result<std::string> read_token_file(const std::string& path) {
  constexpr std::size_t kLeast = 32;
  const std::string hint = "umask 077; openssl rand -hex 32 >" + quote(path);
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) {
    return fail(setup_error("cannot read the token file " + quote(path), errno, hint));
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return fail(setup_error(
        "the token file " + quote(path) + " must be a file that its owner alone can read", 0,
        "chmod 600 it"));
  }
  std::array<char, 4096> block{};
  const ssize_t got = ::read(file.get(), block.data(), block.size());
  std::string token(block.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  const auto visible = [](char c) { return c > 0x20 && c < 0x7F; };
  if (token.size() < kLeast || token.size() >= block.size() - 2 ||
      !std::ranges::all_of(token, visible)) {
    return fail(setup_error(
        "the token file " + quote(path) + " must hold 32 or more visible characters", 0, hint));
  }
  return token;
}

namespace {

using std::chrono::milliseconds;

// Those that are being ended need a place until their thread notices.
constexpr unsigned kMostConnections =
    2 * (RequestDeadlines::kMostStrangers + RequestDeadlines::kMostKnown);
constexpr unsigned kSilenceSeconds = 30;
constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
constexpr std::size_t kStackBytes = std::size_t{1} << 20U;
constexpr milliseconds kCallTimeout{1000};

struct Stop {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};

}  // namespace

Result<int> serve_http(Server& server, HttpListener listener, std::string token) {
  const Fd signals = watch_stop_signals();
  // The library closes the one it is given.
  const int socket = ::fcntl(listener.socket().get(), F_DUPFD_CLOEXEC, 0);
  HttpTransport transport(server, {listener.port(), std::move(token)});
  std::unique_ptr<MHD_Daemon, Stop> daemon(MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
      0, nullptr, nullptr, &HttpTransport::handle, &transport,                       //
      MHD_OPTION_LISTEN_SOCKET, socket,                                              //
      MHD_OPTION_CONNECTION_LIMIT, kMostConnections,                                 //
      MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds,                                //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeadBytes,                                //
      MHD_OPTION_THREAD_STACK_SIZE, kStackBytes,                                     //
      MHD_OPTION_STRICT_FOR_CLIENT, 1,                                               //
      MHD_OPTION_NOTIFY_COMPLETED, &HttpTransport::completed, &transport,            //
      MHD_OPTION_NOTIFY_CONNECTION, &HttpTransport::connection_changed, &transport,  //
      MHD_OPTION_END));
  if (!daemon) return fail(setup_error("cannot start the HTTP server", errno));

  for (;;) {
    constexpr int kStepMs = 500;
    pollfd wait{signals.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, kStepMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) break;
    transport.deadlines().end_overdue();
  }
  transport.sessions().cancel_all();
  if (!server.stop(kCallTimeout)) std::_Exit(0);
  daemon.reset();
  return 0;
}

}  // namespace cordon::mcp
