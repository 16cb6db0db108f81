#include "config/policy_document.h"

#include <array>

#include "config/decode.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 14> kPolicyKeys{
    "version", "extends", "fs",    "net",     "http",  "secret", "env",
    "limits",  "require", "agent", "protect", "audit", "keep",   "ask"};

Result<void> check_version(const Section& document) {
  const Node* version = document.find("version");
  if (version == nullptr) {
    return fail(document.error_at(document.node(), "missing key \"version\"", "add version = 1"));
  }
  const auto* number = std::get_if<std::int64_t>(&version->value);
  if (number == nullptr) {
    return fail(document.error_at(
        *version, "\"version\" must be a whole number, not " + std::string(kind_name(*version)),
        "write version = 1"));
  }
  if (*number != 1) {
    return fail(document.error_at(*version, "unknown version " + std::to_string(*number),
                                  "this Cordon reads version 1"));
  }
  return {};
}

Result<Policy> starting_point(const Section& document, const PresetHost& host) {
  CORDON_TRY(preset, document.text("extends"));
  if (!preset) return Policy{};
  if (is_preset(*preset->text)) return make_preset(*preset->text, host);
  std::string hint = suggestion(*preset->text, preset_names());
  if (hint.empty()) {
    hint = "the presets are";
    for (const std::string_view name : preset_names()) hint.append(" ").append(name);
  }
  return fail(
      document.error_at(*preset->node, "unknown preset " + shown(*preset->text), std::move(hint)));
}

Result<void> decode_sections(const Section& document, const std::string& base, DocumentRole role,
                             Policy& policy) {
  CORDON_CHECK(decode_fs(document, base, policy.fs));
  CORDON_CHECK(decode_net(document, base, policy.net));
  CORDON_CHECK(decode_http(document, policy.net));
  CORDON_CHECK(decode_secrets(document, policy.secrets));
  CORDON_CHECK(decode_env(document, policy.env));
  CORDON_CHECK(decode_limits(document, policy.limits));
  CORDON_CHECK(decode_require(document, role, policy.require));
  CORDON_CHECK(decode_protect(document, role, policy.protect));
  return decode_agent(document, role, policy.agent);
}

}  // namespace

Result<Policy> decode_policy(const Node& document, const std::string& file, const std::string& base,
                             const PresetHost& host) {
  CORDON_TRY(section, Section::open(document, file, "", kPolicyKeys));
  CORDON_CHECK(check_version(section));
  CORDON_CHECK(refuse_of_ceilings(section));
  CORDON_TRY(policy, starting_point(section, host));
  policy.name = file;
  CORDON_CHECK(decode_sections(section, base, DocumentRole::Policy, policy));
  return policy;
}

Result<Ceiling> decode_ceiling(const Node& document, const std::string& file,
                               const std::string& base) {
  CORDON_TRY(section, Section::open(document, file, "", kPolicyKeys));
  CORDON_CHECK(check_version(section));
  if (const Node* extends = section.find("extends")) {
    return fail(section.error_at_key(*extends, "a ceiling has no \"extends\"",
                                     "write out what the ceiling permits"));
  }
  Ceiling ceiling;
  ceiling.id = file;
  ceiling.policy.name = file;
  CORDON_CHECK(decode_sections(section, base, DocumentRole::Ceiling, ceiling.policy));
  const Node* fs = section.find("fs");
  if (fs != nullptr && fs->find("home") != nullptr) ceiling.home = ceiling.policy.fs.home;
  if (fs != nullptr && fs->find("caches") != nullptr) ceiling.caches = ceiling.policy.fs.caches;
  if (fs != nullptr && fs->find("trust_tracked") != nullptr) {
    ceiling.trust_tracked = ceiling.policy.fs.trust_tracked;
  }
  if (fs != nullptr && fs->find("mode") != nullptr) ceiling.mode = ceiling.policy.fs.mode;
  if (fs != nullptr && fs->find("stage") != nullptr) ceiling.stage = ceiling.policy.fs.stage;
  // An operator who wants to see every change means that of every run.
  if (!ceiling.mode && ceiling.stage == StageEnd::Review) ceiling.mode = WriteMode::Staged;
  ceiling.bounds_env = section.find("env") != nullptr;
  CORDON_TRY(audit, decode_audit(section));
  ceiling.audit = audit;
  CORDON_TRY(keep, decode_keep(section));
  ceiling.keep = keep;
  CORDON_TRY(ask, decode_ask(section, base));
  ceiling.ask = std::move(ask);
  return ceiling;
}

Result<Node> read_document(std::string_view text, const std::string& file) {
  return file.ends_with(".json") ? read_json(text, file) : read_toml(text, file);
}

}  // namespace cordon
