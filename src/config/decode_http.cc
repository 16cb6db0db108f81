// The tables [[http]] and [[secret]] of a document.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/decode.h"
#include "config/node.h"
#include "config/section.h"
#include "policy/environment.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 10> kHttpKeys{
    "host",           "allow",      "deny",      "strip",  "request_bytes",
    "response_bytes", "per_minute", "websocket", "secret", "base"};
constexpr std::array<std::string_view, 8> kSecretKeys{"name",   "host", "header",   "basic",
                                                      "bearer", "from", "variable", "requests"};

// Without one of these a message has another length, another receiver or another meaning.
constexpr std::array<std::string_view, 8> kFraming{
    "connection", "content-length",    "expect", "host", "te",
    "trailer",    "transfer-encoding", "upgrade"};

bool is_header_name(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  constexpr std::size_t kLongest = 128;
  return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

// Lower case, as headers are compared.
Result<std::string> decode_header(const Section& section, const PlacedText& word) {
  std::string name = lower_case(*word.text);
  const bool framing = std::ranges::find(kFraming, name) != kFraming.end();
  if (is_header_name(name) && !framing) return name;
  return fail(section.error_at(
      *word.node,
      shown(*word.text) +
          (framing ? " frames a request, so no rule touches it" : " is not the name of a header"),
      "write a name such as x-api-key"));
}

Result<std::vector<Section>> decode_tables(const Section& document, std::string_view key,
                                           std::span<const std::string_view> keys) {
  std::vector<Section> tables;
  const Node* node = document.find(key);
  if (node == nullptr) return tables;
  const std::string title = "[[" + std::string(key) + "]]";
  const NodeList* list = node->list();
  if (list == nullptr) {
    return fail(document.error_at(
        *node, title + " must be a list of tables, not " + std::string(kind_name(*node)),
        "write each one below a line " + title));
  }
  const std::string name = "[" + std::string(key) + "]";
  for (const Node& element : *list) {
    CORDON_TRY(section, Section::open(element, document.file(), name, keys));
    tables.push_back(section);
  }
  return tables;
}

Result<PlacedText> required(const Section& section, std::string_view key, std::string_view such) {
  CORDON_TRY(word, section.text(key));
  if (word) return *word;
  return fail(section.error_at(section.node(), "missing key " + section.title(key),
                               "add " + std::string(key) + " = " + std::string(such)));
}

Result<HostRule> decode_host(const Section& section) {
  CORDON_TRY(word, required(section, "host", "\"api.example.com\""));
  auto host = parse_http_host(*word.text);
  if (!host) return fail(placed(section, *word.node, std::move(host).error()));
  return host;
}

Result<void> append_patterns(const Section& section, std::string_view key,
                             std::vector<RequestPattern>& patterns) {
  CORDON_TRY(words, section.texts(key));
  for (const PlacedText& word : words) {
    auto pattern = parse_request_pattern(*word.text);
    if (!pattern) return fail(placed(section, *word.node, std::move(pattern).error()));
    patterns.push_back(std::move(*pattern));
  }
  return {};
}

// What a rule and a secret are called by.
Result<void> decode_secret_name(const Section& section, std::string_view key, std::string& name) {
  CORDON_TRY(word, section.text(key));
  if (!word) return {};
  constexpr std::size_t kLongest = 64;
  const bool legal = !word->text->empty() && word->text->size() <= kLongest &&
                     std::ranges::all_of(*word->text, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_';
                     });
  if (!legal) {
    return fail(section.error_at(*word->node, shown(*word->text) + " is not a name of a secret",
                                 "use letters, digits, \"-\" and \"_\""));
  }
  name = *word->text;
  return {};
}

Result<void> decode_variable(const Section& section, std::string_view key, std::string& name) {
  CORDON_TRY(word, section.text(key));
  if (!word) return {};
  if (!is_valid_variable_name(*word->text) || is_injection_variable(*word->text)) {
    return fail(section.error_at(*word->node,
                                 shown(*word->text) + " is no variable that can be set so",
                                 "name the one that the program reads, such as API_KEY"));
  }
  name = *word->text;
  return {};
}

Result<void> decode_http_rule(const Section& section, HttpRule& rule) {
  CORDON_CHECK(append_patterns(section, "allow", rule.allow));
  CORDON_CHECK(append_patterns(section, "deny", rule.deny));
  CORDON_TRY(strip, section.texts("strip"));
  for (const PlacedText& word : strip) {
    CORDON_TRY(name, decode_header(section, word));
    rule.strip.push_back(std::move(name));
  }
  CORDON_TRY(request_bytes, section.size("request_bytes"));
  if (request_bytes) rule.request_bytes = request_bytes;
  CORDON_TRY(response_bytes, section.size("response_bytes"));
  if (response_bytes) rule.response_bytes = response_bytes;
  CORDON_TRY(per_minute, section.count("per_minute"));
  if (per_minute) rule.per_minute = per_minute;
  CORDON_TRY(websocket, section.flag("websocket"));
  if (websocket) rule.websocket = *websocket;
  CORDON_CHECK(decode_secret_name(section, "secret", rule.secret));
  return decode_variable(section, "base", rule.base);
}

}  // namespace

