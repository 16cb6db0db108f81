#include <gmock/gmock.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestTree;
using ::testing::UnorderedElementsAre;

class Toolchains : public ::testing::Test {
 protected:
  std::vector<std::string> roots(std::initializer_list<std::string> path) {
    Caller caller = tree_.caller();
    std::string joined = "/usr/bin";
    for (const std::string& entry : path) joined += ":" + tree_.at("home/" + entry);
    caller.environment["PATH"] = joined;
    std::vector<std::string> result;
    for (const std::string& root : toolchain_roots(caller, writable_))
      result.push_back(root.substr(caller.home.size() + 1));
    return result;
  }
  TestTree tree_;
  std::vector<std::string> writable_;  // what runs could have written
};

TEST_F(Toolchains, GivesRustItsProgramsAndToolchainsButNotItsCredentials) {
  tree_.file("home/.cargo/bin/cargo");
  tree_.file("home/.cargo/credentials.toml");
  tree_.directory("home/.rustup/toolchains");
  EXPECT_THAT(roots({".cargo/bin"}), UnorderedElementsAre(".cargo/bin", ".rustup"));
}

TEST_F(Toolchains, GivesNodeItsVersionDirectory) {
  tree_.file("home/.nvm/versions/node/v20/bin/node");
  tree_.directory("home/.nvm/versions/node/v20/lib/node_modules");
  tree_.file("home/.nvm/versions/node/v18/bin/node");
  EXPECT_THAT(roots({".nvm/versions/node/v20/bin"}), ElementsAre(".nvm/versions/node/v20"));
}

TEST_F(Toolchains, GivesPyenvVoltaAsdfMiseAndSdkmanTheirRoots) {
  tree_.file("home/.pyenv/shims/python3");
  tree_.file("home/.volta/bin/node");
  tree_.file("home/.asdf/shims/ruby");
  tree_.file("home/.local/share/mise/shims/go");
  tree_.file("home/.sdkman/candidates/java/current/bin/java");
  EXPECT_THAT(
      roots({".pyenv/shims", ".volta/bin", ".asdf/shims", ".local/share/mise/shims",
             ".sdkman/candidates/java/current/bin"}),
      UnorderedElementsAre(".pyenv", ".volta", ".asdf", ".local/share/mise", ".sdkman/candidates"));
}

TEST_F(Toolchains, GivesGoItsInstallation) {
  tree_.file("home/sdk/go1.22/bin/go");
  tree_.directory("home/sdk/go1.22/pkg/tool");
  tree_.file("home/go/bin/gopls");
  EXPECT_THAT(roots({"sdk/go1.22/bin", "go/bin"}), UnorderedElementsAre("go/bin", "sdk/go1.22"));
}

TEST_F(Toolchains, FollowsALinkedToolToItsInstallation) {
  tree_.file("home/apps/jdk/bin/java");
  tree_.file("home/apps/jdk/lib/modules");
  tree_.directory("home/.local/bin");
  tree_.link("home/.local/bin/java", "../../apps/jdk/bin/java");
  tree_.link("home/.local/bin/notes", "../../private/notes");
  tree_.file("home/private/notes");
  EXPECT_THAT(roots({".local/bin"}), UnorderedElementsAre(".local/bin", "apps/jdk"));
}

TEST_F(Toolchains, FollowsAVirtualEnvironmentToItsInterpreter) {
  tree_.file("home/.pyenv/versions/3.12/bin/python3.12");
  tree_.file("home/venv/bin/python");
  tree_.file("home/venv/pyvenv.cfg", "include-system-site-packages = false\nhome = " +
                                         tree_.at("home/.pyenv/versions/3.12/bin") +
                                         "\nversion = 3.12\n");
  EXPECT_THAT(roots({"venv/bin"}), UnorderedElementsAre(".pyenv", "venv"));
}

