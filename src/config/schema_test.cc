#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/policy_document.h"
#include "cordon/outcome.h"
#include "policy/agents.h"

namespace cordon {
namespace {

using testing::UnorderedElementsAreArray;

Node parsed(std::string_view schema) {
  auto read = read_json(schema, "schema.json");
  EXPECT_TRUE(read.has_value()) << message(read.error());
  return read.value();
}

const Node& at(const Node& node, std::initializer_list<std::string_view> path) {
  static const Node kNothing;
  const Node* here = &node;
  for (const std::string_view key : path) {
    here = here->find(key);
    EXPECT_NE(here, nullptr) << key;
    if (here == nullptr) return kNothing;
  }
  return *here;
}

std::vector<std::string> keys_of(const Node& node) {
  std::vector<std::string> keys;
  const NodeMap* map = node.map();
  if (map == nullptr) return keys;
  for (const auto& [key, value] : *map) keys.push_back(key);
  return keys;
}

std::vector<std::string> texts_of(const Node& node) {
  std::vector<std::string> texts;
  const NodeList* list = node.list();
  if (list == nullptr) return texts;
  for (const Node& element : *list) {
    const std::string* text = element.text();
    if (text != nullptr) texts.push_back(*text);
  }
  return texts;
}

// A key the decoder does not know gives "unknown key", whatever its value.
bool decoder_knows(const std::string& table, const std::string& key) {
  Node member;
  member.set(key, Node(NodeMap{}));
  Node document;
  document.set("version", 1);
  if (table.empty()) {
    if (key == "version") return true;
    document.set(key, Node(NodeMap{}));
  } else {
    document.set(table, std::move(member));
  }
  const auto decoded = decode_ceiling(document, "c", "/");
  return decoded.has_value() || !decoded.error().what.starts_with("unknown key");
}

TEST(PolicySchema, HasExactlyTheKeysOfTheDecoder) {
  const Node schema = parsed(policy_schema());
  const std::vector<std::string> tables{"fs",      "net",   "env",   "limits",
                                        "require", "agent", "audit", "ask"};
  std::set<std::string> every;
  for (const std::string& key : keys_of(at(schema, {"properties"}))) {
    EXPECT_TRUE(decoder_knows("", key)) << key;
    every.insert(key);
  }
  for (const std::string& table : tables) {
    for (const std::string& key : keys_of(at(schema, {"properties", table, "properties"}))) {
      EXPECT_TRUE(decoder_knows(table, key)) << table << key;
      every.insert(key);
    }
  }
  EXPECT_FALSE(decoder_knows("fs", "wrote"));
  for (const std::string& table : tables) {
    for (const std::string& key : every) {
      const auto known = keys_of(at(schema, {"properties", table, "properties"}));
      const bool in_schema = std::find(known.begin(), known.end(), key) != known.end();
      EXPECT_EQ(decoder_knows(table, key), in_schema) << table << key;
    }
  }
}

TEST(PolicySchema, IsClosedAtEveryTable) {
  const Node schema = parsed(policy_schema());
  EXPECT_EQ(std::get<bool>(at(schema, {"additionalProperties"}).value), false);
  for (const char* table : {"fs", "net", "env", "limits", "require", "agent", "audit", "ask"}) {
    const Node& closed = at(schema, {"properties", table, "additionalProperties"});
    EXPECT_EQ(std::get<bool>(closed.value), false) << table;
  }
}

TEST(PolicySchema, NamesEveryPresetModeAndLayer) {
  const Node schema = parsed(policy_schema());
  std::vector<std::string> presets(preset_names().begin(), preset_names().end());
  std::vector<std::string> agents;
  for (const AgentNeeds& agent : known_agents()) {
    agents.emplace_back(agent.name);
    presets.push_back("agent:" + agents.back());
  }
  EXPECT_THAT(texts_of(at(schema, {"properties", "extends", "enum"})),
              UnorderedElementsAreArray(presets));
  EXPECT_EQ(texts_of(at(schema, {"properties", "agent", "properties", "name", "enum"})), agents);
  EXPECT_EQ(texts_of(at(schema, {"properties", "net", "properties", "mode", "enum"})),
            (std::vector<std::string>{"none", "allow", "open"}));
  std::vector<std::string> layers;
  for (const Layer layer :
       {Layer::Namespaces, Layer::Landlock, Layer::Seccomp, Layer::Capabilities, Layer::Cgroup}) {
    layers.emplace_back(name_of(layer));
  }
  EXPECT_EQ(texts_of(at(schema, {"$defs", "layer", "enum"})), layers);
}

TEST(ReportSchema, RequiresEveryKeyItDescribes) {
  const Node schema = parsed(report_schema());
  EXPECT_EQ(keys_of(at(schema, {"properties"})), texts_of(at(schema, {"required"})));
  EXPECT_EQ(texts_of(at(schema, {"required"})).size(), 30U);
}

TEST(ReportSchema, NamesEveryReasonOfAReduction) {
  using Because = Reduction::Because;
  std::vector<std::string> reasons;
  for (const Because because :
       {Because::OutsideCeiling, Because::Narrowed, Because::SymlinkEscape, Because::Nonexistent,
        Because::Unenforceable, Because::Malformed, Because::Forbidden, Because::Login}) {
    reasons.emplace_back(name_of(because));
  }
  const Node schema = parsed(report_schema());
  EXPECT_EQ(
      texts_of(at(schema, {"properties", "reductions", "items", "properties", "because", "enum"})),
      reasons);
}

TEST(ReportSchema, NamesEveryKindOfError) {
  std::vector<std::string> kinds;
  for (const ErrorKind kind :
       {ErrorKind::Unavailable, ErrorKind::Untrusted, ErrorKind::Unsupported, ErrorKind::Policy,
        ErrorKind::Setup, ErrorKind::Command, ErrorKind::Audit, ErrorKind::Usage}) {
    kinds.emplace_back(name_of(kind));
  }
  const Node schema = parsed(report_schema());
  EXPECT_EQ(texts_of(at(schema, {"properties", "error", "properties", "kind", "enum"})), kinds);
}

TEST(ReportSchema, DescribesTheEffectivePolicyAsItIsEncoded) {
  const Node schema = parsed(report_schema());
  const Node encoded = encode_effective(Effective{});
  EXPECT_EQ(keys_of(encoded), texts_of(at(schema, {"$defs", "policy", "required"})));
  for (const char* table : {"fs", "net", "env", "limits", "require", "agent"}) {
    EXPECT_EQ(keys_of(*encoded.find(table)),
              texts_of(at(schema, {"$defs", "policy", "properties", table, "required"})));
  }
}

}  // namespace
}  // namespace cordon
