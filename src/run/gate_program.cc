#include "run/gate_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/trust_stores.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {

Result<pid_t> start_gate_program(const std::string& program, int control) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions, control, gate::kControl);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, gate::kControl + 1);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::string name = "cordon-gate";
  std::array<char*, 2> argv{name.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t child = -1;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(),
                                  environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(setup_error("cannot start " + quote(program), error));
  return child;
}

gate::Configuration gate_configuration(const Effective& effective) {
  const auto matches_of = [](const std::vector<RequestPattern>& patterns) {
    std::vector<gate::Match> matches;
    for (const RequestPattern& pattern : patterns)
      matches.push_back({pattern.method, pattern.path});
    return matches;
  };
  gate::Configuration configuration;
  for (const HttpRule& rule : effective.net.http) {
    gate::Rule made;
    made.id = to_string(rule.host);
    made.host = rule.host.name;
    made.port = rule.host.first_port;
    made.allow = matches_of(rule.allow);
    made.deny = matches_of(rule.deny);
    made.strip = rule.strip;
    made.request_bytes = rule.request_bytes;
    made.response_bytes = rule.response_bytes;
    made.per_minute = rule.per_minute;
    made.websocket = rule.websocket;
    if (!rule.secret.empty()) made.secret = rule.secret;
    configuration.rules.push_back(std::move(made));
  }
  for (const SecretRule& secret : effective.secrets) {
    gate::Secret made;
    made.name = secret.name;
    made.host = secret.host.name;
    switch (secret.kind) {
      case SecretRule::Kind::Header:
        made.kind = gate::SecretKind::Header;
        made.header = secret.header;
        break;
      case SecretRule::Kind::Basic:
        made.kind = gate::SecretKind::Basic;
        break;
      case SecretRule::Kind::Bearer:
        made.kind = gate::SecretKind::Bearer;
        break;
    }
    made.placeholder = placeholder_of(secret);
    configuration.secrets.push_back(std::move(made));
  }
  // For programs that go by the host's name.
  configuration.authority = true;
  configuration.bounds.traffic = effective.limits.request_traffic;
  return configuration;
}

Result<TrustStore> open_trust_store(const Caller& caller) {
  const auto open_store = [](const std::string& path) {
    return TrustStore{path, Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))};
  };
  const auto named = caller.environment.find("SSL_CERT_FILE");
  if (named != caller.environment.end() && !named->second.empty()) {
    TrustStore store = open_store(named->second);
    if (store.file.valid()) return store;
    return fail(setup_error("cannot open " + quote(named->second), errno,
                            "SSL_CERT_FILE names the certificates that servers are judged by"));
  }
  for (const std::string& path : trust_stores()) {
    TrustStore store = open_store(path);
    if (store.file.valid()) return store;
  }
  return fail(setup_error("cannot find the certificates that servers are judged by", ENOENT,
                          "install ca-certificates, or name a file in SSL_CERT_FILE"));
}

}  // namespace cordon
