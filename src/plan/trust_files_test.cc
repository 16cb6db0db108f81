#include "plan/trust_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/path.h"
#include "plan/made_up_host.h"
#include "plan/view.h"
#include "support/missing_layers.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

constexpr std::string_view kBundleOfHost = "/etc/ssl/certs/ca-certificates.crt";
const std::string kPrivateTrust = "/home/alex/.local/state/cordon/private/0123456789abcdef/trust";

struct TrustAsked {
  Resolved request = resolved_preset("workspace");
  HostFacts facts = made_up_facts();
  PlanRequest asked = made_up_request();

  TrustAsked() {
    facts.trust_stores = {std::string(kBundleOfHost)};
    asked.trust_directory = kPrivateTrust;
    asked.trust_source = kBundleOfHost;
  }
  [[nodiscard]] Plan native() const {
    return make_native_plan(*clamp(request, {}), facts, made_up_user(), asked).value();
  }
  [[nodiscard]] Plan landlock() const {
    ResolvedCeiling ceiling;
    ceiling.ceiling.policy.require.accept_missing = going_without({Layer::Namespaces});
    ceiling.ceiling.policy.net.mode = share_the_hosts_network();
    ceiling.read = request.read;
    ceiling.write = request.write;
    PlanRequest made = asked;
    made.private_directory = parent(kPrivateTrust);
    return make_landlock_plan(*clamp(request, std::vector{ceiling}), facts, made_up_user(), made)
        .value();
  }
};

std::string value_of(const Plan& plan, std::string_view name) {
  const std::string prefix = std::string(name) + "=";
  const auto found = std::ranges::find_if(
      plan.environment, [&](const std::string& one) { return one.starts_with(prefix); });
  return found == plan.environment.end() ? "" : found->substr(prefix.size());
}

std::vector<Reduction> told_of(const Plan& plan) {
  std::vector<Reduction> told;
  std::ranges::copy_if(plan.reductions, std::back_inserter(told),
                       [](const Reduction& one) { return one.what == "trust"; });
  return told;
}

TEST(TrustFiles, CoverTheHostsBundleAndLieInAPlaceOfTheirOwn) {
  const Plan plan = TrustAsked().native();
  EXPECT_EQ(view_of(plan, kBundleOfHost).source, kPrivateTrust + "/bundle.pem");
  EXPECT_EQ(view_of(plan, kBundleOfHost).shown, Shown::Made);
  EXPECT_FALSE(view_of(plan, kBundleOfHost).writable);
  EXPECT_EQ(view_of(plan, "/etc/ssl/certs/other.pem").shown, Shown::Host);
  const View own = view_of(plan, "/dev/cordon/trust/authority.pem");
  EXPECT_EQ(own.source, kPrivateTrust);
  EXPECT_FALSE(own.writable);
  EXPECT_TRUE(own.may_read);
  EXPECT_EQ(value_of(plan, "SSL_CERT_FILE"), "/dev/cordon/trust/bundle.pem");
  EXPECT_EQ(value_of(plan, "NODE_EXTRA_CA_CERTS"), "/dev/cordon/trust/authority.pem");
  EXPECT_TRUE(told_of(plan).empty());
}

TEST(TrustFiles, AreOnlyOfARunWithRulesForRequests) {
  TrustAsked without;
  without.asked.trust_directory.clear();
  const Plan plan = without.native();
  EXPECT_EQ(view_of(plan, kBundleOfHost).shown, Shown::Host);
  EXPECT_EQ(view_of(plan, "/dev/cordon/trust").shown, Shown::Nothing);
  EXPECT_EQ(value_of(plan, "SSL_CERT_FILE"), "");
}

TEST(TrustFiles, CoverNothingThatIsNotShown) {
  TrustAsked hidden;
  hidden.facts.trust_stores = {"/var/lib/ca-certificates/ca-bundle.pem"};
  const Plan plan = hidden.native();
  EXPECT_EQ(view_of(plan, "/var/lib/ca-certificates/ca-bundle.pem").shown, Shown::Nothing);
  EXPECT_EQ(value_of(plan, "SSL_CERT_FILE"), "/dev/cordon/trust/bundle.pem");
}

TEST(TrustFiles, LeaveAVariableThatThePolicySets) {
  TrustAsked chosen;
  chosen.request.policy.env.set["SSL_CERT_FILE"] = "/etc/mine.pem";
  const Plan plan = chosen.native();
  EXPECT_EQ(value_of(plan, "SSL_CERT_FILE"), "/etc/mine.pem");
  EXPECT_EQ(value_of(plan, "CURL_CA_BUNDLE"), "/dev/cordon/trust/bundle.pem");
  const Reduction told{"trust", "SSL_CERT_FILE", "/etc/mine.pem", Reduction::Because::Narrowed};
  EXPECT_EQ(told_of(plan), std::vector{told});
}

TEST(TrustFiles, ThatBeginWithNothingAreTold) {
  TrustAsked bare;
  bare.asked.trust_source.clear();
  const auto told = told_of(bare.native());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().because, Reduction::Because::Nonexistent);
}

TEST(TrustFiles, AreFoundByVariablesAloneWithoutMounts) {
  const Plan plan = TrustAsked().landlock();
  EXPECT_EQ(value_of(plan, "SSL_CERT_FILE"), kPrivateTrust + "/bundle.pem");
  const View own = view_of(plan, kPrivateTrust + "/bundle.pem");
  EXPECT_TRUE(own.may_read);
  EXPECT_FALSE(own.may_write || own.may_execute);
  const auto told = told_of(plan);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().asked, kBundleOfHost);
  EXPECT_EQ(told.front().because, Reduction::Because::Unenforceable);
}

}  // namespace
}  // namespace cordon
