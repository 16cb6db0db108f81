#include "compat/seatbelt/profile.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "policy/cure.h"
#include "policy/protected_names.h"

namespace cordon::seatbelt {
namespace {

bool has_control_byte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

// Digits and a few others stand for themselves, a letter for both of its cases, because the usual
// volume does not tell them apart. Anything else is any character, so that no byte of a name can
// end the literal or mean something in the expression; whether a character of several bytes counts
// as one or as many is not known, so it is any number of them.
void append_literal(std::string& out, char c) {
  constexpr std::string_view kPlain = "/_-~,:@=";
  const bool lower = c >= 'a' && c <= 'z';
  const bool upper = c >= 'A' && c <= 'Z';
  if (lower || upper) {
    const char other = static_cast<char>(c ^ 0x20);
    out.append({'[', c, other, ']'});
  } else if ((c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos) {
    out.push_back(c);
  } else if ((static_cast<unsigned char>(c) & 0x80U) == 0) {
    out.push_back('.');
  } else if (!out.ends_with(".*")) {
    out.append(".*");
  }
}

}  // namespace

Result<std::string> quoted(std::string_view text) {
  if (has_control_byte(text)) {
    return fail(policy_error("path " + quote(text) + " holds a control byte"));
  }
  std::string out("\"");
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out.append("\"");
}

std::string real_path(std::string_view path) {
  for (const std::string_view link : {"/etc", "/tmp", "/var"}) {
    if (contains(link, path)) return "/private" + std::string(path);
  }
  return std::string(path);
}

Result<std::string> deny_regex(std::string_view anchor, std::string_view glob) {
  if (has_control_byte(anchor) || has_control_byte(glob)) {
    return fail(policy_error("pattern " + quote(glob) + " holds a control byte"));
  }
  std::string out("#\"^");
  for (const char c : anchor == "/" ? std::string_view() : anchor) append_literal(out, c);
  out.push_back('/');
  while (!glob.empty()) {
    if (glob.starts_with("**/")) {
      out.append("(.*/)?");
      glob.remove_prefix(3);
    } else if (glob.starts_with("**")) {
      out.append(".*");
      glob.remove_prefix(2);
    } else if (glob.front() == '*') {
      out.append("[^/]*");
      glob.remove_prefix(1);
    } else if (const std::size_t close = glob.find(']', 2);
               glob.front() == '[' && close != std::string_view::npos) {
      out.append("[^/]+");  // some character, or more of them if it has several bytes
      glob.remove_prefix(close + 1);
    } else if (glob.front() == '?') {
      out.append("[^/]+");
      glob.remove_prefix(1);
    } else {
      append_literal(out, glob.front());
      glob.remove_prefix(1);
    }
  }
  return out.append("(/.*)?$\"");
}

namespace {

constexpr std::string_view kWritablePaths = "%%WRITABLE_PATHS%%";

// What starting a program needs. No keychain lies below any of them.
constexpr auto kSystem = std::to_array<std::string_view>(
    {"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/share", "/bin", "/sbin",
     "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/Library/Apple",
     "/Library/Frameworks", "/private/etc/ssl", "/private/var/db/dyld", "/private/var/db/timezone",
     "/private/var/select"});
constexpr auto kSystemFiles = std::to_array<std::string_view>(
    {"/", "/private/etc/localtime", "/private/etc/hosts", "/private/etc/resolv.conf"});
// Single devices: below /dev lie disks, and the terminals of others.
constexpr auto kDevices = std::to_array<std::string_view>(
    {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper"});
// Where System Integrity Protection refuses writing whatever a profile says.
constexpr auto kProtected =
    std::to_array<std::string_view>({"/System", "/usr", "/bin", "/sbin", "/private/var/db"});

// Everything may be read and reached.
bool asks_writing_alone(const Effective& effective) {
  const bool whole_disk = PathModes(effective.read, effective.write).at("/") != PathMode::None;
  return whole_disk && effective.net.mode == NetMode::Open && effective.net.deny.empty();
}

class Writer {
 public:
  Writer(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
         const std::vector<std::string>& own)
      : effective_(clamped.effective()),
        facts_(facts),
        caller_(caller),
        own_(own),
        modes_(effective_.read, effective_.write) {}

  Result<Profile> deny_default();
  Result<Profile> allow_default();

 private:
  Result<void> rule(std::string_view verdict, std::string_view operations, std::string_view filter,
                    const std::string& path);
  Result<void> devices();
  Result<void> grants();
  Result<void> denies();
  Result<void> protected_inside(const std::string& root);
  Result<void> own_places();
  Result<void> refuse_network() const;
  void network();
  void warn(const std::string& path);

  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  const std::vector<std::string>& own_;
  PathModes modes_;
  Profile profile_;
};

Result<void> Writer::rule(std::string_view verdict, std::string_view operations,
                          std::string_view filter, const std::string& path) {
  CORDON_TRY(text, quoted(path));
  profile_.text.append("(").append(verdict).append(" ").append(operations).append(" (");
  profile_.text.append(filter).append(" ").append(text).append("))\n");
  return {};
}

Result<void> Writer::devices() {
  for (const std::string_view device : kDevices) {
    CORDON_CHECK(
        rule("allow", "file-read* file-write* file-ioctl", "literal", std::string(device)));
  }
  return {};
}

void Writer::warn(const std::string& path) {
  const bool held = std::any_of(kProtected.begin(), kProtected.end(), [&](std::string_view root) {
    return contains(root, path) && !contains("/usr/local", path);
  });
  if (held) {
    profile_.warnings.push_back("write " + quote(path) +
                                ": the system refuses it, whatever a profile says");
  }
}

// Parents sort before their children, and the last rule that matches decides.
Result<void> Writer::grants() {
  for (const auto& [place, entry] : modes_.entries()) {
    const std::string path = real_path(place);
    if (entry.mode == PathMode::Write) {
      CORDON_CHECK(rule("allow", "file-read* file-write*", "subpath", path));
      warn(path);
    } else {
      CORDON_CHECK(rule("allow", "file-read*", "subpath", path));
      CORDON_CHECK(rule("deny", "file-write*", "subpath", path));
    }
  }
  return {};
}

// Names that a host runs by itself: by pattern, so that they cannot appear either.
Result<void> Writer::protected_inside(const std::string& root) {
  for (const ProtectedName& name : protected_names()) {
    if (name.action != HoldAction::Hold) continue;
    const auto& released = effective_.protect.release;
    if (std::ranges::find(released, name.name) != released.end()) continue;
    const auto deny = [&](const std::string& anchor, std::string_view glob) -> Result<void> {
      CORDON_TRY(pattern, deny_regex(real_path(anchor), glob));
      profile_.text.append("(deny file-write* (regex ").append(pattern).append("))\n");
      return {};
    };
    if (!name.home_only) {
      CORDON_CHECK(deny(root, "**/" + std::string(name.name)));
      continue;
    }
    for (const std::string& home : caller_.homes) CORDON_CHECK(deny(home, name.name));
  }
  for (const std::string& name : effective_.protect.add) {
    CORDON_TRY(pattern, deny_regex(real_path(root), "**/" + name));
    profile_.text.append("(deny file-write* (regex ").append(pattern).append("))\n");
  }
  return {};
}

Result<void> Writer::denies() {
  for (const Grant& grant : effective_.write) CORDON_CHECK(protected_inside(grant.path));
  for (const Held& held : facts_.held) {
    CORDON_CHECK(rule("deny", "file-write*", "subpath", real_path(held.path)));
  }
  for (const GitDirectory& git : facts_.git) {
    for (const Held& held : git.held) {
      CORDON_CHECK(rule("deny", "file-write*", "subpath", real_path(held.path)));
    }
    // There is no private copy of a configuration here, so it is read-only.
    for (const GitDirectory::Config& config : git.configs) {
      CORDON_CHECK(rule("deny", "file-write*", "subpath", real_path(config.path)));
    }
  }
  constexpr std::string_view kBoth = "file-read* file-write*";
  for (const std::string& home : caller_.homes) {
    CORDON_CHECK(rule("deny", kBoth, "subpath", join(real_path(home), "Library/Keychains")));
  }
  CORDON_CHECK(rule("deny", kBoth, "subpath", "/Library/Keychains"));
  for (const Masked& masked : facts_.masked) {
    CORDON_CHECK(rule("deny", kBoth, "subpath", real_path(masked.path)));
  }
  for (const DenyGlob& deny : effective_.deny) {
    if (!deny.anchor.empty() && deny.pattern.empty()) {
      CORDON_CHECK(rule("deny", kBoth, "subpath", real_path(deny.anchor)));
      continue;
    }
    std::vector<std::string> anchors{deny.anchor};
    std::string glob = deny.pattern;
    if (deny.anchor.empty()) {
      anchors.clear();
      for (const auto& [place, entry] : modes_.entries()) anchors.emplace_back(place);
      glob.insert(0, "**/");
    }
    for (const std::string& anchor : anchors) {
      CORDON_TRY(pattern, deny_regex(real_path(anchor), glob));
      profile_.text.append("(deny ")
          .append(kBoth)
          .append(" (regex ")
          .append(pattern)
          .append("))\n");
    }
  }
  return {};
}

Result<void> Writer::own_places() {
  for (const std::string& place : own_) {
    CORDON_CHECK(rule("allow", "file-read* file-write*", "subpath", real_path(place)));
  }
  return {};
}

Result<void> Writer::refuse_network() const {
  if (effective_.net.mode == NetMode::Allow || !effective_.net.deny.empty()) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "a Seatbelt profile cannot hold lists of hosts",
                 .hint = "use net.mode none or open"});
  }
  if (!effective_.net.publish.empty()) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "a Seatbelt profile cannot publish ports",
                 .hint = "remove net.publish"});
  }
  if (!effective_.sockets.empty()) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "a Seatbelt profile cannot hold lists of sockets",
                 .hint = "remove net.sockets"});
  }
  return {};
}

