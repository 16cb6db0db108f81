#include "host/maven_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using ::testing::HasSubstr;

std::string copied(const std::string& text, const std::string& place = "") {
  const auto has_place = [&](std::string_view path) { return path == place; };
  const auto copy = copied_maven_settings(text, "settings.xml", "/home/me", has_place);
  return copy ? *copy : "error: " + message(copy.error());
}

// What `inside` a settings element becomes.
std::string copied_part(const std::string& inside, const std::string& place = "") {
  return copied("<settings>" + inside + "</settings>", place);
}

TEST(CopiedMavenSettings, HasWhereArtefactsComeFromAndNoSecrets) {
  const std::string copy = copied(R"(<?xml version="1.0" encoding="UTF-8"?>
<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
  <interactiveMode>false</interactiveMode>
  <servers>
    <server><id>corp</id><username>me</username><password>hunter2</password></server>
  </servers>
  <mirrors>
    <mirror>
      <!-- all but what is ours -->
      <id>corp</id><url> https://maven.corp.example/a&amp;b/ </url><mirrorOf>*,!ours</mirrorOf>
      <password>hunter2</password>
    </mirror>
    <mirror><id>login</id><url>https://me:hunter2@h/</url><mirrorOf>x</mirrorOf></mirror>
    <mirror><id>query</id><url>https://h/?token=hunter2</url><mirrorOf>y</mirrorOf></mirror>
    <mirror><id>asked</id><url>https://${env.HOST}/</url><mirrorOf>z</mirrorOf></mirror>
  </mirrors>
  <proxies>
    <proxy><id>plain</id><active>true</active><protocol>http</protocol><host>proxy.example</host>
      <port>3128</port><nonProxyHosts>localhost|*.example</nonProxyHosts></proxy>
    <proxy><id>login</id><host>proxy.example</host><username>me</username></proxy>
    <proxy><id>secret</id><host>proxy.example</host><password>hunter2</password></proxy>
  </proxies>
  <profiles>
    <profile>
      <id>ours</id>
      <activation><activeByDefault>true</activeByDefault><file><exists>/x</exists></file></activation>
      <properties><gpg.passphrase>hunter2</gpg.passphrase></properties>
      <repositories>
        <repository><id>ours</id><url>https://ours.example/</url>
          <releases><enabled>true</enabled><updatePolicy>never</updatePolicy></releases>
          <snapshots><enabled>false</enabled></snapshots></repository>
        <repository><id>theirs</id><url>https://me:hunter2@theirs.example/</url></repository>
      </repositories>
      <pluginRepositories><pluginRepository><id>p</id><url>https://p.example/</url></pluginRepository>
      </pluginRepositories>
    </profile>
    <profile><id>signing</id><properties><key>hunter2</key></properties></profile>
  </profiles>
  <activeProfiles><activeProfile>ours</activeProfile><activeProfile>signing</activeProfile>
  </activeProfiles>
  <pluginGroups><pluginGroup>org.example</pluginGroup></pluginGroups>
</settings>
)");
  EXPECT_EQ(copy, R"(<?xml version="1.0" encoding="UTF-8"?>
<settings>
  <mirrors>
    <mirror>
      <id>corp</id>
      <url>https://maven.corp.example/a&amp;b/</url>
      <mirrorOf>*,!ours</mirrorOf>
    </mirror>
  </mirrors>
  <proxies>
    <proxy>
      <id>plain</id>
      <active>true</active>
      <protocol>http</protocol>
      <host>proxy.example</host>
      <port>3128</port>
      <nonProxyHosts>localhost|*.example</nonProxyHosts>
    </proxy>
  </proxies>
  <profiles>
    <profile>
      <id>ours</id>
      <repositories>
        <repository>
          <id>ours</id>
          <url>https://ours.example/</url>
          <releases>
            <enabled>true</enabled>
            <updatePolicy>never</updatePolicy>
          </releases>
          <snapshots>
            <enabled>false</enabled>
          </snapshots>
        </repository>
      </repositories>
      <pluginRepositories>
        <pluginRepository>
          <id>p</id>
          <url>https://p.example/</url>
        </pluginRepository>
      </pluginRepositories>
      <activation>
        <activeByDefault>true</activeByDefault>
      </activation>
    </profile>
  </profiles>
  <activeProfiles>
    <activeProfile>ours</activeProfile>
  </activeProfiles>
</settings>
)");
  EXPECT_EQ(copied(copy), copy);
}

TEST(CopiedMavenSettings, NamesTheLocalRepositoryIfTheSandboxHasIt) {
  const std::string named = "<localRepository>/data/m2/</localRepository>";
  EXPECT_THAT(copied_part(named, "/data/m2"), HasSubstr(">/data/m2/<"));
  EXPECT_EQ(copied_part(named, "/elsewhere"), "");
  EXPECT_THAT(copied_part("<localRepository>${user.home}/m2</localRepository>", "/home/me/m2"),
              HasSubstr(">${user.home}/m2<"));
  for (const char* odd : {"m2", "${env.M2}/x", "/data/../m2", "${user.home}", ""})
    EXPECT_EQ(copied_part("<localRepository>" + std::string(odd) + "</localRepository>", odd), "")
        << odd;
}

TEST(CopiedMavenSettings, LeavesAnEntryOutWholeIfOneOfItsValuesMustNotBeSeen) {
  EXPECT_EQ(copied_part("<mirrors><mirror><id>a</id><name>me@corp</name><url>https://h/</url>"
                        "</mirror></mirrors>"),
            "");
  EXPECT_EQ(copied_part("<profiles><profile><id>${x}</id><repositories><repository>"
                        "<url>https://h/</url></repository></repositories></profile></profiles>"),
            "");
  EXPECT_EQ(copied_part("<profiles><profile><repositories><repository><url>https://h/</url>"
                        "</repository></repositories></profile></profiles>"),
            "");
}

TEST(CopiedMavenSettings, SaysWhyItCannotBeRead) {
  EXPECT_THAT(copied("<settings><mirrors></settings>"),
              HasSubstr("error: settings.xml:1:22: mismatched tag"));
  EXPECT_THAT(copied("<project/>"), HasSubstr("it begins with <project>"));
  EXPECT_THAT(copied("<!DOCTYPE settings><settings/>"), HasSubstr("document type"));
  EXPECT_EQ(copied("<settings/>"), "");
}

}  // namespace
}  // namespace cordon
