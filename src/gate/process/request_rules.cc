#include "gate/process/request_rules.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "config/node.h"

namespace cordon::gate {
namespace {

using Names = std::span<const std::string_view>;

bool is_one_of(const Field& field, Names names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return is_named(field, name); });
}

// One request says these once, or readers choose differently between them.
constexpr std::string_view kSingle[] = {
    "host",   "content-length", "transfer-encoding", "content-type",
    "expect", "authorization",  "x-api-key",         "content-encoding",
    "range",  "upgrade",        "sec-websocket-key", "sec-websocket-version"};
// They concern one connection, or are written anew.
constexpr std::string_view kOfConnection[] = {"connection",
                                              "keep-alive",
                                              "proxy-connection",
                                              "proxy-authenticate",
                                              "proxy-authorization",
                                              "te",
                                              "trailer",
                                              "transfer-encoding",
                                              "upgrade",
                                              "http2-settings",
                                              "content-length",
                                              "host"};
// Servers read a method, a host or a path out of these: another request than the one that was
// judged, or the second place of one that copies or moves.
constexpr std::string_view kAnotherRequest[] = {"x-http-method-override",
                                                "x-http-method",
                                                "x-method-override",
                                                "x-original-method",
                                                "x-forwarded-method",
                                                "x-original-url",
                                                "x-original-uri",
                                                "x-original-path",
                                                "x-rewrite-url",
                                                "x-forwarded-uri",
                                                "x-forwarded-path",
                                                "x-forwarded-prefix",
                                                "x-envoy-original-path",
                                                "x-original-host",
                                                "x-forwarded-host",
                                                "x-forwarded-server",
                                                "x-http-host-override",
                                                "x-host",
                                                "destination",
                                                "x-copy-from",
                                                "x-amz-copy-source",
                                                "x-amz-rename-source",
                                                "x-goog-copy-source",
                                                "x-ms-copy-source",
                                                "x-ms-rename-source"};
// Where a secret is added, nobody else's goes beside it: somebody's own key would carry data to an
// account of his.
constexpr std::string_view kCredentials[] = {
    "authorization",  "x-api-key", "api-key", "x-goog-api-key", "private-token", "x-auth-token",
    "x-access-token", "cookie",    "apikey",  "x-api-token",    "x-auth-key",    "job-token"};
// What would come back in a form that cannot be searched for a secret.
constexpr std::string_view kCompressing[] = {"accept-encoding", "sec-websocket-extensions"};

// Behind a server, programs are given the names of headers as variables: each character that is
// neither a letter nor a digit is the same one there, so that X_Api_Key is X-Api-Key.
bool is_read_as(const Field& field, std::string_view lower_case_name) {
  const auto as_variable = [](char c) {
    const char lower = lower_case(c);
    return (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') ? lower : '_';
  };
  return std::ranges::equal(field.name, lower_case_name, {}, as_variable, as_variable);
}

bool is_read_as_one_of(const Field& field, Names names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return is_read_as(field, name); });
}

// Says in other characters what a header says that is judged or written anew.
bool is_in_disguise(const Field& field) {
  const auto disguised = [&](std::string_view name) {
    return is_read_as(field, name) && !is_named(field, name);
  };
  return !is_read_as_one_of(field, kCredentials) &&
         (std::ranges::any_of(kSingle, disguised) || std::ranges::any_of(kOfConnection, disguised));
}

// Of RFC 7239: the only one of these that says something else as well.
bool forwards_host(const Field& field) {
  return is_read_as(field, "forwarded") &&
         lower_case(field.value).find("host") != std::string::npos;
}

bool matches(const CompiledMatch& match, std::string_view method) {
  return match.method == "*" || match.method == method;
}

std::string list_of(const std::vector<CompiledMatch>& allow) {
  constexpr std::size_t kShown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(allow.size(), kShown); ++i) {
    list += (list.empty() ? "" : ", ") + allow[i].method + " " + allow[i].path.text();
  }
  if (allow.size() > kShown) list += " and " + std::to_string(allow.size() - kShown) + " more";
  return list.empty() ? "nothing" : list;
}

