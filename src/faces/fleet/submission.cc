#include "faces/fleet/submission.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cordon/runner.h"
#include "host/inspect.h"
#include "host/resolve.h"

namespace cordon {
namespace {

constexpr std::string_view kSubmissionSchema = "cordon.fleet-submission/1";
constexpr MessageBounds kRecordBounds{std::size_t{256} << 20U, std::size_t{4} << 20U};
// Room for a record, taken when an attempt begins: a disk that fills up meanwhile costs the streams
// in it, not the record.
constexpr off_t kReserved = off_t{64} << 10U;

Error cannot_write_file(const std::string& path, int error) {
  return setup_error("cannot write " + quote(path), error,
                     error == ENOSPC || error == EDQUOT
                         ? "make room there"
                         : "the directory of the submission has to be writable here");
}

Result<std::string> read_file(int directory, const std::string& name) {
  const Fd file(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return fail(setup_error("cannot read " + quote(name), errno));
  std::string text;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(setup_error("cannot read " + quote(name), errno));
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::string now_text() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string text_of(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  const std::string* text = found != nullptr ? found->text() : nullptr;
  return text != nullptr ? *text : std::string();
}

std::uint64_t member_number(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  const auto* number = found != nullptr ? std::get_if<std::int64_t>(&found->value) : nullptr;
  return number != nullptr && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

Node node_of_file(int directory, const std::string& name) {
  const auto text = read_file(directory, name);
  if (!text) return {};
  const auto node = read_json_message(*text, kRecordBounds);
  return node ? *node : Node();
}

std::string attempt_file(std::uint64_t index, std::uint64_t attempt, std::string_view what) {
  return "attempts/" + std::to_string(index) + "." + std::to_string(attempt) + std::string(what);
}

std::string now_file(std::uint64_t index) { return "attempts/" + std::to_string(index) + ".now"; }

std::string final_file(std::uint64_t index) { return "final/" + std::to_string(index) + ".json"; }

std::string_view word_of(AttemptEnd::How how) {
  switch (how) {
    case AttemptEnd::How::Final:
      return "final";
    case AttemptEnd::How::Requeued:
      return "requeued";
    case AttemptEnd::How::Ended:
      return "ended";
  }
  return "ended";
}

// A report without what may be long in it.
Node without_streams(const Node& report) {
  Node smaller{NodeMap{}};
  if (report.map() == nullptr) return report;
  for (const auto& [key, value] : *report.map()) {
    const bool is_stream = key == "stdout" || key == "stderr";
    if (key == "truncated") {
      smaller.set(key, true);
    } else {
      smaller.set(key, is_stream && value.text() != nullptr ? Node("") : value);
    }
  }
  return smaller;
}

std::string json_line_of(const Node& node) { return write_json(node, JsonStyle::Compact) + "\n"; }

// 0, or why not.
int write_durably(int file, std::string_view text) {
  int error = write_whole(file, text);
  if (error == 0 && ::ftruncate(file, static_cast<off_t>(text.size())) < 0) error = errno;
  if (error == 0 && ::fsync(file) < 0) error = errno;
  return error;
}

}  // namespace

std::string Submission::default_place(const Caller& caller) {
  return join(caller.state_directory, "fleet");
}

Result<Submission> Submission::make(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) < 0) return fail(cannot_write_file(directory, errno));
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Submission made(directory, std::move(opened));
  for (const char* part : {"attempts", "final", "log"}) {
    if (::mkdirat(made.opened_.get(), part, 0700) == 0) continue;
    const int error = errno;
    made.remove();
    return fail(cannot_write_file(join(directory, part), error));
  }
  return made;
}

Result<Submission> Submission::open(const std::string& directory) {
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!opened.valid() || ::fstat(opened.get(), &status) < 0) {
    return fail(setup_error("cannot open the submission " + quote(directory), errno,
                            "its directory has to be on a file system that is here as well"));
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0) {
    return fail(setup_error(
        "the submission " + quote(directory) + " belongs to or can be written by others", 0,
        "it is asked by whoever submitted it"));
  }
  Submission found(directory, std::move(opened));
  CORDON_TRY(text, read_file(found.opened_.get(), "job.json"));
  CORDON_TRY(node, read_json(text, join(directory, "job.json")));
  if (text_of(node, "schema") != kSubmissionSchema) {
    return fail(setup_error(quote(directory) + " is no submission that this release knows", 0,
                            "ask with the release of cordon that submitted it"));
  }
  found.facts_ = {
      member_number(node, "tasks"), member_number(node, "attempts"), text_of(node, "policy"),
      text_of(node, "list"),        text_of(node, "policy_hash"),    text_of(node, "cwd"),
      text_of(node, "program"),     text_of(node, "name"),           text_of(node, "cluster")};
  return found;
}

Result<Submission> Submission::find(const std::string& word, const Caller& caller) {
  if (!parse_number(word)) {
    CORDON_TRY(place, canonicalize(word, caller.cwd, caller));
    return open(place.path);
  }
  const std::string jobs = join(default_place(caller), "jobs");
  const Fd directory(::open(jobs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto text = directory.valid() ? read_file(directory.get(), word)
                                      : Result<std::string>(fail(setup_error("", ENOENT)));
  if (!text || text->empty()) {
    return fail(usage_error("no job " + word + " was submitted by cordon fleet submit here",
                            "name the directory of the submission instead"));
  }
  return open(text->substr(0, text->find('\n')));
}

Result<std::string> Submission::job() const {
  const auto text = read_file(opened_.get(), "job");
  if (text && text->size() > 1) return text->substr(0, text->find('\n'));
  return fail(setup_error("nothing tells which job " + quote(directory_) + " is", 0,
                          "it was cut off while it was submitted: squeue tells whether there is "
                          "one, by the name " +
                              facts_.name));
}

Result<void> Submission::write(const std::string& name, std::string_view text) const {
  return put(name, text, text);
}

// Whole or not at all; what is there is replaced.
Result<void> Submission::put(const std::string& name, std::string_view text,
                             std::string_view smaller) const {
  const std::string fresh = name + "." + random_id();
  const Fd file(
      ::openat(opened_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  int error = file.valid() ? 0 : errno;
  if (error == 0) error = write_durably(file.get(), text);
  if (error == ENOSPC || error == EDQUOT) {
    error = ::lseek(file.get(), 0, SEEK_SET) < 0 || ::ftruncate(file.get(), 0) < 0 ? errno : 0;
    if (error == 0) error = write_durably(file.get(), smaller);
  }
  if (error == 0 && ::renameat(opened_.get(), fresh.c_str(), opened_.get(), name.c_str()) < 0)
    error = errno;
  if (error == 0) return {};
  (void)::unlinkat(opened_.get(), fresh.c_str(), 0);
  return fail(cannot_write_file(join(directory_, name), error));
}

Result<void> Submission::describe(SubmissionFacts facts) {
  facts_ = std::move(facts);
  Node node{NodeMap{}};
  node.set("schema", kSubmissionSchema)
      .set("tasks", facts_.tasks)
      .set("attempts", facts_.attempts)
      .set("policy", facts_.policy)
      .set("list", facts_.list)
      .set("policy_hash", facts_.policy_hash)
      .set("cwd", facts_.cwd)
      .set("program", facts_.program)
      .set("name", facts_.name)
      .set("cluster", facts_.cluster);
  return write("job.json", json_line_of(node));
}

Result<void> Submission::submitted(const std::string& job, const Caller& caller) const {
  CORDON_CHECK(write("job", job + "\n"));
  const std::string jobs = join(default_place(caller), "jobs");
  CORDON_TRY(directory, open_private_directory(jobs));
  const std::string fresh = job + "." + random_id();
  const Fd file(
      ::openat(directory.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  int error = file.valid() ? write_durably(file.get(), directory_ + "\n") : errno;
  if (error == 0 && ::renameat(directory.get(), fresh.c_str(), directory.get(), job.c_str()) < 0)
    error = errno;
  if (error == 0) return {};
  (void)::unlinkat(directory.get(), fresh.c_str(), 0);
  return fail(cannot_write_file(join(jobs, job), error));
}

void Submission::remove() const {
  const auto clear = [&](const char* part) {
    const int directory = ::openat(opened_.get(), part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const DirectoryStream names(directory >= 0 ? ::fdopendir(directory) : nullptr);
    while (const dirent* entry = names ? ::readdir(names.get()) : nullptr)
      (void)::unlinkat(directory, entry->d_name, 0);
    if (std::string_view(part) != ".") (void)::unlinkat(opened_.get(), part, AT_REMOVEDIR);
  };
  for (const char* part : {"attempts", "final", "log", "."}) clear(part);
  (void)::rmdir(directory_.c_str());
}

Result<void> Submission::check_policy() const {
  CORDON_TRY(text, read_file(opened_.get(), facts_.policy));
  if (sha256_hex(text) == facts_.policy_hash) return {};
  return fail(
      setup_error(quote(join(directory_, facts_.policy)) + " is not the policy that was submitted",
                  0, "submit it anew"));
}

Result<FleetTask> Submission::task(std::uint64_t index) const {
  const Error spoilt =
      setup_error("the list of tasks in " + quote(directory_) + " is not what was submitted", 0,
                  "submit it anew");
  const Fd rows(::openat(opened_.get(), (facts_.list + ".index").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd list(::openat(opened_.get(), (facts_.list + ".jsonl").c_str(), O_RDONLY | O_CLOEXEC));
  std::string row(kIndexRow, '\0');
  if (!rows.valid() || !list.valid()) return fail(spoilt);
  if (::pread(rows.get(), row.data(), row.size(), static_cast<off_t>(index * kIndexRow)) !=
      static_cast<ssize_t>(row.size()))
    return fail(spoilt);
  const auto entry = read_index_row(row);
  if (!entry) return fail(spoilt);
  std::string line(kLongestTask + 1, '\0');
  const ssize_t got =
      ::pread(list.get(), line.data(), line.size(), static_cast<off_t>(entry->offset));
  line.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  line.resize(std::min(line.find('\n'), line.size()));
  if (mark_of(line) != entry->mark) return fail(spoilt);
  return read_task(line);
}

std::string Submission::task_id(std::uint64_t index) const {
  const auto read = task(index);
  if (!read) return "task-" + std::to_string(index);
  return read->id.empty() ? stable_task_id(facts_.policy_hash, *read, index) : read->id;
}

std::uint64_t Submission::newest(std::uint64_t index) const {
  const auto text = read_file(opened_.get(), now_file(index));
  return text ? parse_number(*text).value_or(0) : 0;
}

std::uint64_t Submission::number_of_attempt(std::uint64_t index, std::uint64_t restarts) const {
  const auto asked_for_another = [&](std::uint64_t attempt) {
    const Node ended = node_of_file(opened_.get(), attempt_file(index, attempt, ".end.json"));
    return text_of(ended, "end") == word_of(AttemptEnd::How::Requeued);
  };
  std::uint64_t number = restarts + 1;
  while (asked_for_another(number)) ++number;
  return number;
}

bool Submission::is_newest(std::uint64_t index, std::uint64_t attempt) const {
  return newest(index) <= attempt;
}

Result<bool> Submission::begin(std::uint64_t index, std::uint64_t attempt,
                               const std::string& node) const {
  if (newest(index) >= attempt) return false;
  Node begun{NodeMap{}};
  begun.set("attempt", attempt).set("node", node).set("began", now_text());
  const std::string name = attempt_file(index, attempt, ".json");
  CORDON_CHECK(write(name, json_line_of(begun)));
  const std::string room = attempt_file(index, attempt, ".room");
  const Fd file(::openat(opened_.get(), room.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const int error = file.valid() ? ::posix_fallocate(file.get(), 0, kReserved) : errno;
  if (error != 0) {
    (void)::unlinkat(opened_.get(), room.c_str(), 0);
    return fail(cannot_write_file(join(directory_, room), error));
  }
  CORDON_CHECK(write(now_file(index), std::to_string(attempt)));
  return true;
}

Result<void> Submission::end(std::uint64_t index, std::uint64_t attempt,
                             const AttemptEnd& end) const {
  const auto line = [&](const Node& report) {
    Node node{NodeMap{}};
    node.set("end", word_of(end.how)).set("ended", now_text());
    node.set("error", end.error ? Node(message(*end.error)) : Node());
    node.set("report", report);
    return json_line_of(node);
  };
  (void)::unlinkat(opened_.get(), attempt_file(index, attempt, ".room").c_str(), 0);
  return put(attempt_file(index, attempt, ".end.json"), line(end.report),
             line(without_streams(end.report)));
}

Node Submission::attempts_of(std::uint64_t index, std::uint64_t last) const {
  NodeList list;
  for (std::uint64_t attempt = 1; attempt <= last; ++attempt) {
    const Node begun = node_of_file(opened_.get(), attempt_file(index, attempt, ".json"));
    const Node ended = node_of_file(opened_.get(), attempt_file(index, attempt, ".end.json"));
    const auto member = [](const Node& from, std::string_view key) {
      const Node* found = from.find(key);
      return found != nullptr ? *found : Node();
    };
    Node node{NodeMap{}};
    node.set("attempt", attempt)
        .set("node", member(begun, "node"))
        .set("began", member(begun, "began"))
        .set("ended", member(ended, "ended"))
        // Whoever ended it had no time to say so.
        .set("end", ended.map() != nullptr ? member(ended, "end") : Node("lost"))
        .set("error", member(ended, "error"));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Result<bool> Submission::finish(std::uint64_t index, std::uint64_t attempt,
                                const Node& report) const {
  const Node attempts = attempts_of(index, attempt);
  const std::string id = task_id(index);
  const auto line = [&](const Node& with) {
    return json_line_of(
        Node(NodeMap{}).set("id", id).set("attempts", attempts).set("report", with));
  };
  const std::string fresh = "final/." + std::to_string(index) + "." + random_id();
  CORDON_CHECK(put(fresh, line(report), line(without_streams(report))));
  const int linked =
      ::linkat(opened_.get(), fresh.c_str(), opened_.get(), final_file(index).c_str(), 0);
  const int error = linked == 0 ? 0 : errno;
  (void)::unlinkat(opened_.get(), fresh.c_str(), 0);
  (void)::fsync(opened_.get());
  if (error == 0) return true;
  if (error == EEXIST) return false;
  return fail(cannot_write_file(join(directory_, final_file(index)), error));
}

bool Submission::is_final(std::uint64_t index) const {
  return ::faccessat(opened_.get(), final_file(index).c_str(), F_OK, 0) == 0;
}

Result<std::set<std::uint64_t>> Submission::final_tasks() const {
  const int directory = ::openat(opened_.get(), "final", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const DirectoryStream names(directory >= 0 ? ::fdopendir(directory) : nullptr);
  if (!names) return fail(setup_error("cannot read " + quote(join(directory_, "final")), errno));
  std::set<std::uint64_t> found;
  while (const dirent* entry = ::readdir(names.get())) {
    const std::string_view name = entry->d_name;
    const auto index = parse_number(name.substr(0, name.find('.')));
    if (index && name.ends_with(".json") && *index < facts_.tasks) found.insert(*index);
  }
  return found;
}

Result<std::string> Submission::record(std::uint64_t index) const {
  return read_file(opened_.get(), final_file(index));
}

Node Submission::report_of(std::uint64_t index, std::uint64_t attempt) const {
  const Node ended = node_of_file(opened_.get(), attempt_file(index, attempt, ".end.json"));
  const Node* report = ended.find("report");
  return report != nullptr ? *report : Node();
}

Result<void> Submission::mark_cancelled() const { return write("cancelled", "\n"); }

bool Submission::is_cancelled() const {
  return ::faccessat(opened_.get(), "cancelled", F_OK, 0) == 0;
}

Node refused_report(const Error& error) {
  Report report;
  report.run_id = random_id();
  report.error = error;
  const std::string text = report.json();
  const auto node = read_json_message(text, kRecordBounds);
  return node ? *node : Node();
}

}  // namespace cordon
