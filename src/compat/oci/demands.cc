#include "compat/oci/demands.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "compat/oci/document.h"

namespace cordon::oci {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 8> kTopKeys{"ociVersion", "process", "root",  "hostname",
                                                   "domainname", "mounts",  "hooks", "linux"};
constexpr std::array<std::string_view, 12> kProcessKeys{"terminal",
                                                        "consoleSize",
                                                        "user",
                                                        "args",
                                                        "env",
                                                        "cwd",
                                                        "rlimits",
                                                        "capabilities",
                                                        "noNewPrivileges",
                                                        "apparmorProfile",
                                                        "oomScoreAdj",
                                                        "selinuxLabel"};
constexpr std::array<std::string_view, 12> kLinuxKeys{
    "uidMappings", "gidMappings",       "sysctl",      "resources",     "cgroupsPath", "namespaces",
    "devices",     "rootfsPropagation", "maskedPaths", "readonlyPaths", "mountLabel",  "seccomp"};
constexpr std::array<std::string_view, 8> kResourceKeys{
    "devices", "memory", "cpu", "pids", "blockIO", "hugepageLimits", "network", "rdma"};
constexpr std::array<std::string_view, 4> kMountKeys{"destination", "type", "source", "options"};
constexpr std::array<std::string_view, 14> kUsualCapabilities{
    "CAP_AUDIT_WRITE", "CAP_CHOWN",   "CAP_DAC_OVERRIDE",     "CAP_FOWNER",    "CAP_FSETID",
    "CAP_KILL",        "CAP_MKNOD",   "CAP_NET_BIND_SERVICE", "CAP_NET_RAW",   "CAP_SETFCAP",
    "CAP_SETGID",      "CAP_SETPCAP", "CAP_SETUID",           "CAP_SYS_CHROOT"};
constexpr std::array<std::string_view, 5> kCapabilitySets{"bounding", "effective", "inheritable",
                                                          "permitted", "ambient"};
// Options of a mount that concern the container alone, or that narrow.
constexpr std::array<std::string_view, 32> kMountOptions{
    "bind",        "rbind",         "ro",         "rro",      "rw",       "nosuid",   "suid",
    "nodev",       "dev",           "noexec",     "exec",     "relatime", "noatime",  "norelatime",
    "strictatime", "nostrictatime", "nodiratime", "diratime", "private",  "rprivate", "slave",
    "rslave",      "newinstance",   "tmpcopyup",  "async",    "sync",     "atime",    "defaults",
    "nosymfollow", "lazytime",      "nolazytime", "silent"};
constexpr std::array<std::string_view, 7> kMountValues{
    "mode=", "size=", "nr_inodes=", "uid=", "gid=", "ptmxmode=", "nr_blocks="};
// Where the container has a mount of its own, by kind.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOwnMounts{
    {{"proc", "/proc"},
     {"sysfs", "/sys"},
     {"devpts", "/dev/pts"},
     {"mqueue", "/dev/mqueue"},
     {"cgroup", "/sys/fs/cgroup"}}};

