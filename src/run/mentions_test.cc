#include "run/mentions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Mentioned : public testing::Test {
 protected:
  Mentioned() { caller_.home = "/home/u"; }
  std::vector<MentionedPath> in(const std::vector<std::string>& argv,
                                const std::vector<std::string>& messages = {}) {
    return mentions_in(argv, messages, "/home/u/project", caller_).paths;
  }
  std::vector<MentionedHost> hosts(const std::vector<std::string>& argv,
                                   const std::vector<std::string>& messages = {}) {
    return mentions_in(argv, messages, "/home/u/project", caller_).hosts;
  }
  Caller caller_;
};

TEST_F(Mentioned, ArgumentsAreMadeAbsolute) {
  EXPECT_THAT(in({"/bin/cat", "~/notes", "../other/x", "sub/y", "plain", "--file=/etc/f",
                  "-I/opt/i", "/with a blank/z"}),
              ElementsAre(MentionedPath{"/home/u/notes"}, MentionedPath{"/home/u/other/x"},
                          MentionedPath{"/home/u/project/sub/y"}, MentionedPath{"/etc/f"},
                          MentionedPath{"/opt/i"}, MentionedPath{"/with a blank/z"}));
}

TEST_F(Mentioned, WordsOfAScriptCount) {
  EXPECT_THAT(in({"sh", "-c", "cat '/srv/data' >/dev/null; ls ~/docs|wc"}),
              ElementsAre(MentionedPath{"/srv/data"}, MentionedPath{"/home/u/docs"}));
}

TEST_F(Mentioned, AddressesAndTheSandboxesOwnPlacesDoNot) {
  EXPECT_THAT(in({"curl", "https://example.com/x", "host:/srv/x", "/proc/1/environ", "/dev/kvm"}),
              IsEmpty());
}

TEST_F(Mentioned, OnlyLinesThatTellOfAnErrorCount) {
  EXPECT_THAT(in({"make"}, {"reading /srv/fine\ncat: /srv/gone: No such file or directory\n"
                            "touch: cannot touch '/usr/new': Read-only file system\n"
                            "relative/x: not found\n"}),
              ElementsAre(MentionedPath{"/srv/gone"}, MentionedPath{"/usr/new", true}));
}

TEST_F(Mentioned, AProgramIsNotThePathThatItFailedOf) {
  EXPECT_THAT(in({"sh", "-c", "mkdir -p made"},
                 {"mkdir: cannot create directory 'made': Read-only file system\n"}),
              ElementsAre(MentionedPath{"/home/u/project/made", true}));
  // A script that may not be executed begins the line as well.
  EXPECT_THAT(in({"sh", "-c", "exec bin/tool"}, {"bin/tool: Permission denied\n"}),
              ElementsAre(MentionedPath{"/home/u/project/bin/tool"}));
}

TEST_F(Mentioned, EachOnceAndNoMoreThanAreWorthJudging) {
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += "/a" + std::to_string(i) + ": not found\n";
  EXPECT_EQ(in({"x", "/a/b", "/a/b"}).size(), 1U);
  EXPECT_LE(in({"x"}, {flood}).size(), 32U);
  // What comes last is what the command failed of.
  EXPECT_THAT(in({"x"}, {"/first: not found\n" + std::string(1 << 20, 'x') + "\n/last: not found"}),
              ElementsAre(MentionedPath{"/last"}));
}

TEST_F(Mentioned, AddressesNameHosts) {
  EXPECT_THAT(hosts({"git", "clone", "https://Example.com/x", "git@forge.example:team/x.git",
                     "--index-url=http://u:p@mirror.example:8080/simple",
                     "ssh://[2001:db8::1]:2222/x", "git+https://other.example/y"}),
              ElementsAre(MentionedHost{"example.com", 443}, MentionedHost{"forge.example", 22},
                          MentionedHost{"mirror.example", 8080}, MentionedHost{"2001:db8::1", 2222},
                          MentionedHost{"other.example", 443}));
}

TEST_F(Mentioned, MessagesOfResolversNameHosts) {
  EXPECT_THAT(hosts({"x"}, {"curl: (6) Could not resolve host: a.example\n"
                            "npm error request to https://b.example/x failed, reason: getaddrinfo "
                            "EAI_AGAIN b.example b.example:8443\n"
                            "ssh: Could not resolve hostname c.example: Temporary failure\n"
                            "wget: unable to resolve host address \xe2\x80\x98"
                            "d.example\xe2\x80\x99\n"}),
              ElementsAre(MentionedHost{"a.example", 443}, MentionedHost{"b.example", 443},
                          MentionedHost{"b.example", 8443}, MentionedHost{"c.example", 443},
                          MentionedHost{"d.example", 443}));
}

TEST_F(Mentioned, WhatIsNoHostIsNone) {
  EXPECT_THAT(hosts({"x", "http://localhost:3000/", "http://127.0.0.1:80/", "a@b", "file:///x",
                     "https://", "https://h:99999/", "v1.2.3", "foo.py"},
                    {"socket.gaierror: [Errno -3] Temporary failure in name resolution\n"
                     "urllib3.connection.HTTPSConnection: Failed name resolution\n"
                     "see docs.example for help\n"}),
              IsEmpty());
}

}  // namespace
}  // namespace cordon
