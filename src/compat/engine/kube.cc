// A policy as objects of Kubernetes: a Job, a Pod or a Sandbox that the Pod Security standard
// "restricted" admits, and a NetworkPolicy that denies everything else. A pod has an image instead
// of the host's files, so what a policy grants of the host begins empty or has to be in the image;
// what it denies there is held by cordon-inside, if the image has it, or not at all.
#include <algorithm>
#include <array>
#include <set>

#include "base/base64.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "compat/engine/engine.h"
#include "compat/engine/yaml_text.h"
#include "config/policy_document.h"
#include "policy/address.h"
#include "policy/net_rules.h"
#include "sandbox/native/container_init.h"

namespace cordon {
namespace {

constexpr std::string_view kPlanPlace = "/.cordon";
constexpr std::string_view kPlanName = "plan";
constexpr std::string_view kPolicyAnnotation = "cordon.dev/policy";
// podman, which plays the same objects, takes no annotation of more than 63 characters.
constexpr std::size_t kAnnotatedDigits = 32;
// Where an image has its programs and libraries.
constexpr std::array<std::string_view, 6> kImageSystem = {"/bin",   "/sbin",  "/lib",
                                                          "/lib32", "/lib64", "/opt"};
constexpr std::uint64_t kUid = 1000;
constexpr std::uint64_t kSecond = 1000;
constexpr std::uint64_t kKeptSeconds = 86'400;  // of a Job that has ended

// A variable that every command has, or that the policy sets: none that was the caller's alone.
bool is_written_out(const std::string& variable, const Effective& effective) {
  static const std::set<std::string_view> kBaseline = {"HOME",  "LANG", "LOGNAME", "PATH", "PWD",
                                                       "SHELL", "TERM", "TMPDIR",  "USER"};
  const std::string name = variable.substr(0, variable.find('='));
  return kBaseline.contains(name) || effective.env.set.contains(name);
}

class KubeObjects {
 public:
  KubeObjects(const EngineRequest& request, const KubeOptions& options, const Plan& plan)
      : request_(request),
        options_(options),
        plan_(plan),
        effective_(request.clamped.effective()) {}

  [[nodiscard]] std::string text() const {
    std::string all;
    const auto add = [&](const Node& object) {
      all += (all.empty() ? "" : "---\n") + write_yaml(object);
    };
    add(network_policy());
    if (options_.inside) add(config_map());
    add(workload());
    return all;
  }

 private:
  [[nodiscard]] Node labels() const {
    return Node()
        .set("app.kubernetes.io/name", options_.name)
        .set("app.kubernetes.io/managed-by", "cordon");
  }
  // Of every object, and of the pods that a controller makes of a template: an admission policy
  // and the runtime of the node see the pod alone.
  [[nodiscard]] Node annotations() const {
    Node node;
    if (options_.node_policy)
      return node.set(std::string(kPolicyAnnotation), *options_.node_policy);
    const std::string hash =
        sha256_hex(write_json(encode_effective(effective_), JsonStyle::Compact));
    return node.set(std::string(kPolicyAnnotation), "sha256:" + hash.substr(0, kAnnotatedDigits));
  }
  [[nodiscard]] Node metadata() const {
    Node node;
    node.set("name", options_.name).set("labels", labels());
    return node.set("annotations", annotations());
  }
  [[nodiscard]] Node workload() const {
    switch (options_.kind) {
      case KubeOptions::Kind::Job:
        return job();
      case KubeOptions::Kind::Pod:
        return pod();
      case KubeOptions::Kind::Sandbox:
        return sandbox();
    }
    return {};
  }
  [[nodiscard]] Node object(const char* version, const char* kind) const {
    return Node().set("apiVersion", version).set("kind", kind).set("metadata", metadata());
  }

