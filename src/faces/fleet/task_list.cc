#include "faces/fleet/task_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/node.h"
#include "faces/fleet/numbered_lines.h"
#include "policy/environment.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 5> kTaskKeys{"id", "argv", "cwd", "env", "stdin"};
constexpr MessageBounds kTaskBounds{kLongestTask, 65536};
constexpr std::size_t kLongestId = 64;
constexpr std::size_t kMarkDigits = 16;
constexpr const char* kHowTasksLook =
    R"(a task is one line: {"id": "a1", "argv": ["make", "test"]}, and may have cwd, env and stdin)";

Error bad_task(std::string what, std::string hint = kHowTasksLook) {
  return usage_error(std::move(what), std::move(hint));
}

// An argument, a variable or a path ends at a NUL byte.
Result<std::string> plain_text(const Node& node, const std::string& key) {
  const std::string* text = node.text();
  if (text == nullptr) return fail(bad_task(quote(key) + " is not a text"));
  if (text->find('\0') != std::string::npos) {
    return fail(bad_task(quote(key) + " holds a NUL byte", "leave it out"));
  }
  return *text;
}

bool is_task_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) {
           const char small = lower_case(c);
           return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '_' || c == '-';
         });
}

Result<void> take_member(const std::string& key, const Node& value, FleetTask& task) {
  if (key == "argv") {
    const NodeList* words = value.list();
    if (words == nullptr || words->empty()) {
      return fail(bad_task("\"argv\" is not a list with a command in it"));
    }
    for (const Node& word : *words) {
      CORDON_TRY(text, plain_text(word, "argv"));
      task.argv.push_back(std::move(text));
    }
    if (task.argv.front().empty()) return fail(bad_task("the command in \"argv\" is empty"));
    return {};
  }
  if (key == "env") {
    const NodeMap* variables = value.map();
    if (variables == nullptr) return fail(bad_task("\"env\" is not an object of names and texts"));
    for (const auto& [name, member] : *variables) {
      if (!is_valid_variable_name(name)) {
        return fail(bad_task(quote(name) + " is not the name of a variable"));
      }
      CORDON_TRY(text, plain_text(member, name));
      task.env.emplace(name, std::move(text));
    }
    return {};
  }
  if (key == "stdin") {
    const std::string* text = value.text();
    if (text == nullptr) return fail(bad_task("\"stdin\" is not a text"));
    task.input = *text;
    return {};
  }
  CORDON_TRY(text, plain_text(value, key));
  if (key == "cwd") {
    if (text.empty()) return fail(bad_task("\"cwd\" is empty"));
    task.cwd = std::move(text);
    return {};
  }
  if (!is_task_id(text)) {
    return fail(bad_task("\"id\" is " + shown(text),
                         "an id has letters, digits, '.', '_' and '-', at most 64 of them"));
  }
  task.id = std::move(text);
  return {};
}

Error at_line(Error error, const std::string& path, std::uint64_t number) {
  error.place = Place{path, static_cast<unsigned>(number), 1};
  error.notes.emplace_back("nothing was submitted");
  return error;
}

Result<void> check_variables(const FleetTask& task, const std::set<std::string>& variables) {
  for (const auto& [name, value] : task.env) {
    if (variables.contains(name)) continue;
    return fail(usage_error("the policy passes no variable " + quote(name),
                            "list it in [env] pass of the policy, or leave it out of the task"));
  }
  return {};
}

// An id in 16 bytes, and the line it stood in.
struct SeenId {
  std::array<std::uint8_t, 16> digest;
  std::uint64_t line;
  bool operator<(const SeenId& other) const { return digest < other.digest; }
};

SeenId seen_id(const std::string& id, std::uint64_t line) {
  SeenId seen{{}, line};
  const Digest whole = sha256(id);
  std::copy_n(whole.begin(), seen.digest.size(), seen.digest.begin());
  return seen;
}

Result<void> check_unique(std::vector<SeenId> ids, const std::string& path) {
  // Stable: of two that are the same the earlier line comes first.
  std::ranges::stable_sort(ids, {}, &SeenId::digest);
  const auto twice = std::ranges::adjacent_find(ids, {}, &SeenId::digest);
  if (twice == ids.end()) return {};
  return fail(
      at_line(usage_error("this id stands in line " + std::to_string(twice->line) + " as well",
                          "give each task its own, or none of them"),
              path, std::next(twice)->line));
}

