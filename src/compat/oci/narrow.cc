#include "compat/oci/narrow.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "compat/oci/demands.h"
#include "compat/oci/document.h"

namespace cordon::oci {
namespace {

constexpr std::int64_t kCpuPeriod = 100'000;  // microseconds
constexpr std::int64_t kThousandths = 1000;
constexpr std::uint64_t kMsPerSecond = 1000;

constexpr std::array<std::string_view, 14> kMaskedAlways{"/proc/acpi",
                                                         "/proc/asound",
                                                         "/proc/interrupts",
                                                         "/proc/kcore",
                                                         "/proc/keys",
                                                         "/proc/latency_stats",
                                                         "/proc/scsi",
                                                         "/proc/sched_debug",
                                                         "/proc/timer_list",
                                                         "/proc/timer_stats",
                                                         "/sys/devices/virtual/powercap",
                                                         "/sys/firmware",
                                                         "/sys/fs/selinux",
                                                         "/sys/dev/block"};
constexpr std::array<std::string_view, 5> kReadOnlyAlways{"/proc/bus", "/proc/fs", "/proc/irq",
                                                          "/proc/sys", "/proc/sysrq-trigger"};

// The member of that name, which is made if there is none.
Node& member(Node& node, std::string_view key) {
  if (node.map() == nullptr) node.value = NodeMap{};
  auto& map = std::get<NodeMap>(node.value);
  const auto found = std::ranges::find(map, key, &std::pair<std::string, Node>::first);
  if (found != map.end()) return found->second;
  map.emplace_back(std::string(key), Node());
  return map.back().second;
}

void put(Node& node, std::string_view key, Node value) { member(node, key) = std::move(value); }

void drop(Node& node, std::string_view key) {
  auto* map = std::get_if<NodeMap>(&node.value);
  if (map == nullptr) return;
  std::erase_if(*map, [&](const auto& one) { return one.first == key; });
}

NodeList& made_list(Node& node, std::string_view key) {
  Node& found = member(node, key);
  if (found.list() == nullptr) found.value = NodeList{};
  return std::get<NodeList>(found.value);
}

void add_texts(NodeList& list, const auto& texts) {
  for (const auto& text : texts) {
    const auto is_it = [&](const Node& one) {
      return one.text() != nullptr && *one.text() == text;
    };
    if (std::ranges::none_of(list, is_it)) list.emplace_back(std::string(text));
  }
}

bool has_option(const NodeList& options, std::string_view word) {
  return std::ranges::any_of(
      options, [&](const Node& one) { return one.text() != nullptr && *one.text() == word; });
}

void set_option(NodeList& options, std::string_view word,
                std::initializer_list<std::string_view> instead_of) {
  std::erase_if(options, [&](const Node& one) {
    return one.text() == nullptr || std::ranges::find(instead_of, *one.text()) != instead_of.end();
  });
  if (!has_option(options, word)) options.emplace_back(std::string(word));
}

// "64m", "65536k", "1048576"; nothing for a share of the memory, and for nonsense.
std::optional<std::uint64_t> size_of_mount(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned shift = 0;
  switch (lower_case(text.back())) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift != 0) text.remove_suffix(1);
  const auto number = parse_number(text);
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 33;
  if (!number || *number > kLargest) return std::nullopt;
  return *number << shift;
}

void bound_scratch(NodeList& options, std::uint64_t bytes) {
  constexpr std::string_view kSize = "size=";
  bool within = false;
  std::erase_if(options, [&](const Node& one) {
    const std::string* word = one.text();
    if (word == nullptr || !word->starts_with(kSize)) return false;
    const auto size = size_of_mount(std::string_view(*word).substr(kSize.size()));
    within = size && *size != 0 && *size <= bytes;
    return !within;
  });
  if (!within) options.emplace_back(std::string(kSize) + std::to_string(bytes));
}

bool is_bind(const Node& mount, const NodeList& options) {
  return text_in(mount, "type") == "bind" || has_option(options, "bind") ||
         has_option(options, "rbind");
}

void narrow_mount(Node& mount, const std::string& where, const Narrowing& narrowing) {
  NodeList& options = made_list(mount, "options");
  const std::string type = text_in(mount, "type");
  set_option(options, "nosuid", {"suid"});
  if (is_bind(mount, options)) {
    const auto source = narrowing.sources.find(where);
    if (source != narrowing.sources.end()) put(mount, "source", Node(source->second));
    set_option(options, "nodev", {"dev"});
    set_option(options, "rprivate", {"private", "slave", "rslave"});
    return;
  }
  if (type == "sysfs" || type == "cgroup") set_option(options, "ro", {"rw"});
  if (type == "tmpfs") {
    // Where the runtime makes the devices of every container, and nobody inside can make others.
    if (normalize(text_in(mount, "destination")) != "/dev") set_option(options, "nodev", {"dev"});
    if (narrowing.scratch) bound_scratch(options, *narrowing.scratch);
  }
}

// A read-only bind shows what is mounted below its source; that is read-only with it only by "rro",
// which crun takes for directories alone.
void close_what_is_below(Node& mount, const Narrowing& narrowing) {
  NodeList& options = made_list(mount, "options");
  if (!narrowing.directories.contains(normalize(text_in(mount, "destination")))) return;
  if (has_option(options, "rbind") && has_option(options, "ro")) set_option(options, "rro", {});
}

Node held_mount(const HeldInside& held) {
  NodeList options;
  for (const char* word : {"rbind", "nosuid", "nodev", "rprivate"}) options.emplace_back(word);
  options.emplace_back(held.writable ? "rw" : "ro");
  if (!held.writable && held.kind == FileKind::Directory) options.emplace_back("rro");
  Node mount{NodeMap{}};
  mount.set("destination", held.destination).set("type", "bind").set("source", held.source);
  return mount.set("options", std::move(options));
}

void narrow_capabilities(Node& process, const Narrowing& narrowing) {
  Node none{NodeMap{}};
  const Node* given = process.find("capabilities");
  for (const char* set : {"bounding", "effective", "inheritable", "permitted", "ambient"}) {
    const Node* kept =
        given != nullptr && narrowing.keeps_capabilities ? given->find(set) : nullptr;
    none.set(set, kept != nullptr && kept->list() != nullptr ? *kept : Node(NodeList{}));
  }
  put(process, "capabilities", std::move(none));
}

// Soft and hard.
void bound_resource(Node& process, std::string_view type, std::uint64_t value) {
  NodeList& list = made_list(process, "rlimits");
  const auto most = static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
  std::int64_t hard = most;
  std::int64_t soft = most;
  std::erase_if(list, [&](const Node& one) {
    if (text_in(one, "type") != type) return false;
    if (const auto given = number_in(one, "hard"); given && *given >= 0)
      hard = std::min(hard, *given);
    if (const auto given = number_in(one, "soft"); given && *given >= 0)
      soft = std::min(soft, *given);
    return true;
  });
  list.push_back(
      Node().set("type", type).set("hard", Node(hard)).set("soft", Node(std::min(hard, soft))));
}

Node device_rule(bool allow, std::string_view access) {
  return Node().set("allow", Node(allow)).set("access", access);
}

NodeList device_rules() {
  constexpr std::pair<std::int64_t, std::int64_t> kUsual[] = {{1, 3}, {1, 5}, {1, 7}, {1, 8},
                                                              {1, 9}, {5, 0}, {5, 1}, {5, 2}};
  constexpr std::int64_t kPseudoTerminals = 136;
  NodeList rules{device_rule(false, "rwm")};
  for (const auto& [major, minor] : kUsual) {
    rules.push_back(device_rule(true, "rw")
                        .set("type", "c")
                        .set("major", Node(major))
                        .set("minor", Node(minor)));
  }
  rules.push_back(device_rule(true, "rw").set("type", "c").set("major", Node(kPseudoTerminals)));
  return rules;
}

void bound_number(Node& node, std::string_view key, std::int64_t most) {
  const auto given = number_in(node, key);
  if (!given || *given <= 0 || *given > most) put(node, key, Node(most));
}

void narrow_resources(Node& resources, const Limits& limits) {
  put(resources, "devices", device_rules());
  const auto whole = [](std::uint64_t value) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
  };
  if (limits.memory) {
    Node& memory = member(resources, "memory");
    bound_number(memory, "limit", whole(*limits.memory));
    bound_number(memory, "swap", *number_in(memory, "limit"));
  }
  if (limits.pids) bound_number(member(resources, "pids"), "limit", whole(*limits.pids));
  if (limits.cpus_milli) {
    Node& cpu = member(resources, "cpu");
    const std::int64_t period = std::max<std::int64_t>(number_in(cpu, "period").value_or(0), 0);
    put(cpu, "period", Node(period == 0 ? kCpuPeriod : period));
    bound_number(
        cpu, "quota",
        std::max<std::int64_t>(
            1000, whole(*limits.cpus_milli) * (period == 0 ? kCpuPeriod : period) / kThousandths));
  }
}

