#include "run/mentions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "base/path.h"
#include "base/text.h"
#include "host/canonical.h"

namespace cordon {
namespace {

constexpr std::size_t kMostMentioned = 32;
// What comes last is what the command failed of.
constexpr std::size_t kMostMessageBytes = 16384;

constexpr std::array<std::string_view, 4> kWriteErrors = {"read-only file system", "erofs",
                                                          "cannot create", "cannot touch"};
// The thing is there, and may not be used so: a word of the command itself names it.
constexpr std::array<std::string_view, 5> kRefusals = {
    "permission denied", "eacces", "read-only file system", "erofs", "operation not permitted"};
constexpr std::array<std::string_view, 9> kErrors = {
    "no such file",      "not found",   "does not exist",
    "permission denied", "cannot open", "cannot stat",
    "cannot access",     "enoent",      "eacces"};
constexpr std::array<std::string_view, 7> kNetworkErrors = {
    "resolve host",          "resolution", "getaddrinfo", "name or service", "unreachable",
    "could not be resolved", "unknownhost"};

struct SchemePort {
  std::string_view scheme;
  std::uint16_t port;
};
constexpr std::uint16_t kHttps = 443;
constexpr std::uint16_t kSsh = 22;
constexpr std::array<SchemePort, 7> kSchemes = {{{"https", kHttps},
                                                 {"http", 80},
                                                 {"ssh", kSsh},
                                                 {"git", 9418},
                                                 {"wss", kHttps},
                                                 {"ws", 80},
                                                 {"ftp", 21}}};

bool tells(const std::string& line, std::span<const std::string_view> phrases) {
  return std::ranges::any_of(
      phrases, [&](std::string_view phrase) { return line.find(phrase) != std::string::npos; });
}

// The words of a message or of a script. A name with a blank in it is not found this way.
std::vector<std::string_view> words_in(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n'\"`()<>|;&,{}=*";
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

// Without the quotation marks of a language.
std::string_view without_quotation(std::string_view word) {
  const auto foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  while (!word.empty() && foreign(word.front())) word.remove_prefix(1);
  while (!word.empty() && foreign(word.back())) word.remove_suffix(1);
  return word;
}

// Whether a shell would write to it: `> word`.
bool is_redirected(std::string_view script, std::string_view word) {
  std::string_view before = script.substr(0, static_cast<std::size_t>(word.data() - script.data()));
  while (!before.empty() && (before.back() == ' ' || before.back() == '\t'))
    before.remove_suffix(1);
  return before.ends_with('>');
}

// "registry.example", as resolvers take it. Capitals are those of a program's own names
// ("urllib3.connection.HTTPSConnection").
bool is_host_name(std::string_view word) {
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  const std::size_t last = word.rfind('.');
  return last != std::string_view::npos && last > 0 && last + 1 < word.size() &&
         word.find_first_not_of(kOfNames) == std::string_view::npos &&
         std::isalpha(static_cast<unsigned char>(word.back())) != 0;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  constexpr std::uint64_t kLastPort = 65535;
  const auto port = parse_number(text);
  if (!port || *port == 0 || *port > kLastPort) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

// The sandbox has a loopback of its own: what is refused there is refused by nobody's policy.
bool is_loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") ||
         host == "::1";
}

// HOST or HOST:PORT, or [ADDRESS]:PORT.
std::optional<MentionedHost> host_in(std::string_view text, std::uint16_t port) {
  std::string_view host = text;
  std::string_view rest;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    rest = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    rest = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!rest.empty()) {
    const auto named = rest.starts_with(':') ? port_of(rest.substr(1)) : std::nullopt;
    if (!named) return std::nullopt;
    port = *named;
  }
  if (host.empty() || is_loopback(host)) return std::nullopt;
  return MentionedHost{lower_case(host), port};
}

// SCHEME://[USER@]HOST[:PORT]/...
std::optional<MentionedHost> host_of_address(std::string_view word) {
  const std::size_t mark = word.find("://");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string scheme = lower_case(word.substr(0, mark));
  const auto known = std::ranges::find_if(
      kSchemes, [&](const SchemePort& one) { return scheme.ends_with(one.scheme); });
  if (known == kSchemes.end()) return std::nullopt;
  std::string_view place = word.substr(mark + 3);
  place = place.substr(0, place.find_first_of("/?#"));
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    place.remove_prefix(at + 1);
  }
  return host_in(place, known->port);
}

// USER@HOST:PATH, as git and scp take it.
std::optional<MentionedHost> host_of_copy(std::string_view word) {
  const std::size_t at = word.find('@');
  const std::size_t colon = word.find(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || at > colon) {
    return std::nullopt;
  }
  const std::string_view host = word.substr(at + 1, colon - at - 1);
  return is_host_name(host) ? host_in(host, kSsh) : std::nullopt;
}

class Collected {
 public:
  Collected(const std::string& cwd, const Caller& caller) : cwd_(cwd), caller_(caller) {}

