#include "run/proposals.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

Caller somebody() {
  Caller caller;
  caller.home = "/home/u";
  caller.homes = {"/home/u"};
  return caller;
}

Denial refused(const std::string& access, const std::string& path, const std::string& change) {
  return {access, path, "mounts", 1, path, access, "no rule", change, false};
}

Denial refused_read(const std::string& path) { return refused("read", path, "--read " + path); }

std::vector<std::string> values(const Proposals& found) {
  std::vector<std::string> list;
  for (const Proposal& one : found.granted) list.push_back(one.value);
  return list;
}

std::vector<std::string> proposed(const std::vector<std::string>& paths) {
  std::vector<Denial> denials;
  for (const std::string& path : paths) denials.push_back(refused_read(path));
  return values(propose(denials, somebody()));
}

using Paths = std::vector<std::string>;

TEST(Proposals, AreWhatWasAskedFor) {
  EXPECT_EQ(proposed({"/home/u/a/b/x", "/opt/t/y"}), (Paths{"/home/u/a/b/x", "/opt/t/y"}));
}

TEST(Proposals, OfSeveralFilesAreTheirDirectory) {
  EXPECT_EQ(proposed({"/opt/t/1", "/opt/t/2", "/opt/t/3"}), (Paths{"/opt/t"}));
  EXPECT_EQ(proposed({"/opt/t/a/1", "/opt/t/a/2", "/opt/t/a/3", "/opt/t/b/1", "/opt/t/b/2",
                      "/opt/t/b/3", "/opt/t/x"}),
            (Paths{"/opt/t"}));
  EXPECT_EQ(proposed({"/opt/t/1", "/opt/t/2"}), (Paths{"/opt/t/1", "/opt/t/2"}));
}

TEST(Proposals, AreNeverAHomeOrWhatIsTooWide) {
  for (const std::string place : {"/home/u", "/home/u/.config", "/opt", "/srv", "/data", "/home"}) {
    const Paths files{place + "/1", place + "/2", place + "/3", place + "/4"};
    EXPECT_EQ(proposed(files), files) << place;
  }
}

TEST(Proposals, NeverHoldACredential) {
  const Paths files{"/home/u/.config/gcloud/1", "/home/u/.config/gcloud/2",
                    "/home/u/.config/gcloud/3"};
  EXPECT_EQ(proposed(files), Paths{}) << "what lies in a store is one";
  const Proposals found = propose({refused_read("/home/u/.ssh/id_rsa")}, somebody());
  EXPECT_TRUE(found.granted.empty());
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out.front().why, "it is a credential");
}

TEST(Proposals, LeaveOutWhatNoOptionGrants) {
  const Proposals found =
      propose({refused("read", "/opt/t/x", "below [fs] in /etc/cordon/ceiling.toml: read = []"),
               refused("read", "/opt/t/y", ""), refused("write", "/opt/t/z", "leave out --deny z")},
              somebody());
  EXPECT_TRUE(found.granted.empty());
  EXPECT_EQ(found.left_out.size(), 3U);
}

TEST(Proposals, OfWritesAreNeverWider) {
  const Proposals found = propose({refused("write", "/opt/t/1", "--write /opt/t/1"),
                                   refused("write", "/opt/t/2", "--write /opt/t/2"),
                                   refused("write", "/opt/t/3", "--write /opt/t/3"),
                                   refused("write", "/opt/n/4", "--write /opt/n")},
                                  somebody());
  EXPECT_EQ(values(found), (Paths{"/opt/n", "/opt/t/1", "/opt/t/2", "/opt/t/3"}));
}

TEST(Proposals, CountWhatTheyCover) {
  Denial often = refused_read("/opt/t/1");
  often.count = 7;
  const Proposals found =
      propose({often, refused_read("/opt/t/2"), refused_read("/opt/t/3")}, somebody());
  ASSERT_EQ(found.granted.size(), 1U);
  EXPECT_EQ(found.granted.front().count, 9U);
}

TEST(Proposals, AreSpelledForTheirOwner) {
  EXPECT_EQ(policy_value({Proposal::Kind::Read, "/home/u/a", 1, false}, somebody()), "~/a");
  EXPECT_EQ(policy_value({Proposal::Kind::Read, "/home/user2/a", 1, false}, somebody()),
            "/home/user2/a");
  EXPECT_EQ(policy_value({Proposal::Kind::Host, "h.example:443", 1, false}, somebody()),
            "h.example:443");
}

}  // namespace
}  // namespace cordon
