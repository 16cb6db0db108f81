// Twenty policies on a made-up host, as each engine gets them, compared with the texts in
// tests/golden; and what an account owes to its reader. To accept a change, run with
// CORDON_UPDATE_GOLDEN=1, read the difference, build again.
#include "compat/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/text.h"
#include "compat/engine/yaml_text.h"
#include "config/node.h"
#include "plan/codec.h"
#include "plan/made_up_host.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

constexpr std::string_view kOciGolden =
#include "golden/export_oci.inc"
    ;
constexpr std::string_view kKubeGolden =
#include "golden/export_kube.inc"
    ;
constexpr std::string_view kSlurmGolden =
#include "golden/export_slurm.inc"
    ;

constexpr const char* kProject = "/home/alex/project";

struct World {
  Resolved request;
  HostFacts facts = made_up_facts();
  Caller caller = made_up_user();
  std::vector<ResolvedCeiling> ceilings;
  std::vector<std::string> given_up;
};

struct PolicyCase {
  std::string name;
  std::string preset;
  std::function<void(World&)> change;
};

World& without_limits(World& world) {
  world.given_up.emplace_back("limits");
  return world;
}

void add_host(World& world, const char* rule) {
  world.request.policy.net.mode = NetMode::Allow;
  world.request.policy.net.allow.push_back(parse_host_rule(rule).value());
}

const std::vector<PolicyCase>& policies() {
  static const std::vector<PolicyCase> kCases = {
      {"strict", "strict", [](World&) {}},
      {"workspace", "workspace", [](World&) {}},
      {"readonly", "readonly", [](World&) {}},
      {"strict without limits", "strict", [](World& w) { without_limits(w); }},
      {"workspace without limits", "workspace", [](World& w) { without_limits(w); }},
      {"readonly without limits", "readonly", [](World& w) { without_limits(w); }},
      {"build without limits", "build", [](World& w) { without_limits(w); }},
      {"agent without limits", "agent", [](World& w) { without_limits(w); }},
      {"strict as root without the bound of the output", "strict",
       [](World& w) {
         w.caller = made_up_root();
         w.given_up = {"limits.output_total"};
       }},
      {"repository with protected and denied names", "workspace",
       [](World& w) {
         without_limits(w);
         const std::string project = kProject;
         w.facts.held = {{project + "/.vscode", HoldKind::Editor, FileKind::Directory, {64, 7}}};
         w.facts.masked = {{project + "/.env", FileKind::Regular, {64, 9}, "denied by .env"}};
         w.facts.git = {{project + "/.git",
                         {64, 11},
                         {{project + "/.git", HoldKind::Git, FileKind::Directory, {64, 11}}},
                         {{project + "/.git/hooks", HoldKind::Git, FileKind::Directory, {64, 12}}},
                         {{project + "/.git/config", {64, 13}, "[core]\n"}}}};
       }},
      {"denied name", "workspace",
       [](World& w) {
         without_limits(w);
         w.request.policy.fs.deny = {{".env", {}}};
         w.request.deny = {{".env", {}, ".env"}};
       }},
      {"named host", "workspace",
       [](World& w) {
         without_limits(w);
         add_host(w, "example.com:443");
       }},
      {"addresses, one of them denied", "workspace",
       [](World& w) {
         without_limits(w);
         add_host(w, "10.1.0.0/16:8000-8099");
         add_host(w, "[2001:db8::1]:443");
         w.request.policy.net.deny = {parse_host_rule("10.1.2.3").value()};
       }},
      {"addresses", "workspace",
       [](World& w) {
         without_limits(w);
         add_host(w, "10.1.0.0/16:8000-8099");
         add_host(w, "0.0.0.0/0:443");
       }},
      {"open network", "workspace",
       [](World& w) {
         without_limits(w);
         w.request.policy.net.mode = share_the_hosts_network();
       }},
      {"staged", "workspace",
       [](World& w) {
         without_limits(w);
         w.request.policy.fs.mode = WriteMode::Staged;
       }},
      {"published port", "workspace",
       [](World& w) {
         without_limits(w);
         w.request.policy.net.publish = {{8080, 80}};
       }},
      {"clock, processors and sizes", "strict",
       [](World& w) {
         w.caller = made_up_root();
         w.request.policy.limits = {};
         w.request.policy.limits.wall_ms = 90'500;
         w.request.policy.limits.cpus_milli = 1500;
         w.request.policy.limits.memory = 100'000'000;
         w.request.policy.limits.file_size = 1 << 20;
       }},
      {"control group required", "strict",
       [](World& w) {
         without_limits(w);
         w.request.policy.require.layers.push_back(Layer::Cgroup);
       }},
      {"limit that a ceiling asks for", "strict",
       [](World& w) {
         without_limits(w);
         ResolvedCeiling ceiling;
         ceiling.ceiling.id = "/etc/cordon/ceiling.toml";
         ceiling.ceiling.policy.limits.output_total = 1 << 20;
         w.ceilings.push_back(ceiling);
       }},
  };
  return kCases;
}

