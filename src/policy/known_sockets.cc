#include "policy/known_sockets.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

struct KnownSocket {
  std::string_view pattern;  // of the name, or with a '/' of the end of the path
  std::string_view danger;
};

constexpr std::string_view kEngine =
    "its engine starts containers as root with any file of the host";
constexpr std::string_view kBus = "its bus reaches services that start programs outside";
constexpr std::string_view kKeys = "its agent signs and decrypts with your keys";
constexpr std::string_view kScreen = "its display shows and types what you see and type";

constexpr auto kKnown = std::to_array<KnownSocket>({
    {"docker.sock", kEngine},
    {"docker-*.sock", kEngine},
    {"podman.sock", kEngine},
    {"containerd.sock", kEngine},
    {"crio.sock", kEngine},
    {"buildkitd.sock", kEngine},
    {"lxd/unix.socket", kEngine},
    {"incus/unix.socket", kEngine},
    {"libvirt-sock*", "its daemon starts machines with any file of the host"},
    {"virtqemud-sock*", "its daemon starts machines with any file of the host"},
    {"snapd.socket", "its daemon installs programs as root"},
    {"snapd-snap.socket", "its daemon installs programs as root"},
    {"packagekit", "its daemon installs programs as root"},
    {"nix-daemon.socket/socket", "its daemon builds and runs what it is told, outside"},
    {"daemon-socket/socket", "its daemon builds and runs what it is told, outside"},
    {"system_bus_socket", kBus},
    {"bus", kBus},
    {"dbus-*", kBus},
    {"systemd/private", "its manager starts programs outside"},
    {"systemd/notify", "its manager believes what it is told of services"},
    {"io.systemd.*", "its manager starts programs outside"},
    {"varlink", "its manager starts programs outside"},
    {"S.gpg-agent*", kKeys},
    {"S.keyboxd", kKeys},
    {"S.scdaemon", kKeys},
    {"ssh-*/agent.*", kKeys},
    {"$SSH_AUTH_SOCK", kKeys},
    {"ssh-agent*", kKeys},
    {"*ssh_auth_sock*", kKeys},
    {"keyring/*", "its keyring gives out the passwords it keeps"},
    {"agent.sock", kKeys},
    {"S.keyring*", "its keyring gives out the passwords it keeps"},
    {".X11-unix/X*", kScreen},
    {"wayland-*", kScreen},
    {"pipewire-*", "it gives the microphone, the camera and the screen"},
    {"pulse/native", "it gives the microphone"},
    {"tmux-*/*", "its server types into your terminals"},
    {"emacs/server", "its editor runs what it is told, outside"},
    {"emacs*/server", "its editor runs what it is told, outside"},
    {"vscode-ipc-*.sock", "its editor runs what it is told, outside"},
    {"vscode-git-*.sock", "its editor gives out the passwords of git"},
    {"cups.sock", "its daemon reads files to print as another user"},
});

// A pattern of n components is matched against the last n of the path.
bool matches(std::string_view pattern, std::string_view path) {
  const auto parts = components(path);
  const auto wanted = static_cast<std::size_t>(std::ranges::count(pattern, '/')) + 1;
  if (parts.size() < wanted) return false;
  std::string end;
  for (std::size_t i = parts.size() - wanted; i < parts.size(); ++i) {
    end.append(end.empty() ? "" : "/").append(parts[i]);
  }
  return glob_match(pattern, end);
}

}  // namespace

std::string_view danger_of_socket(std::string_view path) {
  const auto known = std::ranges::find_if(
      kKnown, [&](const KnownSocket& socket) { return matches(socket.pattern, path); });
  return known == kKnown.end() ? std::string_view{} : known->danger;
}

Verdict decide_socket(const Effective& effective, std::string_view lexical, std::string_view path) {
  const auto called = [&](const Grant& socket) {
    return socket.path == path || socket.lexical == lexical;
  };
  if (std::ranges::any_of(effective.sockets, called)) {
    const std::string_view danger = danger_of_socket(path);
    std::string reason = "the policy lists it";
    if (!danger.empty()) reason.append("; beware: ").append(danger);
    return {true, "net.sockets " + quote(path), std::move(reason), {}};
  }
  return {false, "net.sockets", "a socket of the host that the policy does not list",
          "add it to net.sockets of the policy, and of every ceiling"};
}

}  // namespace cordon