  [[nodiscard]] Node network_policy() const {
    Node spec;
    spec.set("podSelector",
             Node().set("matchLabels", Node().set("app.kubernetes.io/name", options_.name)));
    spec.set("policyTypes", text_nodes({"Ingress", "Egress"}));
    spec.set("ingress", NodeList{}).set("egress", egress());
    return object("networking.k8s.io/v1", "NetworkPolicy").set("spec", std::move(spec));
  }
  [[nodiscard]] static Node block(const std::string& cidr, const std::vector<std::string>& except) {
    Node range;
    range.set("cidr", cidr);
    if (!except.empty()) range.set("except", text_nodes(except));
    return Node().set("ipBlock", std::move(range));
  }
  // Where clouds hand out the machine's credentials is left out of every range.
  [[nodiscard]] Node egress() const {
    const std::vector<std::string> metadata4 = {"169.254.0.0/16"};
    const std::vector<std::string> metadata6 = {"fd00:ec2::254/128", "fe80::/10"};
    NodeList rules;
    if (effective_.net.mode == NetMode::Open) {
      rules.push_back(
          Node().set("to", NodeList{block("0.0.0.0/0", metadata4), block("::/0", metadata6)}));
    }
    if (effective_.net.mode != NetMode::Allow) return rules;
    for (const HostRule& rule : effective_.net.allow) {
      const bool four = rule.kind == HostRule::Kind::Address4;
      if (!four && rule.kind != HostRule::Kind::Address6) continue;
      Address address{four ? Address::Family::V4 : Address::Family::V6, rule.address};
      std::vector<std::string> except;
      if (rule.prefix == 0) except = four ? metadata4 : metadata6;
      Node one;
      one.set("to",
              NodeList{block(to_string(address) + "/" + std::to_string(rule.prefix), except)});
      Node port;
      port.set("protocol", "TCP").set("port", Node(std::uint64_t{rule.first_port}));
      if (rule.last_port != rule.first_port)
        port.set("endPort", Node(std::uint64_t{rule.last_port}));
      rules.push_back(one.set("ports", NodeList{port}));
    }
    return rules;
  }

  [[nodiscard]] Node config_map() const {
    return object("v1", "ConfigMap")
        .set("immutable", Node(true))
        .set("binaryData", Node().set(std::string(kPlanName), base64(inner_layers(plan_))));
  }

