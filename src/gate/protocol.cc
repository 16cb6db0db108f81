#include "gate/protocol.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/request_path.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon::gate {
namespace {

constexpr std::size_t kLeastPlaceholder = 16;

Error not_a_message(std::string what) {
  return setup_error("a message of the gate's socket: " + std::move(what), 0);
}

// The members of one object, taken by name: every one is there, and nothing else.
class Members {
 public:
  explicit Members(const Node& node) : map_(node.map()) { holds_ = map_ != nullptr; }

  std::string text(std::string_view name) {
    const Node* member = take(name);
    const std::string* value = member ? member->text() : nullptr;
    return value ? *value : (holds_ = false, std::string());
  }
  std::optional<std::string> text_or_null(std::string_view name) {
    const Node* member = take(name);
    if (!member || std::holds_alternative<std::nullptr_t>(member->value)) return std::nullopt;
    const std::string* value = member->text();
    return value ? std::optional(*value) : (holds_ = false, std::nullopt);
  }
  template <typename Number>
  Number number(std::string_view name) {
    return as_number<Number>(take(name));
  }
  std::optional<std::uint64_t> number_or_null(std::string_view name) {
    const Node* member = take(name);
    if (!member || std::holds_alternative<std::nullptr_t>(member->value)) return std::nullopt;
    return as_number<std::uint64_t>(member);
  }
  bool flag(std::string_view name) {
    const Node* member = take(name);
    const bool* value = member ? std::get_if<bool>(&member->value) : nullptr;
    return value ? *value : holds_ = false;
  }
  const Node* object(std::string_view name) {
    const Node* member = take(name);
    if (!member || !member->map()) holds_ = false;
    return member;
  }
  // Every element, read by `read`, which answers nothing for one that is none.
  template <typename Read>
  auto list(std::string_view name, Read read) {
    using Element = typename decltype(read(std::declval<const Node&>()))::value_type;
    std::vector<Element> elements;
    const Node* member = take(name);
    const NodeList* nodes = member ? member->list() : nullptr;
    if (!nodes) holds_ = false;
    for (const Node& node : nodes ? *nodes : NodeList()) {
      auto element = read(node);
      if (element) {
        elements.push_back(*std::move(element));
      } else {
        holds_ = false;
      }
    }
    return elements;
  }

  // What was read, if all of it was as it should be and nothing is left.
  template <typename Value>
  std::optional<Value> whole(Value value) const {
    if (!holds_ || taken_ != map_->size()) return std::nullopt;
    return value;
  }

 private:
  const Node* take(std::string_view name) {
    if (map_) {
      const auto found = std::ranges::find(*map_, name, &NodeMap::value_type::first);
      if (found != map_->end()) {
        ++taken_;
        return &found->second;
      }
    }
    holds_ = false;
    return nullptr;
  }
  template <typename Number>
  Number as_number(const Node* member) {
    const std::int64_t* value = member ? std::get_if<std::int64_t>(&member->value) : nullptr;
    if (!value || *value < 0 ||
        static_cast<std::uint64_t>(*value) > std::numeric_limits<Number>::max())
      return static_cast<Number>(holds_ = false);
    return static_cast<Number>(*value);
  }

