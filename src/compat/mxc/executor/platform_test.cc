#include "compat/mxc/executor/examine.h"

#include <gtest/gtest.h>

namespace cordon::mxc {
namespace {

TEST(MxcPlatform, Names) {
  EXPECT_EQ(executor_name(System::Linux), "lxc-exec");
  EXPECT_EQ(executor_name(System::MacOs), "mxc-exec-mac");
  EXPECT_EQ(executor_name(System::Windows), "wxc-exec.exe");
}

TEST(MxcPlatform, OneWordForEveryProcessor) {
  struct Row {
    System system;
    const char* machine;
    const char* word;
  };
  for (const Row& row :
       {Row{System::Windows, "AMD64", "x64"}, Row{System::Windows, "x86_64", "x64"},
        Row{System::Windows, "x64", "x64"}, Row{System::Windows, "ARM64", "arm64"},
        Row{System::Windows, "aarch64", "arm64"}, Row{System::Linux, "x86_64", "x86_64"},
        Row{System::Linux, "aarch64", "arm64"}, Row{System::MacOs, "arm64", "arm64"},
        Row{System::MacOs, "X86_64", "x86_64"}, Row{System::Linux, "riscv64", "riscv64"}}) {
    EXPECT_EQ(arch_word(row.system, row.machine), row.word) << row.machine;
  }
  EXPECT_EQ(pin_key(System::Linux, "aarch64"), "linux-arm64");
  EXPECT_EQ(pin_key(System::Windows, "AMD64"), "win32-x64");
  EXPECT_EQ(pin_key(System::MacOs, "x86_64"), "darwin-x86_64");
}

TEST(MxcPlatform, HowTheDocumentTravels) {
  using List = std::vector<std::string>;
  EXPECT_EQ(executor_call(System::Linux).argv, (List{"lxc-exec", "--config", "/proc/self/fd/40"}));
  EXPECT_EQ(executor_call(System::Linux).document, Delivery::Descriptor);
  EXPECT_EQ(executor_call(System::MacOs).argv, (List{"mxc-exec-mac", "--experimental"}));
  EXPECT_EQ(executor_call(System::MacOs).document, Delivery::StandardInput);
  EXPECT_EQ(executor_call(System::Windows).argv, (List{"wxc-exec.exe", "--config-base64"}));
  EXPECT_EQ(executor_call(System::Windows).document, Delivery::CommandLine);
}

TEST(MxcPlatform, PackagesSayX64OnLinux) {
  EXPECT_EQ(arch_directories(System::Linux, "x86_64"), (std::vector<std::string>{"x86_64", "x64"}));
  EXPECT_EQ(arch_directories(System::Linux, "aarch64"), (std::vector<std::string>{"arm64"}));
}

}  // namespace
}  // namespace cordon::mxc