  [[nodiscard]] std::optional<std::uint64_t> deadline() const {
    const auto& wall = effective_.limits.wall_ms;
    if (!wall) return std::nullopt;
    return std::max<std::uint64_t>(1, *wall / kSecond);
  }
  [[nodiscard]] Node pod() const { return object("v1", "Pod").set("spec", pod_spec(true)); }
  [[nodiscard]] Node job() const {
    Node spec;
    spec.set("backoffLimit", Node(0)).set("completions", Node(1)).set("parallelism", Node(1));
    if (const auto seconds = deadline()) spec.set("activeDeadlineSeconds", Node(*seconds));
    spec.set("ttlSecondsAfterFinished", Node(kKeptSeconds));
    spec.set("template", pod_template(false));
    return object("batch/v1", "Job").set("spec", std::move(spec));
  }
  // The controller of agent-sandbox makes one pod of it, under the Sandbox's own name.
  [[nodiscard]] Node sandbox() const {
    return object("agents.x-k8s.io/v1beta1", "Sandbox")
        .set("spec", Node().set("podTemplate", pod_template(true)));
  }
  [[nodiscard]] Node pod_template(bool with_deadline) const {
    Node inner;
    inner.set("labels", labels()).set("annotations", annotations());
    return Node().set("metadata", std::move(inner)).set("spec", pod_spec(with_deadline));
  }
  [[nodiscard]] Node pod_spec(bool with_deadline) const {
    Node spec;
    spec.set("restartPolicy", "Never");
    if (with_deadline) {
      if (const auto seconds = deadline()) spec.set("activeDeadlineSeconds", Node(*seconds));
    }
    if (options_.runtime_class) spec.set("runtimeClassName", *options_.runtime_class);
    spec.set("automountServiceAccountToken", Node(false)).set("enableServiceLinks", Node(false));
    spec.set("hostname", "cordon");
    Node security;
    security.set("runAsNonRoot", Node(true)).set("runAsUser", Node(kUid));
    security.set("runAsGroup", Node(kUid)).set("fsGroup", Node(kUid));
    security.set("seccompProfile", Node().set("type", "RuntimeDefault"));
    spec.set("securityContext", std::move(security));
    NodeList volumes;
    NodeList mounts;
    add_volumes(volumes, mounts);
    spec.set("containers", NodeList{container(std::move(mounts))});
    return spec.set("volumes", std::move(volumes));
  }
  [[nodiscard]] Node container(NodeList mounts) const {
    Node node;
    node.set("name", "command").set("image", options_.image);
    std::vector<std::string> words;
    if (options_.inside) {
      words = {*options_.inside, native::kConfineInside, join(kPlanPlace, kPlanName)};
    } else {
      words = plan_.argv;
    }
    node.set("command", text_nodes(words));
    node.set("workingDir", start());
    NodeList variables;
    for (const std::string& one : plan_.environment) {
      const std::size_t equals = one.find('=');
      variables.push_back(
          Node().set("name", one.substr(0, equals)).set("value", one.substr(equals + 1)));
    }
    node.set("env", std::move(variables));
    node.set("resources", resources());
    Node security;
    security.set("allowPrivilegeEscalation", Node(false));
    security.set("readOnlyRootFilesystem", Node(true)).set("runAsNonRoot", Node(true));
    security.set("capabilities", Node().set("drop", text_nodes({"ALL"})));
    security.set("seccompProfile", Node().set("type", "RuntimeDefault"));
    node.set("securityContext", std::move(security));
    return node.set("volumeMounts", std::move(mounts));
  }
  // A directory that no volume is mounted at need not be in the image.
  [[nodiscard]] std::string start() const {
    const auto holds = [&](const Grant& grant) { return contains(grant.path, plan_.cwd); };
    return std::ranges::any_of(effective_.write, holds) ? plan_.cwd : "/";
  }
  [[nodiscard]] Node resources() const {
    const Limits& limits = effective_.limits;
    Node node{NodeMap{}};
    if (!limits.cpus_milli && !limits.memory) return node;
    Node bounds{NodeMap{}};
    if (limits.cpus_milli) bounds.set("cpu", std::to_string(*limits.cpus_milli) + "m");
    if (limits.memory) bounds.set("memory", std::to_string(*limits.memory));
    return node.set("limits", bounds).set("requests", bounds);
  }
  void add_volumes(NodeList& volumes, NodeList& mounts) const {
    const auto add = [&](const std::string& name, const std::string& path, Node source,
                         bool read_only) {
      volumes.push_back(std::move(source));
      Node mount;
      mount.set("name", name).set("mountPath", path);
      if (read_only) mount.set("readOnly", Node(true));
      mounts.push_back(std::move(mount));
    };
    const auto in_memory = [&](const std::string& name) {
      Node empty;
      empty.set("medium", "Memory");
      if (effective_.scratch) empty.set("sizeLimit", std::to_string(*effective_.scratch));
      return Node().set("name", name).set("emptyDir", std::move(empty));
    };
    for (const Op& operation : plan_.build) {
      const auto* place = std::get_if<op::ScratchDirectory>(&operation);
      if (place == nullptr) continue;
      const std::string name = "scratch-" + std::to_string(volumes.size());
      add(name, place->path, in_memory(name), false);
    }
    const bool kept_home = effective_.home == HomeMode::Persistent;
    if (kept_home && !request_.caller.home.empty()) {
      add("home", request_.caller.home, Node().set("name", "home").set("emptyDir", Node(NodeMap{})),
          false);
    }
    for (const Grant& grant : effective_.write) {
      const std::string name = "write-" + std::to_string(volumes.size());
      add(name, grant.path, Node().set("name", name).set("emptyDir", Node(NodeMap{})), false);
    }
    if (options_.inside) {
      Node map;
      map.set("name", options_.name);
      add("cordon", std::string(kPlanPlace),
          Node().set("name", "cordon").set("configMap", std::move(map)), true);
    }
  }

