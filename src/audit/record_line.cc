#include "audit/record_line.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string>
#include <vector>

#include "audit/files.h"
#include "audit/record.h"
#include "cordon/outcome.h"

namespace cordon::audit {
namespace {

Result<Key> make_key(int directory, const char* name) {
  CORDON_TRY(key, random_key());
  // Written beside and renamed: a crash leaves the whole key or none, and a half one would make
  // every later record unverifiable.
  const std::string beside = std::string(name) + ".new";
  ::unlinkat(directory, beside.c_str(), 0);
  const Fd file(::openat(directory, beside.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() ||
      ::write(file.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size()) ||
      ::fsync(file.get()) != 0 || ::renameat(directory, beside.c_str(), directory, name) != 0 ||
      ::fsync(directory) != 0) {
    const int why = errno;
    ::unlinkat(directory, beside.c_str(), 0);
    return fail(audit_error(std::string("cannot make audit/") + name, why));
  }
  return key;
}

}  // namespace

Digest keyed(const Key& key, std::string_view use, std::string_view bytes) {
  std::string text;
  text.reserve(use.size() + 1 + bytes.size());
  text.append(use).append(1, '\0').append(bytes);
  return hmac_sha256(key, text);
}

Result<Key> random_key() {
  Key key{};
  std::size_t done = 0;
  while (done < key.size()) {
    const ssize_t got = ::getrandom(key.data() + done, key.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(audit_error("the kernel gives no random bytes", errno));
    done += static_cast<std::size_t>(got);
  }
  return key;
}

Result<Key> load_key(int directory, const char* name, IfMissing missing) {
  auto file = open_private_file(directory, name, O_RDONLY);
  if (!file && file.error().error_number == ENOENT && missing == IfMissing::Make) {
    return make_key(directory, name);
  }
  if (!file) return fail(std::move(file).error());
  Key key{};
  if (::pread(file->get(), key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return fail(audit_error(std::string("audit/") + name + " does not hold a key", 0,
                            "it was damaged: move the audit directory aside to begin a new log"));
  }
  return key;
}

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

namespace {

constexpr std::array<std::string_view, 18> kRecordKeys{
    "v",        "seq",     "event_id", "timestamp",        "boot_id",
    "boot_ms",  "phase",   "prev",     "agent_id",         "action",
    "resource", "outcome", "reason",   "attribution_type", "attribution_layer",
    "metadata", "mac",     "hash"};
constexpr std::size_t kMetadata = 15;
constexpr std::size_t kMac = 16;
// Releases before the mac wrote all the others.
constexpr auto kOlderKeys = [] {
  std::array<std::string_view, kRecordKeys.size() - 1> keys;
  std::ranges::copy_if(kRecordKeys, keys.begin(),
                       [](std::string_view key) { return key != kRecordKeys[kMac]; });
  return keys;
}();
constexpr std::string_view kBeforeMac = ",\"mac\":\"";
constexpr std::string_view kBeforeHash = ",\"hash\":\"";
constexpr std::size_t kHashLength = 64;
constexpr std::size_t kTailLength = kBeforeHash.size() + kHashLength + 2;
constexpr std::size_t kMacLength = kBeforeMac.size() + kHashLength + 1;

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text.substr(i, 1), 1)) return false;
  }
  return true;
}

Error odd_key(std::string_view key) {
  return audit_error("\"" + std::string(key) + "\" is not as published", 0);
}

// The members of a line, looked at in the published order. Each text is taken out.
class Members {
 public:
  explicit Members(NodeMap& map) : map_(map) {}

  Result<std::string> text(std::size_t at) {
    auto* found = std::get_if<std::string>(&map_[at].second.value);
    if (found == nullptr || found->empty()) return fail(odd_key(kRecordKeys[at]));
    return std::move(*found);
  }
  Result<std::string> text_or_null(std::size_t at) {
    if (std::holds_alternative<std::nullptr_t>(map_[at].second.value)) return std::string();
    return text(at);
  }
  Result<std::uint64_t> number(std::size_t at) const {
    const auto* found = std::get_if<std::int64_t>(&map_[at].second.value);
    if (found == nullptr || *found < 0) return fail(odd_key(kRecordKeys[at]));
    return static_cast<std::uint64_t>(*found);
  }
  Node& node(std::size_t at) { return map_[at].second; }