Result<void> decode_http(const Section& document, NetRules& net) {
  CORDON_TRY(tables, decode_tables(document, "http", kHttpKeys));
  if (tables.empty()) return {};
  const Node* table = document.find("net");
  const Node* mode = table == nullptr ? nullptr : table->find("mode");
  if (mode != nullptr && net.mode != NetMode::Allow) {
    return fail(document.error_at(
        *mode, "mode \"" + std::string(name_of(net.mode)) + "\" contradicts [[http]]",
        net.mode == NetMode::None ? "write mode = \"allow\", or remove the rules"
                                  : "write mode = \"allow\": open leads past every rule"));
  }
  // As with a list of hosts, the rules say what is allowed.
  if (net.mode != NetMode::Allow) {
    net.allow.clear();
    net.http.clear();
  }
  net.mode = NetMode::Allow;
  std::vector<HostRule> seen;
  for (const Section& section : tables) {
    CORDON_TRY(host, decode_host(section));
    if (std::ranges::find(seen, host) != seen.end()) {
      return fail(section.error_at(*section.find("host"),
                                   "a second [[http]] for " + to_string(host),
                                   "write one for each host and port"));
    }
    seen.push_back(host);
    auto rule = std::ranges::find(net.http, host, &HttpRule::host);
    if (rule == net.http.end()) {
      HttpRule made;
      made.host = host;
      rule = net.http.insert(net.http.end(), std::move(made));
    }
    CORDON_CHECK(decode_http_rule(section, *rule));
  }
  return {};
}

namespace {

constexpr std::string_view kFromHint =
    "write \"file:~/PATH\", \"file:/PATH#/json/pointer\", \"env:NAME\" or \"command:PROGRAM ARG\"";

Result<void> decode_from(const Section& section, SecretRule& secret) {
  CORDON_TRY(word, required(section, "from", "\"env:NAME\""));
  const std::string_view text = *word.text;
  const auto wrong = [&](std::string what) {
    return fail(section.error_at(*word.node, std::move(what), std::string(kFromHint)));
  };
  const auto after = [&](std::string_view prefix) {
    return text.starts_with(prefix) ? std::optional(text.substr(prefix.size())) : std::nullopt;
  };
  if (const auto path = after("file:")) {
    const std::string_view plain = path->substr(0, path->find('#'));
    if (!plain.starts_with('/') && !plain.starts_with("~/")) {
      return wrong(shown(text) + " has no absolute path");
    }
    const std::size_t hash = path->find('#');
    if (hash != std::string_view::npos && !path->substr(hash + 1).starts_with('/')) {
      return wrong(shown(text) + " has no JSON pointer behind \"#\"");
    }
  } else if (const auto name = after("env:")) {
    if (!is_valid_variable_name(*name)) return wrong(shown(text) + " names no variable");
    // Programs look for it under the same name inside.
    if (secret.variable.empty() && !is_injection_variable(*name)) secret.variable = *name;
  } else if (const auto command = after("command:")) {
    const std::string_view program = command->substr(0, command->find(' '));
    if (program.empty()) return wrong(shown(text) + " names no command");
    // One of the directory it is started from would be one of the project.
    if (program.find('/') != std::string_view::npos && !program.starts_with('/') &&
        !program.starts_with("~/")) {
      return wrong(shown(text) + " has no absolute path");
    }
  } else {
    return wrong(shown(text) + " does not say where the secret comes from");
  }
  secret.from = text;
  return {};
}

Result<SecretRule> decode_secret(const Section& section) {
  SecretRule secret;
  CORDON_TRY(name, required(section, "name", "\"example-key\""));
  (void)name;
  CORDON_CHECK(decode_secret_name(section, "name", secret.name));
  CORDON_TRY(host, decode_host(section));
  secret.host = std::move(host);
  CORDON_TRY(header, section.text("header"));
  CORDON_TRY(basic, section.text("basic"));
  CORDON_TRY(bearer, section.flag("bearer"));
  const int ways = (header ? 1 : 0) + (basic ? 1 : 0) + (bearer && *bearer ? 1 : 0);
  if (ways != 1) {
    return fail(section.error_at(
        section.node(), "[[secret]] " + shown(secret.name) + " does not say one way to be added",
        "write one of header = \"x-api-key\", basic = \"USER\", bearer = true"));
  }
  if (header) {
    secret.kind = SecretRule::Kind::Header;
    CORDON_TRY(header_name, decode_header(section, *header));
    secret.header = std::move(header_name);
  } else if (basic) {
    secret.kind = SecretRule::Kind::Basic;
    const bool legal = !basic->text->empty() && std::ranges::all_of(*basic->text, [](char c) {
      return c > ' ' && c < '\x7f' && c != ':';
    });
    if (!legal) {
      return fail(section.error_at(*basic->node, shown(*basic->text) + " is not a user name",
                                   "write one without blanks and colons"));
    }
    secret.user = *basic->text;
  } else {
    secret.kind = SecretRule::Kind::Bearer;
  }
  CORDON_CHECK(decode_variable(section, "variable", secret.variable));
  CORDON_CHECK(decode_from(section, secret));
  CORDON_TRY(requests, section.count("requests"));
  secret.requests = requests;
  return secret;
}

}  // namespace

Result<void> decode_secrets(const Section& document, std::vector<SecretRule>& secrets) {
  CORDON_TRY(tables, decode_tables(document, "secret", kSecretKeys));
  for (const Section& section : tables) {
    CORDON_TRY(secret, decode_secret(section));
    const auto same = [&](const SecretRule& other) { return other.name == secret.name; };
    if (std::ranges::any_of(secrets, same)) {
      return fail(section.error_at(*section.find("name"),
                                   "a second [[secret]] called " + shown(secret.name),
                                   "give each secret a name of its own"));
    }
    secrets.push_back(std::move(secret));
  }
  return {};
}

}  // namespace cordon
