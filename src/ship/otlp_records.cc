#include "ship/otlp_records.h"

#include <utility>

#include "audit/decode_line.h"
#include "base/base64.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon::ship {
namespace {

// SeverityNumber of the protocol: the first of its range.
enum class Severity { Info = 9, Warn = 13, Error = 17 };

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::Info:
      return "INFO";
    case Severity::Warn:
      return "WARN";
    case Severity::Error:
      return "ERROR";
  }
  return "";
}

// A command that fails is an everyday thing. What was refused, cut off or lost is worth a look, and
// a line that is not as it was written more than that.
Severity severity_of(const audit::Record* record, const Columns& columns) {
  if (record == nullptr || !record->intact) return Severity::Error;
  if (columns.denials.value_or(0) > 0) return Severity::Warn;
  if (record->phase == audit::Phase::Note)
    return record->action == "audit.prune" ? Severity::Info : Severity::Warn;
  for (const std::string_view reason : {"denied", "refused", "limit", "timeout", "crash"})
    if (record->reason == reason) return Severity::Warn;
  return Severity::Info;
}

Node text_value(std::string_view text) { return Node().set("stringValue", text); }

// 64-bit numbers are texts in this form, since JSON readers may round them.
Node number_value(std::int64_t number) { return Node().set("intValue", std::to_string(number)); }

Node attribute(std::string key, Node value) {
  return Node().set("key", std::move(key)).set("value", std::move(value));
}

// A text that a record names; attributes of nothing are left out.
void add_text(NodeList& attributes, const char* key, const std::optional<std::string>& text) {
  if (text && !text->empty()) attributes.push_back(attribute(key, text_value(*text)));
}

void add_number(NodeList& attributes, const char* key, const std::optional<std::int64_t>& number) {
  if (number) attributes.push_back(attribute(key, number_value(*number)));
}

std::string plain_text(std::string_view text) {
  std::string out(text);
  std::erase(out, '\0');
  return to_utf8(out);
}

NodeList attributes_of(const OtlpResource& resource, const Shipped& shipped,
                       const audit::Record* record) {
  const Columns& columns = shipped.columns;
  const bool intact = record != nullptr && record->intact;
  NodeList all;
  add_text(all, "cordon.node", resource.node);
  add_number(all, "cordon.seq", static_cast<std::int64_t>(shipped.seq));
  if (record != nullptr) {
    add_text(all, "cordon.event_id", plain_text(record->event_id));
    add_text(all, "cordon.hash", plain_text(record->hash));
  }
  all.push_back(attribute("cordon.intact", Node().set("boolValue", Node(intact))));
  // The hash that such a line carries says nothing about it.
  if (!intact) add_text(all, "cordon.line_sha256", sha256_hex(shipped.line));
  add_text(all, "cordon.phase", columns.phase);
  add_number(all, "cordon.pending_seq", columns.pending_seq);
  add_text(all, "cordon.action", columns.action);
  if (record != nullptr) add_text(all, "cordon.resource", plain_text(record->resource));
  add_text(all, "cordon.tool", columns.tool);
  add_text(all, "cordon.outcome", columns.outcome);
  add_text(all, "cordon.reason", columns.reason);
  add_number(all, "cordon.denials", columns.denials);
  add_number(all, "cordon.duration_ms", columns.duration_ms);
  return all;
}

std::string nanoseconds(std::int64_t us) { return std::to_string(us) + "000"; }

Node log_record(const OtlpResource& resource, const Shipped& shipped, std::int64_t observed_us) {
  const auto decoded = audit::decode_line(shipped.line);
  const audit::Record* const record = decoded ? &*decoded : nullptr;
  const Severity severity = severity_of(record, shipped.columns);
  Node node;
  // A time before 1970 cannot be said.
  if (shipped.columns.at_us && *shipped.columns.at_us > 0)
    node.set("timeUnixNano", nanoseconds(*shipped.columns.at_us));
  node.set("observedTimeUnixNano", nanoseconds(observed_us))
      .set("severityNumber", Node(static_cast<int>(severity)))
      .set("severityText", name_of(severity))
      // Bytes that are no text go as bytes: whoever verifies the chain needs them as they are.
      .set("body", is_valid_utf8(shipped.line) ? text_value(shipped.line)
                                               : Node().set("bytesValue", base64(shipped.line)))
      .set("attributes", Node(attributes_of(resource, shipped, record)));
  return node;
}

}  // namespace

std::string otlp_request(const OtlpResource& resource, std::span<const Shipped> records,
                         std::int64_t observed_us) {
  NodeList all;
  for (const Shipped& shipped : records) all.push_back(log_record(resource, shipped, observed_us));
  NodeList about;
  about.push_back(attribute("service.name", text_value("cordon")));
  about.push_back(attribute("service.version", text_value(CORDON_VERSION)));
  about.push_back(attribute("host.name", text_value(resource.host)));
  about.push_back(attribute("cordon.node", text_value(resource.node)));
  Node scope;
  scope.set("scope", Node().set("name", "cordon.audit").set("version", CORDON_VERSION))
      .set("logRecords", Node(std::move(all)));
  NodeList scopes;
  scopes.push_back(std::move(scope));
  Node of_resource;
  of_resource.set("resource", Node().set("attributes", Node(std::move(about))))
      .set("scopeLogs", Node(std::move(scopes)));
  NodeList resources;
  resources.push_back(std::move(of_resource));
  return write_json(Node().set("resourceLogs", Node(std::move(resources))), JsonStyle::Compact);
}

namespace {

constexpr MessageBounds kReplyBounds{std::size_t{64} * 1024, 1000};

const Node* member(const Node& node, std::string_view key) {
  const Node* const found = node.find(key);
  return found == nullptr || std::holds_alternative<std::nullptr_t>(found->value) ? nullptr : found;
}

// A 64-bit number is a text; some receivers write a number.
std::optional<std::uint64_t> count_in(const Node& node) {
  if (const std::string* const text = node.text()) return parse_number(*text);
  const auto* const number = std::get_if<std::int64_t>(&node.value);
  if (number == nullptr || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

std::optional<OtlpReply> read_otlp_reply(std::string_view body) {
  OtlpReply reply;
  // Some receivers say in the status alone that they took everything.
  if (body.empty()) return reply;
  const auto node = read_json_message(body, kReplyBounds);
  if (!node || node->map() == nullptr) return std::nullopt;
  const Node* const partial = member(*node, "partialSuccess");
  if (partial == nullptr) return reply;
  if (partial->map() == nullptr) return std::nullopt;
  if (const Node* const rejected = member(*partial, "rejectedLogRecords")) {
    const auto count = count_in(*rejected);
    if (!count) return std::nullopt;
    reply.rejected = *count;
  }
  if (const Node* const message = member(*partial, "errorMessage")) {
    if (message->text() == nullptr) return std::nullopt;
    reply.message = *message->text();
  }
  return reply;
}

std::string otlp_failure_text(std::string_view body) {
  const auto node = read_json_message(body, kReplyBounds);
  if (!node) return std::string(body);
  const Node* const message = member(*node, "message");
  return message != nullptr && message->text() != nullptr ? *message->text() : std::string();
}

}  // namespace cordon::ship
