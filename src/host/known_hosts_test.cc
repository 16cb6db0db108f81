#include "host/known_hosts.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

NetRules allowing(std::initializer_list<const char*> rules) {
  NetRules net;
  for (const char* rule : rules) net.allow_host(parse_host_rule(rule).value());
  return net;
}

constexpr const char* kFile =
    "# comment\n"
    "git.example,192.0.2.7 ssh-ed25519 AAAA one\n"
    "[git.example]:2222 ssh-ed25519 BBBB\n"
    "other.example ssh-ed25519 CCCC\n"
    "@cert-authority *.corp.example ssh-rsa DDDD\n"
    "*.example,!git.example ssh-rsa EEEE\n"
    // What ssh-keygen -H made of "hashed.example".
    "|1|CvOmHpE7Ao3tte4vLoGZT2+kp2o=|A7TqIyYQ2HjFaf8mGH1apmVHcbQ= ssh-rsa FFFF\n"
    "|1|not base64|x ssh-rsa GGGG\n"
    "broken\n";

TEST(KnownHosts, ShowTheLinesOfAllowedHosts) {
  EXPECT_EQ(known_hosts_of(kFile, allowing({"git.example:22"})), "git.example ssh-ed25519 AAAA\n");
  EXPECT_EQ(known_hosts_of(kFile, allowing({"git.example:2222"})),
            "[git.example]:2222 ssh-ed25519 BBBB\n");
  EXPECT_EQ(known_hosts_of(kFile, allowing({"192.0.2.0/24:22"})), "192.0.2.7 ssh-ed25519 AAAA\n");
  EXPECT_EQ(known_hosts_of(kFile, allowing({"*.corp.example:22"})),
            "@cert-authority *.corp.example ssh-rsa DDDD\n");
  EXPECT_EQ(known_hosts_of(kFile, allowing({"nobody.example:22"})), "");
}

TEST(KnownHosts, HideWhatIsDenied) {
  NetRules net = allowing({"git.example:22"});
  net.deny.push_back(parse_host_rule("git.example").value());
  EXPECT_EQ(known_hosts_of(kFile, net), "");
}

TEST(KnownHosts, FindHashedNames) {
  EXPECT_EQ(known_hosts_of(kFile, allowing({"hashed.example:22"})),
            "hashed.example ssh-rsa FFFF\n");
  EXPECT_EQ(known_hosts_of(kFile, allowing({"hashed.example"})), "hashed.example ssh-rsa FFFF\n");
  EXPECT_EQ(known_hosts_of(kFile, allowing({"hashed.example:443"})), "");
}

}  // namespace
}  // namespace cordon
