#include "config/document_text.h"
#include "config/foreign/mxc_parts.h"

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
  // writable child; since then the longer path decides, as it does in a policy.
  if (!document.version.at_least(0, 8)) {
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
