#include "changes/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/private_file.h"

namespace cordon {
namespace {

constexpr std::string_view kFirstOfManifest = "cordon-changes/3";
constexpr std::string_view kFirstBeforePlaces = "cordon-changes/2";
constexpr std::string_view kFirstBeforeStages = "cordon-changes/1";
constexpr std::string_view kSuffix = ".changes";
constexpr std::size_t kMostManifestBytes = std::size_t{1024} * 1024 * 1024;

using Kind = Change::Kind;
using State = Change::State;
constexpr std::array kKinds = {Kind::Added, Kind::Modified, Kind::Deleted, Kind::Mode, Kind::Type};
constexpr std::array kStates = {State::Applied, State::Held, State::Conflict, State::Lost,
                                State::Discarded};

template <typename Value, std::size_t N>
std::optional<Value> named(const std::array<Value, N>& values, std::string_view name) {
  for (const Value value : values)
    if (name_of(value) == name) return value;
  return std::nullopt;
}

Error malformed(const std::string& run_id) {
  return setup_error("what is noted of run " + run_id + " cannot be understood", 0,
                     "what it held back lies in handoff/" + run_id + " of the state directory");
}

std::string encode(const Manifest& manifest) {
  std::string text;
  add_field(text, kFirstOfManifest);
  add_field(text, manifest.run_id);
  add_field(text, manifest.time_ns);
  add_field(text, name_of(manifest.mode));
  add_field(text, manifest.stage);
  add_field(text, std::uint64_t{manifest.incomplete});
  add_field(text, manifest.pending);
  add_field(text, manifest.places.size());
  for (const std::string& place : manifest.places) add_field(text, place);
  add_field(text, manifest.records.size());
  for (const ChangeRecord& record : manifest.records) {
    add_field(text, name_of(record.change));
    add_field(text, name_of(record.state));
    for (const std::string* field : {&record.path, &record.reason, &record.top, &record.kept,
                                     &record.base, &record.put, &record.replaced}) {
      add_field(text, *field);
    }
  }
  return text;
}

std::optional<Manifest> decode(std::string_view text, const std::string& run_id) {
  FieldReader fields(text);
  Manifest manifest;
  const std::string first = fields.text();
  if (first != kFirstOfManifest && first != kFirstBeforePlaces && first != kFirstBeforeStages) {
    return std::nullopt;
  }
  manifest.run_id = fields.text();
  manifest.time_ns = fields.number();
  if (first != kFirstBeforeStages) {
    if (fields.text() == name_of(WriteMode::Staged)) manifest.mode = WriteMode::Staged;
    manifest.stage = fields.text();
    manifest.incomplete = fields.number() != 0;
    manifest.pending = fields.text();
  }
  if (first == kFirstOfManifest) {
    for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
      manifest.places.push_back(fields.text());
    }
  }
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    ChangeRecord record;
    const auto change = named(kKinds, fields.text());
    const auto state = named(kStates, fields.text());
    if (!change || !state) return std::nullopt;
    record.change = *change;
    record.state = *state;
    for (std::string* field : {&record.path, &record.reason, &record.top, &record.kept,
                               &record.base, &record.put, &record.replaced}) {
      *field = fields.text();
    }
    if (!record.path.starts_with('/') || has_dotdot(record.path)) return std::nullopt;
    manifest.records.push_back(std::move(record));
  }
  if (!fields.good() || !fields.at_end() || manifest.run_id != run_id) return std::nullopt;
  return manifest;
}

std::string shown(const std::string& path, const std::string& cwd) {
  if (path != cwd && contains(cwd, path)) return path.substr(cwd == "/" ? 1 : cwd.size() + 1);
  return path;
}

}  // namespace

std::string handoff_directory(const std::string& state_directory) {
  return join(state_directory, "handoff");
}

bool is_run_id(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> write_manifest(const std::string& handoff, const Manifest& manifest,
                            Durability durability) {
  CORDON_TRY(directory, open_private_directory(handoff));
  const std::string name = manifest.run_id + std::string(kSuffix);
  int error = replace_file(directory.get(), name, encode(manifest), 0600);
  if (error == 0 && durability == Durability::Synced) {
    const Fd file(::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() || ::fsync(file.get()) != 0 || ::fsync(directory.get()) != 0) error = errno;
  }
  if (error == 0) return {};
  return fail(setup_error("cannot note what run " + manifest.run_id + " held back", error,
                          "it lies in " + quote(join(handoff, manifest.run_id))));
}

Result<std::optional<Manifest>> read_manifest(const std::string& handoff,
                                              const std::string& run_id) {
  const Fd directory(::open(handoff.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid() && errno == ENOENT) return std::optional<Manifest>();
  if (!directory.valid()) return fail(setup_error("cannot open " + quote(handoff), errno));
  const std::string name = run_id + std::string(kSuffix);
  if (!inspect_name(directory.get(), name)) return std::optional<Manifest>();
  const auto text = read_regular(directory.get(), name, kMostManifestBytes);
  auto manifest = text ? decode(*text, run_id) : std::nullopt;
  if (!manifest) return fail(malformed(run_id));
  return std::optional(std::move(*manifest));
}

std::optional<std::int64_t> manifest_time_ns(const std::string& handoff,
                                             const std::string& run_id) {
  struct stat status {};
  if (::lstat(join(handoff, run_id + std::string(kSuffix)).c_str(), &status) != 0) {
    return std::nullopt;
  }
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool remove_manifest(const std::string& handoff, const std::string& run_id) {
  return ::unlink(join(handoff, run_id + std::string(kSuffix)).c_str()) == 0 || errno == ENOENT;
}

Result<std::vector<Manifest>> read_manifests(const std::string& handoff) {
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  std::vector<Manifest> manifests;
  const std::unique_ptr<DIR, Close> directory(::opendir(handoff.c_str()));
  if (!directory && errno == ENOENT) return manifests;
  if (!directory) return fail(setup_error("cannot open " + quote(handoff), errno));
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    if (!name.ends_with(kSuffix)) continue;
    const std::string run_id(name.substr(0, name.size() - kSuffix.size()));
    if (!is_run_id(run_id)) continue;
    CORDON_TRY(manifest, read_manifest(handoff, run_id));
    if (manifest) manifests.push_back(std::move(*manifest));
  }
  std::ranges::sort(manifests, {}, &Manifest::time_ns);
  return manifests;
}

std::vector<Change> changes_of(const std::vector<ChangeRecord>& records, const std::string& cwd) {
  std::vector<Change> changes;
  for (const ChangeRecord& record : records) {
    changes.push_back({shown(record.path, cwd), record.change, record.state, record.reason,
                       shown(record.top, cwd)});
  }
  return changes;
}

}  // namespace cordon
