#include "run/refused_places.h"

#include <array>
#include <optional>

#include "base/path.h"
#include "host/resolve.h"
#include "host/writable.h"

namespace cordon {
namespace {

struct PathList {
  std::string_view table;
  std::string_view key;
  enum class Access { Read, Write } access;
};
constexpr std::array kPathLists{PathList{"fs", "read", PathList::Access::Read},
                                PathList{"fs", "write", PathList::Access::Write},
                                PathList{"ask", "read", PathList::Access::Read},
                                PathList{"ask", "write", PathList::Access::Write}};

std::optional<Error> refuse_write(const Canonical& place, const std::string& written,
                                  DocumentRole role, const Caller& caller) {
  auto refused = role == DocumentRole::Policy ? refuse_writable(place, written, caller)
                                              : refuse_kernel_files(place, written);
  if (!refused) refused = refuse_own_inside(place, written);
  return refused ? refused : refuse_over_own(place, written);
}

std::optional<Error> refuse_entry(const std::string& written, PathList::Access access,
                                  DocumentRole role, const std::string& base,
                                  const Caller& caller) {
  // What a word stands for is chosen where the run starts.
  if (written.starts_with('@')) return std::nullopt;
  const auto place = canonicalize(written, base, caller);
  if (!place) return std::nullopt;
  if (auto refused = refuse_granted(*place, written, caller)) return refused;
  switch (access) {
    case PathList::Access::Read:
      return refuse_own_inside(*place, written);
    case PathList::Access::Write:
      return refuse_write(*place, written, role, caller);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Error> refused_places(const Node& document, DocumentRole role, const std::string& file,
                                  const Caller& caller) {
  std::vector<Error> refused;
  const std::string base(parent(file));
  for (const PathList& list : kPathLists) {
    const Node* table = document.find(list.table);
    const Node* entries = table == nullptr ? nullptr : table->find(list.key);
    if (entries == nullptr || entries->list() == nullptr) continue;
    for (const Node& entry : *entries->list()) {
      const std::string* written = entry.text();
      if (written == nullptr) continue;
      auto error = refuse_entry(*written, list.access, role, base, caller);
      if (!error) continue;
      error->place = Place{file, entry.line, entry.column};
      refused.push_back(*std::move(error));
    }
  }
  return refused;
}

}  // namespace cordon