 private:
  NodeMap& map_;
};

bool outcome_fits(const Record& record) {
  switch (record.phase) {
    case Phase::Pending:
      return record.outcome == "pending" && record.reason.empty();
    case Phase::Note:
      return record.outcome == "success" && record.reason.empty();
    case Phase::Closing:
      return record.outcome == "success"
                 ? record.reason.empty()
                 : record.outcome == "failure" && ending_with_reason(record.reason).has_value();
  }
  return false;
}

Result<void> read_head(Members& members, Record& record) {
  CORDON_TRY(version, members.number(0));
  if (version != 1) return fail(odd_key("v"));
  CORDON_TRY(seq, members.number(1));
  if (seq == 0) return fail(odd_key("seq"));
  record.seq = seq;
  CORDON_TRY(event_id, members.text(2));
  if (!is_uuid(event_id)) return fail(odd_key("event_id"));
  record.event_id = std::move(event_id);
  CORDON_TRY(timestamp, members.text(3));
  const auto moment = parse_moment(timestamp);
  if (!moment) return fail(odd_key("timestamp"));
  record.wall_us = *moment;
  record.timestamp = std::move(timestamp);
  CORDON_TRY(boot_id, members.text(4));
  if (!is_uuid(boot_id)) return fail(odd_key("boot_id"));
  record.boot_id = std::move(boot_id);
  CORDON_TRY(boot_ms, members.number(5));
  record.boot_ms = boot_ms;
  CORDON_TRY(word, members.text(6));
  const auto phase = phase_named(word);
  if (!phase) return fail(odd_key("phase"));
  record.phase = *phase;
  CORDON_TRY(prev, members.text(7));
  if (!is_hex(prev, kHashLength)) return fail(odd_key("prev"));
  record.prev = std::move(prev);
  return {};
}

Result<void> read_content(Members& members, Record& record) {
  CORDON_CHECK(members.text_or_null(8));
  CORDON_TRY(action, members.text(9));
  record.action = std::move(action);
  CORDON_TRY(resource, members.text_or_null(10));
  record.resource = std::move(resource);
  CORDON_TRY(outcome, members.text(11));
  record.outcome = std::move(outcome);
  CORDON_TRY(reason, members.text_or_null(12));
  record.reason = std::move(reason);
  if (!outcome_fits(record)) return fail(odd_key("outcome"));
  CORDON_TRY(type, members.text(13));
  if (type != "agent" && type != "delegated-human" && type != "none") {
    return fail(odd_key("attribution_type"));
  }
  CORDON_CHECK(members.text(14));
  Node& metadata = members.node(kMetadata);
  if (metadata.map() == nullptr) return fail(odd_key("metadata"));
  record.metadata = std::move(metadata);
  return {};
}

}  // namespace

Result<Record> decode_line(std::string_view line) {
  if (line.size() >= kLongestLine) return fail(audit_error("the line is too long", 0));
  // The tail has a fixed form, because the hash is that of the bytes in front of it.
  if (line.size() < kTailLength || !line.ends_with("\"}") ||
      line.substr(line.size() - kTailLength, kBeforeHash.size()) != kBeforeHash) {
    return fail(audit_error("the line does not end with its hash", 0));
  }
  std::optional<Node> read = read_json_line(line);
  if (!read) return fail(audit_error("the line is not JSON", 0));
  NodeMap* map = std::get_if<NodeMap>(&read->value);
  const auto has_keys = [&](const auto& keys) {
    return map != nullptr && std::ranges::equal(*map, keys, {}, &NodeMap::value_type::first);
  };
  const bool has_mac = has_keys(kRecordKeys);
  if (!has_mac && !has_keys(kOlderKeys)) {
    return fail(audit_error("the keys are not as published", 0));
  }
  Members members(*map);
  Record record;
  CORDON_CHECK(read_head(members, record));
  CORDON_CHECK(read_content(members, record));
  record.hash = std::string(line.substr(line.size() - kHashLength - 2, kHashLength));
  if (!is_hex(record.hash, kHashLength)) return fail(odd_key("hash"));
  const std::string_view hashed = line.substr(0, line.size() - kTailLength);
  if (has_mac) {
    // As fixed as the tail: it is made of the bytes in front of it.
    if (hashed.size() < kMacLength || !hashed.ends_with('"') ||
        hashed.substr(hashed.size() - kMacLength, kBeforeMac.size()) != kBeforeMac) {
      return fail(odd_key("mac"));
    }
    record.mac = std::string(hashed.substr(hashed.size() - kHashLength - 1, kHashLength));
    if (!is_hex(record.mac, kHashLength)) return fail(odd_key("mac"));
  }
  record.digest = sha256(hashed);
  record.intact = to_hex(record.digest) == record.hash;
  return record;
}

bool is_keyed(const Key& key, std::string_view line, const Record& record) {
  const auto mac = digest_from_hex(record.mac);
  if (!mac || line.size() < kTailLength + kMacLength) return false;
  const Digest expected =
      keyed(key, "line", line.substr(0, line.size() - kTailLength - kMacLength));
  // In time that does not depend on where they differ.
  unsigned difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference |= static_cast<unsigned>(expected[i] ^ (*mac)[i]);
  }
  return difference == 0;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  if (!is_hex(text, kHashLength)) return std::nullopt;
  const auto value = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(value(text[2 * i]) * 16 + value(text[2 * i + 1]));
  }
  return digest;
}

std::optional<std::int64_t> number_in(const Node& metadata, std::string_view key) {
  const Node* node = metadata.find(key);
  const auto* number = node == nullptr ? nullptr : std::get_if<std::int64_t>(&node->value);
  if (number == nullptr) return std::nullopt;
  return *number;
}

std::optional<std::string> text_in(const Node& metadata, std::string_view key) {
  const Node* node = metadata.find(key);
  if (node == nullptr || node->text() == nullptr) return std::nullopt;
  return *node->text();
}

}  // namespace cordon::audit