  const EngineRequest& request_;
  const KubeOptions& options_;
  const Plan& plan_;
  const Effective& effective_;
};

void account_pod_network(const Effective& effective, LossReport& report) {
  constexpr const char* kPlugin =
      "held by a NetworkPolicy, which does nothing where the network plugin does not enforce it";
  report.weakened("net.mode", kPlugin);
  if (effective.net.mode != NetMode::Allow) return;
  const auto is_named = [](const HostRule& rule) {
    return rule.kind == HostRule::Kind::Name || rule.kind == HostRule::Kind::Subdomains;
  };
  bool addresses = false;
  for (const HostRule& rule : effective.net.allow) {
    if (is_named(rule)) {
      report.left_out("net.allow",
                      to_string(rule) + ": a NetworkPolicy knows addresses, and no names");
    } else {
      addresses = true;
      report.weakened("net.allow", to_string(rule) + ": " + kPlugin);
    }
  }
  for (const HostRule& rule : effective.net.deny) {
    if (addresses) {
      report.cannot_hold("net.deny", to_string(rule) + " could be reached by an allowed address");
    }
  }
}

void account_pod_limits(const Effective& effective, bool inside, LossReport& report) {
  const Limits& limits = effective.limits;
  const auto by_inside = [&](const char* key, bool set, const char* how) {
    if (!set) return;
    if (inside) return report.carried(key, how);
    report.cannot_hold(key,
                       "a pod has no field for it; cordon-inside in the image would hold it: "
                       "--inside PATH");
  };
  if (limits.wall_ms && *limits.wall_ms < kSecond) {
    report.weakened("limits.wall", "activeDeadlineSeconds is a second at least");
  } else if (limits.wall_ms) {
    report.carried("limits.wall", "activeDeadlineSeconds");
  }
  by_inside("limits.cpu", limits.cpu_ms.has_value(), "RLIMIT_CPU, by cordon-inside");
  by_inside("limits.files", limits.files.has_value(), "RLIMIT_NOFILE, by cordon-inside");
  by_inside("limits.file_size", limits.file_size.has_value(), "RLIMIT_FSIZE, by cordon-inside");
  if (limits.memory) report.carried("limits.memory", "resources.limits.memory");
  if (limits.cpus_milli) report.carried("limits.cpus", "resources.limits.cpu");
  if (limits.pids) {
    report.cannot_hold("limits.pids",
                       "a pod has no field for it: podPidsLimit of the kubelet "
                       "holds for every pod of a node");
  }
}

void account_pod_files(const Effective& effective, LossReport& report) {
  for (const Grant& grant : effective.read) {
    if (grant.source == Grant::Source::System) continue;
    report.left_out("fs.read", quote(grant.path) + ": a pod has it only if the image has");
  }
  report.weakened("fs.read", "the system and the toolchains are those of the image");
  for (const Grant& grant : effective.write) {
    report.weakened("fs.write",
                    quote(grant.path) + " begins empty, and what is written goes with the pod");
  }
  if (!effective.deny.empty()) {
    report.cannot_hold("fs.deny", "a pod has no field for what is hidden inside of a volume");
  }
  if (effective.scratch) {
    report.weakened("fs.scratch", "the bound holds for each place by itself, and counts as memory");
  }
  if (effective.home == HomeMode::Persistent) {
    report.left_out("fs.home", "the home is not kept: it goes with the pod");
  } else if (effective.home == HomeMode::Private) {
    report.carried("fs.home", "an emptyDir in memory");
  }
  if (effective.caches) report.left_out("fs.caches", "nothing is kept from pod to pod");
}

void account_pod_layers(const Effective& effective, const KubeOptions& options,
                        LossReport& report) {
  report.weakened("layers.namespaces", "those of the container runtime, without a user namespace");
  report.carried("layers.capabilities", "drop: ALL, and no privilege escalation");
  if (!may_be_missing(effective, Layer::Cgroup)) {
    report.carried("layers.cgroup", "the kubelet's, as far as resources go");
  }
  if (options.inside) {
    report.carried("layers.landlock", "cordon-inside of the image, before the command starts");
    report.carried("layers.seccomp", "RuntimeDefault, and Cordon's filter by cordon-inside");
    report.weakened("image", "it must have cordon-inside of this very release at " +
                                 quote(*options.inside) + "; another one refuses the plan");
    return;
  }
  report.weakened("layers.seccomp", "RuntimeDefault of the container runtime, not Cordon's filter");
  constexpr const char* kNoLandlock =
      "a pod has no field for Landlock: have cordon-inside in the image, and say where with "
      "--inside PATH";
  if (may_be_missing(effective, Layer::Landlock)) {
    report.weakened("layers.landlock", kNoLandlock);
  } else {
    report.cannot_hold_layer(Layer::Landlock, kNoLandlock);
  }
}

}  // namespace

bool is_by_digest(std::string_view image) {
  constexpr std::string_view kMark = "@sha256:";
  constexpr std::size_t kDigits = 64;
  const std::size_t at = image.find(kMark);
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view digest = image.substr(at + kMark.size());
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return digest.size() == kDigits && std::ranges::all_of(digest, is_digit);
}

bool is_object_name(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kLongest) return false;
  if (!is_word(name.front()) || !is_word(name.back())) return false;
  return std::ranges::all_of(name, [&](char c) { return is_word(c) || c == '-'; });
}