void Writer::network() {
  if (effective_.net.mode == NetMode::None) return;
  profile_.text.append(
      "(allow network-outbound)\n(allow network-bind (local ip))\n(allow system-socket)\n");
}

Result<Profile> Writer::deny_default() {
  CORDON_CHECK(refuse_network());
  profile_.text =
      "(version 1)\n(deny default)\n(allow process-fork)\n(allow process-exec)\n"
      "(allow signal (target same-sandbox))\n(allow sysctl-read)\n";
  for (const std::string_view file : kSystemFiles) {
    CORDON_CHECK(rule("allow", "file-read*", "literal", std::string(file)));
  }
  for (const std::string_view tree : kSystem) {
    CORDON_CHECK(rule("allow", "file-read*", "subpath", std::string(tree)));
  }
  CORDON_CHECK(devices());
  CORDON_CHECK(grants());
  network();
  CORDON_CHECK(denies());
  CORDON_CHECK(own_places());
  return profile_;
}

Result<Profile> Writer::allow_default() {
  if (!asks_writing_alone(effective_)) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "this style holds writing alone",
                 .hint = "grant \"/\" for reading and net.mode open, or use the other style"});
  }
  CORDON_CHECK(refuse_network());
  CORDON_CHECK(grants());
  const std::string writable = std::move(profile_.text);
  profile_.text = "(version 1)\n(allow default)\n(deny file-write* (subpath \"/\"))\n";
  CORDON_CHECK(devices());
  profile_.text.append(kWritablePaths);
  CORDON_CHECK(denies());
  CORDON_CHECK(own_places());
  CORDON_TRY(text, fill_token(std::move(profile_.text), kWritablePaths, writable));
  profile_.text = std::move(text);
  return profile_;
}

}  // namespace

Result<std::string> fill_token(std::string text, std::string_view token, std::string_view value) {
  const std::size_t at = text.find(token);
  if (at == std::string::npos || text.find(token, at + 1) != std::string::npos) {
    return fail(setup_error("the profile holds its token not exactly once", 0));
  }
  return text.replace(at, token.size(), value);
}

Style style_for(const Effective& effective) {
  const bool for_agent = !effective.agent.name.empty();
  return for_agent && asks_writing_alone(effective) ? Style::AllowDefault : Style::DenyDefault;
}

Result<Profile> make_profile(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                             const std::vector<std::string>& own, Style style) {
  Writer writer(clamped, facts, caller, own);
  switch (style) {
    case Style::DenyDefault:
      return writer.deny_default();
    case Style::AllowDefault:
      return writer.allow_default();
  }
  return fail(usage_error("unknown style"));
}

}  // namespace cordon::seatbelt