bool lists(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_true(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  if (member == nullptr) return false;
  const bool* value = std::get_if<bool>(&member->value);
  return value == nullptr || *value;
}

std::string at(std::string_view where, std::string_view key) {
  return where.empty() ? std::string(key) : std::string(where) + "." + std::string(key);
}

std::string at(std::string_view where, std::size_t index) {
  return std::string(where) + "[" + std::to_string(index) + "]";
}

class Reader {
 public:
  Reader(const DemandContext& context, Demands& demands) : context_(context), demands_(demands) {}

  void config(const Node& config) {
    known(config, "", kTopKeys, {"annotations"});
    if (const Node* process = config.find("process")) read_process(*process, "process", demands_);
    root(config);
    annotations(config);
    hooks(config);
    if (const NodeList* mounts = list_in(config, "mounts")) {
      for (std::size_t i = 0; i < mounts->size(); ++i) mount((*mounts)[i], at("mounts", i));
    } else if (config.find("mounts") != nullptr) {
      complain("mounts", "is not a list", kMalformed);
    }
    if (const Node* part = config.find("linux"); part != nullptr && part->map() != nullptr) {
      linux_part(*part);
    } else {
      complain("linux", "is missing", kMalformed);
    }
  }

 private:
  static constexpr std::string_view kMalformed =
      "give the runtime a bundle of the OCI runtime specification";

  void complain(std::string where, std::string what, std::string_view hint) {
    demands_.complaints.push_back({std::move(where), std::move(what), std::string(hint)});
  }

  void known(const Node& node, std::string_view where, Names keys,
             std::initializer_list<std::string_view> further = {}) {
    if (node.map() == nullptr) return complain(std::string(where), "is not an object", kMalformed);
    for (const auto& [key, value] : *node.map()) {
      if (lists(keys, key) || std::ranges::find(further, key) != further.end()) continue;
      complain(at(where, key), "is a key that Cordon does not judge",
               "take it out of what the engine is asked for");
    }
  }

  void root(const Node& config) {
    const Node* root = config.find("root");
    const std::string path = root != nullptr ? text_in(*root, "path") : std::string();
    if (path.empty()) return complain("root.path", "is missing", kMalformed);
    known(*root, "root", std::array<std::string_view, 2>{"path", "readonly"});
    demands_.root = path.starts_with('/') ? path : join(context_.bundle, path);
    demands_.root_writable = !is_true(*root, "readonly");
    if (has_dotdot(demands_.root)) complain("root.path", "holds ..", "name it without");
  }

  // crun and systemd-driven runc take orders from annotations that go past what is judged here.
  void annotations(const Node& config) {
    const Node* annotations = config.find("annotations");
    if (annotations == nullptr) return;
    if (annotations->map() == nullptr)
      return complain("annotations", "is not an object", kMalformed);
    for (const auto& [key, value] : *annotations->map()) {
      if (key.starts_with("run.oci.") || key.starts_with("org.systemd.property.")) {
        complain("annotations." + key, "is an order to the runtime that Cordon does not judge",
                 "take the annotation away");
      }
      if (key != kPolicyAnnotation) continue;
      if (value.text() == nullptr || value.text()->empty()) {
        complain("annotations." + key, "names no policy",
                 "write the name of a policy of this node, or take it away");
      } else if (!value.text()->starts_with("sha256:")) {  // what an export says of itself
        demands_.policy = *value.text();
      }
    }
  }

  // A hook is a program of the host that runs outside, as whoever runs the engine.
  void hooks(const Node& config) {
    const Node* hooks = config.find("hooks");
    if (hooks == nullptr || hooks->map() == nullptr) return;
    for (const auto& [kind, programs] : *hooks->map()) {
      const NodeList* list = programs.list();
      if (list == nullptr) continue;
      for (std::size_t i = 0; i < list->size(); ++i) {
        demands_.has_hooks = true;
        const std::string path = text_in((*list)[i], "path");
        if (context_.hooks.contains(path)) continue;
        complain(at("hooks." + kind, i), "runs " + quote(path) + " outside of the container",
                 "if the node's operator trusts that program: cordon oci --hook " +
                     shell_word(path.empty() ? "PROGRAM" : path));
      }
    }
  }

  void mount(const Node& mount, const std::string& where) {
    known(mount, where, kMountKeys);
    const std::string type = text_in(mount, "type");
    const auto destination = plain_path(text_in(mount, "destination"));
    if (!destination) {
      return complain(where, "its destination is not an absolute path", kMalformed);
    }
    bool bind = type == "bind";
    bool writable = true;
    if (const NodeList* options = list_in(mount, "options")) {
      for (const Node& option : *options) {
        const std::string word = option.text() != nullptr ? *option.text() : std::string();
        bind = bind || word == "bind" || word == "rbind";
        if (word == "ro" || word == "rro") writable = false;
        if (word == "rw") writable = true;
        mount_option(word, where);
      }
    }
    if (bind) return bind_mount(mount, where, *destination, writable);
    if (type == "tmpfs") {
      if (contains("/proc", *destination) || contains("/sys", *destination)) {
        complain(where, "hides what Cordon masks in " + *destination, "mount it elsewhere");
      }
      return;
    }
    const auto own = std::ranges::find(kOwnMounts, std::string_view(type),
                                       [](const auto& one) { return one.first; });
    if (own == kOwnMounts.end()) {
      complain(where, "a mount of type " + quote(type) + " is not one of a container's own",
               "bind a directory of the host that the ceiling grants");
    } else if (*destination != own->second) {
      complain(where, type + " belongs at " + std::string(own->second), "mount it there");
    }
  }

  void mount_option(const std::string& word, const std::string& where) {
    const auto begins = [&](std::string_view start) { return word.starts_with(start); };
    if (lists(kMountOptions, word) || std::ranges::any_of(kMountValues, begins)) return;
    if (word == "shared" || word == "rshared") {
      complain(where, "shared propagation brings mounts of the container out to the host",
               "ask for private propagation");
    } else {
      complain(where, "the option " + quote(word) + " is one that Cordon does not judge",
               "leave it out");
    }
  }

  void bind_mount(const Node& mount, const std::string& where, const std::string& destination,
                  bool writable) {
    std::string source = text_in(mount, "source");
    if (source.empty()) return complain(where, "it names nothing to bind", kMalformed);
    if (!source.starts_with('/')) source = join(context_.bundle, source);
    if (has_dotdot(source)) return complain(where, "its source holds ..", "name it without");
    if (contains("/proc", destination) || contains("/sys", destination)) {
      return complain(where, "it lies over what Cordon masks in " + destination,
                      "bind it elsewhere");
    }
    demands_.binds.push_back({where, normalize(source), destination, writable});
  }

  void linux_part(const Node& part) {
    known(part, "linux", kLinuxKeys);
    namespaces(part);
    devices(part);
    sysctl(part);
    const std::string propagation = text_in(part, "rootfsPropagation");
    if (propagation == "shared" || propagation == "rshared" || propagation == "unbindable") {
      complain("linux.rootfsPropagation",
               quote(propagation) + " brings mounts of the container out to the host",
               "ask for private propagation");
    }
    if (const Node* resources = part.find("resources")) resource_part(*resources);
  }

  void namespaces(const Node& part) {
    const NodeList* list = list_in(part, "namespaces");
    if (list == nullptr) return complain("linux.namespaces", "is missing", kMalformed);
    for (std::size_t i = 0; i < list->size(); ++i) {
      AskedNamespace one{text_in((*list)[i], "type"), text_in((*list)[i], "path")};
      constexpr std::array<std::string_view, 8> kTypes{"pid", "network", "mount",  "ipc",
                                                       "uts", "user",    "cgroup", "time"};
      if (!lists(kTypes, one.type)) {
        complain(at("linux.namespaces", i), "the type " + quote(one.type) + " is not known",
                 kMalformed);
      }
      if (one.type == "mount" && !one.path.empty()) {
        complain(at("linux.namespaces", i), "another's mount namespace is joined",
                 "let the container have its own");
      }
      demands_.namespaces.push_back(std::move(one));
    }
    for (const char* needed : {"mount", "pid", "ipc", "uts"}) {
      const auto is_it = [&](const AskedNamespace& one) { return one.type == needed; };
      if (std::ranges::any_of(demands_.namespaces, is_it)) continue;
      complain("linux.namespaces",
               std::string("the ") + needed + " namespace of the host is shared",
               "ask the engine for a private one");
    }
  }

  void devices(const Node& part) {
    const NodeList* list = list_in(part, "devices");
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Node& device = (*list)[i];
      if (is_plain_device(text_in(device, "type"), number_in(device, "major").value_or(-1),
                          number_in(device, "minor").value_or(-1))) {
        continue;
      }
      complain(at("linux.devices", i),
               "the device " + quote(text_in(device, "path")) + " is not one of every container's",
               "leave it out: no policy of Cordon grants a device");
    }
  }

  void sysctl(const Node& part) {
    const Node* values = part.find("sysctl");
    if (values == nullptr || values->map() == nullptr) return;
    const auto own_network = std::ranges::any_of(
        demands_.namespaces,
        [](const AskedNamespace& one) { return one.type == "network" && one.path.empty(); });
    for (const auto& [key, value] : *values->map()) {
      const bool of_ipc = key.starts_with("kernel.shm") || key.starts_with("kernel.msg") ||
                          key == "kernel.sem" || key.starts_with("fs.mqueue.");
      if (of_ipc || (key.starts_with("net.") && own_network)) continue;
      complain("linux.sysctl." + key, "changes a setting of more than the container",
               "leave it out");
    }
  }

  void resource_part(const Node& resources) {
    known(resources, "linux.resources", kResourceKeys);
    if (const NodeList* rules = list_in(resources, "devices")) {
      for (std::size_t i = 0; i < rules->size(); ++i) {
        device_rule((*rules)[i], at("linux.resources.devices", i));
      }
    }
    if (const Node* memory = resources.find("memory")) {
      if (is_true(*memory, "disableOOMKiller")) {
        complain("linux.resources.memory", "the kernel is kept from ending what uses too much",
                 "leave disableOOMKiller out");
      }
      const auto limit = number_in(*memory, "limit");
      if (limit && *limit > 0) demands_.limits.memory = static_cast<std::uint64_t>(*limit);
    }
    if (const Node* pids = resources.find("pids")) {
      const auto limit = number_in(*pids, "limit");
      if (limit && *limit > 0) demands_.limits.pids = static_cast<std::uint64_t>(*limit);
    }
    if (const Node* cpu = resources.find("cpu")) {
      const auto quota = number_in(*cpu, "quota");
      const auto period = number_in(*cpu, "period");
      constexpr std::int64_t kThousandths = 1000;
      constexpr std::int64_t kLargest = std::int64_t{1} << 50;
      if (quota && period && *quota > 0 && *quota<kLargest&& * period> 0) {
        demands_.limits.cpus_milli =
            std::max<std::uint64_t>(1, static_cast<std::uint64_t>(*quota * kThousandths / *period));
      }
    }
  }

  void device_rule(const Node& rule, const std::string& where) {
    const std::string access = text_in(rule, "access");
    const bool only_makes = !access.empty() && access.find_first_of("rw") == std::string::npos;
    if (!is_true(rule, "allow") || only_makes) return;
    const std::int64_t major = number_in(rule, "major").value_or(-1);
    const std::int64_t minor = number_in(rule, "minor").value_or(-1);
    constexpr std::int64_t kTerminals = 5;
    constexpr std::int64_t kPseudoTerminals = 136;
    const std::string type = text_in(rule, "type");
    if (type == "c" &&
        (major == kPseudoTerminals || (major == kTerminals && minor <= 2 && minor >= 0)))
      return;
    if (is_plain_device(type, major, minor)) return;
    complain(where, "devices beyond those of every container are opened",
             "start it without --privileged and without devices");
  }

  const DemandContext& context_;
  Demands& demands_;
};

