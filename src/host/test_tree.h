// For tests only: a temporary directory that is removed at the end, a made-up caller, and short
// ways to write a tree and to look at it afterwards.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "host/post_run_scan.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "policy/clamp.h"

namespace cordon::testing {

class TestTree {
 public:
  TestTree() {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/cordon-host-XXXXXX";
    const char* made = ::mkdtemp(pattern.data());
    root_ = std::filesystem::canonical(made == nullptr ? "/nonexistent" : made).string();
  }
  TestTree(const TestTree&) = delete;
  TestTree& operator=(const TestTree&) = delete;
  ~TestTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string at(std::string_view path) const {
    return path.empty() ? root_ : root_ + "/" + std::string(path);
  }
  std::string directory(std::string_view path) const {
    std::filesystem::create_directories(at(path));
    return at(path);
  }
  std::string file(std::string_view path, std::string_view content = "x") const {
    std::filesystem::create_directories(std::filesystem::path(at(path)).parent_path());
    std::ofstream(at(path), std::ios::binary) << content;
    return at(path);
  }
  void link(std::string_view path, std::string_view target) const {
    std::filesystem::create_directories(std::filesystem::path(at(path)).parent_path());
    ASSERT_EQ(::symlink(std::string(target).c_str(), at(path).c_str()), 0);
  }
  [[nodiscard]] bool exists(std::string_view path) const {
    struct stat status {};
    return ::lstat(at(path).c_str(), &status) == 0;
  }
  [[nodiscard]] std::string read(std::string_view path) const { return read_path(at(path)); }
  static std::string read_path(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }

  // A caller whose home is home/ and who stands in home/project/, both below this tree.
  [[nodiscard]] Caller caller() const {
    Caller result;
    result.uid = ::getuid();
    result.gid = ::getgid();
    result.user = "tester";
    result.home = directory("home");
    result.homes = {result.home};
    result.cwd = directory("home/project");
    result.config_directory = at("home/.config/cordon");
    result.state_directory = at("home/.local/state/cordon");
    result.runtime_directory = at("home/.local/state/cordon/run");
    result.executable = "/usr/bin/cordon";
    result.environment["PATH"] = "/usr/bin:/bin";
    return result;
  }

 private:
  std::string root_;
};

inline Policy writable(std::initializer_list<std::string> paths) {
  Policy policy;
  policy.name = "test";
  for (const std::string& path : paths) policy.fs.write.push_back({path, {}});
  return policy;
}

inline Clamped clamped(const Policy& policy, const Caller& caller) {
  const Result<Resolved> resolved = resolve(policy, caller);
  EXPECT_TRUE(resolved.has_value()) << (resolved ? "" : resolved.error().what);
  return *clamp(resolved ? *resolved : Resolved{}, {});
}

inline Survey surveyed(const Clamped& what, const Caller& caller) {
  Result<Survey> result = survey(what, caller);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().what);
  return result ? std::move(*result) : Survey{};
}

inline std::vector<Quarantined> collected(const Clamped& what, const Caller& caller,
                                          const TreeSnapshot& before) {
  const Result<std::vector<Quarantined>> result =
      post_run_scan(what.effective().write, what.effective().deny, caller, before,
                    caller.state_directory + "/handoff", "run-1");
  EXPECT_TRUE(result.has_value()) << (result ? "" : message(result.error()));
  return result ? *result : std::vector<Quarantined>{};
}

template <typename Entries>
std::vector<std::string> paths_of(const Entries& entries) {
  std::vector<std::string> result;
  result.reserve(entries.size());
  for (const auto& entry : entries) result.push_back(entry.path);
  return result;
}

// What ran as root goes on as nobody, so that permissions count.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(::geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(::setegid(65534), 0);
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  ~OrdinaryUser() {
    if (was_root_) {
      EXPECT_EQ(::seteuid(0), 0);
      EXPECT_EQ(::setegid(0), 0);
    }
  }

 private:
  bool was_root_;
};

// Runs git with no configuration but the repository's own; fails the test if git fails.
inline void git(const std::string& directory, const std::string& arguments) {
  const std::string command =
      "cd '" + directory +
      "' && env -i PATH=/usr/bin:/bin HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 "
      "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b "
      "git -c protocol.file.allow=always -c init.defaultBranch=main -c safe.directory='*' " +
      arguments + " >/dev/null 2>&1";
  // NOLINTNEXTLINE(cert-env33-c): a fixed line of the test itself
  EXPECT_EQ(std::system(command.c_str()), 0) << arguments;
}

}  // namespace cordon::testing
