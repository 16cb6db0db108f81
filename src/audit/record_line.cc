#include "audit/record_line.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "audit/record.h"
#include "cordon/outcome.h"

namespace cordon::audit {
namespace {

constexpr std::size_t kMostListed = 32;

Node text(const Label& label) { return label.empty() ? Node() : Node(label.text()); }

Node texts(const std::vector<Label>& labels) {
  NodeList list;
  for (const Label& label : labels) {
    if (list.size() == kMostListed) break;
    list.push_back(text(label));
  }
  return {std::move(list)};
}

template <typename T>
Node number(const std::optional<T>& value) {
  return value ? Node(static_cast<std::uint64_t>(*value)) : Node();
}

Node ceilings_node(const std::vector<CeilingMark>& ceilings) {
  NodeList list;
  for (const CeilingMark& ceiling : ceilings) {
    if (list.size() == kMostListed) break;
    Node node;
    node.set("id", text(ceiling.id)).set("hash", text(ceiling.hash));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node reductions_node(const std::vector<ReductionMark>& reductions) {
  NodeList list;
  for (const ReductionMark& one : reductions) {
    if (list.size() == kMostListed) break;
    Node node;
    node.set("what", text(one.what))
        .set("because", text(one.because))
        .set("asked_hash", text(one.asked_hash));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node request_node(const Pending& pending) {
  Node node;
  node.set("tool", text(pending.tool))
      .set("tool_call_id", text(pending.tool_call_id))
      .set("backend", text(pending.backend))
      .set("ceilings", ceilings_node(pending.ceilings))
      .set("policy", text(pending.policy))
      .set("policy_hash", text(pending.policy_hash))
      .set("read", texts(pending.read))
      .set("read_count", Node(std::uint64_t{pending.read.size()}))
      .set("write", texts(pending.write))
      .set("write_count", Node(std::uint64_t{pending.write.size()}))
      .set("net", text(pending.net))
      .set("cwd", text(pending.cwd))
      .set("argv_hash", text(pending.argv_hash))
      .set("argc", Node(pending.argc))
      .set("timeout_ms", number(pending.timeout_ms))
      .set("version", CORDON_VERSION);
  if (!pending.approvals.empty()) node.set("approvals", texts(pending.approvals));
  if (!pending.reductions.empty()) node.set("reductions", reductions_node(pending.reductions));
  if (!pending.session.empty()) {
    node.set("session", text(pending.session)).set("agent", text(pending.agent));
    node.set("conversation", text(pending.conversation));
  }
  if (pending.request) {
    Node request;
    request.set("rule", text(pending.request->rule))
        .set("method", text(pending.request->method))
        .set("path_hash", text(pending.request->path_hash))
        .set("secret", text(pending.request->secret))
        .set("run", text(pending.request->run));
    node.set("http", std::move(request));
  }
  return node;
}

Node denials_node(const std::vector<DenialMark>& denials) {
  NodeList list;
  for (const DenialMark& denial : denials) {
    if (list.size() == kMostListed) break;
    Node node;
    node.set("what", text(denial.what))
        .set("layer", text(denial.layer))
        .set("detail_hash", text(denial.detail_hash))
        .set("count", Node(denial.count));
    if (!denial.rule.empty()) node.set("rule", text(denial.rule));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node connections_node(const std::vector<ConnectionMark>& connections) {
  NodeList list;
  for (const ConnectionMark& connection : connections) {
    if (list.size() == kMostListed) break;
    Node node;
    node.set("destination_hash", text(connection.destination_hash))
        .set("address", text(connection.address))
        .set("port", number(connection.port))
        .set("rule", text(connection.rule))
        .set("allowed", Node(connection.allowed))
        .set("count", Node(connection.count))
        .set("sent", number(connection.sent))
        .set("received", number(connection.received));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node published_node(const std::vector<PublishedMark>& published) {
  NodeList list;
  for (const PublishedMark& port : published) {
    if (list.size() == kMostListed) break;
    Node node;
    node.set("host_port", Node(port.host_port))
        .set("connections", Node(port.connections))
        .set("sent", Node(port.sent))
        .set("received", Node(port.received));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

// What every record says, in the published order.
std::string members(Node action, Node resource, Node outcome, Node reason, Node metadata,
                    const Label& agent = {}) {
  Node node;
  node.set("agent_id", text(agent))
      .set("action", std::move(action))
      .set("resource", std::move(resource))
      .set("outcome", std::move(outcome))
      .set("reason", std::move(reason))
      .set("attribution_type", agent.empty() ? "none" : "agent")
      .set("attribution_layer", "application")
      .set("metadata", std::move(metadata));
  std::string json = write_json(node, JsonStyle::Compact);
  return json.substr(1, json.size() - 2);
}

std::string ending_members(Node action, Node resource, Node pending_seq, const Closing& closing,
                           Node request) {
  const auto reason = reason_of(closing.ending);
  Node metadata;
  metadata.set("pending_seq", std::move(pending_seq))
      .set("exit_code", number(closing.exit_code))
      .set("signal", closing.signal ? Node(signal_name(*closing.signal)) : Node())
      .set("duration_ms", number(closing.duration_ms))
      .set("stdout_bytes", number(closing.stdout_bytes))
      .set("stderr_bytes", number(closing.stderr_bytes))
      .set("truncated", Node(closing.truncated))
      .set("denials", denials_node(closing.denials))
      .set("denial_count", Node(std::uint64_t{closing.denials.size()}))
      .set("handoffs", Node(closing.handoffs))
      .set("error_kind", closing.error_kind ? Node(cordon::name_of(*closing.error_kind)) : Node())
      .set("request", std::move(request));
  if (closing.held > 0) metadata.set("held", Node(closing.held));
  if (closing.lost > 0) metadata.set("lost", Node(closing.lost));
  if (closing.conflicts > 0) metadata.set("conflicts", Node(closing.conflicts));
  if (!closing.connections.empty()) {
    metadata.set("connections", connections_node(closing.connections))
        .set("connection_count", Node(std::uint64_t{closing.connections.size()}));
  }
  if (!closing.published.empty()) {
    metadata.set("published", published_node(closing.published))
        .set("published_count", Node(std::uint64_t{closing.published.size()}));
  }
  if (closing.answer) {
    Node answer;
    answer.set("status", Node(closing.answer->status))
        .set("sent", Node(closing.answer->sent))
        .set("received", Node(closing.answer->received));
    metadata.set("http", std::move(answer));
  }
  return members(std::move(action), std::move(resource), Node(outcome_of(closing.ending)),
                 reason ? Node(*reason) : Node(), std::move(metadata));
}

}  // namespace

std::string pending_members(const Pending& pending, const Writer& writer) {
  Node metadata = request_node(pending);
  Node process;
  process.set("pid", Node(writer.pid)).set("pid_namespace", Node(writer.pid_namespace));
  metadata.set("writer", std::move(process));
  return members(text(pending.action), text(pending.resource), "pending", Node(),
                 std::move(metadata), pending.agent);
}

std::string closing_members(const Receipt& of, const Closing& closing) {
  return ending_members(Node(of.action), of.resource.empty() ? Node() : Node(of.resource),
                        Node(of.seq), closing, Node());
}

std::string refusal_members(const Pending& pending, const Closing& closing) {
  return ending_members(text(pending.action), text(pending.resource), Node(), closing,
                        request_node(pending));
}

std::string note_members(std::string_view action, Node metadata) {
  return members(Node(action), Node(), "success", Node(), std::move(metadata));
}

Composed compose(const Body& body, const Link& previous, std::uint64_t seq,
                 std::string_view boot_id, const Key& key) {
  Composed composed;
  std::string& line = composed.line;
  line.reserve(body.members.size() + 512);
  line.append("{\"v\":1,\"seq\":").append(std::to_string(seq));
  line.append(",\"event_id\":\"").append(body.event_id);
  line.append("\",\"timestamp\":\"").append(format_moment(body.wall_us));
  line.append("\",\"boot_id\":\"").append(boot_id);
  line.append("\",\"boot_ms\":").append(std::to_string(body.boot_ms));
  line.append(",\"phase\":\"").append(name_of(body.phase));
  line.append("\",\"prev\":\"").append(to_hex(previous.hash));
  line.append("\",").append(body.members);
  const Digest mac = keyed(key, "line", line);
  line.append(",\"mac\":\"").append(to_hex(mac)).append("\"");
  composed.hash = sha256(line);
  line.append(",\"hash\":\"").append(to_hex(composed.hash)).append("\"}\n");
  return composed;
}

Result<std::string> new_event_id(std::int64_t wall_us) {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data() + 6, 10, 0) != 10) {
    return fail(audit_error("the kernel gives no random bytes", errno));
  }
  const auto ms = static_cast<std::uint64_t>(wall_us / 1000);
  for (unsigned i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (40U - 8U * i));
  bytes[6] = static_cast<std::uint8_t>(0x70U | (bytes[6] & 0x0FU));
  bytes[8] = static_cast<std::uint8_t>(0x80U | (bytes[8] & 0x3FU));
  std::string id = to_hex(bytes);
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) id.insert(dash, 1, '-');
  return id;
}

}  // namespace cordon::audit
