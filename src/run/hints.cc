#include "run/hints.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/path.h"
#include "base/text.h"
#include "host/canonical.h"
#include "policy/decide.h"
#include "run/answers.h"

namespace cordon {
namespace {

constexpr std::size_t kMostMentioned = 32;
constexpr std::size_t kMostHints = 4;
// What comes last is what the command failed of.
constexpr std::size_t kMostMessageBytes = 16384;

constexpr std::array<std::string_view, 4> kWriteErrors = {"read-only file system", "erofs",
                                                          "cannot create", "cannot touch"};
constexpr std::array<std::string_view, 9> kErrors = {
    "no such file",      "not found",   "does not exist",
    "permission denied", "cannot open", "cannot stat",
    "cannot access",     "enoent",      "eacces"};

std::string lowered(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low;
}

bool tells(const std::string& line, std::span<const std::string_view> phrases) {
  return std::ranges::any_of(
      phrases, [&](std::string_view phrase) { return line.find(phrase) != std::string::npos; });
}

// The words of a message or of a script. A name with a blank in it is not found this way.
std::vector<std::string_view> words_in(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n'\"`()<>|;&,[]{}=*?";
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(kBetween);
    std::string_view word = text.substr(0, end);
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.remove_suffix(1);
    if (!word.empty()) words.push_back(word);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

bool is_anchored(std::string_view word) {
  return word.starts_with('/') || word.starts_with("~/") || word.starts_with("../");
}

// "-I/opt/include" names a path as well.
std::string_view without_option(std::string_view word) {
  constexpr std::size_t kShortOption = 2;
  return word.size() > kShortOption && word[0] == '-' && word[1] != '-' && word[2] == '/'
             ? word.substr(kShortOption)
             : word;
}

class Names {
 public:
  Names(const std::string& cwd, const Caller& caller) : cwd_(cwd), caller_(caller) {}

  void add(std::string_view word, bool written) {
    // An address, or a place on another host.
    if (const std::size_t colon = word.find(':'); colon < word.find('/')) return;
    const auto spelled = spell_absolute(word, cwd_, caller_);
    if (!spelled || found_.size() >= kMostMentioned) return;
    // By the names alone: a guess does not follow links.
    std::string path = normalize(std::filesystem::path(*spelled).lexically_normal().string());
    for (const std::string_view own : {"/proc", "/dev", "/sys"}) {
      if (contains(own, path)) return;
    }
    const auto same = [&](const MentionedPath& one) { return one.path == path; };
    const auto before = std::ranges::find_if(found_, same);
    if (before == found_.end()) {
      found_.push_back({std::move(path), written});
    } else {
      before->written = before->written || written;
    }
  }

  std::vector<MentionedPath> take() && { return std::move(found_); }

 private:
  const std::string& cwd_;
  const Caller& caller_;
  std::vector<MentionedPath> found_;
};

// The links directly below "/" are the system's own: /bin is /usr/bin wherever one looks.
std::string without_top_link(const std::string& path) {
  const std::size_t end = path.find('/', 1);
  if (end == std::string::npos) return path;
  std::array<char, 256> target{};
  const ssize_t size = ::readlink(path.substr(0, end).c_str(), target.data(), target.size());
  if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return path;
  const std::string_view to(target.data(), static_cast<std::size_t>(size));
  return normalize((to.starts_with('/') ? std::string(to) : "/" + std::string(to)) +
                   path.substr(end));
}

std::optional<Hint> by_policy(const JudgedRun& run, const MentionedPath& named) {
  const std::string path = without_top_link(named.path);
  for (const Access access : {Access::Read, Access::Write}) {
    if (access == Access::Write && !named.written) break;
    Verdict verdict = decide(run.clamped, run.survey.facts, run.caller, access, path);
    if (verdict.allowed) continue;
    return Hint{access == Access::Read ? "read" : "write", named.path, std::move(verdict.rule), {}};
  }
  return std::nullopt;
}

std::optional<Hint> by_host(const RunInput& input, const JudgedRun& run,
                            const MentionedPath& named) {
  struct stat there {};
  const std::string place = named.written ? std::string(parent(named.path)) : named.path;
  if (::lstat(place.c_str(), &there) < 0) return std::nullopt;
  for (const auto access : {Question::Access::Read, Question::Access::Write}) {
    if (access == Question::Access::Write && !named.written) break;
    // What is yet to be made cannot be read anywhere.
    if (access == Question::Access::Read && ::lstat(named.path.c_str(), &there) < 0) continue;
    auto explained = explain_access(input, {access, named.path}, run.caller);
    if (!explained || explained->allowed) continue;
    return Hint{std::string(name_of(access)), named.path, std::move(explained->rule),
                std::move(explained->change)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<MentionedPath> mentioned_paths(const std::vector<std::string>& argv,
                                           const std::vector<std::string>& messages,
                                           const std::string& cwd, const Caller& caller) {
  Names names(cwd, caller);
  for (const std::string& argument :
       std::span(argv).subspan(std::min<std::size_t>(1, argv.size()))) {
    const bool one = is_anchored(argument) || argument.find_first_of(" \t\n=") == std::string::npos;
    for (const std::string_view word :
         one ? std::vector<std::string_view>{argument} : words_in(argument)) {
      const std::string_view path = without_option(word);
      if (path.find('/') != std::string_view::npos) names.add(path, false);
    }
  }
  for (const std::string& message : messages) {
    const std::size_t skipped =
        message.size() > kMostMessageBytes ? message.size() - kMostMessageBytes : 0;
    for (const std::string_view line : split(std::string_view(message).substr(skipped), '\n')) {
      const std::string low = lowered(line);
      const bool written = tells(low, kWriteErrors);
      if (!written && !tells(low, kErrors)) continue;
      for (const std::string_view word : words_in(line)) {
        if (is_anchored(word)) names.add(word, written);
      }
    }
  }
  return std::move(names).take();
}

std::vector<Hint> hints_for(const RunInput& input, const std::vector<std::string>& argv,
                            const JudgedRun& run, const Outcome& outcome) {
  const auto* exited = std::get_if<Exited>(&outcome.end);
  if (exited == nullptr || exited->code == 0) return {};
  std::vector<std::string> messages;
  for (const std::optional<Stream>* stream : {&outcome.err, &outcome.out}) {
    if (*stream) messages.push_back((*stream)->head + (*stream)->tail);
  }
  std::vector<Hint> hints;
  for (const MentionedPath& named : mentioned_paths(argv, messages, run.request.cwd, run.caller)) {
    auto hint = input.hints == HintsFrom::Host ? by_host(input, run, named) : by_policy(run, named);
    if (hint && hints.size() < kMostHints) hints.push_back(std::move(*hint));
  }
  return hints;
}

}  // namespace cordon
