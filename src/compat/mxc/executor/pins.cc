#include "compat/mxc/executor/pins.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "config/section.h"
#include "host/inspect.h"
#include "host/resolve.h"

namespace cordon::mxc {
namespace {

constexpr std::string_view kSystemFile = "/etc/cordon/pins.toml";
constexpr std::size_t kDigits = 64;
constexpr std::array<std::string_view, 2> kTop = {"version", "executors"};
constexpr std::array<std::string_view, 4> kPin = {"sha256", "version", "commit", "origin"};
constexpr std::array<std::string_view, 6> kKeys = {"linux-arm64",   "linux-x86_64", "darwin-arm64",
                                                   "darwin-x86_64", "win32-arm64",  "win32-x64"};

bool is_digest(const std::string& text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<std::string> text_of(const Section& section, std::string_view key, bool needed) {
  CORDON_TRY(found, section.text(key));
  if (found) {
    if (!found->text->empty()) return *found->text;
    return fail(section.error_at(*found->node, section.title(key) + " is empty"));
  }
  if (!needed) return std::string();
  return fail(section.error_at(section.node(), section.title(key) + " is missing"));
}

Result<Pin> decode_pin(const Section& section) {
  Pin pin;
  CORDON_TRY(digest, text_of(section, "sha256", true));
  pin.sha256 = lower_case(digest);
  if (!is_digest(pin.sha256)) {
    return fail(section.error_at(*section.find("sha256"),
                                 section.title("sha256") + " is not a digest of 64 digits"));
  }
  CORDON_TRY(version, text_of(section, "version", true));
  CORDON_TRY(commit, text_of(section, "commit", false));
  CORDON_TRY(origin, text_of(section, "origin", false));
  pin.version = std::move(version);
  pin.commit = std::move(commit);
  pin.origin = std::move(origin);
  return pin;
}

}  // namespace

Error untrusted(std::string what, std::string hint) {
  return {.kind = ErrorKind::Untrusted, .what = std::move(what), .hint = std::move(hint)};
}

bool Pin::is_zero() const {
  return std::ranges::all_of(sha256, [](char c) { return c == '0'; });
}

Result<Pins> parse_pins(std::string_view text, const std::string& file) {
  CORDON_TRY(node, read_toml(text, file));
  CORDON_TRY(top, Section::open(node, file, "", kTop));
  CORDON_TRY(version, top.count("version"));
  if (version != 1) return fail(top.error_at(top.node(), "the file has no version = 1"));
  CORDON_TRY(executors, top.member("executors", kKeys));
  Pins pins;
  pins.file = file;
  for (const std::string_view key : kKeys) {
    if (executors.find(key) == nullptr) continue;
    CORDON_TRY(section, executors.member(key, kPin));
    CORDON_TRY(pin, decode_pin(section));
    pins.pin.emplace(key, std::move(pin));
  }
  return pins;
}

Result<void> check_way(const std::string& path, const Caller& caller) {
  PathTrace trace;
  const TracedPath way = trace.to(path);
  for (const PassedPlace* passed : way.passed) {
    const auto& [place, seen] = *passed;
    // What a link says can only be changed in its directory, which is on the way too.
    if (seen.symlink) continue;
    if (seen.owner != 0 && seen.owner != caller.uid) {
      return fail(untrusted(quote(place) + " belongs to another user",
                            "keep it where only you or root can write"));
    }
    // In a sticky directory nobody else can replace what is ours.
    const bool sticky = seen.kind == FileKind::Directory && (seen.mode & S_ISVTX) != 0;
    if ((seen.mode & kOthersMayWrite) != 0 && !sticky) {
      return fail(
          untrusted(quote(place) + " may be written by others", "chmod go-w " + quote(place)));
    }
  }
  return {};
}

std::string pins_path(const Caller& caller) { return join(caller.config_directory, "pins.toml"); }

Result<Pins> read_pins(const Caller& caller) {
  for (const std::string& file : {std::string(kSystemFile), pins_path(caller)}) {
    if (!inspect_path(file)) continue;
    CORDON_CHECK(check_way(file, caller));
    CORDON_TRY(text, read_trusted_file(file, caller));
    return parse_pins(text, file);
  }
  return Pins{};
}

Result<Pin> pin_for(const Pins& pins, const std::string& key, const Caller& caller) {
  const std::string hint = "cordon doctor prints the lines for " +
                           quote(pins.file.empty() ? pins_path(caller) : pins.file);
  const auto found = pins.pin.find(key);
  if (found == pins.pin.end()) {
    return fail(
        {.kind = ErrorKind::Unavailable, .what = "no executor is pinned for " + key, .hint = hint});
  }
  if (found->second.is_zero()) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "the pin of " + key + " is all zeros: nothing is pinned",
                 .hint = hint});
  }
  return found->second;
}

}  // namespace cordon::mxc