World world_of(const PolicyCase& one) {
  World world;
  world.request = resolved_preset(one.preset);
  one.change(world);
  return world;
}

using Exporter = std::function<Result<EngineExport>(const EngineRequest&, const Policy&)>;

Result<EngineExport> exported(const PolicyCase& one, const Exporter& exporter) {
  World world = world_of(one);
  CORDON_CHECK(give_up_restrictions(world.request.policy, world.given_up));
  const Policy policy = world.request.policy;
  CORDON_TRY(clamped, clamp(world.request, world.ceilings));
  const PlanRequest made = made_up_request();
  return exporter({clamped, world.facts, world.caller, made.argv, made.cwd, world.given_up},
                  policy);
}

Result<EngineExport> to_oci(const EngineRequest& request, const Policy&) {
  return export_oci(request, "/usr/libexec/cordon/cordon-inside");
}

KubeOptions kube_options(KubeOptions::Kind kind, std::optional<std::string> inside) {
  return {kind,
          "fix-tests",
          "example.com/tool@sha256:" + std::string(64, '0'),
          std::move(inside),
          std::nullopt,
          std::nullopt};
}

Result<EngineExport> to_kube(const EngineRequest& request, const Policy&) {
  return export_kube(request, kube_options(KubeOptions::Kind::Job, "/cordon-inside"));
}

Result<EngineExport> to_slurm(const EngineRequest& request, const Policy& policy) {
  return export_slurm(request, policy,
                      {"fix-tests", "/home/alex/job", "/usr/bin/cordon", std::nullopt});
}

// One line for each value; what is nested in a list stands on one.
void flatten(const Node& node, const std::string& path, std::string& text) {
  if (const NodeMap* members = node.map(); members != nullptr && !members->empty()) {
    for (const auto& [key, value] : *members) {
      flatten(value, path.empty() ? key : path + "." + key, text);
    }
    return;
  }
  const NodeList* list = node.list();
  if (list != nullptr && std::ranges::any_of(*list, [](const Node& n) { return n.map(); })) {
    for (const Node& element : *list) {
      text += "  " + path + ": " + write_json(element, JsonStyle::Compact) + "\n";
    }
    return;
  }
  text += "  " + path + ": " + write_json(node, JsonStyle::Compact) + "\n";
}

std::string described(const ArtefactEntry& entry) {
  if (entry.kind == ArtefactEntry::Kind::Symlink) return "link " + entry.path + " " + entry.content;
  if (entry.kind == ArtefactEntry::Kind::Directory) return "directory " + entry.path;
  return "file " + entry.path;
}

std::string content_of(const ArtefactEntry& entry) {
  if (entry.kind != ArtefactEntry::Kind::File) return {};
  if (entry.path == "plan") {
    const auto plan = decode_plan(entry.content);
    return plan ? describe(*plan) : "no plan\n";
  }
  if (entry.path == "config.json") {
    std::string text;
    flatten(*read_json(entry.content, entry.path), "", text);
    return text;
  }
  return entry.content;
}

// A plan in base64 is not for reading.
std::string without_long_lines(const std::string& text) {
  constexpr std::size_t kLongest = 1000;
  std::string kept;
  for (const std::string_view line : split(text, '\n')) {
    kept.append(line.size() > kLongest ? line.substr(0, line.find(':')) : line).append("\n");
  }
  kept.pop_back();
  return kept;
}

std::string golden_text(const Exporter& exporter) {
  std::string text;
  for (const PolicyCase& one : policies()) {
    text += "==== " + one.name + "\n";
    const auto made = exported(one, exporter);
    if (!made) {
      text += "refused: " + message(made.error()) + "\n";
      for (const std::string& note : made.error().notes) text += "also: " + note + "\n";
      text += "hint: " + made.error().hint + "\n";
      continue;
    }
    for (const Carriage& line : made->account) {
      text.append(name_of(line.how)).append(" " + line.key + ": " + line.words + "\n");
    }
    for (const ArtefactEntry& entry : made->entries) {
      text += described(entry) + "\n" + without_long_lines(content_of(entry));
    }
  }
  return text;
}

