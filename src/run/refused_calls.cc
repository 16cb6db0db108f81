#include "run/refused_calls.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

constexpr std::size_t kMostSearched = 16384;

constexpr std::array<std::string_view, 3> kNotPermitted = {"operation not permitted", "eperm",
                                                           "errno 1]"};
// Programs that take a mode as a word of their own.
constexpr std::array<std::string_view, 5> kModeProgramNames = {"chmod", "mkdir", "install", "mknod",
                                                               "mkfifo"};
// What programs say that could not set one.
constexpr std::array<std::string_view, 6> kModeMessages = {
    "changing permissions", "change permissions", "set permissions",
    "set permission",       "change mode",        "chmod"};
constexpr std::array<std::string_view, 3> kLocalSocketNames = {"socketpair", "AF_UNIX", "AF_LOCAL"};
// Programs that look into others, and what is said by those that could not.
constexpr std::array<std::string_view, 5> kTracerNames = {"strace", "ltrace", "gdb", "lldb", "rr"};
constexpr std::array<std::string_view, 4> kTraceMessages = {
    "leaksanitizer has encountered a fatal error", "ptrace_traceme", "ptrace(", "ptrace:"};
// git gives directories of a shared repository the setgid bit.
constexpr std::string_view kSharedMessage = "writable by group";

