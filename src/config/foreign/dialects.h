// The readers and writers behind import_policy and export_policy.
#pragma once

#include "config/foreign/foreign_table.h"
#include "config/foreign/restrictions.h"

namespace cordon {

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
