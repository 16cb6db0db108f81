#include "mcp/full/decision.h"

#include "mcp/members.h"

namespace cordon::mcp {

Node decision_schema() {
  Node decision{NodeMap{}};
  decision.set("type", "string")
      .set("title", "Decision")
      .set("enum", NodeList{"deny", "allow"})
      .set("default", "deny");
  Node properties{NodeMap{}};
  properties.set("decision", std::move(decision));
  Node schema{NodeMap{}};
  schema.set("type", "object")
      .set("properties", std::move(properties))
      .set("required", NodeList{"decision"});
  return schema;
}

bool says_yes(const Elicited& answer) {
  const std::string* decision = text_member(answer.content, "decision");
  return answer.decision == Elicited::Decision::Accepted && decision != nullptr &&
         *decision == "allow";
}

}  // namespace cordon::mcp
