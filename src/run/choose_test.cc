#include "run/choose.h"
#include "support/missing_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace cordon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A host that refuses what it is told to, and remembers what it was asked.
class MadeUpHost {
 public:
  MadeUpHost& refuse(BackendKind kind, std::string reason, std::string cure = {}) {
    refusals_[kind] = {std::move(reason), std::move(cure)};
    return *this;
  }
  HostProbe probe() {
    return [this](BackendKind kind) -> std::optional<HostRefusal> {
      asked.push_back(kind);
      const auto found = refusals_.find(kind);
      if (found == refusals_.end()) return std::nullopt;
      return found->second;
    };
  }
  std::vector<BackendKind> asked;

 private:
  std::map<BackendKind, HostRefusal> refusals_;
};

Ceiling ceiling(std::string id, std::vector<Layer> accepted,
                std::optional<std::vector<BackendKind>> backends = {}) {
  Ceiling made;
  made.id = std::move(id);
  made.policy.require.accept_missing = going_without(accepted);
  made.policy.require.backends = std::move(backends);
  return made;
}

Result<BackendChoice> choose(MadeUpHost& host, const Effective& effective = {},
                             const std::vector<Ceiling>& ceilings = {},
                             Foresight foresight = Foresight::AskHost, BackendRequest wish = {}) {
  return choose_backend(wish, effective, ceilings, foresight, host.probe());
}

MadeUpHost without_namespaces() {
  MadeUpHost host;
  host.refuse(BackendKind::Native, "this host refuses user-namespace", "sysctl -w x=1");
  host.refuse(BackendKind::Bwrap, "bubblewrap is not installed");
  return host;
}

TEST(Choose, TheFirstThatWorks) {
  MadeUpHost whole;
  EXPECT_EQ(choose(whole)->backend, BackendKind::Native);
  EXPECT_THAT(whole.asked, ElementsAre(BackendKind::Native));
  MadeUpHost wrapped;
  wrapped.refuse(BackendKind::Native, "no");
  const auto bwrap = choose(wrapped);
  EXPECT_EQ(bwrap->backend, BackendKind::Bwrap);
  EXPECT_THAT(bwrap->passed_over, ElementsAre(PassedOver{BackendKind::Native, "no", ""}));
  MadeUpHost bare = without_namespaces();
  Effective accepting;
  accepting.accept_missing = {Layer::Namespaces};
  EXPECT_EQ(choose(bare, accepting)->backend, BackendKind::Landlock);
}

TEST(Choose, TakesNativeAtItsWordWithoutAskingAnything) {
  MadeUpHost host = without_namespaces();
  EXPECT_EQ(choose(host, {}, {}, Foresight::TakeNative)->backend, BackendKind::Native);
  EXPECT_THAT(host.asked, IsEmpty());
}

TEST(Choose, GoesWithoutNoLayerUnlessThatIsAccepted) {
  MadeUpHost host = without_namespaces();
  const auto refused = choose(host);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("native: this host refuses"), HasSubstr("bwrap: bubblewrap is not"),
                    HasSubstr("landlock: it goes without namespaces")));
  // Without any ceiling a file with that line alone would take everything away.
  EXPECT_THAT(refused.error().hint, AllOf(HasSubstr("sysctl -w x=1"), HasSubstr("cordon setup")));
}

TEST(Choose, NamesTheCeilingsThatDoNotAccept) {
  MadeUpHost host = without_namespaces();
  const auto refused = choose(host, {}, {ceiling("/a", {Layer::Namespaces}), ceiling("/b", {})});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, AllOf(HasSubstr(" in /b"), Not(HasSubstr("/a")),
                                          HasSubstr("accept_missing = [\"namespaces\"]")));
}

TEST(Choose, DoesNotAdviseToAcceptWhatWouldNotWork) {
  MadeUpHost host = without_namespaces();
  host.refuse(BackendKind::Landlock, "this host refuses Landlock ABI 6");
  const auto refused = choose(host);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, Not(HasSubstr("accept_missing")));
}

TEST(Choose, OnlyWhatEveryCeilingPermits) {
  MadeUpHost host;
  Effective effective;
  effective.backends = {BackendKind::Bwrap};
  const std::vector<Ceiling> ceilings{ceiling("/c", {}, {{BackendKind::Bwrap}})};
  const auto choice = choose(host, effective, ceilings);
  EXPECT_EQ(choice->backend, BackendKind::Bwrap);
  EXPECT_THAT(host.asked, ElementsAre(BackendKind::Bwrap));
  EXPECT_FALSE(has_next(*choice, effective));
  const auto told = choose(host, effective, ceilings, Foresight::AskHost,
                           {BackendKind::Landlock, ChosenBy::Option});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::Policy);
  EXPECT_THAT(told.error().what, AllOf(HasSubstr("--backend"), HasSubstr("permitted by /c")));
  effective.backends = std::vector<BackendKind>{};
  EXPECT_EQ(choose(host, effective, ceilings).error().kind, ErrorKind::Policy);
}

