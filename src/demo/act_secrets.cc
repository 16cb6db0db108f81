#include "demo/acts.h"

namespace cordon::demo {
namespace {

Scenario private_key(Stage& stage) {
  const std::string key = stage.home().at(".ssh/id_ed25519");
  return stage.play(
      "ask for the private key", {{"/bin/cat", key}, {"~/.ssh"}, {}, {}}, Expected::Blocked,
      [&](const Report& report) { return kept_secret(report, key, ScratchHome::kKey); });
}

Scenario denied_name(Stage& stage) {
  const std::string file = stage.home().at("Documents/.env");
  return stage.play(
      "read .env in a readable directory", {{"/bin/cat", file}, {"~/Documents"}, {}, {}},
      Expected::Blocked,
      [&](const Report& report) { return kept_secret(report, file, ScratchHome::kPassword); });
}

Scenario variable(Stage& stage) {
  return stage.play("print a token of the environment",
                    {{"/usr/bin/printenv", ScratchHome::kVariable}, {}, {}, {}}, Expected::Blocked,
                    [&](const Report& report) {
                      const bool set = stage.caller().environment.contains(ScratchHome::kVariable);
                      const bool silent = nothing_leaked(report, ScratchHome::kVariableValue);
                      return Sight{set && silent, silent ? "the caller has it, the command has not"
                                                         : "the token was printed"};
                    });
}

}  // namespace

Scenarios play_secrets(Stage& stage) {
  return {private_key(stage), denied_name(stage), variable(stage)};
}

}  // namespace cordon::demo
