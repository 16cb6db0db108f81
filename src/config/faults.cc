#include "config/faults.h"

#include <algorithm>
#include <optional>

namespace cordon {
namespace {

constexpr std::size_t kMostFaults = 100;

using Path = std::vector<std::string>;  // the keys that lead to a member

bool stands_at(const Node& node, const Place& place) {
  return node.line == place.line && node.column == place.column;
}

bool key_stands_at(const Node& node, const Place& place) {
  return node.key_line == place.line && node.key_column == place.column;
}

// Whether an element of the list, or something in one, was taken out.
bool take_out_of(NodeList& list, const Place& place);

// The keys of what was taken out.
std::optional<Path> take_out_of(NodeMap& map, const Place& place) {
  for (auto member = map.begin(); member != map.end(); ++member) {
    auto& [key, node] = *member;
    Path path{key};
    if (key_stands_at(node, place) || stands_at(node, place)) {
      map.erase(member);
      return path;
    }
    if (auto* members = std::get_if<NodeMap>(&node.value)) {
      if (const auto below = take_out_of(*members, place)) {
        path.insert(path.end(), below->begin(), below->end());
        return path;
      }
    }
    auto* list = std::get_if<NodeList>(&node.value);
    if (list == nullptr || !take_out_of(*list, place)) continue;
    // An empty list would be another fault in some places.
    if (list->empty()) map.erase(member);
    return path;
  }
  return std::nullopt;
}

bool take_out_of(NodeList& list, const Place& place) {
  for (auto element = list.begin(); element != list.end(); ++element) {
    if (stands_at(*element, place)) {
      list.erase(element);
      return true;
    }
    if (auto* members = std::get_if<NodeMap>(&element->value); members != nullptr) {
      if (take_out_of(*members, place)) return true;
    }
    if (auto* below = std::get_if<NodeList>(&element->value); below != nullptr) {
      if (take_out_of(*below, place)) return true;
    }
  }
  return false;
}

void drop(NodeMap& document, const std::string& key) {
  std::erase_if(document, [&](const auto& member) { return member.first == key; });
}

// What means something only together with what was taken out.
void drop_what_follows(NodeMap& document, const Path& taken) {
  if (taken.front() == "version") document.emplace_back("version", Node(1));
  const bool agent = taken.front() == "extends" || taken.front() == "agent";
  if (agent) drop(document, "agent");
}

// False if there is nothing more to be found.
bool take_out(Node& document, const Place& place) {
  auto* members = std::get_if<NodeMap>(&document.value);
  if (members == nullptr) return false;
  if (const auto taken = take_out_of(*members, place)) {
    drop_what_follows(*members, *taken);
    return true;
  }
  return false;
}

// The document with a version, if that it has none is the fault: its place is also that of the
// first key.
std::optional<Node> with_version(const Node& document, const Error& fault) {
  constexpr std::string_view kMissing = "missing key \"version\"";
  if (fault.what != kMissing || document.map() == nullptr) return std::nullopt;
  Node whole = document;
  whole.set("version", Node(1));
  return whole;
}

std::optional<Error> first_fault(const Node& document, DocumentRole role, const std::string& file,
                                 const std::string& base, const PresetHost& host) {
  if (role == DocumentRole::Ceiling) {
    auto ceiling = decode_ceiling(document, file, base);
    return ceiling ? std::nullopt : std::optional(std::move(ceiling).error());
  }
  auto policy = decode_policy(document, file, base, host);
  return policy ? std::nullopt : std::optional(std::move(policy).error());
}

}  // namespace

std::vector<Error> faults_in(Node document, DocumentRole role, const std::string& file,
                             const std::string& base, const PresetHost& host) {
  std::vector<Error> faults;
  while (faults.size() < kMostFaults) {
    auto fault = first_fault(document, role, file, base, host);
    if (!fault) break;
    faults.push_back(*std::move(fault));
    if (auto whole = with_version(document, faults.back())) {
      document = *std::move(whole);
      continue;
    }
    if (!faults.back().place || !take_out(document, *faults.back().place)) break;
  }
  return faults;
}

}  // namespace cordon
