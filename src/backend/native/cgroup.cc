#include "backend/native/cgroup.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/path.h"
#include "base/text.h"

namespace cordon::native {
namespace {

constexpr std::uint64_t kPeriodMicroseconds = 100'000;

Result<void> put(const std::string& directory, const char* file, const std::string& value) {
  const std::string path = join(directory, file);
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), value.data(), value.size()) < 0) {
    return fail(setup_error("cannot set " + path, errno, "see cordon doctor"));
  }
  return {};
}

std::string get(const std::string& directory, const char* file) {
  const Fd fd(::open(join(directory, file).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer{};
  const ssize_t size = fd.valid() ? ::read(fd.get(), buffer.data(), buffer.size()) : 0;
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// The number after "name " in a flat keyed file.
std::uint64_t field(const std::string& text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return parse_number(line.substr(name.size() + 1)).value_or(0);
    }
  }
  return 0;
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
  CORDON_CHECK(put(directory, "cpu.cfs_period_us", std::to_string(kPeriodMicroseconds)));
  return put(directory, "cpu.cfs_quota_us",
             std::to_string(limit.value * kPeriodMicroseconds / 1000));
}

Result<void> set_v2(const std::string& directory, const PlannedLimit& limit) {
  if (limit.name == "pids") return put(directory, "pids.max", std::to_string(limit.value));
  if (limit.name == "memory") {
    CORDON_CHECK(put(directory, "memory.max", std::to_string(limit.value)));
    (void)put(directory, "memory.swap.max", "0");
    return put(directory, "memory.oom.group", "1");
  }
  return put(directory, "cpu.max",
             std::to_string(limit.value * kPeriodMicroseconds / 1000) + " " +
                 std::to_string(kPeriodMicroseconds));
}

}  // namespace

std::vector<std::string> cgroup_directories(const Plan& plan, const CgroupFacts& facts,
                                            const std::string& run_id) {
  std::vector<std::string> directories;
  for (const PlannedLimit& limit : plan.limits) {
    if (!by_cgroup(limit)) continue;
    const auto parent =
        facts.parents.find(limit.by == LimitBy::CgroupV2 ? std::string() : controller_of(limit));
    if (parent == facts.parents.end()) continue;
    std::string directory = join(parent->second, "cordon-" + run_id);
    if (directories.empty() || directories.back() != directory) {
      directories.push_back(std::move(directory));
    }
  }
  return directories;
}

std::size_t v1_groups(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(
      plan.limits, [](const PlannedLimit& limit) { return limit.by == LimitBy::CgroupV1; }));
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
      const auto parent = facts.parents.find(controller);
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

void Cgroup::watch_memory() {
  const Group* memory = find("memory");
  if (memory == nullptr || oom_event_.valid()) return;
  if (memory->controller.empty()) {
    oom_event_ = Fd(::open(join(memory->directory, "memory.events").c_str(), O_RDONLY | O_CLOEXEC));
    return;
  }
  oom_control_ =
      Fd(::open(join(memory->directory, "memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::string registration =
      std::to_string(event.get()) + " " + std::to_string(oom_control_.get());
  if (put(memory->directory, "cgroup.event_control", registration)) oom_event_ = std::move(event);
}

bool Cgroup::holds_memory() const { return find("memory") != nullptr; }

Cgroup::Events Cgroup::events() const {
  Events events;
  if (const Group* memory = find("memory")) {
    const bool unified = memory->controller.empty();
    events.oom_kills =
        field(get(memory->directory, unified ? "memory.events" : "memory.oom_control"), "oom_kill");
    const std::string peak =
        get(memory->directory, unified ? "memory.peak" : "memory.max_usage_in_bytes");
    events.peak_memory = parse_number(first_line(peak));
  }
  if (const Group* pids = find("pids")) {
    events.pids_refused = field(get(pids->directory, "pids.events"), "max");
  }
  return events;
}

void Cgroup::remove() {
  for (const Group& group : groups_) {
    // The last process may still be on its way out of the group when it was reaped.
    for (int attempt = 0; attempt < 50 && ::rmdir(group.directory.c_str()) < 0 && errno == EBUSY;
         ++attempt) {
      const timespec moment{0, 2'000'000};
      ::nanosleep(&moment, nullptr);
    }
  }
  groups_.clear();
}

}  // namespace cordon::native
