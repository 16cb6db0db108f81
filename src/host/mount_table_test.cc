#include "host/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kRoot = "29 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";

MountTable with(std::string_view more) {
  return MountTable(std::string(kRoot) + std::string(more));
}

TEST(MountTable, OneMountGivesNoSecondName) {
  const MountTable table(kRoot);
  EXPECT_FALSE(table.shows_anything_twice());
  EXPECT_THAT(table.second_names("/home/u/.ssh"), IsEmpty());
}

TEST(MountTable, FindsABindOfTheThingItself) {
  const MountTable table = with("30 29 254:0 /home/u/.ssh /srv/keys rw - ext4 /dev/vda rw\n");
  EXPECT_TRUE(table.shows_anything_twice());
  EXPECT_THAT(table.second_names("/home/u/.ssh"),
              ElementsAre(SecondName{"/srv/keys", "/home/u/.ssh"}));
  EXPECT_THAT(table.second_names("/home/u/.ssh/id"),
              ElementsAre(SecondName{"/srv/keys/id", "/home/u/.ssh/id"}));
  EXPECT_THAT(table.second_names("/home/u/.sshx"), IsEmpty());
}

TEST(MountTable, FindsABindOfADirectoryAboveIt) {
  const MountTable table = with("30 29 254:0 /home/u /mnt rw - ext4 /dev/vda rw\n");
  EXPECT_THAT(table.second_names("/home/u/.ssh"),
              ElementsAre(SecondName{"/mnt/.ssh", "/home/u/.ssh"}));
}

TEST(MountTable, FindsABindOfAPartOfIt) {
  const MountTable table = with("30 29 254:0 /home/u/.ssh/keys/a /mnt/a rw - ext4 /dev/vda rw\n");
  EXPECT_THAT(table.second_names("/home/u/.ssh"),
              ElementsAre(SecondName{"/mnt/a", "/home/u/.ssh/keys/a"}));
}

// As in a container: the store itself is a mount, and so is its second name.
TEST(MountTable, FindsTwoMountsOfOneDirectory) {
  const MountTable table = with(
      "30 29 8:1 /host/home/u/.ssh /root/.ssh rw - ext4 /dev/sda1 rw\n"
      "31 29 8:1 /host/home /mnt/homes rw - ext4 /dev/sda1 rw\n"
      "32 29 8:2 /host/home /mnt/other rw - ext4 /dev/sda2 rw\n");
  EXPECT_THAT(table.second_names("/root/.ssh"),
              ElementsAre(SecondName{"/mnt/homes/u/.ssh", "/root/.ssh"}));
}

TEST(MountTable, ReadsEscapedNamesAndLeavesOutWhatIsNoPath) {
  const MountTable table = with(
      "30 29 254:0 /home/u/a\\040b /mnt/c\\134d rw - ext4 /dev/vda rw\n"
      "31 29 0:4 net:[4026531840] /run/netns/x rw - nsfs nsfs rw\n"
      "broken line\n");
  EXPECT_THAT(table.second_names("/home/u/a b"),
              UnorderedElementsAre(SecondName{"/mnt/c\\d", "/home/u/a b"}));
}

}  // namespace
}  // namespace cordon