// What the sender chose, so that a thousand different reasons are not a thousand heads.
std::string in_short(std::string_view text) {
  constexpr std::size_t kShown = 256;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

std::optional<Refusal> refuse_request(unsigned status, std::string reason,
                                      std::string advice = {}) {
  return Refusal{status, std::move(reason), std::move(advice)};
}

std::optional<Refusal> fault_of_head(const MessageReader& request) {
  const Head& head = request.head();
  if (head.version != 11) return refuse_request(505, "it is not HTTP/1.1", "Use HTTP/1.1.");
  for (std::string_view name : kSingle)
    if (head.count(name) > 1)
      return refuse_request(400, "the header " + std::string(name) + " stands there twice");
  if (head.count("transfer-encoding") > 0 &&
      lower_case(head.value("transfer-encoding")) != "chunked")
    return refuse_request(501, "its transfer encoding is not chunked alone");
  if (head.count("transfer-encoding") > 0 && head.count("content-length") > 0)
    return refuse_request(400, "it has both a content length and a transfer encoding");
  if (head.count("content-length") > 0 && !parse_number(head.value("content-length")))
    return refuse_request(400, "its content length is not a number");
  if (request.framing() == Framing::UntilEnd) return refuse_request(400, "its body has no length");
  if (head.count("expect") > 0 && lower_case(head.value("expect")) != "100-continue")
    return refuse_request(417, "it expects something else than 100-continue");
  for (const Field& field : head.fields) {
    if (is_read_as_one_of(field, kAnotherRequest) || forwards_host(field))
      return refuse_request(400,
                            "the header " + in_short(field.name) +
                                " asks for another request than the one it stands in",
                            "Leave it out and send that request itself.");
    if (is_in_disguise(field))
      return refuse_request(400, "the header " + in_short(field.name) +
                                     " is read as one of another name by some servers");
  }
  return std::nullopt;
}

// An address of this machine: where the plain way in listens inside the sandbox.
bool is_loopback(std::string_view host) {
  const bool numbered =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return numbered || host == "localhost" || host == "[::1]";
}

std::optional<Refusal> fault_of_host(const Head& head, const Rule& rule, ClientMode mode) {
  if (head.count("host") != 1) return refuse_request(400, "it has no header Host");
  const std::string whole = lower_case(head.value("host"));
  std::string_view host = whole;
  const std::size_t colon = host.rfind(':');
  std::optional<std::uint64_t> port;
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    port = parse_number(host.substr(colon + 1));
    if (!port) return refuse_request(400, "the port in its header Host is not a number");
    host = host.substr(0, colon);
  }
  // A name that ends at the root of all names is the same one.
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::uint64_t meant = port.value_or(mode == ClientMode::Tls ? 443 : rule.port);
  if (host == rule.host && meant == rule.port) return std::nullopt;
  if (mode == ClientMode::Plain && (host == rule.host || is_loopback(host))) return std::nullopt;
  return refuse_request(421,
                        "its header Host names " + shown(in_short(whole)) +
                            ", and this connection is for " + authority_of(rule) + " alone",
                        "Open another connection for another host.");
}