// Words of a script or a message. A mode may have commas and equals signs in it.
std::vector<std::string_view> plain_words(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n'\"`()<>|;&{}:";
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(kBetween);
    if (end != 0) words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

bool has_any(std::string_view text, std::span<const std::string_view> phrases) {
  return std::ranges::any_of(phrases, [&](std::string_view phrase) {
    return text.find(phrase) != std::string_view::npos;
  });
}

bool consists_of(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

// "2775", "02775", "0o2775".
bool is_octal_owners_mode(std::string_view word) {
  if (word.starts_with("0o")) word.remove_prefix(2);
  while (word.size() > 4 && word.front() == '0') word.remove_prefix(1);
  return word.size() == 4 && consists_of(word, "01234567") && ((word.front() - '0') & 6) != 0;
}

// "rwxr-sr-x"
bool is_listed_owners_mode(std::string_view word) {
  constexpr std::string_view kSet = "sS";
  return word.size() == 9 && consists_of(word, "rwxsStT-") &&
         (kSet.find(word[2]) != std::string_view::npos ||
          kSet.find(word[5]) != std::string_view::npos);
}

// "g+s" of "u=rwx,g+s".
bool is_owners_clause(std::string_view clause) {
  const std::size_t sign = clause.find_first_of("+=");
  if (sign == std::string_view::npos || !consists_of(clause.substr(0, sign), "ugoa")) return false;
  const std::string_view bits = clause.substr(sign + 1);
  return consists_of(bits, "rwxXstugo") && bits.find('s') != std::string_view::npos;
}

bool is_mode_program(std::string_view word) {
  return std::ranges::find(kModeProgramNames, basename(word)) != kModeProgramNames.end() ||
         word.ends_with(".chmod");
}

// What the command was told to do, and what it said of it.
class FailedCommand {
 public:
  FailedCommand(const std::vector<std::string>& argv, const std::vector<std::string>& messages)
      : program_(argv.empty() ? std::string_view() : basename(argv.front())) {
    for (const std::string& argument : argv) {
      for (const std::string_view word : plain_words(argument)) words_.push_back(word);
    }
    for (const std::string& message : messages) {
      const std::size_t skipped =
          message.size() > kMostSearched ? message.size() - kMostSearched : 0;
      said_.push_back(std::string_view(message).substr(skipped));
    }
  }

  // The program itself: a word among many is most often the name of a package or of a file.
  [[nodiscard]] bool traces() const {
    if (std::ranges::find(kTracerNames, program_) != kTracerNames.end()) return true;
    return std::ranges::any_of(said_, [](std::string_view text) {
      return any_line(text, [](const std::string& line) { return has_any(line, kTraceMessages); });
    });
  }

  // A program that sets modes was given such a mode, or said that it could not set one.
  [[nodiscard]] bool sets_owners_mode() const {
    return sets_by_words(words_) || is_shared_repository() || said_so();
  }

  [[nodiscard]] bool makes_local_datagrams() const {
    const auto is_told = [&](std::string_view name) {
      return std::ranges::any_of(
          words_, [&](std::string_view word) { return word.find(name) != std::string_view::npos; });
    };
    if (is_told("SOCK_DGRAM") && std::ranges::any_of(kLocalSocketNames, is_told)) return true;
    return std::ranges::any_of(said_, [](std::string_view text) {
      const bool named =
          text.find("SOCK_DGRAM") != std::string_view::npos && has_any(text, kLocalSocketNames);
      return any_line(text, [&](const std::string& line) {
        return has_any(line, kNotPermitted) &&
               (named || line.find("socketpair") != std::string::npos);
      });
    });
  }

 private:
  template <typename Is>
  static bool any_line(std::string_view text, const Is& is_it) {
    return std::ranges::any_of(split(text, '\n'),
                               [&](std::string_view line) { return is_it(lower_case(line)); });
  }

  static bool sets_by_words(const std::vector<std::string_view>& words) {
    return std::ranges::any_of(words, is_mode_program) &&
           std::ranges::any_of(words, [](std::string_view word) {
             constexpr std::string_view kOption = "-m";
             constexpr std::string_view kLongOption = "--mode=";
             if (is_owners_mode(word)) return true;
             if (word.starts_with(kLongOption)) word.remove_prefix(kLongOption.size());
             if (word.starts_with(kOption)) word.remove_prefix(kOption.size());
             while (word.ends_with(',')) word.remove_suffix(1);
             return is_owners_mode(word);
           });
  }

  [[nodiscard]] bool is_shared_repository() const {
    const auto is_shared = [](std::string_view word) { return word.starts_with("--shared"); };
    const auto is_git = [](std::string_view word) { return basename(word) == "git"; };
    return std::ranges::any_of(words_, is_git) &&
           std::ranges::find(words_, "init") != words_.end() &&
           std::ranges::any_of(words_, is_shared);
  }

  [[nodiscard]] bool said_so() const {
    return std::ranges::any_of(said_, [](std::string_view text) {
      if (any_line(text, [](const std::string& line) {
            return line.find(kSharedMessage) != std::string::npos;
          })) {
        return true;
      }
      const bool failed =
          any_line(text, [](const std::string& line) { return has_any(line, kNotPermitted); });
      if (!failed) return false;
      return any_line(text, [](const std::string& line) {
        const std::vector<std::string_view> words = plain_words(line);
        return (has_any(line, kModeMessages) && std::ranges::any_of(words, is_owners_mode)) ||
               sets_by_words(words);
      });
    });
  }

  std::string_view program_;
  std::vector<std::string_view> words_;
  std::vector<std::string_view> said_;
};

}  // namespace

bool is_owners_mode(std::string_view word) {
  if (is_octal_owners_mode(word) || is_listed_owners_mode(word)) return true;
  return std::ranges::any_of(split(word, ','), is_owners_clause);
}

bool sets_modes(const std::vector<std::string>& argv) {
  return std::ranges::any_of(argv, [](const std::string& argument) {
    return std::ranges::any_of(plain_words(argument), is_mode_program);
  });
}

Hint refused_owners_mode() {
  return {"call", "chmod with a setuid or setgid bit",
          "seccomp: what runs as its owner would stay on the host after the run",
          "set the bit outside", HintRule::Call};
}

std::vector<Hint> refused_calls_in(const std::vector<std::string>& argv,
                                   const std::vector<std::string>& messages) {
  const FailedCommand failed(argv, messages);
  std::vector<Hint> hints;
  if (failed.sets_owners_mode()) hints.push_back(refused_owners_mode());
  if (failed.makes_local_datagrams()) {
    hints.push_back({"call", "a local socket of type SOCK_DGRAM",
                     "seccomp: it could be aimed at a socket of the host at any time",
                     "use SOCK_SEQPACKET, which keeps messages apart as well", HintRule::Call});
  }
  if (failed.traces()) {
    hints.push_back({"call", "ptrace", "seccomp: it looks into other processes and changes them",
                     "trace outside; what has LeakSanitizer in it runs as env "
                     "ASAN_OPTIONS=detect_leaks=0 CMD",
                     HintRule::Call});
  }
  return hints;
}

}  // namespace cordon
