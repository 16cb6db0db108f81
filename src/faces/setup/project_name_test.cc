#include "faces/setup/installation.h"

#include <gtest/gtest.h>

#include "policy/presets.h"

namespace cordon::setup {
namespace {

TEST(ProjectName, IsTheLastComponentWhereThatIsPlain) {
  EXPECT_EQ(project_name_of("/home/u/web-shop_2.0"), "web-shop_2.0");
  EXPECT_EQ(project_name_of("/srv/My Project"), "My-Project");
  EXPECT_EQ(project_name_of("/srv/-rf"), "rf");
  EXPECT_EQ(project_name_of("/srv/.hidden"), "hidden");
  EXPECT_EQ(project_name_of("/"), "project");
  EXPECT_EQ(project_name_of("/srv/\xc3\xa4\xc3\xb6"), "project");
}

TEST(ProjectName, NeverShadowsAPresetOrLooksLikeAFile) {
  for (const std::string_view preset : preset_names()) {
    EXPECT_EQ(project_name_of("/srv/" + std::string(preset)), std::string(preset) + "-project");
    EXPECT_FALSE(check_project_name(preset).has_value());
  }
  EXPECT_EQ(project_name_of("/srv/a.toml"), "a.toml-project");
}

TEST(ProjectName, WhateverADirectoryIsCalledTheNameIsAccepted) {
  std::string every;
  for (int c = 1; c < 256; ++c) {
    if (c != '/') every += static_cast<char>(c);
  }
  for (const std::string& last :
       {every, std::string(255, 'a'), std::string(255, '-'), std::string("..toml"),
        std::string("\n\x1b[31m"), std::string("strict."), std::string("a/../..")}) {
    const std::string name = project_name_of("/srv/" + last);
    EXPECT_TRUE(check_project_name(name).has_value()) << name;
  }
}

TEST(ProjectName, RefusesWhatCouldLeaveTheDirectoryOrDeceive) {
  for (const char* name :
       {"", ".", "..", "../x", "a/b", "-x", "a b", "a\nb", "x.toml", "x.json", "\xc3\xa4", ".x"}) {
    EXPECT_FALSE(check_project_name(name).has_value()) << name;
  }
  EXPECT_FALSE(check_project_name(std::string(65, 'a')).has_value());
  EXPECT_TRUE(check_project_name(std::string(64, 'a')).has_value());
}

}  // namespace
}  // namespace cordon::setup
