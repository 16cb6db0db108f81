#include "compat/mxc/mxc_filesystem.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

// Stands for the private /tmp that every sandbox of MXC has.
constexpr std::uint64_t kScratch = 1ULL << 30U;

Result<void> withhold_read_only(MxcDocument& document, const Places& places, FsRules& fs) {
  std::vector<PathRule> writable;
  for (const PathRule& rule : fs.write) {
    bool covered = false;
    for (const PathRule& read : fs.read) {
      CORDON_TRY(inside, lies_in(read.text, rule.text, places));
      covered = covered || inside;
    }
    if (!covered) {
      writable.push_back(rule);
      continue;
    }
    document.tables.lose("filesystem.readwritePaths",
                         shown(rule.text) + " lies in a read-only path, which wins before 0.8");
  }
  fs.write = std::move(writable);
  return {};
}

// Whether some of it, or what it lies in, is in a sandbox without any rule.
bool is_of_every_sandbox(const std::string& real) {
  constexpr std::array<std::string_view, 13> kPlaces{
      "/usr",     "/bin",       "/sbin", "/lib",  "/lib64", "/etc", "/run",
      "/var/lib", "/var/cache", "/opt",  "/proc", "/sys",   "/dev"};
  return std::ranges::any_of(kPlaces, [&](std::string_view place) {
    return contains(place, real) || contains(real, place);
  });
}

// A deny of a policy wins over every grant, so one around a grant would close it. Where no grant
// lies around the deny it is left out: what no list names is not there, and nothing else comes into
// view.
Result<void> open_inside_denies(MxcDocument& document, const Places& places, FsRules& fs) {
  std::vector<PathRule> kept;
  for (PathRule& deny : fs.deny) {
    CORDON_TRY(place, places.real(deny.text));
    bool around = is_of_every_sandbox(place);
    std::vector<std::string> inside;
    for (const auto* rules : {&fs.read, &fs.write}) {
      for (const PathRule& rule : *rules) {
        CORDON_TRY(grant, places.real(rule.text));
        around = around || contains(grant, place);
        if (grant != place && contains(place, grant)) inside.push_back(rule.text);
      }
    }
    if (!inside.empty() && !around) continue;
    for (const std::string& path : inside) {
      document.tables.lose("filesystem.deniedPaths",
                           shown(path) + " lies in the denied " + shown(deny.text) +
                               ", which lies in a granted path: it stays closed");
    }
    kept.push_back(std::move(deny));
  }
  fs.deny = std::move(kept);
  return {};
}

}  // namespace

Result<void> read_mxc_filesystem(MxcDocument& document, const Places& places, Policy& policy) {
  CORDON_TRY(fs, document.member(document.top, mxc_table::kFilesystem));
  struct List {
    std::string_view key;
    std::string_view wish;
    std::vector<PathRule>& rules;
  };
  for (const List& list : {List{"readonlyPaths", "read", policy.fs.read},
                           List{"readwritePaths", "write", policy.fs.write},
                           List{"deniedPaths", "deny", policy.fs.deny}}) {
    CORDON_TRY(entries, fs.texts(list.key));
    for (const PlacedText& entry : entries) {
      if (entry.text->find('"') != std::string::npos) {
        return fail(fs.error_at(*entry.node, "path " + shown(*entry.text) + " holds a quote"));
      }
      CORDON_TRY(rule, literal_path(fs, entry, list.wish));
      list.rules.push_back(std::move(rule));
    }
  }
  // Before 0.8 the lists were applied one after another, so a denied or read-only parent covered a
  // writable child; since then the longer path decides.
  if (document.version.at_least(0, 8)) {
    CORDON_CHECK(open_inside_denies(document, places, policy.fs));
  } else {
    const std::string_view lists = "filesystem.readwritePaths";
    CORDON_CHECK(withhold_denied(policy.fs.deny, places, "filesystem.readonlyPaths", policy.fs.read,
                                 document.tables));
    CORDON_CHECK(withhold_denied(policy.fs.deny, places, lists, policy.fs.write, document.tables));
    CORDON_CHECK(withhold_read_only(document, places, policy.fs));
  }
  policy.fs.scratch = kScratch;
  return {};
}

}  // namespace cordon
