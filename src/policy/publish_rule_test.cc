#include "policy/net_rules.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(PublishRule, IsReadAsItIsWritten) {
  for (const char* text : {"8080", "1", "65535", "8080:80", "1:65535"}) {
    const auto rule = parse_publish_rule(text);
    ASSERT_TRUE(rule) << text;
    EXPECT_EQ(to_string(*rule), text);
  }
  EXPECT_EQ(to_string(*parse_publish_rule("80:80")), "80");
}

TEST(PublishRule, RefusesWhatIsNoPort) {
  for (const char* text : {"", "0", "65536", "-1", "08080x", "80:", ":80", "80:0", "80:80:80",
                           "127.0.0.1:80", "0.0.0.0:80", "*", "8000-8010", " 80", "80 "}) {
    EXPECT_FALSE(parse_publish_rule(text)) << text;
  }
}

TEST(DecidePublish, TellsTheRuleThatDecides) {
  NetRules net;
  net.publish = {{8080, 80}};
  EXPECT_TRUE(decide_publish(net, {8080, 80}).allowed);
  EXPECT_EQ(decide_publish(net, {8080, 8080}).rule, "net.publish \"8080:80\"");
  EXPECT_FALSE(decide_publish(net, {8080, 8080}).allowed);
  EXPECT_FALSE(decide_publish(net, {80, 80}).allowed);
  net.mode = share_the_hosts_network();
  EXPECT_TRUE(decide_publish(net, {80, 80}).allowed);
}

}  // namespace
}  // namespace cordon