  const NodeMap* map_;
  std::size_t taken_ = 0;
  bool holds_ = true;
};

template <typename Optional>
Node or_null(const Optional& value) {
  return value ? Node(*value) : Node(nullptr);
}

Node object() { return Node(NodeMap{}); }

Node node_of(const std::vector<Match>& matches) {
  NodeList list;
  for (const Match& match : matches) {
    Node node = object();
    node.set("method", match.method).set("path", match.path);
    list.push_back(std::move(node));
  }
  return Node(std::move(list));
}

Node node_of(const Rule& rule) {
  NodeList strip;
  for (const std::string& name : rule.strip) strip.emplace_back(name);
  Node node = object();
  node.set("id", rule.id).set("host", rule.host).set("port", int{rule.port});
  node.set("allow", node_of(rule.allow))
      .set("deny", node_of(rule.deny))
      .set("strip", std::move(strip));
  node.set("request_bytes", or_null(rule.request_bytes))
      .set("response_bytes", or_null(rule.response_bytes));
  node.set("per_minute", or_null(rule.per_minute)).set("websocket", rule.websocket);
  node.set("secret", or_null(rule.secret));
  return node;
}

constexpr std::string_view kKinds[] = {"header", "basic", "bearer"};

Node node_of(const Secret& secret) {
  Node node = object();
  node.set("name", secret.name).set("host", secret.host);
  node.set("kind", kKinds[static_cast<std::size_t>(secret.kind)]).set("header", secret.header);
  node.set("value", secret.value).set("placeholder", secret.placeholder);
  return node;
}

std::optional<Match> match_of(const Node& node) {
  Members members(node);
  Match match{members.text("method"), members.text("path")};
  if (match.method != "*" && !is_request_method(match.method)) return std::nullopt;
  if (!PathPattern::parse(match.path)) return std::nullopt;
  return members.whole(std::move(match));
}

std::optional<std::string> text_of(const Node& node) {
  const std::string* text = node.text();
  return text ? std::optional(*text) : std::nullopt;
}

std::optional<Rule> rule_of(const Node& node) {
  Members members(node);
  Rule rule;
  rule.id = members.text("id");
  rule.host = members.text("host");
  rule.port = members.number<std::uint16_t>("port");
  rule.allow = members.list("allow", match_of);
  rule.deny = members.list("deny", match_of);
  rule.strip = members.list("strip", text_of);
  rule.request_bytes = members.number_or_null("request_bytes");
  rule.response_bytes = members.number_or_null("response_bytes");
  rule.per_minute = members.number_or_null("per_minute");
  rule.websocket = members.flag("websocket");
  rule.secret = members.text_or_null("secret");
  return members.whole(std::move(rule));
}

std::optional<Secret> secret_of(const Node& node) {
  Members members(node);
  Secret secret;
  secret.name = members.text("name");
  secret.host = members.text("host");
  const std::string kind = members.text("kind");
  const auto* const known = std::ranges::find(kKinds, kind);
  if (known == std::end(kKinds)) return std::nullopt;
  secret.kind = static_cast<SecretKind>(known - std::begin(kKinds));
  secret.header = members.text("header");
  secret.value = members.text("value");
  secret.placeholder = members.text("placeholder");
  return members.whole(std::move(secret));
}

std::optional<Bounds> bounds_of(const Node* node) {
  if (!node) return std::nullopt;
  Members members(*node);
  Bounds bounds;
  bounds.connections = members.number<std::uint32_t>("connections");
  bounds.client_seconds = members.number<std::uint32_t>("client_seconds");
  bounds.upstream_seconds = members.number<std::uint32_t>("upstream_seconds");
  bounds.traffic = members.number_or_null("traffic");
  if (bounds.connections == 0 || bounds.client_seconds == 0 || bounds.upstream_seconds == 0)
    return std::nullopt;
  return members.whole(bounds);
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// A name as certificates have it: letters, digits and hyphens between dots, and the last part is no
// number.
bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  const std::vector<std::string_view> labels = split(host, '.');
  for (std::string_view label : labels) {
    const bool plain = std::ranges::all_of(label, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    if (label.empty() || label.size() > 63 || !plain) return false;
  }
  return !std::ranges::all_of(labels.back(), [](char c) { return c >= '0' && c <= '9'; });
}

// A value that would end its header would begin another one.
bool is_header_value(std::string_view value) {
  return std::ranges::none_of(value, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

std::optional<std::string> fault_of(const Configuration& configuration) {
  std::set<std::string_view> secrets;
  for (const Secret& secret : configuration.secrets) {
    if (secret.name.empty() || !secrets.insert(secret.name).second)
      return "two secrets have one name";
    if (!is_host_name(secret.host)) return "the host of secret " + secret.name + " is not a name";
    if (!is_header_name(secret.header))
      return "the header of secret " + secret.name + " is not one in lower case";
    if (!is_header_value(secret.value))
      return "the value of secret " + secret.name + " holds a control character";
    if (!secret.placeholder.empty() && secret.placeholder.size() < kLeastPlaceholder)
      return "the placeholder of secret " + secret.name + " is too short";
  }
  std::set<std::string_view> rules;
  for (const Rule& rule : configuration.rules) {
    if (rule.id.empty() || !rules.insert(rule.id).second) return "two rules have one name";
    if (!is_host_name(rule.host))
      return "the host of rule " + rule.id + " is not a name in lower case";
    if (rule.port == 0) return "rule " + rule.id + " has no port";
    if (!std::ranges::all_of(rule.strip, is_header_name))
      return "rule " + rule.id + " strips what is not a header";
    if (!rule.secret) continue;
    const auto secret = std::ranges::find(configuration.secrets, *rule.secret, &Secret::name);
    if (secret == configuration.secrets.end())
      return "rule " + rule.id + " names a secret that is not there";
    if (secret->host != rule.host) return "the secret of rule " + rule.id + " is for another host";
  }
  return std::nullopt;
}

std::string packet(std::string_view name, Node body) {
  Node node = object();
  node.set(std::string(name), std::move(body));
  return write_json(node, JsonStyle::Compact);
}

Node number(std::string_view name, std::uint64_t value) {
  Node node = object();
  node.set(std::string(name), value);
  return node;
}

struct ToGateText {
  std::string operator()(const Configure&) const { return packet("configure", object()); }
  std::string operator()(const Connection& message) const {
    const bool tls = message.mode == ClientMode::Tls;
    return packet(
        "connection",
        number("id", message.id).set("rule", message.rule).set("mode", tls ? "tls" : "plain"));
  }
  std::string operator()(const Dialled& message) const {
    return packet("dialled", number("id", message.id).set("error", or_null(message.error)));
  }
  std::string operator()(const Go& message) const { return packet("go", number("id", message.id)); }
  std::string operator()(const Stop& message) const {
    return packet("stop", number("id", message.id).set("reason", message.reason));
  }
  std::string operator()(const NewSecret& message) const {
    Node node = object();
    node.set("name", message.name).set("value", message.value);
    return packet("secret", std::move(node));
  }
};

struct FromGateText {
  std::string operator()(const Ready& message) const {
    Node node = object();
    node.set("certificate", or_null(message.certificate));
    return packet("ready", std::move(node));
  }
  std::string operator()(const Failed& message) const {
    Node node = object();
    node.set("reason", message.reason);
    return packet("failed", std::move(node));
  }
  std::string operator()(const Dial& message) const {
    return packet("dial", number("id", message.id));
  }
  std::string operator()(const Request& message) const {
    Node node = number("id", message.id);
    node.set("connection", message.connection)
        .set("rule", message.rule)
        .set("method", message.method);
    node.set("path", message.path)
        .set("secret", or_null(message.secret))
        .set("refused", or_null(message.refused));
    return packet("request", std::move(node));
  }
  std::string operator()(const Done& message) const {
    Node node = number("id", message.id);
    node.set("status", std::uint64_t{message.status})
        .set("sent", message.sent)
        .set("received", message.received);
    node.set("ms", message.ms).set("ended", or_null(message.ended));
    return packet("done", std::move(node));
  }
};

std::optional<ToGate> to_gate_of(std::string_view name, const Node& body) {
  Members members(body);
  if (name == "configure") return members.whole<ToGate>(Configure{});
  if (name == "connection") {
    Connection message{members.number<std::uint64_t>("id"), members.text("rule"),
                       ClientMode::Plain};
    const std::string mode = members.text("mode");
    if (mode == "tls") message.mode = ClientMode::Tls;
    if (mode != "tls" && mode != "plain") return std::nullopt;
    return members.whole<ToGate>(std::move(message));
  }
  if (name == "dialled")
    return members.whole<ToGate>(
        Dialled{members.number<std::uint64_t>("id"), members.text_or_null("error")});
  if (name == "go") return members.whole<ToGate>(Go{members.number<std::uint64_t>("id")});
  if (name == "stop")
    return members.whole<ToGate>(Stop{members.number<std::uint64_t>("id"), members.text("reason")});
  if (name == "secret") {
    NewSecret message{members.text("name"), members.text("value")};
    if (!is_header_value(message.value)) return std::nullopt;
    return members.whole<ToGate>(std::move(message));
  }
  return std::nullopt;
}

std::optional<FromGate> from_gate_of(std::string_view name, const Node& body) {
  Members members(body);
  if (name == "ready") return members.whole<FromGate>(Ready{members.text_or_null("certificate")});
  if (name == "failed") return members.whole<FromGate>(Failed{members.text("reason")});
  if (name == "dial") return members.whole<FromGate>(Dial{members.number<std::uint64_t>("id")});
  if (name == "request") {
    Request message{members.number<std::uint64_t>("id"),
                    members.number<std::uint64_t>("connection"),
                    members.text("rule"),
                    members.text("method"),
                    members.text("path"),
                    members.text_or_null("secret"),
                    members.text_or_null("refused")};
    return members.whole<FromGate>(std::move(message));
  }
  if (name == "done") {
    Done message{members.number<std::uint64_t>("id"),   members.number<unsigned>("status"),
                 members.number<std::uint64_t>("sent"), members.number<std::uint64_t>("received"),
                 members.number<std::uint64_t>("ms"),   members.text_or_null("ended")};
    return members.whole<FromGate>(std::move(message));
  }
  return std::nullopt;
}

// The name and the body of a packet.
Result<NodeMap::value_type> read_packet(std::string_view text) {
  constexpr MessageBounds kPacket{kMostPacket, 64};
  auto read = read_json_message(text, kPacket);
  if (!read) return fail(not_a_message(read.error().what));
  auto* members = std::get_if<NodeMap>(&read->value);
  if (!members || members->size() != 1)
    return fail(not_a_message("it is not an object with one member"));
  return std::move(members->front());
}

}  // namespace

std::string encode(const Configuration& configuration) {
  NodeList rules;
  for (const Rule& rule : configuration.rules) rules.push_back(node_of(rule));
  NodeList secrets;
  for (const Secret& secret : configuration.secrets) secrets.push_back(node_of(secret));
  Node bounds = number("connections", configuration.bounds.connections);
  bounds.set("client_seconds", std::uint64_t{configuration.bounds.client_seconds});
  bounds.set("upstream_seconds", std::uint64_t{configuration.bounds.upstream_seconds});
  bounds.set("traffic", or_null(configuration.bounds.traffic));
  Node body = object();
  body.set("rules", std::move(rules)).set("secrets", std::move(secrets));
  body.set("authority", configuration.authority).set("bounds", std::move(bounds));
  return packet("configure", std::move(body));
}

Result<Configuration> decode_configuration(std::string_view text) {
  constexpr MessageBounds kWhole{kMostConfiguration, std::size_t{1} << 20U};
  const auto invalid = [](std::string what) {
    return fail(setup_error("the gate's configuration: " + std::move(what), 0));
  };
  const auto read = read_json_message(text, kWhole);
  // Not what the reader says: it may quote the text, which holds secrets.
  if (!read) return invalid("it is not JSON, or too large");
  const NodeMap* document = read->map();
  if (!document || document->size() != 1 || document->front().first != "configure")
    return invalid("it is not an object with the member configure");
  Members members(document->front().second);
  Configuration configuration;
  configuration.rules = members.list("rules", rule_of);
  configuration.secrets = members.list("secrets", secret_of);
  configuration.authority = members.flag("authority");
  const auto bounds = bounds_of(members.object("bounds"));
  if (bounds) configuration.bounds = *bounds;
  auto whole = members.whole(std::move(configuration));
  if (!whole || !bounds) return invalid("a member is missing, unknown or not what it should be");
  if (auto fault = fault_of(*whole)) return invalid(*std::move(fault));
  return *std::move(whole);
}

std::string traffic_budget(std::uint64_t most) {
  return "limits.request_traffic = \"" + format_size(most) + "\"";
}

std::string beyond_traffic_budget(std::uint64_t most) {
  return "it is more than is left of " + traffic_budget(most);
}

std::string encode(const ToGate& message) { return std::visit(ToGateText(), message); }
std::string encode(const FromGate& message) { return std::visit(FromGateText(), message); }

Result<ToGate> decode_to_gate(std::string_view packet) {
  CORDON_TRY(member, read_packet(packet));
  auto message = to_gate_of(member.first, member.second);
  if (!message) return fail(not_a_message("it is not one to the gate"));
  return *std::move(message);
}

Result<FromGate> decode_from_gate(std::string_view packet) {
  CORDON_TRY(member, read_packet(packet));
  auto message = from_gate_of(member.first, member.second);
  if (!message) return fail(not_a_message("it is not one of the gate"));
  return *std::move(message);
}

std::size_t descriptors_of(const ToGate& message) {
  if (std::holds_alternative<Configure>(message)) return 2;
  if (std::holds_alternative<Connection>(message)) return 1;
  const Dialled* dialled = std::get_if<Dialled>(&message);
  return dialled && !dialled->error ? 1 : 0;
}

}  // namespace cordon::gate
