#include "sandbox/native/cgroup.h"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/path.h"
#include "base/text.h"
#include "sandbox/native/host_rules.h"

namespace cordon::native {
namespace {

Result<void> put(const std::string& directory, const char* file, const std::string& value) {
  const std::string path = join(directory, file);
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), value.data(), value.size()) < 0) {
    return fail(setup_error("cannot set " + path, errno, "see cordon doctor"));
  }
  return {};
}

// From the beginning, however often it is asked; empty if it cannot be read.
std::string get(const Fd& file) {
  std::array<char, 4096> buffer{};
  const ssize_t size = file.valid() ? ::pread(file.get(), buffer.data(), buffer.size(), 0) : 0;
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string get(const std::string& directory, const char* file) {
  return get(Fd(::open(join(directory, file).c_str(), O_RDONLY | O_CLOEXEC)));
}

std::string_view first_line(const std::string& text) {
  return std::string_view(text).substr(0, text.find('\n'));
}

std::string controller_of(const PlannedLimit& limit) {
  return limit.name == "cpus" ? "cpu" : limit.name;
}

bool by_cgroup(const PlannedLimit& limit) {
  return limit.by == LimitBy::CgroupV1 || limit.by == LimitBy::CgroupV2;
}

Result<void> set_v1(const std::string& directory, const PlannedLimit& limit) {
  if (limit.name == "pids") return put(directory, "pids.max", std::to_string(limit.value));
  if (limit.name == "memory") {
    CORDON_CHECK(put(directory, "memory.limit_in_bytes", std::to_string(limit.value)));
    // Absent without swap accounting; then swap is not counted and the bound is on memory alone.
    (void)put(directory, "memory.memsw.limit_in_bytes", std::to_string(limit.value));
    return {};
  }
  const CpuBandwidth bandwidth = cpu_bandwidth(limit.value);
  CORDON_CHECK(put(directory, "cpu.cfs_period_us", std::to_string(bandwidth.period_us)));
  return put(directory, "cpu.cfs_quota_us", std::to_string(bandwidth.quota_us));
}

Result<void> set_v2(const std::string& directory, const PlannedLimit& limit) {
  if (limit.name == "pids") return put(directory, "pids.max", std::to_string(limit.value));
  if (limit.name == "memory") {
    CORDON_CHECK(put(directory, "memory.max", std::to_string(limit.value)));
    // Absent without swap accounting; then the bound is on memory alone.
    (void)put(directory, "memory.swap.max", "0");
    return put(directory, "memory.oom.group", "1");
  }
  const CpuBandwidth bandwidth = cpu_bandwidth(limit.value);
  return put(directory, "cpu.max",
             std::to_string(bandwidth.quota_us) + " " + std::to_string(bandwidth.period_us));
}

}  // namespace

std::vector<std::string> cgroup_directories(const Plan& plan, const CgroupFacts& facts,
                                            const std::string& run_id) {
  std::vector<std::string> directories;
  for (const PlannedLimit& limit : plan.limits) {
    if (!by_cgroup(limit)) continue;
    const auto parent = facts.parents.find(controller_of(limit));
    if (parent == facts.parents.end()) continue;
    std::string directory = join(parent->second, "cordon-" + run_id);
    if (directories.empty() || directories.back() != directory) {
      directories.push_back(std::move(directory));
    }
  }
  return directories;
}

std::vector<std::string> own_groups() {
  std::vector<std::string> own;
  const std::string lines = get("/proc/self", "cgroup");
  for (const std::string_view line : split(lines, '\n')) {
    // NUMBER:CONTROLLERS:PATH
    const std::size_t colon = line.find(':', line.find(':') + 1);
    const std::string path(line.substr(std::min(colon + 1, line.size())));
    if (path.starts_with('/') && std::ranges::find(own, path) == own.end()) own.push_back(path);
  }
  std::vector<std::string> groups;
  const std::string mounts = read_mountinfo();
  for (const std::string_view line : split(mounts, '\n')) {
    // ID PARENT DEVICE ROOT PLACE OPTIONS ... - TYPE ...
    const std::vector<std::string_view> words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    constexpr std::size_t kPlace = 4;
    if (dash == words.end() || dash + 1 == words.end() || !(dash + 1)->starts_with("cgroup")) {
      continue;
    }
    // Whichever of them it is here; the others are not there.
    for (const std::string& path : own) {
      const std::string group = std::string(words[kPlace]) + (path == "/" ? "" : path);
      if (::access(group.c_str(), F_OK) == 0) groups.push_back(group);
    }
  }
  return groups;
}