void read_capabilities(const Node& process, const std::string& where, Demands& demands) {
  const Node* sets = process.find("capabilities");
  if (sets == nullptr || sets->map() == nullptr) return;
  for (const auto& [set, names] : *sets->map()) {
    const NodeList* list = names.list();
    if (!lists(kCapabilitySets, set) || list == nullptr) {
      demands.complaints.push_back({at(where, "capabilities." + set),
                                    "is not a set of capabilities",
                                    "give the runtime a bundle of the specification"});
      continue;
    }
    for (const Node& name : *list) {
      const std::string word = name.text() != nullptr ? *name.text() : std::string();
      if (is_usual_capability(word)) continue;
      demands.complaints.push_back(
          {at(where, "capabilities." + set),
           word + " is asked for: a command of Cordon's has no capabilities, and this one is none "
                  "that engines give by themselves",
           "start it without --privileged and without --cap-add " + word});
      return;  // the same name stands in up to five sets
    }
  }
}

}  // namespace

Demands read_demands(const Node& config, const DemandContext& context) {
  Demands demands;
  Reader(context, demands).config(config);
  return demands;
}

void read_process(const Node& process, const std::string& where, Demands& demands) {
  const auto complain = [&](std::string place, std::string what, std::string hint) {
    demands.complaints.push_back({std::move(place), std::move(what), std::move(hint)});
  };
  if (process.map() == nullptr) return complain(where, "is not an object", "give it one");
  for (const auto& [key, value] : *process.map()) {
    if (lists(kProcessKeys, key)) continue;
    complain(at(where, key), "is a key that Cordon does not judge",
             "take it out of what the engine is asked for");
  }
  if (const NodeList* words = list_in(process, "args")) {
    for (const Node& word : *words) {
      if (word.text() != nullptr) demands.argv.push_back(*word.text());
    }
  }
  if (const NodeList* variables = list_in(process, "env")) {
    for (const Node& one : *variables) {
      if (one.text() == nullptr) continue;
      demands.variables.push_back(one.text()->substr(0, one.text()->find('=')));
    }
  }
  // What the runtime itself has open leads out of the container by this (CVE-2024-21626).
  const std::string cwd = text_in(process, "cwd");
  if (contains("/proc", normalize(cwd.starts_with('/') ? cwd : "/" + cwd)) || has_dotdot(cwd)) {
    complain(at(where, "cwd"), quote(cwd) + " may lead to what the runtime has open",
             "start it in a directory of the container");
  }
  read_capabilities(process, where, demands);
}

bool is_plain_device(std::string_view type, std::int64_t major, std::int64_t minor) {
  constexpr std::int64_t kMemoryDevices = 1;
  constexpr std::int64_t kTerminals = 5;
  constexpr std::array<std::int64_t, 5> kMinors{3, 5, 7, 8, 9};  // null zero full random urandom
  if (type != "c") return false;
  if (major == kTerminals) return minor == 0;
  return major == kMemoryDevices && std::ranges::find(kMinors, minor) != kMinors.end();
}

bool is_usual_capability(std::string_view name) { return lists(kUsualCapabilities, name); }

std::optional<std::string> plain_path(std::string_view text) {
  if (!text.starts_with('/') || has_dotdot(text)) return std::nullopt;
  return normalize(text);
}

}  // namespace cordon::oci
