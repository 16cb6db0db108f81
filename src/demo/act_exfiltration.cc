#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "demo/acts.h"

namespace cordon::demo {
namespace {

// Listens on the host's loopback and knows who came.
class Collector {
 public:
  Collector() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (socket_.valid() && ::bind(socket_.get(), generic, size) == 0 &&
        ::listen(socket_.get(), 8) == 0 && ::getsockname(socket_.get(), generic, &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }
  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  // A connection that was made is in the queue already: connect(2) returns after that.
  [[nodiscard]] bool was_reached() const {
    return Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
  }
  [[nodiscard]] bool can_be_reached() const {
    const Fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    return caller.valid() && ::connect(caller.get(), generic, sizeof address) == 0 && was_reached();
  }

 private:
  Fd socket_;
  std::uint16_t port_ = 0;
};

Scenario call_home(Stage& stage) {
  const Collector collector;
  return stage.play("connect to the collector",
                    {stage.own_attempt("connect", collector.port()), {}, {}, {}}, Expected::Blocked,
                    [&](const Report&) {
                      if (collector.was_reached()) return Sight{false, "the collector was reached"};
                      return collector.can_be_reached()
                                 ? Sight{true, "nobody came, though a call from outside arrives"}
                                 : Sight{false, "nobody can reach it: nothing was shown"};
                    });
}

Scenario dead_drop(Stage& stage) {
  const std::string place = "/var/tmp/drop-" + stage.home().token();
  return stage.play("leave a copy where others look",
                    {{"/bin/sh", "-c", R"(cat "$1" > "$2")", "sh",
                      stage.home().at("Documents/report.txt"), place},
                     {"~/Documents"},
                     {},
                     {}},
                    Expected::Allowed, [&](const Report&) {
                      const bool there = ::unlink(place.c_str()) == 0;
                      return Sight{!there, there ? "the copy appeared on the host"
                                                 : "the copy was gone with the sandbox"};
                    });
}

}  // namespace

Scenarios play_exfiltration(Stage& stage) { return {call_home(stage), dead_drop(stage)}; }

}  // namespace cordon::demo