  void add_path(std::string_view word, bool written) {
    // An address, or a place on another host.
    if (const std::size_t colon = word.find(':'); colon < word.find('/')) return;
    const auto spelled = spell_absolute(word, cwd_, caller_);
    if (!spelled || found_.paths.size() >= kMostMentioned) return;
    // By the names alone: a guess does not follow links.
    std::string path = normalize(std::filesystem::path(*spelled).lexically_normal().string());
    for (const std::string_view own : {"/proc", "/dev", "/sys"}) {
      if (contains(own, path)) return;
    }
    const auto same = [&](const MentionedPath& one) { return one.path == path; };
    const auto before = std::ranges::find_if(found_.paths, same);
    if (before == found_.paths.end()) {
      found_.paths.push_back({std::move(path), written});
    } else {
      before->written = before->written || written;
    }
  }

  void add_name(std::string_view word) {
    if (word.empty() || word.starts_with('-') || found_.names.size() >= kMostMentioned) return;
    std::string path = join(cwd_, word);
    if (std::ranges::find(found_.names, path) == found_.names.end()) {
      found_.names.push_back(std::move(path));
    }
  }

  void add_host(const std::optional<MentionedHost>& host) {
    if (!host || found_.hosts.size() >= kMostMentioned) return;
    if (std::ranges::find(found_.hosts, *host) == found_.hosts.end()) found_.hosts.push_back(*host);
  }

  void add_argument(const std::string& argument) {
    const bool one = is_anchored(argument) || argument.find_first_of(" \t\n=") == std::string::npos;
    for (const std::string_view word :
         one ? std::vector<std::string_view>{argument} : words_in(argument)) {
      words_.emplace_back(word);
      add_host(host_of_address(word));
      add_host(host_of_copy(word));
      const std::string_view path = without_option(word);
      if (path.find('/') != std::string_view::npos) {
        add_path(path, is_redirected(argument, word));
      } else {
        add_name(path);
      }
    }
  }

  void add_line(std::string_view line) {
    const std::string low = lower_case(line);
    const bool written = tells(low, kWriteErrors);
    const bool file = written || tells(low, kErrors);
    const bool network = tells(low, kNetworkErrors);
    const bool refused = tells(low, kRefusals);
    if (!file && !network && !refused) return;
    bool first = true;
    for (const std::string_view found : words_in(line)) {
      const std::string_view word = without_quotation(found);
      if (file && is_anchored(word)) add_path(word, written);
      // The first word of a line is the program's name for itself ("mkdir: cannot ...").
      const bool of_itself = first && word.find('/') == std::string_view::npos;
      if (refused && !of_itself && is_relative(word)) add_path(word, written);
      if (network && !first) add_network_word(word);
      first = false;
    }
  }

  Mentions take() && { return std::move(found_); }

 private:
  // A name below the working directory, that the command itself has or that cannot be a plain word.
  [[nodiscard]] bool is_relative(std::string_view word) const {
    if (word.empty() || is_anchored(word)) return false;
    return word.find('/') != std::string_view::npos ||
           std::ranges::find(words_, word) != words_.end();
  }

  void add_network_word(std::string_view word) {
    add_host(host_of_address(word));
    const std::string_view name = word.substr(0, word.find(':'));
    if (is_host_name(name)) add_host(host_in(word, kHttps));
  }

  const std::string& cwd_;
  const Caller& caller_;
  std::vector<std::string> words_;  // of the command
  Mentions found_;
};

}  // namespace

Mentions mentions_in(const std::vector<std::string>& argv, const std::vector<std::string>& messages,
                     const std::string& cwd, const Caller& caller) {
  Collected collected(cwd, caller);
  for (std::size_t i = 1; i < argv.size(); ++i) collected.add_argument(argv[i]);
  for (const std::string& message : messages) {
    const std::size_t skipped =
        message.size() > kMostMessageBytes ? message.size() - kMostMessageBytes : 0;
    for (const std::string_view line : split(std::string_view(message).substr(skipped), '\n')) {
      collected.add_line(line);
    }
  }
  return std::move(collected).take();
}

}  // namespace cordon
