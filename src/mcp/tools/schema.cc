#include "mcp/tools/schema.h"

namespace cordon::mcp {

Node typed(std::string_view type, std::string_view description) {
  Node node{NodeMap{}};
  node.set("type", type);
  if (!description.empty()) node.set("description", description);
  return node;
}

Node text_schema(std::string_view description, int least, int most) {
  return typed("string", description).set("minLength", least).set("maxLength", most);
}

Node list_schema(std::string_view description, int least, int most, int longest) {
  return typed("array", description)
      .set("items", text_schema("", 0, longest))
      .set("minItems", least)
      .set("maxItems", most);
}

Node closed_object(NodeMap properties, NodeList required) {
  return typed("object", "")
      .set("properties", std::move(properties))
      .set("required", std::move(required))
      .set("additionalProperties", false);
}

}  // namespace cordon::mcp
