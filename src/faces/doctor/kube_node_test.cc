// What `cordon doctor --kube` makes of a node. Each check is seen to fail by the one thing that it
// is about, beside a node on which all of them pass.
#include "faces/doctor/kube_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace cordon {
namespace {

constexpr const char* kSecond = R"(version = 2
imports = []
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.cordon]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["cordon.dev/*"]
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.cordon.options]
    BinaryName = "/usr/libexec/cordon/cordon-oci"
)";
constexpr const char* kThird = R"(version = 3
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.cordon.options]
  BinaryName = '/usr/local/sbin/cordon-seat'
)";

TEST(KubeNode, ReadsBothFormsOfContainerdsConfiguration) {
  const auto second = read_containerd_config(kSecond, "config.toml");
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->has_imports);
  const RuntimeHandler runc{"runc", "", {}};
  const RuntimeHandler seat{"cordon", "/usr/libexec/cordon/cordon-oci", {"cordon.dev/*"}};
  EXPECT_EQ(second->handlers, (std::vector<RuntimeHandler>{runc, seat}));
  const auto third = read_containerd_config(kThird, "config.toml");
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->has_imports);
  const RuntimeHandler script{"cordon", "/usr/local/sbin/cordon-seat", {}};
  EXPECT_EQ(third->handlers, std::vector<RuntimeHandler>{script});
  EXPECT_FALSE(read_containerd_config("version = ", "config.toml"));
}

TEST(KubeNode, TakesAStrangeConfigurationForOneWithoutHandlers) {
  for (const char* text : {"", "version = 2\n", "plugins = 1\n",
                           "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\nruntimes = []\n",
                           "[plugins.\"another\".containerd.runtimes.cordon]\nx = 1\n"}) {
    const auto config = read_containerd_config(text, "config.toml");
    ASSERT_TRUE(config) << text;
    EXPECT_TRUE(config->handlers.empty()) << text;
  }
}

KubeNode good_node() {
  KubeNode node;
  node.groups = KubeNode::Groups::V2;
  node.config_file = "/etc/containerd/config.toml";
  node.has_config = true;
  node.handlers = {{{"cordon", "/usr/local/sbin/cordon-seat", {"cordon.dev/*"}},
                    {SeatProgram::Kind::Script, true}}};
  node.runtimes = {"runc"};
  node.ceiling_file = "/etc/cordon/ceiling.toml";
  node.has_ceiling = true;
  node.opens_network = true;
  node.policies = {"batch"};
  return node;
}

std::vector<std::string> failing(const KubeNode& node) {
  std::vector<std::string> names;
  for (const Check& check : judge_kube_node(node)) {
    EXPECT_EQ(check.cure.empty(), check.status == CheckStatus::Pass) << check.name;
    if (check.status == CheckStatus::Fail) names.push_back(check.name);
  }
  return names;
}

TEST(KubeNode, PassesWhereEverythingIsThere) { EXPECT_TRUE(failing(good_node()).empty()); }

TEST(KubeNode, EveryCheckFailsByWhatItIsAbout) {
  struct Case {
    std::vector<std::string> names;
    std::function<void(KubeNode&)> change;
  };
  const std::vector<Case> cases = {
      {{"cgroup"}, [](KubeNode& n) { n.groups = KubeNode::Groups::None; }},
      {{"real-runtime"}, [](KubeNode& n) { n.runtimes.clear(); }},
      {{"containerd"}, [](KubeNode& n) { n.has_config = false; }},
      {{"containerd"},
       [](KubeNode& n) {
         n.config_error = Error{.kind = ErrorKind::Policy, .what = "wrong", .hint = "mend it"};
       }},
      {{"runtime-handler", "pod-annotations", "kubelet-files"},
       [](KubeNode& n) { n.handlers.clear(); }},
      {{"runtime-handler", "pod-annotations", "kubelet-files"},
       [](KubeNode& n) { n.handlers.front().program.kind = SeatProgram::Kind::Replaceable; }},
      {{"pod-annotations"}, [](KubeNode& n) { n.handlers.front().handler.annotations = {"x/*"}; }},
      {{"kubelet-files"},
       [](KubeNode& n) { n.handlers.front().program.names_engine_files = false; }},
      {{"node-ceiling"}, [](KubeNode& n) { n.has_ceiling = false; }},
      {{"node-ceiling"}, [](KubeNode& n) { n.opens_network = false; }},
      {{"node-policies"},
       [](KubeNode& n) {
         n.policy_errors.push_back({.kind = ErrorKind::Policy, .what = "bad", .hint = "mend it"});
       }},
  };
  std::vector<std::string> seen;
  for (const Case& one : cases) {
    KubeNode node = good_node();
    one.change(node);
    EXPECT_EQ(failing(node), one.names);
    seen.insert(seen.end(), one.names.begin(), one.names.end());
  }
  for (const Check& check : judge_kube_node(good_node())) {
    EXPECT_NE(std::ranges::find(seen, check.name), seen.end()) << check.name << " cannot fail";
  }
}

TEST(KubeNode, TheCeilingMayGrantWhatTheKubeletMakes) {
  KubeNode node = good_node();
  node.handlers.front().program = {SeatProgram::Kind::Cordon, false};
  EXPECT_EQ(failing(node), std::vector<std::string>{"kubelet-files"});
  node.grants_kubelet_pods = true;
  EXPECT_TRUE(failing(node).empty());
}

TEST(KubeNode, SaysWhatItCannotSee) {
  const auto lines = unseen_from_node(good_node());
  const auto says = [&](const std::vector<std::string>& all, const char* words) {
    return std::ranges::any_of(
        all, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says(lines, "NetworkPolicy"));
  EXPECT_FALSE(says(lines, "imports"));
  KubeNode importing = good_node();
  importing.has_imports = true;
  EXPECT_TRUE(says(unseen_from_node(importing), "imports"));
}

}  // namespace
}  // namespace cordon