std::optional<Refusal> read_target(const Head& head, Judged& judged, RequestPath& path) {
  const std::string_view target = head.target;
  if (!target.starts_with('/'))
    return refuse_request(400, "its target is not a path",
                          "Send the path alone, without the host; this is not a proxy.");
  const std::size_t mark = target.find('?');
  const std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark);
  // Quotes and the like are sent by honest clients; what ends a line or a target is not.
  const bool plain =
      std::ranges::all_of(query, [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (!plain) return refuse_request(400, "its query holds a character that no query has");
  auto read = read_request_path(target.substr(0, mark));
  if (!read) return refuse_request(400, read.error().what);
  path = *std::move(read);
  judged.path = path.strict;
  judged.target = path.strict + std::string(query);
  return std::nullopt;
}

// One that a rule can name: of another one nobody could say what it allows.
bool can_be_a_pattern(const RequestPath& path) {
  return path.strict == path.loose && path.strict == path.cut &&
         path.strict.find('*') == std::string::npos && PathPattern::parse(path.strict).has_value();
}

std::optional<Refusal> fault_of_path(const CompiledRule& rule, const std::string& method,
                                     const RequestPath& path) {
  const std::string asked = method + " " + in_short(path.strict);
  for (const CompiledMatch& match : rule.deny) {
    if (matches(match, method) && match.path.denies(path))
      return refuse_request(403, asked + " is outside what is granted: the rule denies " +
                                     match.method + " " + match.path.text());
  }
  std::string_view otherwise;  // what some servers read where a pattern allows the spelling
  for (const CompiledMatch& match : rule.allow) {
    if (!matches(match, method)) continue;
    if (match.path.allows(path)) return std::nullopt;
    if (match.path.allows({path.strict, path.strict, path.strict}))
      otherwise = match.path.allows({path.strict, path.loose, path.strict}) ? path.cut : path.loose;
  }
  const std::string plainly =
      "Send the path without escaped slashes and marks, empty segments and parameters.";
  if (!otherwise.empty()) {
    return refuse_request(403,
                          asked + " is outside what is granted: some servers read its path as " +
                              in_short(otherwise) + ", which the rule does not allow",
                          plainly);
  }
  return refuse_request(
      403, asked + " is outside what is granted: the rule allows " + list_of(rule.allow),
      can_be_a_pattern(path)
          ? "A person can allow it with --http " +
                shell_word(method + " " + authority_of(rule.rule) + path.strict) + "."
          : plainly);
}

std::optional<Refusal> fault_of_placeholders(const Head& head, const CompiledRule& rule,
                                             const std::vector<KnownPlaceholder>& placeholders) {
  const auto holds = [](std::string_view text, const KnownPlaceholder& known) {
    return !known.placeholder.empty() && text.find(known.placeholder) != std::string_view::npos;
  };
  for (const KnownPlaceholder& known : placeholders) {
    const bool own = rule.rule.secret == known.secret;
    if (holds(head.target, known))
      return refuse_request(403,
                            "the placeholder of secret " + known.secret + " stands in its target",
                            "Secrets are added to headers alone.");
    for (const Field& field : head.fields) {
      if (!holds(field.value, known) && !holds(field.name, known)) continue;
      if (!own)
        return refuse_request(
            403, "the placeholder of secret " + known.secret + " is sent to another host",
            "That secret does not go to " + rule.rule.host + ".");
      const bool stripped =
          std::ranges::any_of(rule.rule.strip, [&](auto& name) { return is_named(field, name); });
      if (is_named(field, known.header) || is_one_of(field, kCredentials) || stripped) continue;
      return refuse_request(403,
                            "the placeholder of secret " + known.secret + " stands in the header " +
                                in_short(field.name),
                            "It is added to the header " + known.header + " alone.");
    }
  }
  return std::nullopt;
}

std::vector<Field> passing_request_fields(const Head& head, const CompiledRule& rule,
                                          const std::vector<KnownPlaceholder>& placeholders) {
  const auto own = std::ranges::find_if(placeholders, [&](const KnownPlaceholder& known) {
    return rule.rule.secret == known.secret;
  });
  const bool secret = rule.rule.secret.has_value();
  std::vector<Field> fields;
  for (const Field& field : head.fields) {
    const std::string name = lower_case(field.name);
    if (is_one_of(field, kOfConnection) || head.lists("connection", name)) continue;
    const auto is_it = [&](const std::string& other) { return is_read_as(field, other); };
    if (std::ranges::any_of(rule.rule.strip, is_it)) continue;
    if (secret && (is_read_as_one_of(field, kCredentials) ||
                   (own != placeholders.end() && is_it(own->header))))
      continue;
    if (secret && is_read_as_one_of(field, kCompressing)) continue;
    fields.push_back(field);
  }
  return fields;
}

std::optional<Refusal> read_upgrade(const Head& head, const Rule& rule, Judged& judged) {
  // Another protocol than this one may be left out of a request; its sender goes on without.
  if (!head.lists("connection", "upgrade") || !head.lists("upgrade", "websocket"))
    return std::nullopt;
  if (!rule.websocket)
    return refuse_request(403, "a WebSocket is outside what is granted",
                          "A person can set websocket = true in the rule.");
  if (judged.method != "GET" || head.count("sec-websocket-key") != 1)
    return refuse_request(400, "it is not the request of a WebSocket");
  judged.websocket = true;
  return std::nullopt;
}

}  // namespace

