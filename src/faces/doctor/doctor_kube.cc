// cordon doctor --kube: whether this node has Cordon in the seat of its runtime.
#include <algorithm>

#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "faces/doctor/doctor_view.h"
#include "faces/doctor/kube_node.h"
#include "host/resolve.h"

namespace cordon {
namespace {

std::string kube_json(const std::vector<Check>& checks, const std::vector<std::string>& unseen) {
  NodeList list;
  for (const Check& check : checks) list.push_back(check_node(check));
  NodeList lines;
  for (const std::string& line : unseen) lines.emplace_back(line);
  Node document{NodeMap{}};
  document.set("schema", "cordon.doctor-kube/1").set("checks", std::move(list));
  document.set("unseen", std::move(lines));
  return write_json(document, JsonStyle::Pretty) + "\n";
}

}  // namespace

int doctor_kube(const Arguments& arguments) {
  const auto caller = identify_caller();
  if (!caller) {
    say_error(caller.error());
    return kAnswerError;
  }
  if (caller->environment.contains("KUBERNETES_SERVICE_HOST")) {
    say_error(usage_error("this is a pod, from which its node cannot be seen",
                          "run cordon doctor --kube on the node; in a pod, cordon doctor tells "
                          "what a run could enforce there"));
    return kAnswerError;
  }
  const KubeNode node = collect_kube_node(*caller, "/etc");
  const std::vector<Check> checks = judge_kube_node(node);
  const std::vector<std::string> unseen = unseen_from_node(node);
  std::string text;
  if (arguments.has(FlagId::Json)) {
    text = kube_json(checks, unseen);
  } else if (arguments.has(FlagId::FixHints)) {
    text = doctor_hints(checks);
  } else {
    text = doctor_text(checks) + "\n";
    for (const std::string& line : unseen) text.append("not seen from here: " + line + "\n");
  }
  if (!say_answer(text)) return kAnswerError;
  const bool failed = std::ranges::any_of(
      checks, [](const Check& check) { return check.status == CheckStatus::Fail; });
  return failed ? kAnswerNo : kAnswerYes;
}

}  // namespace cordon
