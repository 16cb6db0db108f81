#include "policy/presets.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "policy/agents.h"
#include "policy/environment.h"

namespace cordon {
namespace {

constexpr std::uint64_t kKibi = 1ULL << 10U;
constexpr std::uint64_t kMebi = 1ULL << 20U;
constexpr std::uint64_t kGibi = 1ULL << 30U;
constexpr std::array<std::string_view, 5> kPresetNames{"strict", "workspace", "readonly", "build",
                                                       "agent"};

// Whole mebibytes, so that the policy can be written down and read back. A host that does not know
// its memory gets what strict has.
std::uint64_t half_of(const PresetHost& host) {
  const std::uint64_t half = host.memory_bytes / 2 / kMebi * kMebi;
  return half != 0 ? half : 512 * kMebi;
}

Policy bare(std::string_view name) {
  Policy policy;
  policy.name = name;
  policy.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp, Layer::Capabilities};
  policy.limits.output = 10 * kKibi;
  return policy;
}

Policy make_strict() {
  Policy policy = bare("strict");
  policy.limits.wall_ms = 30'000;
  policy.limits.memory = 512 * kMebi;
  policy.limits.pids = 64;
  policy.limits.files = 256;
  policy.limits.output_total = 256 * kMebi;
  return policy;
}

Policy make_workspace(std::string_view name, const PresetHost& host) {
  Policy policy = bare(name);
  policy.fs.read = {{"@system", {}}, {"@toolchains", {}}, {"@caches", {}}, {"@repo", {}}};
  policy.fs.write = {{"@cwd", {}}};
  policy.fs.scratch = kGibi;
  policy.fs.home = HomeMode::Private;
  policy.env.pass = {"LANG",     "LC_ALL", "LC_CTYPE", "TERM", "COLORTERM",
                     "NO_COLOR", "TZ",     "COLUMNS",  "LINES"};
  policy.env.pass.insert(policy.env.pass.end(), build_variables().begin(), build_variables().end());
  policy.limits.memory = half_of(host);
  policy.limits.pids = 2048;
  policy.limits.files = 4096;
  return policy;
}

const AgentNeeds* agent_of(std::string_view preset) {
  constexpr std::string_view kPrefix = "agent:";
  return preset.starts_with(kPrefix) ? find_agent(preset.substr(kPrefix.size())) : nullptr;
}

}  // namespace

std::span<const std::string_view> preset_names() { return kPresetNames; }

bool is_preset(std::string_view name) {
  return std::find(kPresetNames.begin(), kPresetNames.end(), name) != kPresetNames.end() ||
         agent_of(name) != nullptr;
}

Policy make_preset(std::string_view name, const PresetHost& host) {
  CORDON_ASSERT(is_preset(name));
  if (name == "strict") return make_strict();
  Policy policy = make_workspace(name, host);
  if (name == "readonly") {
    policy.fs.read.push_back({"@cwd", {}});
    policy.fs.write.clear();
  } else if (name == "build") {
    policy.fs.caches = true;
  } else if (const AgentNeeds* agent = agent_of(name); agent != nullptr || name == "agent") {
    // It keeps caches of its own, in its home.
    std::erase_if(policy.fs.read, [](const PathRule& rule) { return rule.text == "@caches"; });
    policy.fs.home = HomeMode::Persistent;
    policy.net.mode = NetMode::Allow;
    if (agent != nullptr) add_needs(*agent, policy);
  }
  return policy;
}

namespace {

constexpr std::array<LimitField, 13> kFields{{
    {"wall", &Limits::wall_ms, LimitUnit::Milliseconds},
    {"cpu", &Limits::cpu_ms, LimitUnit::Milliseconds},
    {"memory", &Limits::memory, LimitUnit::Bytes},
    {"pids", &Limits::pids, LimitUnit::Count},
    {"cpus", &Limits::cpus_milli, LimitUnit::Thousandths},
    {"files", &Limits::files, LimitUnit::Count},
    {"file_size", &Limits::file_size, LimitUnit::Bytes},
    {"output", &Limits::output, LimitUnit::Bytes},
    {"output_total", &Limits::output_total, LimitUnit::Bytes},
    {"connections", &Limits::connections, LimitUnit::Count},
    {"sent", &Limits::sent, LimitUnit::Bytes},
    {"requests", &Limits::requests, LimitUnit::Count},
    {"request_traffic", &Limits::request_traffic, LimitUnit::Bytes},
}};
static_assert(sizeof(Limits) == kFields.size() * sizeof(std::optional<std::uint64_t>),
              "every limit stands in the table");

}  // namespace

std::span<const LimitField> limit_fields() { return kFields; }

std::string format_limit(LimitUnit unit, std::uint64_t value) {
  switch (unit) {
    case LimitUnit::Milliseconds:
      return format_duration(value);
    case LimitUnit::Bytes:
      return format_size(value);
    case LimitUnit::Count:
      return std::to_string(value);
    case LimitUnit::Thousandths: {
      std::string fraction = std::to_string(1000 + value % 1000).substr(1);
      while (fraction.size() > 1 && fraction.back() == '0') fraction.pop_back();
      return std::to_string(value / 1000) + "." + fraction;
    }
  }
  return std::to_string(value);
}

}  // namespace cordon
