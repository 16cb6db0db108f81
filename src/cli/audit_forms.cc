#include "cli/audit_forms.h"

#include "base/text.h"
#include "cli/audit_common.h"

namespace cordon {
namespace {

using audit::Event;

Node text(const std::string& value) { return value.empty() ? Node() : Node(value); }
Node number_or_null(const std::optional<std::int64_t>& value) {
  return value ? Node(*value) : Node();
}

// A dotted name is a member of an object.
struct Field {
  std::string_view name;
  Node (*value)(const Event&);
};

// Identifiers of the classification; 0 stands for unknown, 99 for other.
constexpr Field kOcsf[] = {
    {"activity_id", [](const Event&) { return Node(1); }},   // Launch
    {"category_uid", [](const Event&) { return Node(1); }},  // System Activity
    {"class_uid", [](const Event&) { return Node(1007); }},  // Process Activity
    {"type_uid", [](const Event&) { return Node(100701); }},
    {"severity_id", [](const Event& e) { return Node(e.outcome == "failure" ? 2 : 1); }},
    {"time", [](const Event& e) { return Node(e.begun_us / 1000); }},
    {"end_time", [](const Event& e) { return e.ended_us ? Node(*e.ended_us / 1000) : Node(); }},
    {"duration", [](const Event& e) { return number_or_null(e.duration_ms); }},
    {"status_id",
     [](const Event& e) {
       return Node(e.outcome == "success" ? 1 : e.outcome == "failure" ? 2 : 0);
     }},
    {"status_detail", [](const Event& e) { return text(e.reason); }},
    {"exit_code", [](const Event& e) { return number_or_null(e.exit_code); }},
    {"metadata.version", [](const Event&) { return Node("1.4.0"); }},
    {"metadata.product.name", [](const Event&) { return Node("Cordon"); }},
    {"metadata.product.vendor_name", [](const Event&) { return Node("Cordon"); }},
    {"metadata.uid", [](const Event& e) { return Node(e.event_id); }},
    {"metadata.sequence", [](const Event& e) { return Node(e.seq); }},
    {"actor.app_name", [](const Event& e) { return Node(e.tool.empty() ? "cordon" : e.tool); }},
    {"device.type_id", [](const Event&) { return Node(0); }},
    {"process.uid", [](const Event& e) { return Node(e.event_id); }},
    {"process.working_directory", [](const Event& e) { return text(e.cwd); }},
    {"process.sandbox", [](const Event& e) { return text(e.backend); }},
    {"unmapped.action", [](const Event& e) { return text(e.action); }},
    {"unmapped.resource", [](const Event& e) { return text(e.resource); }},
    {"unmapped.signal", [](const Event& e) { return text(e.signal); }},
    {"unmapped.denials", [](const Event& e) { return Node(e.denials); }},
    {"unmapped.error_kind", [](const Event& e) { return text(e.error_kind); }},
};

// The member of that name, made if it is not there.
Node& member(Node& node, std::string_view name) {
  if (node.find(name) == nullptr) node.set(std::string(name), Node(NodeMap{}));
  for (auto& [key, value] : std::get<NodeMap>(node.value)) {
    if (key == name) return value;
  }
  return node;
}

void put(Node& node, std::string_view name, Node value) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    node.set(std::string(name), std::move(value));
  } else {
    put(member(node, name.substr(0, dot)), name.substr(dot + 1), std::move(value));
  }
}

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

}  // namespace

Node ocsf_event(const Event& event, const std::string& host) {
  Node node{NodeMap{}};
  for (const Field& field : kOcsf) {
    Node value = field.value(event);
    // Absent and null differ for its readers: what is not known is left out.
    if (!std::holds_alternative<std::nullptr_t>(value.value))
      put(node, field.name, std::move(value));
  }
  put(node, "device.name", Node(host));
  return node;
}

// The columns are those of the JSON answer.
std::string csv_header() {
  std::string line;
  const Node columns = event_node(Event{});
  for (const auto& [key, value] : std::get<NodeMap>(columns.value)) {
    line.append(line.empty() ? "" : ",").append(key);
  }
  return line + "\r\n";
}

std::string csv_row(const Event& event) {
  std::string line;
  bool first = true;
  const Node columns = event_node(event);
  for (const auto& [key, value] : std::get<NodeMap>(columns.value)) {
    if (!first) line += ",";
    first = false;
    if (const std::string* cell = value.text()) {
      line += quoted(sanitize(*cell));
    } else if (const auto* count = std::get_if<std::int64_t>(&value.value)) {
      line += std::to_string(*count);
    }
  }
  return line + "\r\n";
}

}  // namespace cordon
