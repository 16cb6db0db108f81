// The tables of a foreign document, opened under the rules of its dialect and version: whether null
// means absent, and whether a key nobody knows is refused or ignored. What is ignored is a loss.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compat/dialect/dialect.h"
#include "config/section.h"

namespace cordon {

enum class UnknownKeys { Refused, Ignored };

class ForeignTables {
 public:
  // `file` outlives the reader and every section it opens.
  ForeignTables(const std::string& file, bool null_is_absent)
      : file_(&file), null_is_absent_(null_is_absent) {}

  Result<Section> open(const Node& table, std::string_view name,
                       std::span<const std::string_view> keys, UnknownKeys unknown);
  // The member table `key` of `parent`, under the name "parent.key"; one without members if absent.
  Result<Section> member(const Section& parent, std::string_view parent_name, std::string_view key,
                         std::span<const std::string_view> keys, UnknownKeys unknown);

  void lose(std::string key, std::string reason) {
    losses_.push_back({std::move(key), std::move(reason)});
  }
  std::vector<DroppedKey> take_losses() && { return std::move(losses_); }

 private:
  const std::string* file_;
  bool null_is_absent_;
  std::deque<Node> cleaned_;  // what the sections refer to
  std::vector<DroppedKey> losses_;
};

// Refuses a key named keychainAccess that is true, wherever it stands: nothing reaches the
// keychain.
Result<void> refuse_keychain(const Node& node, const std::string& file);

Result<void> require_key(const Section& section, std::string_view key);
// The value of `key` if it is one of `choices`; an error that lists them otherwise.
Result<std::optional<std::string>> one_of(const Section& section, std::string_view key,
                                          std::span<const std::string_view> choices);
// A whole number from 0 to `most`.
Result<std::optional<std::uint64_t>> whole(const Section& section, std::string_view key,
                                           std::uint64_t most);

// A path that is taken as it is spelled, for a list of a policy; `wish` is "read", "write" or
// "deny". Refuses what is not absolute, what no policy may hold, and a denied path with wildcard
// characters, which a policy would take for a pattern. Without a section the error has no place.
Result<PathRule> literal_path(const std::string& path, std::string_view wish);
Result<PathRule> literal_path(const Section& section, const PlacedText& entry,
                              std::string_view wish);

// Takes from `rules` what lies in a denied path: a deny in a policy covers what is inside a grant,
// and a grant inside a deny would stand. Each one is a loss of `key`.
Result<void> withhold_denied(const std::vector<PathRule>& denies, const Places& places,
                             std::string_view key, std::vector<PathRule>& rules,
                             ForeignTables& tables);

// True if `path` is `root` or lies below it, after both have been looked up.
Result<bool> lies_in(const std::string& root, const std::string& path, const Places& places);

// The readers and writers behind import_policy and export_policy.

Result<Imported> import_srt(const Node& document, const std::string& file, const Places& places);
Result<Imported> import_safeclaw(const Node& document, const std::string& file,
                                 const Places& places, Restrictions& restrictions);

// A policy on its way out.
struct Exporter {
  const Policy& policy;
  const Places& places;
  Restrictions& restrictions;
  std::vector<DroppedKey> losses;

  void lose(std::string key, std::string reason) {
    losses.push_back({std::move(key), std::move(reason)});
  }
};

Result<Node> export_mxc(Exporter& out);
Result<Node> export_srt(Exporter& out);
Result<Node> export_safeclaw(Exporter& out);

// The path lists written out: no words, no home, nothing relative. Words for the system and for
// toolchains are left out as losses, denies that are patterns are given up.
struct PlainPaths {
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> deny;
};
Result<PlainPaths> plain_paths(Exporter& out);
// Gives up every limit the target cannot hold; `wall` says whether it holds that one.
void give_up_limits(Exporter& out, bool wall);
// What no other dialect can say.
void lose_what_is_ours(Exporter& out);
Node text_nodes(const std::vector<std::string>& texts);

// Host rules as domains with an optional port, the language of srt and SafeClaw.
struct Domains {
  std::vector<std::string> allowed;
  std::vector<std::string> denied;
};
Domains to_domains(Exporter& out);
// Refuses ranges of addresses, and anything the rules of a policy do not hold either.
Result<HostRule> parse_domain(std::string_view text);

}  // namespace cordon
