#include "run/git_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace cordon {

GitWatch::GitWatch(const std::vector<std::string>& directories) {
  if (directories.empty()) return;
  inotify_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  for (const std::string& directory : directories) {
    // Without a watch the walk after the run still finds it; only the early end is lost.
    ::inotify_add_watch(inotify_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO);
  }
}

bool commondir_appeared(int descriptor) {
  constexpr std::string_view kForbidden = "commondir";
  alignas(inotify_event) std::array<char, 4096> buffer;
  bool appeared = false;
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got <= 0) return appeared;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if (event->len > 0 && std::string_view(event->name) == kForbidden) appeared = true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

}  // namespace cordon
