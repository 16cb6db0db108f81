#include "faces/loop/progress.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/section.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon::loop {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 20U;
constexpr const char* kName = "progress.json";
constexpr const char* kNewName = "progress.json.new";
constexpr std::array kStates{FeatureState::Pending, FeatureState::Done, FeatureState::Failed,
                             FeatureState::Skipped};

constexpr std::array<std::string_view, 3> kKeys{"version", "plan", "features"};
constexpr std::array<std::string_view, 7> kProgressKeys{
    "id", "state", "attempts", "wall_ms", "tokens", "micro_dollars", "reason"};

std::uint64_t number(const Node* node) {
  const auto* value = node == nullptr ? nullptr : std::get_if<std::int64_t>(&node->value);
  return value == nullptr || *value < 0 ? 0 : static_cast<std::uint64_t>(*value);
}

Result<FeatureProgress> decode(const Node& node, const std::string& name) {
  CORDON_TRY(section, Section::open(node, name, "features", kProgressKeys));
  CORDON_TRY(id, section.text("id"));
  CORDON_TRY(state, section.text("state"));
  CORDON_TRY(reason, section.text("reason"));
  if (!id || !state) return fail(section.error_at(node, "a feature without id or state"));
  FeatureProgress progress;
  progress.id = *id->text;
  bool known = false;
  for (const FeatureState one : kStates) {
    if (name_of(one) != *state->text) continue;
    progress.state = one;
    known = true;
  }
  if (!known) return fail(section.error_at(*state->node, "no state of a feature"));
  progress.attempts = number(node.find("attempts"));
  progress.wall_ms = number(node.find("wall_ms"));
  progress.spent = {number(node.find("tokens")), number(node.find("micro_dollars"))};
  if (reason) progress.reason = *reason->text;
  return progress;
}

Node encode(const Progress& progress) {
  NodeList features;
  for (const FeatureProgress& one : progress.features) {
    Node node{NodeMap{}};
    node.set("id", one.id).set("state", name_of(one.state)).set("attempts", one.attempts);
    node.set("wall_ms", one.wall_ms).set("tokens", one.spent.tokens);
    node.set("micro_dollars", one.spent.micro_dollars).set("reason", one.reason);
    features.push_back(std::move(node));
  }
  Node document{NodeMap{}};
  document.set("version", 1).set("plan", progress.plan_hash).set("features", std::move(features));
  return document;
}

}  // namespace

std::string_view name_of(FeatureState state) {
  switch (state) {
    case FeatureState::Pending:
      return "pending";
    case FeatureState::Done:
      return "done";
    case FeatureState::Failed:
      return "failed";
    case FeatureState::Skipped:
      return "skipped";
  }
  return "pending";
}

std::uint64_t Progress::wall_ms() const {
  std::uint64_t sum = 0;
  for (const FeatureProgress& one : features) sum += one.wall_ms;
  return sum;
}

Spent Progress::spent() const {
  Spent sum;
  for (const FeatureProgress& one : features) {
    sum.tokens += one.spent.tokens;
    sum.micro_dollars += one.spent.micro_dollars;
  }
  return sum;
}

Progress fresh_progress(const Features& features, std::string plan_hash) {
  Progress progress{std::move(plan_hash), {}};
  for (const Feature& feature : features) {
    FeatureProgress one;
    one.id = feature.id;
    if (feature.checked) one.state = FeatureState::Done;
    progress.features.push_back(std::move(one));
  }
  return progress;
}

std::string hash_of(const Features& features) {
  NodeList list;
  for (const Feature& feature : features) {
    Node node{NodeMap{}};
    node.set("id", feature.id).set("title", feature.title).set("prompt", feature.prompt);
    node.set("prompt_file", feature.prompt_file).set("verify", feature.verify);
    list.push_back(std::move(node));
  }
  return sha256_hex(write_json(Node(std::move(list)), JsonStyle::Compact));
}

ProgressFile::ProgressFile(const std::string& directory, Fd place, Fd lock)
    : path_(join(directory, kName)), place_(std::move(place)), lock_(std::move(lock)) {}

Result<ProgressFile> ProgressFile::open(const std::string& directory) {
  CORDON_TRY(place, open_private_directory(directory));
  Fd lock(::openat(place.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid()) return fail(setup_error("cannot open the lock of the loop", errno));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK) return fail(setup_error("cannot lock the loop's state", errno));
    return fail(usage_error("another loop works on this project", "wait for it, or end it"));
  }
  return ProgressFile(directory, std::move(place), std::move(lock));
}

Result<std::optional<Progress>> ProgressFile::read() const {
  const Fd file(::openat(place_.get(), kName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) {
    if (errno == ENOENT) return std::optional<Progress>();
    return fail(setup_error("cannot open the loop's state " + quote(path_), errno));
  }
  const auto text = read_all(file.get(), kLargest);
  if (!text) return fail(setup_error("cannot read the loop's state " + quote(path_), errno));
  CORDON_TRY(document, read_json(*text, path_));
  CORDON_TRY(section, Section::open(document, path_, "", kKeys));
  CORDON_TRY(plan, section.text("plan"));
  const Node* member = section.find("features");
  const NodeList* features = member == nullptr ? nullptr : member->list();
  const Error unknown =
      section.error_at(document, "this is no state of a loop", "remove it to start anew");
  if (features == nullptr) return fail(unknown);
  if (number(section.find("version")) != 1 || !plan) return fail(unknown);
  Progress progress{*plan->text, {}};
  for (const Node& node : *features) {
    CORDON_TRY(one, decode(node, path_));
    progress.features.push_back(std::move(one));
  }
  return std::optional(std::move(progress));
}

Result<void> ProgressFile::write(const Progress& progress) const {
  const std::string text = write_json(encode(progress), JsonStyle::Pretty) + "\n";
  const auto failed = [&] {
    return fail(setup_error("cannot write the loop's state " + quote(path_), errno));
  };
  const Fd file(::openat(place_.get(), kNewName,
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return failed();
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t done = ::write(file.get(), rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failed();
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  if (::fsync(file.get()) < 0) return failed();
  if (::renameat(place_.get(), kNewName, place_.get(), kName) < 0) return failed();
  return {};
}

}  // namespace cordon::loop