Result<CompiledRule> compile(const Rule& rule) {
  CompiledRule compiled{rule, {}, {}};
  const auto add = [](const std::vector<Match>& matches,
                      std::vector<CompiledMatch>& to) -> Result<void> {
    for (const Match& match : matches) {
      CORDON_TRY(path, PathPattern::parse(match.path));
      to.push_back({match.method, std::move(path)});
    }
    return {};
  };
  CORDON_CHECK(add(rule.allow, compiled.allow));
  CORDON_CHECK(add(rule.deny, compiled.deny));
  return compiled;
}

std::string authority_of(const Rule& rule) {
  constexpr std::uint16_t kHttps = 443;
  return rule.port == kHttps ? rule.host : rule.host + ":" + std::to_string(rule.port);
}

std::optional<Refusal> judge(const MessageReader& request, const CompiledRule& rule,
                             ClientMode mode, const std::vector<KnownPlaceholder>& placeholders,
                             Judged& judged) {
  const Head& head = request.head();
  if (!is_request_method(head.method))
    return refuse_request(405, "its method is none that passes",
                          "Methods are in capitals; CONNECT and TRACE never pass.");
  judged.method = head.method;
  RequestPath path;
  if (auto refusal = read_target(head, judged, path)) return refusal;
  if (auto refusal = fault_of_head(request)) return refusal;
  if (auto refusal = fault_of_host(head, rule.rule, mode)) return refusal;
  if (auto refusal = fault_of_path(rule, judged.method, path)) return refusal;
  if (auto refusal = fault_of_placeholders(head, rule, placeholders)) return refusal;
  if (auto refusal = read_upgrade(head, rule.rule, judged)) return refusal;
  if (request.framing() == Framing::Length && rule.rule.request_bytes &&
      request.length() > *rule.rule.request_bytes)
    return refuse_request(413, "its body is longer than the " +
                                   std::to_string(*rule.rule.request_bytes) +
                                   " bytes that the rule allows");
  judged.fields = passing_request_fields(head, rule, placeholders);
  judged.keeps_alive = !head.lists("connection", "close");
  return std::nullopt;
}

std::vector<Field> passing_response_fields(const Head& head) {
  std::vector<Field> fields;
  for (const Field& field : head.fields) {
    // Another way to this host would go round the gate.
    if (is_one_of(field, kOfConnection) || is_named(field, "alt-svc")) continue;
    if (head.lists("connection", lower_case(field.name))) continue;
    fields.push_back(field);
  }
  return fields;
}

std::vector<Field> passing_trailers(const std::vector<Field>& trailers,
                                    const std::vector<std::string>& strip,
                                    const std::vector<KnownPlaceholder>& placeholders) {
  std::vector<Field> fields;
  for (const Field& field : trailers) {
    const auto is_it = [&](const std::string& name) { return is_read_as(field, name); };
    const bool own = std::ranges::any_of(placeholders, [&](const KnownPlaceholder& known) {
      return is_it(known.header) || (!known.placeholder.empty() &&
                                     field.value.find(known.placeholder) != std::string::npos);
    });
    if (own || std::ranges::any_of(strip, is_it) || is_read_as_one_of(field, kOfConnection) ||
        is_read_as_one_of(field, kSingle) || is_read_as_one_of(field, kAnotherRequest) ||
        forwards_host(field) || is_read_as_one_of(field, kCredentials))
      continue;
    fields.push_back(field);
  }
  return fields;
}

std::string refusal_body(const Refusal& refusal, const Rule& rule) {
  std::string message =
      "cordon: " + refusal.reason + " (rule \"" + rule.id + "\" for " + authority_of(rule) + ").";
  if (!refusal.advice.empty()) message += " " + refusal.advice;
  Node error(NodeMap{});
  const bool theirs = refusal.status == 502 || refusal.status == 504;
  error.set("type", theirs ? "cordon_upstream" : "cordon_refused")
      .set("rule", rule.id)
      .set("status", std::uint64_t{refusal.status});
  error.set("message", message);
  Node body(NodeMap{});
  body.set("error", std::move(error));
  return write_json(body, JsonStyle::Compact) + "\n";
}

}  // namespace cordon::gate