TEST(Choose, NothingStandsInForOneThatIsNamed) {
  MadeUpHost host = without_namespaces();
  for (const BackendKind kind : kBackendKinds) {
    const auto choice = choose(host, {}, {}, Foresight::AskHost, {kind, ChosenBy::Variable});
    EXPECT_EQ(choice->backend, kind);
    EXPECT_FALSE(has_next(*choice, {}));
  }
  EXPECT_THAT(host.asked, IsEmpty());
}

TEST(Choose, TheVariableIsReadWhereNothingElseWasSaid) {
  Caller caller;
  EXPECT_EQ(backend_request({}, ChosenBy::Option, caller)->backend, std::nullopt);
  caller.environment["CORDON_BACKEND"] = "landlock";
  const auto variable = backend_request({}, ChosenBy::Option, caller);
  EXPECT_EQ(variable->backend, BackendKind::Landlock);
  EXPECT_EQ(variable->by, ChosenBy::Variable);
  EXPECT_EQ(backend_request(BackendKind::Mxc, ChosenBy::Option, caller)->backend, BackendKind::Mxc);
  for (const char* bad : {"", "nativ", "Native", "native,bwrap"}) {
    caller.environment["CORDON_BACKEND"] = bad;
    EXPECT_EQ(backend_request({}, ChosenBy::Option, caller).error().kind, ErrorKind::Usage) << bad;
  }
}

TEST(ChoiceLine, SaysNothingOfNativeAndOneLineOfOthers) {
  EXPECT_EQ(choice_line({}, {Loss::MemoryBurst}), "");
  EXPECT_EQ(choice_line({BackendKind::Bwrap, ChosenBy::Option, {}}, {}), "");
  const BackendChoice choice{
      BackendKind::Landlock, ChosenBy::Default, {{BackendKind::Native, "refused", "cure"}}};
  const std::string line = choice_line(choice, {Loss::Metadata, Loss::MemoryBurst});
  EXPECT_THAT(line, AllOf(HasSubstr("landlock"), HasSubstr("native: refused"),
                          HasSubstr("metadata"), Not(HasSubstr("memory-burst"))));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(PassedOver, ARefusalDoesNotAdviseWhatWasJustRefused) {
  const BackendChoice choice{
      BackendKind::Landlock, ChosenBy::Default, {{BackendKind::Native, "refused", "the cure"}}};
  const auto works = [](BackendKind) { return std::optional<HostRefusal>(); };
  const Error error = with_passed_over(
      {.kind = ErrorKind::Unsupported, .what = "x", .hint = "grant less"}, choice, works);
  EXPECT_THAT(error.what, HasSubstr("native: refused"));
  EXPECT_EQ(error.hint, "the cure; or, without that, grant less");
  EXPECT_EQ(with_passed_over({.what = "x", .hint = "y"}, {}, works).hint, "y");
}

TEST(PassedOver, ANamedLandlockAdvisesNativeOnlyWhereItWorks) {
  const BackendChoice choice{BackendKind::Landlock, ChosenBy::Option, {}};
  const Error refused{.kind = ErrorKind::Unsupported, .what = "x", .hint = "grant less"};
  const auto works = [](BackendKind) { return std::optional<HostRefusal>(); };
  EXPECT_EQ(with_passed_over(refused, choice, works).hint, "grant less, or use --backend native");
  const auto refuses = [](BackendKind) {
    return std::optional(HostRefusal{"namespaces are refused", "the cure"});
  };
  const Error error = with_passed_over(refused, choice, refuses);
  EXPECT_EQ(error.hint, "the cure; or, without that, grant less");
  EXPECT_THAT(error.what, HasSubstr("native: namespaces are refused"));
}

TEST(BackendKind, EveryKindHasOneName) {
  for (const BackendKind kind : kBackendKinds) EXPECT_EQ(backend_called(name_of(kind)), kind);
  EXPECT_EQ(backend_called(""), std::nullopt);
  EXPECT_EQ(known_backends(), "native, bwrap, landlock, mxc, oci, seatbelt");
}

}  // namespace
}  // namespace cordon
