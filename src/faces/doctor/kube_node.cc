#include "faces/doctor/kube_node.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "cordon/policy.h"
#include "host/inspect.h"
#include "host/own_programs.h"

namespace cordon {
namespace {

constexpr std::size_t kLongestFile = 1 << 20;
// The name that the CRI plugin has in each version of the configuration.
constexpr std::array<std::string_view, 2> kCriPlugins{"io.containerd.grpc.v1.cri",
                                                      "io.containerd.cri.v1.runtime"};
constexpr std::string_view kAnnotation = "cordon.dev/policy";
constexpr std::string_view kKubeletPods = "/var/lib/kubelet/pods";
constexpr std::array<const char*, 4> kProgramPlaces{"/usr/local/sbin", "/usr/local/bin",
                                                    "/usr/sbin", "/usr/bin"};
constexpr std::array<const char*, 2> kRuntimes{"runc", "crun"};

const Node* member(const Node* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

std::string text_of(const Node* node) {
  const std::string* text = node == nullptr ? nullptr : node->text();
  return text == nullptr ? std::string() : *text;
}

}  // namespace

Result<ContainerdConfig> read_containerd_config(std::string_view text, const std::string& name) {
  CORDON_TRY(document, read_toml(text, name));
  ContainerdConfig config;
  const Node* imports = document.find("imports");
  config.has_imports =
      imports != nullptr && (imports->list() == nullptr || !imports->list()->empty());
  for (const std::string_view plugin : kCriPlugins) {
    const Node* cri = member(document.find("plugins"), plugin);
    const Node* runtimes = member(member(cri, "containerd"), "runtimes");
    if (runtimes == nullptr || runtimes->map() == nullptr) continue;
    for (const auto& [handler, settings] : *runtimes->map()) {
      RuntimeHandler one{handler, text_of(member(settings.find("options"), "BinaryName")), {}};
      const Node* annotations = settings.find("pod_annotations");
      if (annotations != nullptr && annotations->list() != nullptr) {
        for (const Node& pattern : *annotations->list())
          one.annotations.push_back(text_of(&pattern));
      }
      config.handlers.push_back(std::move(one));
    }
  }
  return config;
}

namespace {

// cgroup v2 alone has the first of these in its root; a host that mounts both versions has its v2
// elsewhere.
KubeNode::Groups mounted_groups() {
  const auto has = [](const char* path) { return ::access(path, F_OK) == 0; };
  if (has("/sys/fs/cgroup/cgroup.controllers")) return KubeNode::Groups::V2;
  const bool first = has("/sys/fs/cgroup/memory") && has("/sys/fs/cgroup/pids");
  return first ? KubeNode::Groups::V1 : KubeNode::Groups::None;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : std::string();
}

// Whether somebody who is not root could put another program there.
bool is_replaceable(const std::string& real) {
  for (std::string place = real;; place = parent(place)) {
    struct stat status {};
    if (::lstat(place.c_str(), &status) < 0 || status.st_uid != 0) return true;
    const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & kOthersMayWrite) != 0 && !sticky) return true;
    if (place == "/") return false;
  }
}

SeatProgram examine(const std::string& program, const Caller& caller) {
  using Kind = SeatProgram::Kind;
  const std::string real = program.starts_with('/') ? real_path(program) : std::string();
  struct stat status {};
  if (real.empty() || ::stat(real.c_str(), &status) < 0 || !S_ISREG(status.st_mode) ||
      ::access(real.c_str(), X_OK) < 0) {
    return {Kind::Missing, false};
  }
  const bool replaceable = is_replaceable(real);
  const auto is_same = [&](const std::string& own) {
    struct stat other {};
    return ::stat(own.c_str(), &other) == 0 && other.st_dev == status.st_dev &&
           other.st_ino == status.st_ino;
  };
  // A link named cordon-oci leads to one of Cordon's programs; what it is called decides.
  const bool is_own = std::ranges::any_of(own_programs(caller), is_same);
  const bool by_link = program.substr(program.rfind('/') + 1) == "cordon-oci";
  if (is_own && by_link) return {replaceable ? Kind::Replaceable : Kind::Cordon, false};
  const auto content = read_followed(real, kLongestFile);
  if (!content || !content->starts_with("#!")) return {Kind::Stranger, false};
  const bool calls = content->find("cordon-oci") != std::string::npos ||
                     content->find("cordon oci") != std::string::npos;
  if (!calls) return {Kind::Stranger, false};
  const bool names = content->find("--engine-files") != std::string::npos &&
                     content->find(kKubeletPods) != std::string::npos;
  return {replaceable ? Kind::Replaceable : Kind::Script, names};
}

void read_config(KubeNode& node, const Caller& caller) {
  const auto text = read_followed(node.config_file, kLongestFile);
  if (!text) {
    node.has_config = ::access(node.config_file.c_str(), F_OK) == 0;
    if (node.has_config) {
      node.config_error = setup_error("cannot read " + quote(node.config_file), errno,
                                      "run cordon doctor --kube as root");
    }
    return;
  }
  node.has_config = true;
  const auto config = read_containerd_config(*text, node.config_file);
  if (!config) {
    node.config_error = config.error();
    return;
  }
  node.has_imports = config->has_imports;
  for (const RuntimeHandler& handler : config->handlers) {
    // The default of the shim is a runtime, and none of Cordon's.
    if (handler.program.empty()) continue;
    node.handlers.push_back({handler, examine(handler.program, caller)});
  }
}

void read_ceiling(KubeNode& node) {
  node.has_ceiling = ::access(node.ceiling_file.c_str(), F_OK) == 0;
  if (!node.has_ceiling) return;
  const auto ceiling = Ceiling::from_file(node.ceiling_file);
  if (!ceiling) {
    node.ceiling_error = ceiling.error();
    return;
  }
  node.opens_network = ceiling->policy.net.mode == NetMode::Open;
  for (const auto* list : {&ceiling->policy.fs.read, &ceiling->policy.fs.write}) {
    for (const PathRule& rule : *list) {
      if (rule.text.starts_with('/') && contains(normalize(rule.text), kKubeletPods)) {
        node.grants_kubelet_pods = true;
      }
    }
  }
}

void read_policies(KubeNode& node) {
  constexpr std::string_view kSuffix = ".toml";
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(node.policy_directory.c_str()),
                                                  ::closedir);
  if (!names) return;
  while (const dirent* entry = ::readdir(names.get())) {
    const std::string name = entry->d_name;
    if (!name.ends_with(kSuffix)) continue;
    node.policies.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::ranges::sort(node.policies);
  for (const std::string& name : node.policies) {
    const auto policy = Policy::from_file(join(node.policy_directory, name + std::string(kSuffix)));
    if (!policy) node.policy_errors.push_back(policy.error());
  }
}

}  // namespace

