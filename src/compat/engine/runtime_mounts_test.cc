#include "compat/engine/runtime_mounts.h"

#include <gtest/gtest.h>

namespace cordon::engine {
namespace {

constexpr std::string_view kDocument = R"({"mounts": [
  {"destination": "/usr", "type": "bind", "source": "/usr"},
  {"destination": "/home/alex/my project", "type": "bind", "source": "/home/alex/my project"},
  {"destination": "/etc/key", "type": "bind", "source": "masks/file"},
  {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
  {"destination": "/proc", "type": "proc", "source": "proc"}],
  "linux": {"maskedPaths": ["/proc/kcore"], "readonlyPaths": ["/proc/sys"]}})";
constexpr std::string_view kHost = R"(20 1 8:1 / / rw - ext4 /dev/a rw
21 20 0:40 / /home/alex/my\040project/data rw shared:3 - tmpfs none rw
22 20 0:41 /part /opt/part rw - tmpfs none rw
)";
constexpr std::string_view kContainer = R"(90 80 8:1 /bundle/rootfs / ro - ext4 /dev/a rw
91 90 8:1 /usr /usr ro - ext4 /dev/a rw
92 90 8:1 /home/alex/my\040project /home/alex/my\040project rw - ext4 /dev/a rw
93 92 0:40 / /home/alex/my\040project/data rw - tmpfs none rw
94 90 8:1 /bundle/masks/file /etc/key ro - ext4 /dev/a rw
95 90 0:50 / /tmp rw - tmpfs tmpfs rw
96 90 0:51 / /proc rw - proc proc rw
97 96 0:6 /null /proc/kcore rw - devtmpfs udev rw
98 96 0:51 /sys /proc/sys ro - proc proc rw
99 90 0:6 /null /dev/null rw - devtmpfs udev rw
)";

std::optional<std::string> unasked(std::string_view more) {
  return unasked_mount(kDocument, "/bundle", std::string(kContainer).append(more), kHost);
}

TEST(RuntimeMounts, WhatWasAskedForAndWhatTheHostHasBelowIt) {
  EXPECT_EQ(unasked(""), std::nullopt);
}

TEST(RuntimeMounts, WhatIsBesideThat) {
  EXPECT_EQ(unasked("100 90 8:1 / /mnt rw - ext4 /dev/a rw\n"), "/mnt");
  EXPECT_EQ(unasked("100 95 8:1 / /tmp/host rw - ext4 /dev/a rw\n"), "/tmp/host");
  EXPECT_EQ(unasked("100 92 8:1 /etc /home/alex/my\\040project/etc rw - ext4 /dev/a rw\n"),
            "/home/alex/my project/etc");
  EXPECT_EQ(unasked("100 90 8:1 /dev/a /dev/a rw - ext4 /dev/a rw\n"), "/dev/a");
}

TEST(RuntimeMounts, AnotherOneInThePlaceOfTheHosts) {
  std::string other(kContainer);
  other.replace(other.find("0:40 / "), 6, "0:41 /");
  EXPECT_EQ(unasked_mount(kDocument, "/bundle", other, kHost), "/home/alex/my project/data");
  other.replace(other.find("0:41 / "), 7, "0:40 /x ");
  EXPECT_EQ(unasked_mount(kDocument, "/bundle", other, kHost), "/home/alex/my project/data");
}

std::optional<std::string> missing(std::string_view host, std::string_view mounted = kContainer) {
  return missing_mount(kDocument, "/bundle", mounted, host);
}

TEST(RuntimeMounts, WhatTheHostHasAndTheContainerHasNot) {
  EXPECT_EQ(missing(kHost), std::nullopt);
  EXPECT_EQ(missing(std::string(kHost).append("23 20 0:42 / /usr/share/a rw - tmpfs none rw\n")),
            "/usr/share/a");
  const std::string_view without = kContainer.substr(0, kContainer.find("93 92"));
  EXPECT_EQ(missing(kHost, without), "/home/alex/my project/data");
}

TEST(RuntimeMounts, WhatNoBindShows) {
  const auto with = [](std::string_view more) { return missing(std::string(kHost).append(more)); };
  EXPECT_EQ(with("23 20 0:42 / /usr/share/a rw unbindable - tmpfs none rw\n"), std::nullopt);
  EXPECT_EQ(with("23 20 0:4 net:[1] /usr/share/a rw - nsfs nsfs rw\n"), std::nullopt);
  // Something lies above it.
  EXPECT_EQ(with("23 20 0:42 / /usr/share/a rw - tmpfs none rw\n"
                 "24 20 0:43 / /usr/share rw - tmpfs none rw\n"),
            "/usr/share");
}

TEST(RuntimeMounts, WhatCannotBeReadIsNotAsItShouldBe) {
  EXPECT_EQ(unasked_mount("{", "/bundle", kContainer, kHost), "/");
  EXPECT_EQ(unasked_mount(kDocument, "/bundle", "", kHost), "/");
  EXPECT_EQ(unasked_mount(kDocument, "/bundle", kContainer, ""), "/");
}

}  // namespace
}  // namespace cordon::engine