void expect_export(const std::string& name, std::string_view golden, const Exporter& exporter) {
  const std::string text = golden_text(exporter);
  if (std::getenv("CORDON_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(std::string(CORDON_GOLDEN_DIR "/") + name + ".txt");
    file << text;
    ASSERT_TRUE(file.flush()) << "cannot write " << name;
    return;
  }
  EXPECT_EQ(text, golden);
}

TEST(Export, HasTwentyPolicies) { EXPECT_EQ(policies().size(), 20U); }

TEST(Export, OfABundleIsAsWrittenDown) { expect_export("export_oci", kOciGolden, to_oci); }

TEST(Export, OfAJobOfKubernetesIsAsWrittenDown) {
  expect_export("export_kube", kKubeGolden, to_kube);
}

TEST(Export, OfABatchScriptIsAsWrittenDown) {
  expect_export("export_slurm", kSlurmGolden, to_slurm);
}

// What stops an export is carried out by giving it up, and by nothing less.
TEST(Export, RefusesUntilEverythingItNamesIsGivenUp) {
  World world;
  world.request = resolved_preset("strict");
  const auto attempt = [&](std::vector<std::string> keys) {
    World now = world;
    EXPECT_TRUE(give_up_restrictions(now.request.policy, keys));
    const auto clamped = clamp(now.request, {});
    const PlanRequest made = made_up_request();
    return export_oci({*clamped, now.facts, now.caller, made.argv, made.cwd, keys}, "/inside");
  };
  const auto refused = attempt({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  const std::string mark = "--drop ";
  const std::string hint = refused.error().hint;
  const std::string named = hint.substr(hint.find(mark) + mark.size());
  std::vector<std::string> keys;
  for (const std::string_view key : split(named, ',')) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"limits.memory", "limits.output_total"}));
  EXPECT_TRUE(attempt(keys));
  EXPECT_FALSE(attempt({keys.front()}));
}

TEST(Export, GivesUpNothingThatThePolicyDoesNotAskFor) {
  Policy policy;
  const std::vector<std::string> keys = {"limits.wall"};
  const auto refused = give_up_restrictions(policy, keys);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
  policy.limits.wall_ms = 1000;
  EXPECT_TRUE(give_up_restrictions(policy, keys));
  EXPECT_FALSE(policy.limits.wall_ms);
}

