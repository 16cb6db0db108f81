// The tasks of a fleet as a person writes them: JSON lines with closed keys, one task each. All of
// them are checked, and copied with an index, before anything is submitted; of a list with a
// hundred thousand lines one is in memory at a time, and 24 bytes of each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cordon/policy.h"

namespace cordon {

struct FleetTask {
  std::string id;  // as written; empty: it has none
  std::vector<std::string> argv;
  std::string cwd;  // absolute, or relative to where it was submitted; empty: there
  std::map<std::string, std::string> env;
  std::optional<std::string> input;  // what the command reads; absent: nothing
};

// One line. The error has no place.
Result<FleetTask> read_task(std::string_view line);

// The same for the same policy, command and place in the list.
std::string stable_task_id(std::string_view policy_hash, const FleetTask& task,
                           std::uint64_t index);

// What a policy lets a task set: names that it passes on or sets itself.
std::set<std::string> settable_variables(const Policy& policy);

struct TaskListing {
  std::uint64_t count = 0;
  std::string hash;  // of all lines
};
// Reads the list once: checks every line and hands on its text and where it begins. Stops at the
// first that is bad, with its number. `interrupted` is asked now and then.
using TakeTaskLine =
    std::function<Result<void>(std::string_view text, std::uint64_t offset, std::uint64_t index)>;
Result<TaskListing> check_tasks(const std::string& path, const std::set<std::string>& variables,
                                const TakeTaskLine& take, const std::function<bool()>& interrupted);

// The row of a task in the index, all of one length.
inline constexpr std::size_t kIndexRow = 34;
std::string index_row(std::uint64_t offset, std::string_view line);
struct IndexEntry {
  std::uint64_t offset = 0;
  std::string mark;  // of the line
};
std::optional<IndexEntry> read_index_row(std::string_view row);
std::string mark_of(std::string_view line);

inline constexpr std::size_t kLongestTask = std::size_t{256} << 10U;

}  // namespace cordon