std::size_t v1_groups(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(
      plan.limits, [](const PlannedLimit& limit) { return limit.by == LimitBy::CgroupV1; }));
}

CpuBandwidth cpu_bandwidth(std::uint64_t thousandths_of_a_processor) {
  // The kernel takes no quota below a millisecond and no period above a second.
  constexpr std::uint64_t kLeastQuota = 1'000;
  constexpr std::uint64_t kPeriod = 100'000;
  constexpr std::uint64_t kLongPeriod = 1'000'000;
  const std::uint64_t quota = thousandths_of_a_processor * kPeriod / 1000;
  if (quota >= kLeastQuota) return {quota, kPeriod};
  return {thousandths_of_a_processor * kLongPeriod / 1000, kLongPeriod};
}

bool kill_group(const std::string& directory) {
  // Dying takes processor time, and a small share of it could take minutes.
  (void)put(directory, "cpu.max", "max");
  return bool(put(directory, "cgroup.kill", "1"));
}

bool remove_group(const std::string& directory) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return true;
    if (errno != EBUSY) return false;
    const timespec moment{0, 2'000'000};
    ::nanosleep(&moment, nullptr);
  }
  return false;
}

Cgroup::~Cgroup() { remove(); }

const Cgroup::Group* Cgroup::find(const std::string& controller) const {
  for (const Group& group : groups_) {
    if (group.controller == controller || group.controller.empty()) return &group;
  }
  return nullptr;
}

