#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "demo/acts.h"
#include "sys/loopback_listener.h"

namespace cordon::demo {
namespace {

bool can_be_reached(const sys::LoopbackListener& collector) {
  const Fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(collector.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return caller.valid() && ::connect(caller.get(), generic, sizeof address) == 0 &&
         collector.was_reached();
}

Scenario call_home(Stage& stage) {
  const sys::LoopbackListener collector;
  return stage.play("connect to the collector",
                    {stage.own_attempt("connect", std::to_string(collector.port())), {}, {}, {}},
                    Expected::Blocked, [&](const Report&) {
                      if (collector.was_reached()) return Sight{false, "the collector was reached"};
                      return can_be_reached(collector)
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
