#include "policy/known_sockets.h"

#include <gtest/gtest.h>

#include "policy/clamp.h"
#include "support/grant.h"

namespace cordon {
namespace {

using testing::paths;

TEST(KnownSockets, NamesEnginesBusesAgentsAndScreens) {
  for (const char* path :
       {"/var/run/docker.sock", "/run/user/1000/podman/podman.sock", "~/.docker/run/docker.sock",
        "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/user/1000/bus",
        "/run/systemd/private", "/home/u/.gnupg/S.gpg-agent", "/home/u/.gnupg/S.gpg-agent.ssh",
        "/tmp/ssh-XXdU2w/agent.4711", "/tmp/.X11-unix/X0", "/run/user/1000/wayland-0",
        "/run/user/1000/keyring/control", "/tmp/tmux-1000/default"}) {
    EXPECT_FALSE(danger_of_socket(path).empty()) << path;
  }
}

TEST(KnownSockets, SaysNothingOfOthers) {
  for (const char* path : {"/run/postgresql/.s.PGSQL.5432", "/srv/app/api.sock", "/srv/bus/api",
                           "/", "docker.sockets", "/srv/wayland"}) {
    EXPECT_TRUE(danger_of_socket(path).empty()) << path;
  }
}

Grant socket(const std::string& path, std::uint64_t inode) {
  return {path, path, path, Grant::Source::Policy, FileKind::Other, {1, inode}};
}

ResolvedCeiling ceiling(std::vector<Grant> sockets) {
  ResolvedCeiling made;
  made.sockets = std::move(sockets);
  return made;
}

using Paths = std::vector<std::string>;

TEST(ClampSockets, KeepsWhatEveryCeilingLists) {
  Resolved request;
  request.sockets = {socket("/b", 2), socket("/a", 1), socket("/c", 3), socket("/a", 1)};
  EXPECT_EQ(paths(clamp(request, {})->effective().sockets), (Paths{"/a", "/b", "/c"}));
  const ResolvedCeiling bounds[] = {ceiling({socket("/a", 1), socket("/b", 2)}),
                                    ceiling({socket("/b", 2), socket("/c", 3)})};
  const Clamped clamped = *clamp(request, bounds);
  EXPECT_EQ(paths(clamped.effective().sockets), Paths{"/b"});
  EXPECT_EQ(clamped.reductions().size(), 3U);
  EXPECT_EQ(clamped.reductions().front().what, "sockets");
  EXPECT_EQ(clamped.reductions().front().because, Reduction::Because::OutsideCeiling);
}

TEST(ClampSockets, ACeilingWithoutAnyPermitsNone) {
  Resolved request;
  request.sockets = {socket("/a", 1)};
  const ResolvedCeiling none[] = {ceiling({})};
  EXPECT_TRUE(clamp(request, none)->effective().sockets.empty());
  // Another file of the same name is not the one that was permitted.
  const ResolvedCeiling other[] = {ceiling({socket("/a", 9)})};
  EXPECT_TRUE(clamp(request, other)->effective().sockets.empty());
  ResolvedCeiling unbound = ceiling({});
  unbound.ceiling.bounds_net = false;
  EXPECT_EQ(clamp(request, {&unbound, 1})->effective().sockets.size(), 1U);
}

TEST(DecideSocket, FollowsTheList) {
  Resolved request;
  request.sockets = {socket("/run/docker.sock", 1)};
  const Clamped clamped = *clamp(request, {});
  const Verdict yes =
      decide_socket(clamped.effective(), "/var/run/docker.sock", "/run/docker.sock");
  EXPECT_TRUE(yes.allowed);
  EXPECT_NE(yes.reason.find("beware"), std::string::npos);
  const Verdict no = decide_socket(clamped.effective(), "/run/other.sock", "/run/other.sock");
  EXPECT_FALSE(no.allowed);
  EXPECT_FALSE(no.change.empty());
}

}  // namespace
}  // namespace cordon