KubeNode collect_kube_node(const Caller& caller, const std::string& system) {
  KubeNode node;
  node.groups = mounted_groups();
  node.config_file = join(system, "containerd/config.toml");
  node.ceiling_file = join(system, "cordon/ceiling.toml");
  node.policy_directory = join(system, "cordon/policies");
  read_config(node, caller);
  for (const char* runtime : kRuntimes) {
    const bool there = std::ranges::any_of(kProgramPlaces, [&](const char* place) {
      return ::access(join(place, runtime).c_str(), X_OK) == 0;
    });
    if (there) node.runtimes.emplace_back(runtime);
  }
  read_ceiling(node);
  read_policies(node);
  return node;
}

namespace {

Check node_check(CheckCategory category, const char* name, CheckStatus status, std::string message,
                 std::string cure) {
  if (status == CheckStatus::Pass) cure.clear();
  return {category, name, status, std::move(message), std::move(cure)};
}

Check check_groups(const KubeNode& node) {
  constexpr const char* kCure = "boot with cgroup v2: systemd.unified_cgroup_hierarchy=1";
  switch (node.groups) {
    case KubeNode::Groups::V2:
      return node_check(CheckCategory::System, "cgroup", CheckStatus::Pass, "v2", "");
    case KubeNode::Groups::V1:
      return node_check(CheckCategory::System, "cgroup", CheckStatus::Warn,
                        "v1: a kubelet of 1.35 and later does not start there unless it is told to",
                        kCure);
    case KubeNode::Groups::None:
      return node_check(
          CheckCategory::System, "cgroup", CheckStatus::Fail,
          "none is mounted: limits cannot be held, and containers with some are refused", kCure);
  }
  return {};
}

Check check_runtimes(const KubeNode& node) {
  std::string found;
  for (const std::string& name : node.runtimes)
    found.append(found.empty() ? "" : ", ").append(name);
  return node_check(
      CheckCategory::System, "real-runtime", found.empty() ? CheckStatus::Fail : CheckStatus::Pass,
      found.empty() ? "neither runc nor crun is installed" : found, "apt install runc");
}

bool is_seat(const KubeNode::Handler& handler) {
  return handler.program.kind == SeatProgram::Kind::Cordon ||
         handler.program.kind == SeatProgram::Kind::Script;
}

Check check_config(const KubeNode& node) {
  const std::string file = quote(node.config_file);
  if (!node.has_config) {
    return node_check(
        CheckCategory::Config, "containerd", CheckStatus::Fail, file + " is not there",
        "containerd config default writes one; k3s and CRI-O keep theirs elsewhere, where "
        "this does not look");
  }
  if (node.config_error) {
    return node_check(CheckCategory::Config, "containerd", CheckStatus::Fail,
                      message(*node.config_error), node.config_error->hint);
  }
  return node_check(CheckCategory::Config, "containerd", CheckStatus::Pass, file, "");
}

Check check_handler(const KubeNode& node) {
  std::string seats;
  std::string others;
  for (const KubeNode::Handler& one : node.handlers) {
    std::string line = one.handler.name + ": " + quote(one.handler.program);
    switch (one.program.kind) {
      case SeatProgram::Kind::Cordon:
      case SeatProgram::Kind::Script:
        seats.append(seats.empty() ? "" : ", ").append(line);
        continue;
      case SeatProgram::Kind::Missing:
        line += " cannot be executed";
        break;
      case SeatProgram::Kind::Replaceable:
        line += " may be replaced by others than root";
        break;
      case SeatProgram::Kind::Stranger:
        line += " is not Cordon's";
        break;
    }
    others.append(others.empty() ? "" : ", ").append(line);
  }
  if (!seats.empty()) {
    return node_check(CheckCategory::Config, "runtime-handler", CheckStatus::Pass, seats, "");
  }
  return node_check(
      CheckCategory::Config, "runtime-handler", CheckStatus::Fail,
      others.empty() ? "no handler names a program of its own" : others,
      "give a handler BinaryName = \"/usr/libexec/cordon/cordon-oci\", owned by root: "
      "docs/kubernetes.md has the lines");
}

bool passes_annotation(const RuntimeHandler& handler) {
  return std::ranges::any_of(handler.annotations, [](const std::string& pattern) {
    return pattern == kAnnotation || pattern == "cordon.dev/*" || pattern == "*";
  });
}

Check check_annotations(const KubeNode& node) {
  std::string without;
  bool any = false;
  for (const KubeNode::Handler& one : node.handlers) {
    if (!is_seat(one)) continue;
    any = true;
    if (!passes_annotation(one.handler))
      without.append(without.empty() ? "" : ", ").append(one.handler.name);
  }
  if (!any) {
    return node_check(CheckCategory::Config, "pod-annotations", CheckStatus::Fail,
                      "there is no handler to pass annotations to", "see runtime-handler");
  }
  return node_check(CheckCategory::Config, "pod-annotations",
                    without.empty() ? CheckStatus::Pass : CheckStatus::Fail,
                    without.empty() ? "cordon.dev/policy reaches Cordon"
                                    : without +
                                          ": the policy that a pod names does not reach Cordon, "
                                          "and the node's ceiling counts alone",
                    "write pod_annotations = [\"cordon.dev/*\"] into the handler");
}

Check check_engine_files(const KubeNode& node) {
  const bool named = std::ranges::any_of(node.handlers, [](const KubeNode::Handler& one) {
    return is_seat(one) && one.program.names_engine_files;
  });
  const bool passed = named || node.grants_kubelet_pods;
  return node_check(CheckCategory::Config, "kubelet-files",
                    passed ? CheckStatus::Pass : CheckStatus::Fail,
                    passed ? "what the kubelet makes for a pod may be bound"
                           : "what the kubelet makes for a pod, such as its /etc/hosts, may not be "
                             "bound: every pod is refused",
                    "let a script call cordon oci with --engine-files " +
                        std::string(kKubeletPods) + ", and name it as BinaryName");
}

Check check_ceiling(const KubeNode& node) {
  const std::string file = quote(node.ceiling_file);
  if (!node.has_ceiling) {
    return node_check(CheckCategory::Config, "node-ceiling", CheckStatus::Fail,
                      file + " is not there: every container is refused",
                      "write it: see docs/oci.md");
  }
  if (node.ceiling_error) {
    return node_check(CheckCategory::Config, "node-ceiling", CheckStatus::Fail,
                      message(*node.ceiling_error), node.ceiling_error->hint);
  }
  return node_check(CheckCategory::Config, "node-ceiling",
                    node.opens_network ? CheckStatus::Pass : CheckStatus::Fail,
                    node.opens_network ? file
                                       : file +
                                             " permits no network, and every pod of a cluster "
                                             "has one: all are refused",
                    "write mode = \"open\" below [net], and let NetworkPolicy say who is reached");
}

Check check_policies(const KubeNode& node) {
  if (!node.policy_errors.empty()) {
    const Error& first = node.policy_errors.front();
    return node_check(CheckCategory::Config, "node-policies", CheckStatus::Fail, message(first),
                      first.hint);
  }
  std::string names;
  for (const std::string& name : node.policies)
    names.append(names.empty() ? "" : ", ").append(name);
  return node_check(CheckCategory::Config, "node-policies", CheckStatus::Pass,
                    names.empty() ? "none: a pod can name no policy of this node" : names, "");
}

}  // namespace

std::vector<Check> judge_kube_node(const KubeNode& node) {
  return {check_groups(node),  check_runtimes(node),    check_config(node),
          check_handler(node), check_annotations(node), check_engine_files(node),
          check_ceiling(node), check_policies(node)};
}

std::vector<std::string> unseen_from_node(const KubeNode& node) {
  std::vector<std::string> lines = {
      "whether the network plugin enforces NetworkPolicy: start a pod under one that denies "
      "everything, and see whether it reaches something",
      "whether the cluster has the RuntimeClass and the admission policy: kubectl get "
      "runtimeclass,validatingadmissionpolicybinding",
      "whether containerd was started again since its configuration was changed"};
  if (node.has_imports) lines.emplace_back("files that the configuration of containerd imports");
  const bool script = std::ranges::any_of(node.handlers, [](const KubeNode::Handler& one) {
    return one.program.kind == SeatProgram::Kind::Script;
  });
  if (script) lines.emplace_back("what a script makes of its options before it calls cordon oci");
  return lines;
}

}  // namespace cordon