void narrow_linux(Node& part, const Narrowing& narrowing) {
  drop(part, "devices");  // those of every container are the runtime's own
  narrow_resources(member(part, "resources"), narrowing.limits);
  NodeList& masked = made_list(part, "maskedPaths");
  add_texts(masked, kMaskedAlways);
  add_texts(masked, narrowing.masked);
  add_texts(made_list(part, "readonlyPaths"), kReadOnlyAlways);
  NodeList& namespaces = made_list(part, "namespaces");
  const auto is_cgroup = [](const Node& one) { return text_in(one, "type") == "cgroup"; };
  if (std::ranges::none_of(namespaces, is_cgroup)) {
    namespaces.push_back(Node().set("type", "cgroup"));
  }
}

}  // namespace

Node narrowed_process(const Node& process, const Narrowing& narrowing) {
  Node result = process;
  put(result, "noNewPrivileges", Node(true));
  narrow_capabilities(result, narrowing);
  std::erase_if(made_list(result, "env"), [&](const Node& one) {
    return one.text() != nullptr &&
           narrowing.dropped_variables.contains(one.text()->substr(0, one.text()->find('=')));
  });
  if (narrowing.limits.files) bound_resource(result, "RLIMIT_NOFILE", *narrowing.limits.files);
  if (narrowing.limits.file_size)
    bound_resource(result, "RLIMIT_FSIZE", *narrowing.limits.file_size);
  if (narrowing.limits.cpu_ms) {
    bound_resource(result, "RLIMIT_CPU",
                   std::max<std::uint64_t>(1, *narrowing.limits.cpu_ms / kMsPerSecond));
  }
  return result;
}

