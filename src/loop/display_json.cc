#include "config/node.h"
#include "loop/displays.h"

namespace cordon::loop {
namespace {

Node begin(std::string_view name) {
  Node node{NodeMap{}};
  node.set("event", name);
  return node;
}

Node progress_node(const FeatureProgress& one) {
  Node node{NodeMap{}};
  node.set("id", one.id).set("state", name_of(one.state)).set("attempts", one.attempts);
  node.set("wall_ms", one.wall_ms).set("tokens", one.spent.tokens);
  node.set("micro_dollars", one.spent.micro_dollars);
  node.set("reason", one.reason.empty() ? Node() : Node(one.reason));
  return node;
}

Node progress_list(const std::vector<FeatureProgress>& features) {
  NodeList list;
  for (const FeatureProgress& one : features) list.push_back(progress_node(one));
  return list;
}

struct Nodes {
  Node operator()(const ProbeStarted&) const { return begin("probe_started"); }
  Node operator()(const LoopStarted& event) const {
    Node layers{NodeMap{}};
    const Enforcement& held = event.enforcement;
    layers.set("backend", held.backend).set("namespaces", held.namespaces);
    layers.set("landlock", held.landlock).set("seccomp", held.seccomp);
    layers.set("cap_drop", held.cap_drop).set("network", held.network);
    Node credential;
    if (event.credential) {
      const bool login = event.credential->kind == Credential::Kind::Login;
      credential = Node{NodeMap{}};
      credential.set("kind", login ? "login" : "variable").set("label", event.credential->label);
      credential.set("copied", event.credential->copied);
    }
    return begin("loop_started")
        .set("project", event.project)
        .set("agent", event.agent)
        .set("enforcement", std::move(layers))
        .set("credential", std::move(credential))
        .set("features", progress_list(event.features));
  }
  Node operator()(const AttemptStarted& event) const {
    return begin("attempt_started")
        .set("id", event.id)
        .set("title", event.title)
        .set("attempt", event.attempt)
        .set("most", event.most);
  }
  Node operator()(const AgentTold& event) const { return std::visit(*this, event.event); }
  Node operator()(const Said& event) const { return begin("agent_said").set("text", event.text); }
  Node operator()(const UsedTool& event) const {
    return begin("agent_tool").set("tool", event.tool).set("detail", event.detail);
  }
  Node operator()(const Spent& event) const {
    return begin("agent_spent")
        .set("tokens", event.tokens)
        .set("micro_dollars", event.micro_dollars);
  }
  Node operator()(const Claimed& event) const {
    return begin("agent_claimed").set("success", event.success).set("text", event.text);
  }
  Node operator()(const Unreadable& event) const {
    return begin("agent_unreadable").set("excerpt", event.excerpt);
  }
  Node operator()(const AgentNoted& event) const {
    return begin("agent_stderr").set("line", event.line);
  }
  Node operator()(const AgentEnded& event) const {
    NodeList denials;
    for (const Denial& denial : event.denials) {
      Node node{NodeMap{}};
      node.set("what", denial.what).set("detail", denial.detail).set("layer", denial.layer);
      denials.push_back(std::move(node.set("count", denial.count)));
    }
    NodeList handoff;
    for (const Handoff& one : event.handoff) {
      Node node{NodeMap{}};
      node.set("path", one.path).set("kind", one.kind);
      node.set("moved_to", one.moved_to.empty() ? Node() : Node(one.moved_to));
      node.set("restored", one.restored);
      handoff.push_back(std::move(node));
    }
    return begin("agent_ended")
        .set("status", cordon::exit_status(event.end))
        .set("timed_out", std::holds_alternative<TimedOut>(event.end))
        .set("duration_ms", event.duration_ms)
        .set("denials", std::move(denials))
        .set("handoff", std::move(handoff));
  }
  Node operator()(const VerifyStarted& event) const {
    return begin("verify_started").set("command", event.command);
  }
  Node operator()(const VerifyEnded& event) const {
    return begin("verify_ended")
        .set("accepted", event.accepted)
        .set("status", event.status)
        .set("output", event.output);
  }
  Node operator()(const Committed& event) const {
    return begin("committed").set("done", event.done).set("output", event.output);
  }
  Node operator()(const FeatureEnded& event) const {
    return begin("feature_ended").set("feature", progress_node(event.progress));
  }
  Node operator()(const Paused&) const { return begin("paused"); }
  Node operator()(const Resumed&) const { return begin("resumed"); }
  Node operator()(const LoopEnded& event) const {
    Node error;
    if (event.error) {
      error = Node{NodeMap{}};
      error.set("kind", name_of(event.error->kind)).set("code", code(event.error->kind));
      error.set("message", message(*event.error)).set("hint", event.error->hint);
    }
    return begin("loop_ended")
        .set("why", name_of(event.why))
        .set("reason", event.reason.empty() ? Node() : Node(event.reason))
        .set("error", std::move(error))
        .set("features", progress_list(event.features));
  }
};

}  // namespace

void JsonDisplay::show(const LoopEvent& event) {
  write_(write_json(std::visit(Nodes{}, event), JsonStyle::Compact));
}

}  // namespace cordon::loop