Result<Fd> open_list(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    Error unreadable = usage_error("cannot read " + quote(path), kHowTasksLook);
    unreadable.error_number = errno;
    return fail(std::move(unreadable));
  }
  if (S_ISDIR(status.st_mode))
    return fail(usage_error(quote(path) + " is a directory", "name a file of tasks in it"));
  return file;
}

}  // namespace

Result<FleetTask> read_task(std::string_view line) {
  const auto node = read_json_message(line, kTaskBounds);
  if (!node) return fail(bad_task("this line is no JSON object: " + node.error().what));
  const NodeMap* members = node->map();
  if (members == nullptr) return fail(bad_task("this line is no JSON object"));
  FleetTask task;
  for (const auto& [key, value] : *members) {
    if (std::ranges::count(kTaskKeys, key) == 0) {
      const auto meant = nearest(key, kTaskKeys);
      return fail(
          bad_task("a task has no key " + shown(key),
                   meant ? "did you mean \"" + std::string(*meant) + "\"?" : kHowTasksLook));
    }
    CORDON_CHECK(take_member(key, value, task));
  }
  if (task.argv.empty()) return fail(bad_task("the task has no \"argv\""));
  return task;
}

std::string stable_task_id(std::string_view policy_hash, const FleetTask& task,
                           std::uint64_t index) {
  std::string text(policy_hash);
  for (const std::string& word : task.argv) text.append(1, '\0').append(word);
  text.append(2, '\0').append(std::to_string(index));
  return sha256_hex(text).substr(0, kMarkDigits);
}

std::set<std::string> settable_variables(const Policy& policy) {
  std::set<std::string> names(policy.env.pass.begin(), policy.env.pass.end());
  for (const auto& [name, value] : policy.env.set) names.insert(name);
  return names;
}

Result<TaskListing> check_tasks(const std::string& path, const std::set<std::string>& variables,
                                const TakeTaskLine& take,
                                const std::function<bool()>& interrupted) {
  CORDON_TRY(file, open_list(path));
  NumberedLines lines(file.get(), kLongestTask);
  NumberedLine line;
  TaskListing listing;
  std::vector<SeenId> ids;
  std::string chain;
  std::uint64_t offset = 0;
  for (;;) {
    auto more = lines.next(line);
    if (!more) {
      more.error().what += " " + quote(path);
      return fail(std::move(more).error());
    }
    if (!*more) break;
    constexpr std::uint64_t kOften = 512;
    if (line.number % kOften == 0 && interrupted()) {
      return fail(usage_error("interrupted, and nothing was submitted"));
    }
    if (line.overlong) {
      return fail(at_line(bad_task("the line is longer than " + format_size(kLongestTask),
                                   "put what is long into a file that the policy grants"),
                          path, line.number));
    }
    if (line.text.empty()) continue;
    auto task = read_task(line.text);
    if (!task) return fail(at_line(std::move(task).error(), path, line.number));
    if (auto good = check_variables(*task, variables); !good)
      return fail(at_line(std::move(good).error(), path, line.number));
    if (!task->id.empty()) ids.push_back(seen_id(task->id, line.number));
    CORDON_CHECK(take(line.text, offset, listing.count));
    offset += line.text.size() + 1;
    ++listing.count;
    chain = sha256_hex(chain.append(line.text));
  }
  if (listing.count == 0) {
    return fail(usage_error("there is no task in " + quote(path), kHowTasksLook));
  }
  CORDON_CHECK(check_unique(std::move(ids), path));
  listing.hash = std::move(chain);
  return listing;
}

std::string mark_of(std::string_view line) { return sha256_hex(line).substr(0, kMarkDigits); }

std::string index_row(std::uint64_t offset, std::string_view line) {
  std::array<char, kIndexRow + 1> row{};
  (void)std::snprintf(row.data(), row.size(), "%016llx %s\n",
                      static_cast<unsigned long long>(offset), mark_of(line).c_str());
  return std::string(row.data(), kIndexRow);
}

std::optional<IndexEntry> read_index_row(std::string_view row) {
  if (row.size() != kIndexRow || row.back() != '\n' || row[kMarkDigits] != ' ') return std::nullopt;
  IndexEntry entry;
  for (const char c : row.substr(0, kMarkDigits)) {
    const char* digits = "0123456789abcdef";
    const auto value = std::string_view(digits).find(c);
    if (value == std::string_view::npos) return std::nullopt;
    entry.offset = entry.offset << 4U | value;
  }
  entry.mark = std::string(row.substr(kMarkDigits + 1, kMarkDigits));
  return entry;
}

}  // namespace cordon