TEST(Export, OfAPodNeedsLandlockInTheImageIfThePolicyRequiresIt) {
  const PolicyCase one = policies()[3];
  const auto to_pod = [](std::optional<std::string> inside) {
    return [inside = std::move(inside)](const EngineRequest& request, const Policy&) {
      return export_kube(request, kube_options(KubeOptions::Kind::Pod, inside));
    };
  };
  const auto refused = exported(one, to_pod(std::nullopt));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("landlock"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(exported(one, to_pod("/cordon-inside")));
}

// An admission policy and the runtime of a node see the pod alone: what a controller makes of a
// template has to be marked as well.
TEST(Export, OfEveryKindMarksThePod) {
  for (const auto kind :
       {KubeOptions::Kind::Job, KubeOptions::Kind::Pod, KubeOptions::Kind::Sandbox}) {
    for (const std::optional<std::string>& named :
         {std::optional<std::string>(), std::optional<std::string>("batch")}) {
      const auto made = exported(policies()[3], [&](const EngineRequest& request, const Policy&) {
        KubeOptions options = kube_options(kind, "/cordon-inside");
        options.node_policy = named;
        return export_kube(request, options);
      });
      ASSERT_TRUE(made);
      const std::string text = made->entries.front().content;
      const std::string mark =
          named ? "cordon.dev/policy: \"batch\"\n" : "cordon.dev/policy: \"sha256:";
      std::size_t marked = 0;
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
        ++marked;
      // The NetworkPolicy, the ConfigMap, the object itself, and the template that has a pod.
      EXPECT_EQ(marked, kind == KubeOptions::Kind::Pod ? 3U : 4U) << text;
    }
  }
}

TEST(Export, OfASandboxIsThePodInATemplate) {
  const auto text_of = [](KubeOptions::Kind kind) {
    const auto made = exported(policies()[3], [&](const EngineRequest& request, const Policy&) {
      return export_kube(request, kube_options(kind, "/cordon-inside"));
    });
    return made ? made->entries.front().content : message(made.error());
  };
  const auto after = [](const std::string& text, const std::string& mark) {
    const std::size_t at = text.rfind(mark);
    return at == std::string::npos ? mark + " is missing" : text.substr(at + mark.size());
  };
  std::string indented;
  const std::string pod = after(text_of(KubeOptions::Kind::Pod), "\nspec:\n");
  for (const std::string_view line : split(pod, '\n')) {
    if (!line.empty()) indented.append("    ").append(line).append("\n");
  }
  const std::string sandbox = text_of(KubeOptions::Kind::Sandbox);
  EXPECT_NE(sandbox.find("apiVersion: \"agents.x-k8s.io/v1beta1\"\nkind: \"Sandbox\"\n"),
            std::string::npos);
  EXPECT_EQ(after(sandbox, "\n    spec:\n"), indented);
}

TEST(Export, NamesPoliciesOfNodesByNameAlone) {
  EXPECT_TRUE(is_policy_name("batch-2.small"));
  for (const char* name : {"", "../batch", "/etc/x", "sha256:00", ".hidden", "a b"})
    EXPECT_FALSE(is_policy_name(name)) << name;
  EXPECT_FALSE(is_policy_name(std::string(64, 'a')));
}

TEST(Export, TakesImagesByDigestAlone) {
  const std::string digest(64, 'a');
  EXPECT_TRUE(is_by_digest("example.com/tool@sha256:" + digest));
  EXPECT_FALSE(is_by_digest("example.com/tool:1.2"));
  EXPECT_FALSE(is_by_digest("@sha256:" + digest));
  EXPECT_FALSE(is_by_digest("example.com/tool@sha256:" + digest.substr(1)));
  EXPECT_FALSE(is_by_digest("example.com/tool@sha256:" + std::string(64, 'G')));
}

// The bundle of a run, by the path of an entry.
std::string entry_of_run(const Plan& plan, const std::string& path) {
  for (const Op& operation : plan.build) {
    const auto* run = std::get_if<op::RunBundle>(&operation);
    if (run == nullptr) continue;
    for (const ArtefactEntry& entry : run->entries) {
      if (entry.path == path) return content_of(entry);
    }
  }
  return {};
}

TEST(OciRun, LeavesVariablesAndLimitsToTheSupervisor) {
  World world;
  world.request = resolved_preset("workspace");
  const auto clamped = clamp(world.request, {});
  ASSERT_TRUE(clamped);
  PlanRequest wanted = made_up_request();
  wanted.private_directory = "/home/alex/.local/state/cordon/private/one";
  const EngineRequest request{*clamped, world.facts, world.caller, {"make"}, kProject, {}};
  const auto plan = plan_oci_run(request, wanted, "/usr/libexec/cordon/cordon-inside",
                                 {"runc", "/usr/sbin/runc"});
  ASSERT_TRUE(plan) << message(plan.error());
  EXPECT_EQ(plan->backend, BackendKind::Oci);
  EXPECT_TRUE(plan->seal.empty());
  const std::string config = entry_of_run(*plan, "config.json");
  EXPECT_NE(config.find("process.args: [\"/.cordon/inside\",\"bundle\"]"), std::string::npos)
      << config;
  EXPECT_NE(config.find("process.env: []"), std::string::npos) << config;
  EXPECT_EQ(config.find("resources"), std::string::npos) << config;
  // The plan comes by a descriptor.
  for (const Op& operation : plan->build) {
    const auto* run = std::get_if<op::RunBundle>(&operation);
    if (run == nullptr) continue;
    EXPECT_EQ(run->directory, wanted.private_directory);
    const auto is_probe = [](const ArtefactEntry& entry) { return entry.path == "plan"; };
    const auto probe = std::ranges::find_if(run->entries, is_probe);
    ASSERT_NE(probe, run->entries.end());
    EXPECT_EQ(probe->content, "x");
  }
}

TEST(YamlText, QuotesWhatAReaderWouldTakeForSomethingElse) {
  Node inner;
  inner.set("on", "no").set("plain-key", NodeList{Node(1), Node("1")}).set("empty", NodeList{});
  Node node;
  node.set("a.b/c", inner).set("text", "two\nlines: \"x\"");
  EXPECT_EQ(write_yaml(node),
            "a.b/c:\n  \"on\": \"no\"\n  plain-key:\n    - 1\n    - \"1\"\n  empty: []\n"
            "text: \"two\\nlines: \\\"x\\\"\"\n");
}

}  // namespace
}  // namespace cordon
