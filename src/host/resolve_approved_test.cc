#include <gmock/gmock.h>

#include "host/test_tree.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::paths_of;
using testing::TestTree;

Approval approval_of(Approval::Kind kind, const std::string& path, const Caller& caller) {
  Approval approval;
  approval.id = "g-1";
  approval.kind = kind;
  const auto place = canonicalize(path, "/", caller);
  EXPECT_TRUE(place.has_value());
  approval.path = place->path;
  approval.object = place->id;
  return approval;
}

class ResolveApproved : public ::testing::Test {
 protected:
  ResolveApproved() {
    tree.directory("askable/part");
    tree.directory("elsewhere");
    ceiling.id = "c";
    ceiling.ask.read = {{tree.at("askable"), {}}};
  }

  std::vector<std::string> readable() const {
    const auto resolved = resolve(ceiling, tree.caller(), approved);
    EXPECT_TRUE(resolved.has_value());
    EXPECT_THAT(resolved->write, IsEmpty());
    return paths_of(resolved->read);
  }

  TestTree tree;
  Ceiling ceiling;
  std::vector<Approval> approved;
};

TEST_F(ResolveApproved, PermitsNothingThatIsNotApproved) { EXPECT_THAT(readable(), IsEmpty()); }

TEST_F(ResolveApproved, PermitsWhatIsApprovedAndMayBeAsked) {
  approved = {approval_of(Approval::Kind::Read, tree.at("askable/part"), tree.caller()),
              approval_of(Approval::Kind::Read, tree.at("elsewhere"), tree.caller()),
              approval_of(Approval::Kind::Write, tree.at("askable"), tree.caller())};
  EXPECT_THAT(readable(), ElementsAre(tree.at("askable/part")));
  ceiling.ask = {};
  EXPECT_THAT(readable(), IsEmpty());
}

TEST_F(ResolveApproved, HoldsAnApprovalToItsObject) {
  approved = {approval_of(Approval::Kind::Read, tree.at("askable/part"), tree.caller())};
  std::filesystem::rename(tree.at("askable/part"), tree.at("askable/moved"));
  EXPECT_THAT(readable(), IsEmpty());
  tree.link("askable/part", tree.at("elsewhere"));
  EXPECT_THAT(readable(), IsEmpty());
  std::filesystem::remove(tree.at("askable/part"));
  tree.directory("askable/part");
  EXPECT_THAT(readable(), IsEmpty());
  std::filesystem::remove(tree.at("askable/part"));
  std::filesystem::rename(tree.at("askable/moved"), tree.at("askable/part"));
  EXPECT_THAT(readable(), ElementsAre(tree.at("askable/part")));
}

TEST_F(ResolveApproved, AnchorsADenyOfEveryDepthAboveWhatIsApproved) {
  ceiling.policy.fs.deny = {{"**/part/*.pem", "/"}};
  approved = {approval_of(Approval::Kind::Read, tree.at("askable/part"), tree.caller())};
  const auto resolved = resolve(ceiling, tree.caller(), approved);
  ASSERT_TRUE(resolved.has_value());
  EXPECT_THAT(resolved->deny,
              ::testing::Contains(::testing::Field(&DenyGlob::anchor, std::string("/"))));
}

TEST_F(ResolveApproved, PermitsAHostThatIsApproved) {
  ceiling.ask.net = {*parse_host_rule("a.example.com:443")};
  Approval approval;
  approval.kind = Approval::Kind::Net;
  approval.host = *parse_host_rule("a.example.com:443");
  approved = {approval};
  EXPECT_EQ(resolve(ceiling, tree.caller(), approved)->ceiling.policy.net.mode, NetMode::Allow);
  approved.front().host = *parse_host_rule("b.example.com:443");
  EXPECT_EQ(resolve(ceiling, tree.caller(), approved)->ceiling.policy.net.mode, NetMode::None);
}

}  // namespace
}  // namespace cordon
