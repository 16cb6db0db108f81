#include "compat/safeclaw/safeclaw_builder.h"

#include <gmock/gmock.h>

#include "base/path.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::Contains;
using testing::TestTree;
using ::testing::UnorderedElementsAre;

TEST(DevelopmentPlaces, NameOfTheHomeWhatHoldsNoCredential) {
  const TestTree tree;
  Caller caller = tree.caller();
  caller.environment["TMPDIR"] = tree.directory("scratch");
  for (const char* file :
       {"home/.gitconfig", "home/.config/git/config", "home/.config/git/credentials",
        "home/.config/gh/hosts.yml", "home/.ssh/id", "home/.netrc", "home/.npm/index",
        "home/.m2/settings.xml", "home/.m2/repository/x", "home/elsewhere/secret"}) {
    tree.file(file);
  }
  tree.link("home/.cargo/registry", tree.at("home/.ssh"));
  tree.link("home/.cache", tree.at("home/elsewhere"));
  tree.directory("home/elsewhere/pip");
  const auto places = development_places(caller);
  ASSERT_TRUE(places) << places.error().what;
  EXPECT_EQ(places->cwd, tree.at("home/project"));
  EXPECT_EQ(places->temporary, tree.at("scratch"));
  std::vector<std::string> of_home;
  for (const std::string& path : places->readable) {
    EXPECT_FALSE(contains(path, "/etc/shadow")) << path;
    EXPECT_FALSE(contains(path, caller.home)) << path;
    if (contains(caller.home, path)) of_home.push_back(path);
  }
  EXPECT_THAT(of_home,
              UnorderedElementsAre(tree.at("home/.gitconfig"), tree.at("home/.config/git/config"),
                                   tree.at("home/.npm"), tree.at("home/.m2/repository")));
  EXPECT_THAT(places->readable, Contains("/etc/passwd"));
  EXPECT_THAT(places->executable, Contains("/usr/bin"));
  for (const std::string& path : places->executable) {
    EXPECT_FALSE(std::filesystem::is_symlink(path)) << path;
  }
}

TEST(DevelopmentPlaces, RefuseAHomeAsTheProject) {
  const TestTree tree;
  Caller caller = tree.caller();
  caller.environment["TMPDIR"] = tree.directory("scratch");
  EXPECT_TRUE(development_places(caller));
  for (const std::string& place : {caller.home, std::string("/"), std::string("/usr/lib")}) {
    caller.cwd = place;
    EXPECT_FALSE(development_places(caller)) << place;
  }
  EXPECT_FALSE(writable_place("~", tree.caller()));
  EXPECT_FALSE(writable_place("/", tree.caller()));
  EXPECT_TRUE(writable_place("sub", tree.caller()));
}

TEST(CoverableStores, AreWhatAMountCanCover) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("home/.ssh/id");
  tree.file("home/.netrc");
  tree.file("cloud/credentials");
  tree.link("home/.aws", tree.at("cloud"));
  tree.link("home/.kube", tree.at("nowhere"));
  EXPECT_THAT(coverable_stores(caller),
              UnorderedElementsAre(tree.at("home/.ssh"), tree.at("home/.netrc"), tree.at("cloud")));
}

}  // namespace
}  // namespace cordon
