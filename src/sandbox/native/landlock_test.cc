// Landlock alone: the rules of a real plan, in force without the mount view that lies over them in
// a run. Every attempt is made where writing, where reading and where nothing is granted, so each
// refusal has its control, and a right that is not handled or not given is seen.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "host/test_tree.h"
#include "plan/made_up_host.h"
#include "sandbox/native/build.h"
#include "sys/landlock.h"

namespace cordon::native {
namespace {

int answer(long result) { return result < 0 ? errno : 0; }

int opened(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  const int error = answer(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int executed(const std::string& path) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(path.c_str(), path.c_str(), nullptr);
    ::_exit(errno);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// The errno of `act` in a process under the rules of `operations`; 0 if it succeeded.
int under(const std::vector<Op>& operations, const std::function<int()>& act) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Prepared prepared;
    BuildState state;
    for (const Op& operation : operations) {
      if (!std::holds_alternative<op::LandlockAllow>(operation)) continue;
      if (carry_out(operation, prepared, state) < 0) ::_exit(250);
    }
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) ::_exit(251);
    if (sys::landlock_restrict_self(state.ruleset) < 0) ::_exit(252);
    ::_exit(act());
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// One thing to try in a directory that was prepared for it, and what it comes to where the
// directory is granted for writing and for reading. Where nothing is granted it is refused.
struct Attempt {
  const char* name;
  int abi;  // the first that knows the right
  int writable;
  int readable;
  int (*act)(const std::string& where);
};

const Attempt kAttempts[] = {
    {"read", 1, 0, 0, [](const std::string& at) { return opened(at + "/file", O_RDONLY); }},
    {"execute", 1, 0, 0, [](const std::string& at) { return executed(at + "/program"); }},
    {"write", 1, 0, EACCES, [](const std::string& at) { return opened(at + "/file", O_WRONLY); }},
    {"truncate", 3, 0, EACCES,
     [](const std::string& at) { return answer(::truncate((at + "/file").c_str(), 0)); }},
    // Not by opening, which takes the right to write as well.
    {"create", 1, 0, EACCES,
     [](const std::string& at) {
       return answer(::mknod((at + "/made").c_str(), S_IFREG | 0600, 0));
     }},
    {"make directory", 1, 0, EACCES,
     [](const std::string& at) { return answer(::mkdir((at + "/made-dir").c_str(), 0700)); }},
    {"make symlink", 1, 0, EACCES,
     [](const std::string& at) { return answer(::symlink("x", (at + "/made-link").c_str())); }},
    {"make pipe", 1, 0, EACCES,
     [](const std::string& at) { return answer(::mkfifo((at + "/pipe").c_str(), 0600)); }},
    {"make socket", 1, 0, EACCES,
     [](const std::string& at) {
       return answer(::mknod((at + "/socket").c_str(), S_IFSOCK | 0600, 0));
     }},
    // Landlock answers before the kernel asks for a capability, so the answer is EACCES for all.
    {"make character device", 1, EACCES, EACCES,
     [](const std::string& at) {
       return answer(::mknod((at + "/char").c_str(), S_IFCHR | 0600, 0));
     }},
    {"make block device", 1, EACCES, EACCES,
     [](const std::string& at) {
       return answer(::mknod((at + "/block").c_str(), S_IFBLK | 0600, 0));
     }},
    {"remove file", 1, 0, EACCES,
     [](const std::string& at) { return answer(::unlink((at + "/removable").c_str())); }},
    {"remove directory", 1, 0, EACCES,
     [](const std::string& at) { return answer(::rmdir((at + "/removable-dir").c_str())); }},
    {"rename", 1, 0, EACCES,
     [](const std::string& at) {
       return answer(::rename((at + "/movable").c_str(), (at + "/moved").c_str()));
     }},
};

class LandlockAlone : public ::testing::Test {
 protected:
  LandlockAlone() {
    Resolved request;
    for (const char* place : {"writable", "also-writable", "readable", "outside"}) prepare(place);
    request.write = {grant("writable"), grant("also-writable")};
    request.read = {grant("readable")};
    HostFacts facts = testing::made_up_facts();
    facts.system = {{"/usr", SystemEntry::Kind::Directory, {}}};
    const auto plan = make_native_plan(*clamp(request, {}), facts, testing::made_up_user(),
                                       testing::made_up_request());
    EXPECT_TRUE(plan) << (plan ? "" : message(plan.error()));
    if (plan) rules_ = plan->build;
  }

  void prepare(const std::string& place) {
    for (const char* name : {"file", "removable", "movable", "linkable"}) {
      tree_.file(place + "/" + name);
    }
    tree_.directory(place + "/removable-dir");
    std::filesystem::copy_file("/usr/bin/true", tree_.at(place + "/program"));
  }

  [[nodiscard]] Grant grant(std::string_view place) const {
    return testing::made_up_grant(tree_.at(place), 1);
  }

  testing::TestTree tree_;
  std::vector<Op> rules_;
  int abi_ = sys::landlock_abi();
};

TEST_F(LandlockAlone, AllowsWhatIsGrantedAndNothingElse) {
  for (const Attempt& attempt : kAttempts) {
    if (attempt.abi > abi_) continue;
    const auto tried = [&](const char* place) {
      return under(rules_, [&] { return attempt.act(tree_.at(place)); });
    };
    EXPECT_EQ(tried("writable"), attempt.writable) << attempt.name << " where writing is granted";
    EXPECT_EQ(tried("readable"), attempt.readable) << attempt.name << " where reading is granted";
    EXPECT_EQ(tried("outside"), EACCES) << attempt.name << " outside";
  }
}

// Moving a file would carry it to where other rules hold for it.
TEST_F(LandlockAlone, LetsNothingMoveOrBeLinkedAcrossGrants) {
  struct TracedPath {
    const char* from;
    const char* to;
    bool permitted;
  };
  for (const TracedPath& way : {TracedPath{"writable", "outside", false},
                                {"outside", "writable", false},
                                {"readable", "writable", false},
                                {"writable", "readable", false},
                                {"outside", "outside/removable-dir", false},
                                {"writable", "also-writable", abi_ >= 2}}) {
    const std::string to = tree_.at(way.to);
    const int linked = under(rules_, [&] {
      return answer(
          ::link(tree_.at(std::string(way.from) + "/linkable").c_str(), (to + "/linked").c_str()));
    });
    const int renamed = under(rules_, [&] {
      return answer(::rename(tree_.at(std::string(way.from) + "/movable").c_str(),
                             (to + "/renamed").c_str()));
    });
    for (const int error : {linked, renamed}) {
      const bool refused = error == EACCES || error == EXDEV;
      EXPECT_TRUE(way.permitted ? error == 0 : refused)
          << way.from << " to " << way.to << ": " << error;
    }
  }
}

TEST_F(LandlockAlone, KeepsThePlacesOfEverySandboxForTheirUse) {
  EXPECT_EQ(under(rules_, [] { return opened("/", O_RDONLY | O_DIRECTORY); }), 0);
  EXPECT_EQ(under(rules_, [] { return opened("/etc", O_RDONLY | O_DIRECTORY); }), 0);
  EXPECT_EQ(under(rules_, [] { return opened("/etc/passwd", O_RDONLY); }), 0);
  EXPECT_EQ(under(rules_, [] { return opened("/proc/self/status", O_RDONLY); }), 0);
  EXPECT_EQ(under(rules_, [] { return opened("/dev/null", O_RDWR | O_TRUNC); }), 0);
  EXPECT_EQ(under(rules_, [] { return executed("/usr/bin/true"); }), 0);
  EXPECT_EQ(under(rules_, [] { return opened("/proc/self/comm", O_WRONLY); }), EACCES);
  EXPECT_EQ(opened("/proc/self/comm", O_WRONLY), 0);
}

// In a plan every directory can be listed, since the root can: what is not granted is not there.
TEST_F(LandlockAlone, HandlesListingExecutionAndDeviceCalls) {
  const auto allowing = [](std::string path, LandlockUse use) {
    return std::vector<Op>{op::LandlockAllow{std::move(path), use, FileKind::Directory}};
  };
  const auto list = [&] { return opened(tree_.at("outside"), O_RDONLY | O_DIRECTORY); };
  EXPECT_EQ(under(allowing(tree_.at("writable"), LandlockUse::ReadWrite), list), EACCES);
  for (const LandlockUse use : {LandlockUse::List, LandlockUse::Read, LandlockUse::ReadExecute,
                                LandlockUse::ReadWrite, LandlockUse::Device}) {
    EXPECT_EQ(under(allowing(tree_.at("outside"), use), list), 0);
  }

  // Executing takes the right to read as well, so only what can be read shows the one to execute.
  const auto execute = [&] { return executed(tree_.at("outside/program")); };
  for (const auto& [use, expected] :
       {std::pair{LandlockUse::Read, EACCES}, std::pair{LandlockUse::ReadExecute, 0}}) {
    std::vector<Op> rules = allowing("/usr", LandlockUse::ReadExecute);
    rules.push_back(allowing(tree_.at("outside"), use).front());
    rules.push_back(allowing("/etc", LandlockUse::Read).front());
    EXPECT_EQ(under(rules, execute), expected);
  }

  const auto ask_terminal = [] {
    const int fd = ::open("/dev/ptmx", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    int number = 0;
    return fd < 0 ? errno : answer(::ioctl(fd, TIOCGPTN, &number));
  };
  EXPECT_EQ(under(allowing("/dev", LandlockUse::Device), ask_terminal), 0);
  if (abi_ >= 5) {
    EXPECT_EQ(under(allowing("/dev", LandlockUse::Read), ask_terminal), EACCES);
    EXPECT_EQ(under(allowing("/dev", LandlockUse::ReadWrite), ask_terminal), EACCES);
  }
}

}  // namespace
}  // namespace cordon::native
