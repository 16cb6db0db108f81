#include <gtest/gtest.h>

#include <random>

#include "compat/mxc/mxc_document.h"
#include "compat/processcontainer/commands.h"

namespace cordon::processcontainer {
namespace {

// The other direction, by the published rules of the C runtime (since 2008): the name first, then
// 2n backslashes and a quote are n backslashes, 2n+1 are n and a plain quote; a doubled quote
// inside quotes is one quote.
std::vector<std::string> split_by_the_runtime(const std::string& line) {
  std::vector<std::string> found;
  std::size_t at = 0;
  std::string name;
  for (bool quoted = false; at < line.size(); ++at) {
    if (line[at] == '"') {
      quoted = !quoted;
    } else if (!quoted && (line[at] == ' ' || line[at] == '\t')) {
      break;
    } else {
      name += line[at];
    }
  }
  found.push_back(name);
  for (;;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    if (at == line.size()) return found;
    std::string argument;
    bool quoted = false;
    while (at < line.size() && (quoted || (line[at] != ' ' && line[at] != '\t'))) {
      std::size_t backslashes = 0;
      while (at < line.size() && line[at] == '\\') ++backslashes, ++at;
      if (at == line.size() || line[at] != '"') {
        argument.append(backslashes, '\\');
        if (at < line.size() && (quoted || (line[at] != ' ' && line[at] != '\t'))) {
          argument += line[at++];
        }
        continue;
      }
      argument.append(backslashes / 2, '\\');
      if (backslashes % 2 == 1) {
        argument += '"';
      } else if (quoted && at + 1 < line.size() && line[at + 1] == '"') {
        argument += '"';
        ++at;
      } else {
        quoted = !quoted;
      }
      ++at;
    }
    found.push_back(argument);
  }
}

TEST(ProcessContainer, TheReferenceParserKnowsThePublishedExamples) {
  using List = std::vector<std::string>;
  EXPECT_EQ(split_by_the_runtime(R"(p "a b c" d e)"), (List{"p", "a b c", "d", "e"}));
  EXPECT_EQ(split_by_the_runtime(R"(p "ab\"c" "\\" d)"), (List{"p", R"(ab"c)", R"(\)", "d"}));
  EXPECT_EQ(split_by_the_runtime(R"(p a\\\b d"e f"g h)"), (List{"p", R"(a\\\b)", "de fg", "h"}));
  EXPECT_EQ(split_by_the_runtime(R"(p a\\\"b c d)"), (List{"p", R"(a\"b)", "c", "d"}));
  EXPECT_EQ(split_by_the_runtime(R"(p a\\\\"b c" d e)"), (List{"p", R"(a\\b c)", "d", "e"}));
}

TEST(ProcessContainer, WhatIsQuotedComesOutAgain) {
  std::mt19937 random(26100);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same cases each time
  const std::string letters = "ab \t\"\\\\\\\"'%^&|<>()\n\v;,=";
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> arguments = {"C:\\Program Files\\x\\y.exe"};
    const auto count = random() % 6;
    for (auto i = count; i > 0; --i) {
      std::string argument;
      for (auto left = random() % 12; left > 0; --left) {
        argument += letters[random() % letters.size()];
      }
      arguments.push_back(argument);
    }
    const auto line = command_line(arguments);
    ASSERT_TRUE(line);
    EXPECT_EQ(split_by_the_runtime(*line), arguments) << *line;
  }
}

TEST(ProcessContainer, QuotesOnlyWhereTheyAreNeeded) {
  EXPECT_EQ(quote_argument("plain"), "plain");
  EXPECT_EQ(quote_argument(""), R"("")");
  EXPECT_EQ(quote_argument(R"(C:\a\)"), R"(C:\a\)");
  EXPECT_EQ(quote_argument(R"(C:\a b\)"), R"("C:\a b\\")");
  EXPECT_EQ(quote_argument(R"(say "x")"), R"("say \"x\"")");
}

TEST(ProcessContainer, LinesThatCannotBeWritten) {
  const std::vector<std::string> none;
  EXPECT_FALSE(command_line(none));
  EXPECT_FALSE(command_line(std::vector<std::string>{""}));
  EXPECT_FALSE(command_line(std::vector<std::string>{"a\"b"}));
  EXPECT_FALSE(command_line(std::vector<std::string>{"a", std::string("b\0c", 3)}));
}