Result<Node> narrowed_config(const Node& config, const Narrowing& narrowing) {
  Node result = config;
  Node& linux_part = member(result, "linux");
  CORDON_TRY(profile,
             narrowed_profile(native_arch(), narrowing.profile, linux_part.find("seccomp")));
  put(linux_part, "seccomp", std::move(profile));
  narrow_linux(linux_part, narrowing);
  put(result, "process", narrowed_process(member(result, "process"), narrowing));
  Node& root = member(result, "root");
  if (const auto path = narrowing.sources.find("root.path"); path != narrowing.sources.end()) {
    put(root, "path", Node(path->second));
  }
  if (narrowing.root_read_only) put(root, "readonly", Node(true));
  NodeList& mounts = made_list(result, "mounts");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    narrow_mount(mounts[i], "mounts[" + std::to_string(i) + "]", narrowing);
    close_what_is_below(mounts[i], narrowing);
  }
  for (const HeldInside& held : narrowing.held) mounts.push_back(held_mount(held));
  return result;
}

Node update_without_devices(const Node& resources) {
  Node result = resources;
  drop(result, "devices");
  return result;
}

std::optional<std::string> lifted_bound(const Node& resources, const Limits& limits) {
  const auto lifts = [&](std::string_view part, std::string_view key, std::uint64_t most) {
    const Node* found = resources.find(part);
    const auto value = found != nullptr ? number_in(*found, key) : std::nullopt;
    // Zero means to a runtime that nothing is said.
    return value && *value != 0 && (*value < 0 || static_cast<std::uint64_t>(*value) > most);
  };
  if (limits.memory &&
      (lifts("memory", "limit", *limits.memory) || lifts("memory", "swap", *limits.memory))) {
    return "memory";
  }
  if (limits.pids && lifts("pids", "limit", *limits.pids)) return "pids";
  if (!limits.cpus_milli) return std::nullopt;
  const Node* cpu = resources.find("cpu");
  const std::int64_t period = cpu != nullptr ? number_in(*cpu, "period").value_or(0) : 0;
  // Another period changes what the quota means that is there already.
  if (period != 0 && period != kCpuPeriod) return "cpus";
  const auto most = *limits.cpus_milli * static_cast<std::uint64_t>(kCpuPeriod / kThousandths);
  return lifts("cpu", "quota", most) ? std::optional<std::string>("cpus") : std::nullopt;
}

}  // namespace cordon::oci
