#include "run/proposals.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"

namespace cordon {
namespace {

// As many as are read by a program that goes through a directory.
constexpr std::size_t kSiblings = 3;

std::size_t depth_below(std::string_view place, std::string_view path) {
  if (path == place || !contains(place, path)) return 0;
  const std::string_view rest = path.substr(place == "/" ? 0 : place.size());
  return static_cast<std::size_t>(std::ranges::count(rest, '/'));
}

// Wide enough to be one program's or one project's, and no wider.
bool may_stand_for_its_files(const std::string& directory, const Caller& caller) {
  if (may_hold_store(directory, caller)) return false;
  for (const std::string& home : caller.homes) {
    if (contains(directory, home)) return false;
    if (contains(home, directory)) return depth_below(home, directory) >= 2;
  }
  constexpr std::array<std::string_view, 3> kOfPrograms{"/opt", "/srv", "/var/lib"};
  for (const std::string_view place : kOfPrograms) {
    if (contains(place, directory)) return depth_below(place, directory) >= 1;
  }
  return depth_below("/", directory) >= 3;
}

using Counted = std::map<std::string, Proposal>;

// From the deepest on, so that what became one line can be part of a wider one.
void join_siblings(Counted& reads, const Caller& caller) {
  std::set<std::string> refused;
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, std::vector<std::string>> below;
    for (const auto& [path, proposal] : reads) below[std::string(parent(path))].push_back(path);
    for (const auto& [directory, paths] : below) {
      if (paths.size() < kSiblings || refused.contains(directory)) continue;
      if (!may_stand_for_its_files(directory, caller)) {
        refused.insert(directory);
        continue;
      }
      Proposal whole{Proposal::Kind::Read, directory, 0, true};
      for (const std::string& path : paths) {
        whole.count += reads[path].count;
        whole.only_looked = whole.only_looked && reads[path].only_looked;
        reads.erase(path);
      }
      Proposal& known =
          reads.try_emplace(directory, Proposal{Proposal::Kind::Read, directory, 0, true})
              .first->second;
      known.count += whole.count;
      known.only_looked = known.only_looked && whole.only_looked;
      changed = true;
      break;
    }
  }
}

// What lies below another one of the list is granted by it.
void drop_covered(Counted& grants) {
  for (auto one = grants.begin(); one != grants.end();) {
    const auto covers = [&](const auto& other) {
      return other.first != one->first && contains(other.first, one->first);
    };
    const auto wider = std::ranges::find_if(grants, covers);
    if (wider == grants.end()) {
      ++one;
      continue;
    }
    wider->second.count += one->second.count;
    wider->second.only_looked = wider->second.only_looked && one->second.only_looked;
    one = grants.erase(one);
  }
}

void add(Counted& to, Proposal::Kind kind, const std::string& value, const Denial& denial) {
  const bool looked = denial.detail.ends_with("(only looked for)");
  Proposal& known = to.try_emplace(value, Proposal{kind, value, 0, true}).first->second;
  known.count += denial.count;
  known.only_looked = known.only_looked && looked;
}

// What an option names that is a change by itself; empty: it takes more than an option.
std::string granted_by(const Denial& denial, std::string_view option, std::string_view value) {
  return denial.change == std::string(option) + " " + quote(value) ? std::string(value)
                                                                   : std::string();
}

// Each once: every round of a command asks for the same again.
void note_left_out(std::vector<LeftOut>& list, LeftOut one) {
  if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
}

}  // namespace

Proposals propose(const std::vector<Denial>& denials, const Caller& caller) {
  Counted reads;
  Counted writes;
  Counted hosts;
  Proposals result;
  for (const Denial& denial : denials) {
    if (denial.path.empty()) continue;
    if (std::ranges::any_of(denial.path, [](char c) {
          const auto byte = static_cast<unsigned char>(c);
          return byte < 0x20 || byte == 0x7F;
        })) {
      note_left_out(result.left_out, {denial.access + " " + denial.path, "no policy can spell it"});
      continue;
    }
    const std::string place(parent(denial.path));
    if (denial.access == "connect") {
      if (const std::string host = granted_by(denial, "--allow", denial.path); !host.empty()) {
        add(hosts, Proposal::Kind::Host, host, denial);
        continue;
      }
    } else if (is_in_store(denial.path, caller)) {
      note_left_out(result.left_out, {denial.access + " " + denial.path, "it is a credential"});
      continue;
    } else if (denial.access == "write") {
      std::string path = granted_by(denial, "--write", denial.path);
      if (path.empty()) path = granted_by(denial, "--write", place);
      if (!path.empty()) {
        add(writes, Proposal::Kind::Write, path, denial);
        continue;
      }
    } else if (const std::string path = granted_by(denial, "--read", denial.path); !path.empty()) {
      add(reads, Proposal::Kind::Read, path, denial);
      continue;
    }
    note_left_out(result.left_out, {denial.access + " " + denial.path,
                                    denial.change.empty() ? "nothing can grant it"
                                                          : "it takes more: " + denial.change});
  }
  join_siblings(reads, caller);
  drop_covered(reads);
  drop_covered(writes);
  for (const Counted* list : {&reads, &writes, &hosts}) {
    for (const auto& [value, proposal] : *list) result.granted.push_back(proposal);
  }
  return result;
}

bool is_covered_by_write(const Proposal& read, const std::vector<Proposal>& granted) {
  return read.kind == Proposal::Kind::Read &&
         std::ranges::any_of(granted, [&](const Proposal& one) {
           return one.kind == Proposal::Kind::Write && contains(one.value, read.value);
         });
}

std::string policy_value(const Proposal& proposal, const Caller& caller) {
  const bool home = proposal.kind != Proposal::Kind::Host && !caller.home.empty() &&
                    proposal.value != caller.home && contains(caller.home, proposal.value);
  return home ? "~" + proposal.value.substr(caller.home.size()) : proposal.value;
}

}  // namespace cordon
