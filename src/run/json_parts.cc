#include "run/json_parts.h"

namespace cordon {

Node reductions_list(const std::vector<Reduction>& reductions) {
  NodeList list;
  for (const Reduction& reduction : reductions) {
    Node node{NodeMap{}};
    node.set("what", reduction.what);
    node.set("asked", reduction.asked);
    node.set("got", reduction.got ? Node(*reduction.got) : Node());
    node.set("because", name_of(reduction.because));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node error_object(const Error& error) {
  Node node{NodeMap{}};
  node.set("kind", name_of(error.kind));
  node.set("code", error.exit_status);
  node.set("message", message(error));
  node.set("hint", error.hint.empty() ? Node() : Node(error.hint));
  return node;
}

Node loss_list(const std::vector<Loss>& lost) {
  NodeList list;
  for (const Loss loss : lost) list.emplace_back(name_of(loss));
  return {std::move(list)};
}

Node text_list(const std::vector<std::string>& texts) {
  NodeList list;
  for (const std::string& text : texts) list.emplace_back(text);
  return {std::move(list)};
}

}  // namespace cordon