Result<Cgroup> Cgroup::make(const Plan& plan, const CgroupFacts& facts, const std::string& run_id) {
  Cgroup cgroup;
  for (const PlannedLimit& limit : plan.limits) {
    if (!by_cgroup(limit)) continue;
    const bool unified = limit.by == LimitBy::CgroupV2;
    const std::string controller = unified ? std::string() : controller_of(limit);
    const Group* group = cgroup.find(controller);
    if (group == nullptr) {
      const auto parent = facts.parents.find(controller_of(limit));
      if (parent == facts.parents.end()) {
        return fail(setup_error("no cgroup for limit " + limit.name, 0));
      }
      std::string directory = join(parent->second, "cordon-" + run_id);
      if (::mkdir(directory.c_str(), 0755) < 0) {
        return fail(setup_error("cannot make cgroup " + directory, errno, "see cordon doctor"));
      }
      cgroup.groups_.push_back({controller, std::move(directory)});
      group = &cgroup.groups_.back();
      if (!unified) {
        Fd join_file(::open(join(group->directory, "tasks").c_str(), O_WRONLY | O_CLOEXEC));
        if (!join_file.valid()) return fail(setup_error("cannot open the run's cgroup", errno));
        cgroup.joins_.push_back(std::move(join_file));
      }
    }
    CORDON_CHECK(unified ? set_v2(group->directory, limit) : set_v1(group->directory, limit));
  }
  if (!cgroup.groups_.empty() && cgroup.groups_.front().controller.empty()) {
    cgroup.birth_ =
        Fd(::open(cgroup.groups_.front().directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!cgroup.birth_.valid()) return fail(setup_error("cannot open the run's cgroup", errno));
  }
  return cgroup;
}

bool Cgroup::holds_memory() const { return find("memory") != nullptr; }

void Cgroup::watch_memory() {
  const Group* memory = find("memory");
  if (memory == nullptr || watches_memory_) return;
  watches_memory_ = true;
  if (memory->controller.empty()) {
    memory_event_ =
        Fd(::open(join(memory->directory, "memory.events").c_str(), O_RDONLY | O_CLOEXEC));
    return;
  }
  oom_control_ =
      Fd(::open(join(memory->directory, "memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::string registration =
      std::to_string(event.get()) + " " + std::to_string(oom_control_.get());
  if (put(memory->directory, "cgroup.event_control", registration)) {
    memory_event_ = std::move(event);
  }
}

PolledFor Cgroup::memory_news() const {
  const short events = oom_control_.valid() ? POLLIN : POLLPRI;
  return {memory_event_.get(), events};
}

bool Cgroup::memory_killed() {
  const Group* memory = find("memory");
  if (memory == nullptr) return false;
  if (memory->controller.empty() && memory_event_.valid()) {
    const std::string events = get(memory_event_);
    // Of a group that is gone, poll would tell for ever.
    if (events.empty()) memory_event_.reset();
    return account_of_events(events).kill() == MemoryKill::AtOwnBound;
  }
  std::uint64_t told = 0;
  if (memory_event_.valid() && ::read(memory_event_.get(), &told, sizeof told) > 0) {
    memory_event_.reset();
  }
  return account(*memory).kill() == MemoryKill::AtOwnBound;
}

MemoryAccount Cgroup::account(const Group& memory) const {
  const std::string& directory = memory.directory;
  if (memory.controller.empty()) return account_of_events(get(directory, "memory.events"));
  const std::string control =
      oom_control_.valid() ? get(oom_control_) : get(directory, "memory.oom_control");
  // Whose limit it was is asked only of a kill.
  if (keyed_number(control, "oom_kill") == 0) return {};
  return account_of_oom_control(control, get(directory, "memory.limit_in_bytes"),
                                get(directory, "memory.max_usage_in_bytes"),
                                get(directory, "memory.memsw.max_usage_in_bytes"));
}

Cgroup::Events Cgroup::events() const {
  Events events;
  if (const Group* memory = find("memory")) {
    events.memory = account(*memory);
    const std::string peak =
        get(memory->directory,
            memory->controller.empty() ? "memory.peak" : "memory.max_usage_in_bytes");
    events.peak_memory = parse_number(first_line(peak));
  }
  if (const Group* pids = find("pids")) {
    events.pids_refused = keyed_number(get(pids->directory, "pids.events"), "max");
  }
  return events;
}

bool Cgroup::kill() const {
  return !groups_.empty() && groups_.front().controller.empty() &&
         kill_group(groups_.front().directory);
}

void Cgroup::remove() {
  for (const Group& group : groups_) (void)remove_group(group.directory);
  groups_.clear();
}

namespace {

std::uint64_t whole_number(std::string_view text) {
  return parse_number(text.substr(0, text.find('\n'))).value_or(0);
}

}  // namespace

std::uint64_t keyed_number(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return parse_number(line.substr(name.size() + 1)).value_or(0);
    }
  }
  return 0;
}

MemoryKill MemoryAccount::kill() const {
  if (killed == 0) return MemoryKill::None;
  return bound_met > 0 ? MemoryKill::AtOwnBound : MemoryKill::FromOutside;
}

MemoryAccount account_of_events(std::string_view events) {
  return {keyed_number(events, "oom"), keyed_number(events, "oom_kill")};
}

MemoryAccount account_of_oom_control(std::string_view control, std::string_view limit,
                                     std::string_view peak, std::string_view peak_with_swap) {
  // A charge of several pages fails when fewer are left.
  constexpr std::uint64_t kLargestCharge = 256 << 10;
  const std::uint64_t used = std::max(whole_number(peak), whole_number(peak_with_swap));
  const bool met = used + kLargestCharge >= whole_number(limit);
  return {met ? std::uint64_t{1} : 0, keyed_number(control, "oom_kill")};
}

std::optional<Denial> memory_denial(const MemoryAccount& account, const std::string& bound) {
  switch (account.kill()) {
    case MemoryKill::None:
      return std::nullopt;
    case MemoryKill::AtOwnBound:
      return Denial{"memory", "killed at " + bound, "cgroup", account.killed};
    case MemoryKill::FromOutside:
      return Denial{"memory", "killed because memory ran out around the run, not at its own limit",
                    "host", account.killed};
  }
  return std::nullopt;
}

}  // namespace cordon::native
