#include "mcp/http/serve.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>

#include <cerrno>
#include <cstdlib>

#include "mcp/http/transport.h"
#include "mcp/stop_signals.h"

namespace cordon::mcp {
namespace {

using std::chrono::milliseconds;

// Those that are being ended need a place until their thread notices.
constexpr unsigned kMostConnections = 2 * (Patience::kMostStrangers + Patience::kMostKnown);
constexpr unsigned kSilenceSeconds = 30;
constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
constexpr std::size_t kStackBytes = std::size_t{1} << 20U;
constexpr milliseconds kCallPatience{1000};

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
    transport.patience().end_overdue();
  }
  transport.sessions().cancel_all();
  if (!server.stop(kCallPatience)) std::_Exit(0);
  daemon.reset();
  return 0;
}

}  // namespace cordon::mcp