TEST(ProcessContainer, ReadCommands) {
  EXPECT_EQ(read_command(R"(C:\My Docs\a.txt)"), R"(cmd /c type "C:\My Docs\a.txt")");
  EXPECT_EQ(read_command(R"(C:\a" & del C:\b & ".txt)"), R"(cmd /c type "C:\a & del C:\b & .txt")");
  EXPECT_EQ(read_command("C:\\a&b|c<d>e^f(g).txt"), "cmd /c type \"C:\\a&b|c<d>e^f(g).txt\"");
  EXPECT_FALSE(read_command("C:\\a\nb"));
  EXPECT_FALSE(read_command("\"\""));
  EXPECT_FALSE(read_command(""));
}

TEST(ProcessContainer, WriteCommandsCarryBytesEncodedOnly) {
  const std::string nasty = "\" & del C:\\ /q %PATH% \n\\\\\"";
  const auto line = write_command("C:\\Program Files\\py\\python.exe", "C:\\my dir\\f.txt", nasty);
  ASSERT_TRUE(line);
  const std::vector<std::string> words = split_by_the_runtime(*line);
  ASSERT_EQ(words.size(), 5U);
  EXPECT_EQ(words[0], "C:\\Program Files\\py\\python.exe");
  EXPECT_EQ(words[3], "C:\\my dir\\f.txt");
  EXPECT_EQ(words[4], "IiAmIGRlbCBDOlwgL3EgJVBBVEglIApcXCI=");
  EXPECT_EQ(line->find("del"), std::string::npos);
  EXPECT_FALSE(write_command("python.exe", "C:\\f", std::string(30000, 'x')));
  EXPECT_TRUE(write_command("python.exe", "C:\\f", std::string(20000, 'x')));
}

TEST(ProcessContainer, GrantsOfTheTools) {
  EXPECT_EQ(parent_of("C:\\a\\b.txt"), "C:\\a");
  EXPECT_EQ(parent_of("C:\\b.txt"), "C:\\");
  EXPECT_EQ(parent_of("b.txt"), "");
  EXPECT_EQ(grants_to_read("C:\\a\\b.txt"), (Grants{{"C:\\a"}, {}}));
  EXPECT_EQ(grants_to_write("C:\\a\\b.txt", {"C:\\py"}), (Grants{{"C:\\py"}, {"C:\\a"}}));
}

std::string decoded(const std::string& text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned held = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    held = (held << 6 | static_cast<unsigned>(kLetters.find(c))) & 0xFFFFFF;
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(held >> (bits -= 8) & 0xFF);
  }
  return bytes;
}

TEST(ProcessContainer, TheExecutorsLineDecodesToADocumentItsReaderTakes) {
  MxcOutput output;
  output.containment = "processcontainer";
  output.command_line = *read_command("C:\\Users\\me\\a.txt");
  output.timeout_ms = 30000;
  output.read = grants_to_read("C:\\Users\\me\\a.txt").read;
  const std::string document = write_json(mxc_document(output), JsonStyle::Compact);
  const auto arguments = executor_arguments(document);
  ASSERT_TRUE(arguments);
  EXPECT_EQ((*arguments)[0], "wxc-exec.exe");
  EXPECT_EQ((*arguments)[1], "--config-base64");
  EXPECT_EQ(arguments->size(), 3U);
  const std::string back = decoded((*arguments)[2]);
  EXPECT_EQ(back, document);
  const auto node = read_json(back, "document");
  ASSERT_TRUE(node);
  EXPECT_EQ(*node->find("containment")->text(), "processcontainer");
  EXPECT_EQ(*node->find("process")->find("commandLine")->text(), output.command_line);
  EXPECT_EQ(node->find("keychainAccess"), nullptr);
  EXPECT_FALSE(executor_arguments(std::string(30000, 'x')));
}

TEST(ProcessContainer, TheRecordClaimsLittle) {
  const Record record;
  EXPECT_EQ(record.backend, "processcontainer");
  EXPECT_FALSE(record.network_host_filtering);
  EXPECT_FALSE(record.deny_paths_supported);
  EXPECT_FALSE(record.proven);
  EXPECT_EQ(kLeastBuild, 26100U);
}

TEST(ProcessContainer, TheWholeTreeIsEnded) {
  const TreeEnd end = end_of_tree(4711);
  EXPECT_EQ(end.argv, (std::vector<std::string>{"taskkill", "/T", "/F", "/PID", "4711"}));
  EXPECT_EQ(end.bound.count(), 15);
  EXPECT_EQ(end.drain.count(), 5);
}

}  // namespace
}  // namespace cordon::processcontainer