TEST_F(Toolchains, GoesNowhereForAVirtualEnvironmentThatARunCouldHaveWritten) {
  tree_.file("home/private/bin/notes");
  tree_.file("home/project/.venv/bin/python");
  tree_.file("home/project/.venv/pyvenv.cfg", "home = " + tree_.at("home/private/bin") + "\n");
  EXPECT_THAT(roots({"project/.venv/bin"}),
              UnorderedElementsAre("private/bin", "project/.venv"));  // nobody else wrote it
  writable_ = {tree_.at("home/project")};
  EXPECT_THAT(roots({"project/.venv/bin"}), ElementsAre("project/.venv"));
}

TEST_F(Toolchains, FollowsAVirtualEnvironmentOfTheProjectToAKnownToolchain) {
  tree_.file("home/.local/share/uv/python/cpython-3.12/bin/python3.12");
  tree_.file("home/project/.venv/pyvenv.cfg",
             "home = " + tree_.at("home/.local/share/uv/python/cpython-3.12/bin") + "\n");
  tree_.directory("home/project/.venv/bin");
  tree_.link("home/project/.venv/bin/python",
             tree_.at("home/.local/share/uv/python/cpython-3.12/bin/python3.12"));
  writable_ = {tree_.at("home/project")};
  EXPECT_THAT(roots({"project/.venv/bin"}),
              UnorderedElementsAre(".local/share/uv/python", "project/.venv"));
}

TEST_F(Toolchains, GoesNowhereForALinkThatARunCouldHaveMade) {
  tree_.file("home/private/notes");
  tree_.directory("home/project/node_modules/.bin");
  tree_.link("home/project/node_modules/.bin/node", tree_.at("home/private/notes"));
  tree_.directory("home/bin");
  tree_.link("home/bin/python3", tree_.at("home/project/node_modules/.bin/node"));
  EXPECT_THAT(roots({"project/node_modules/.bin", "bin"}),
              UnorderedElementsAre("bin", "private", "project/node_modules/.bin"));
  writable_ = {tree_.at("home/project")};
  EXPECT_THAT(roots({"project/node_modules/.bin", "bin"}),
              UnorderedElementsAre("bin", "project/node_modules/.bin"));
}

TEST_F(Toolchains, GoesNowhereForADirectoryOnPathThatARunCouldHaveMadeALink) {
  tree_.file("home/private/bin/node");
  tree_.directory("home/private/lib/node_modules");
  tree_.directory("home/project");
  tree_.link("home/project/current", tree_.at("home/private"));
  EXPECT_THAT(roots({"project/current/bin"}), ElementsAre("private"));
  writable_ = {tree_.at("home/project")};
  EXPECT_THAT(roots({"project/current/bin"}), IsEmpty());
  // A known toolchain below a grant: what its name leads to is the run's choice as well.
  tree_.directory("home/.local/share/uv");
  tree_.link("home/.local/share/uv/python", tree_.at("home/private"));
  writable_ = {tree_.at("home/.local/share/uv")};
  EXPECT_THAT(roots({".local/share/uv/python/bin"}), IsEmpty());
}

TEST_F(Toolchains, NeverGivesAwayAHomeOrItsPrivateParts) {
  tree_.file("home/node");
  tree_.file("home/conda-meta/history");
  tree_.file("home/.config/tool/node");
  tree_.file("home/.ssh/node");
  tree_.directory("home/.local/conda-meta");
  tree_.directory("home/.local/bin");
  tree_.directory("home/bin");
  EXPECT_THAT(roots({".", "", ".config/tool", ".ssh", ".local", ".cache", "bin", ".local/bin"}),
              UnorderedElementsAre(".local/bin", "bin"));
}

TEST_F(Toolchains, GivesNothingThatDoesNotExist) {
  EXPECT_THAT(roots({".cargo/bin", ".pyenv/shims", "missing/bin"}), IsEmpty());
}

}  // namespace
}  // namespace cordon
