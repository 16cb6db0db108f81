#include "base/text.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>
#include <vector>

namespace cordon {
namespace {

// What a real shell makes of the line: its words, each ended by a NUL byte.
std::string as_the_shell_reads_it(const char* shell, const std::string& line) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) < 0) return "no pipe";
  const std::string script = "printf '%s\\0' " + line;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::execl(shell, shell, "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string read;
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = ::read(ends[0], some.data(), some.size())) > 0;)
    read.append(some.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0 ? read : "status " + std::to_string(status);
}

TEST(ShellWord, LeavesPlainWordsAlone) {
  EXPECT_EQ(shell_word("/usr/bin/cordon"), "/usr/bin/cordon");
  EXPECT_EQ(shell_word("a=b"), "'a=b'");
  EXPECT_EQ(shell_word("~"), "'~'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
}

TEST(ShellWord, ComesBackFromRealShellsAsItWas) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  // Mostly what shells care about, then any other byte but NUL.
  constexpr std::string_view kNasty = "'\"\\$`!#&|;<>(){}[]*?~ \t\n\r=%^\x01\x7f\xff\xc3\xa9";
  for (const char* shell : {"/bin/sh", "/bin/bash"}) {
    for (int round = 0; round < 60; ++round) {
      std::vector<std::string> words(1 + random() % 6);
      std::string expected;
      for (std::string& word : words) {
        const std::size_t length = random() % 24;
        for (std::size_t i = 0; i < length; ++i) {
          word.push_back(random() % 4 != 0 ? kNasty[random() % kNasty.size()]
                                           : static_cast<char>(1 + random() % 255));
        }
        expected.append(word).push_back('\0');
      }
      ASSERT_EQ(as_the_shell_reads_it(shell, shell_line(words)), expected) << shell_line(words);
    }
  }
}

}  // namespace
}  // namespace cordon