bool is_policy_name(std::string_view name) {
  constexpr std::size_t kLongest = 63;  // that podman takes as an annotation
  const auto is_word = [](char c) {
    const char low = lower_case(c);
    return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || name.size() > kLongest || !is_word(name.front())) return false;
  return std::ranges::all_of(
      name, [&](char c) { return is_word(c) || c == '-' || c == '_' || c == '.'; });
}

Result<EngineExport> export_kube(const EngineRequest& request, const KubeOptions& options) {
  const Effective& effective = request.clamped.effective();
  PlanRequest wanted{.argv = request.argv,
                     .cwd = request.cwd,
                     .persistent_home = "/.home",
                     .cache_directory = "/.caches"};
  CORDON_TRY(plan, plan_for_engine(request, wanted));
  std::erase_if(plan.environment,
                [&](const std::string& one) { return !is_written_out(one, effective); });
  // Of the host's own objects a pod has none: the rules are by path, and for what is there.
  std::erase_if(plan.build, [](const Op& operation) {
    return std::holds_alternative<op::Bind>(operation) ||
           std::holds_alternative<op::Hold>(operation) ||
           std::holds_alternative<op::Mask>(operation);
  });
  // An image need not be laid out as this host is.
  for (const std::string_view path : kImageSystem) {
    plan.build.emplace_back(
        op::LandlockAllow{std::string(path), LandlockUse::ReadExecute, FileKind::Directory});
  }
  for (Op& operation : plan.build) {
    auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule == nullptr) continue;
    rule->id = {};
    rule->optional = true;
  }
  // Runtimes make one for each container, and their default filter then refuses keyctl, as does the
  // filter of Cordon in a runtime's seat: cordon-inside would start nothing.
  std::erase_if(plan.confine, [](const Op& operation) {
    return std::holds_alternative<op::NewKeyring>(operation);
  });
  for (Op& operation : plan.confine) {
    // The kernel of the node is not known here; cordon-inside refuses one without Landlock.
    if (auto* landlock = std::get_if<op::RestrictLandlock>(&operation)) landlock->abi = 1;
    // The container is started where it is to be.
    if (auto* start = std::get_if<op::ChangeDirectory>(&operation)) start->path = ".";
  }
  const std::string text = KubeObjects(request, options, plan).text();
  LossReport report(request.given_up);
  account_pod_files(effective, report);
  account_pod_network(effective, report);
  account_pod_limits(effective, options.inside.has_value(), report);
  account_pod_layers(effective, options, report);
  if (!effective.env.pass.empty()) {
    report.left_out("env.pass",
                    "values of the caller are not written into an object: use a Secret");
  }
  report.carried("protect", "nothing of a host is in the pod");
  if (options.node_policy) {
    report.weakened("node", "the policy " + quote(*options.node_policy) +
                                " narrows the pod further where cordon oci starts it, and "
                                "nowhere else");
  }
  lose_what_needs_a_supervisor(effective, report);
  CORDON_TRY(account, report.settle(Engine::Kube));
  EngineExport made;
  made.document = options.name + ".yaml";
  made.entries.push_back({made.document, ArtefactEntry::Kind::File, text, 0644});
  made.account = std::move(account);
  return made;
}

}  // namespace cordon
