// Manifest: what a run changed and did not write for good, as a file beside handoff/RUN: of a live
// run what was held back, of a staged one everything. It is what `cordon changes` reads and what
// the report lists. Owner-only, written whole and synced: an entry that says "applied" is never
// ahead of the file it speaks of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "cordon/change.h"
#include "cordon/policy.h"

namespace cordon {

// Records as text whose fields end in NUL: a path has any byte but that one.

inline void add_field(std::string& text, std::string_view field) {
  text.append(field);
  text.push_back('\0');
}
inline void add_field(std::string& text, std::uint64_t number) {
  add_field(text, std::string_view(std::to_string(number)));
}

// Reads one field after the other; after the first one that is missing or malformed nothing is
// believed.
class FieldReader {
 public:
  // `text` outlives the reader.
  explicit FieldReader(std::string_view text) : text_(text) {}
  std::string text() {
    const std::size_t end = text_.find('\0');
    if (end == std::string_view::npos) {
      good_ = false;
      text_ = {};
      return {};
    }
    std::string field(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return field;
  }
  // Exactly that many bytes, whatever they are.
  std::string bytes(std::uint64_t size) {
    if (size > text_.size()) {
      good_ = false;
      return {};
    }
    std::string field(text_.substr(0, size));
    text_.remove_prefix(size);
    return field;
  }
  std::uint64_t number() {
    const auto value = parse_number(text());
    if (!value) good_ = false;
    return value.value_or(0);
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

struct ChangeRecord {
  Change::Kind change = Change::Kind::Modified;
  Change::State state = Change::State::Held;
  std::string path;  // absolute
  std::string reason;
  std::string top;   // absolute: the protected object it belongs to
  std::string kept;  // what the run made of it, absolute; empty if it deleted it
  std::string base;  // fingerprint of what the host had when the run began; of a stage a host_mark
  // The same of what `apply` put there, and where what it replaced lies; empty before that.
  std::string put;
  std::string replaced;
  bool operator==(const ChangeRecord&) const = default;
};

struct Manifest {
  std::string run_id;
  std::uint64_t time_ns = 0;  // when the run ended
  std::vector<ChangeRecord> records;
  WriteMode mode = WriteMode::Live;
  std::string stage;        // of a staged run: its directory
  bool incomplete = false;  // the machine went down during the run: files may lack their end
  // What the run could write, or where it was started; empty in a note of an earlier release.
  std::vector<std::string> places;
  // While changes of a stage are taken: what is half done is found by this word (stage_take.h).
  std::string pending;
};

// Where the handoff directories of all runs lie.
std::string handoff_directory(const std::string& state_directory);
bool is_run_id(std::string_view text);

// Synced: what it speaks of is on the disk, and must be found after a power cut.
enum class Durability { Synced, None };
Result<void> write_manifest(const std::string& handoff, const Manifest& manifest,
                            Durability durability = Durability::Synced);
// Nothing if that run held nothing back.
Result<std::optional<Manifest>> read_manifest(const std::string& handoff,
                                              const std::string& run_id);
// When it was written last; nothing if that run has none.
std::optional<std::int64_t> manifest_time_ns(const std::string& handoff, const std::string& run_id);
// True if there is none any more. What it speaks of is left where it is.
bool remove_manifest(const std::string& handoff, const std::string& run_id);
// Every run that has one, the oldest first.
Result<std::vector<Manifest>> read_manifests(const std::string& handoff);

// As the report shows them: below `cwd` by their relative path.
std::vector<Change> changes_of(const std::vector<ChangeRecord>& records, const std::string& cwd);

}  // namespace cordon
