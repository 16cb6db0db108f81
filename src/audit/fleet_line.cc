#include "audit/fleet_line.h"

#include "audit/decode_line.h"
#include "audit/record.h"
#include "config/json_line.h"
#include "config/node.h"

namespace cordon::audit {
namespace {

constexpr std::string_view kBegin = "{\"node\":";
// Inside a string of JSON a quotation mark has a backslash in front: no node can be called so that
// this stands earlier.
constexpr std::string_view kRecord = ",\"record\":";
constexpr std::string_view kNone = "null";

bool is_as_published(const std::string& line, std::uint64_t seq) {
  // JSON permits a newline between two tokens.
  if (line.find_first_of("\r\n") != std::string::npos) return false;
  const auto record = decode_line(line);
  return record && record->intact && record->seq == seq;
}

}  // namespace

std::string write_fleet_line(const FleetLine& line) {
  Node head;
  head.set("node", line.node)
      .set("seq", Node(line.seq))
      .set("received", format_moment(line.received_us));
  std::string text = write_json(head, JsonStyle::Compact);
  text.pop_back();
  text.append(kRecord);
  if (is_as_published(line.record, line.seq)) {
    text.append(line.record);
  } else {
    text.append(kNone);
  }
  return text.append("}\n");
}

bool is_fleet_line(std::string_view line) { return line.starts_with(kBegin); }

std::optional<FleetLine> read_fleet_line(std::string_view line) {
  const std::size_t at = line.find(kRecord);
  if (!is_fleet_line(line) || at == std::string_view::npos || !line.ends_with('}'))
    return std::nullopt;
  JsonLine head;
  if (!head.read(std::string(line.substr(0, at)) + "}")) return std::nullopt;
  const auto node = text_in(head.root(), "node");
  const auto seq = number_in(head.root(), "seq");
  const auto received = text_in(head.root(), "received");
  const auto moment = received ? parse_moment(*received) : std::nullopt;
  if (!node || !seq || *seq < 0 || !moment) return std::nullopt;
  std::string_view record = line.substr(at + kRecord.size());
  record.remove_suffix(1);
  if (record == kNone) record = {};
  return FleetLine{std::string(*node), static_cast<std::uint64_t>(*seq), *moment,
                   std::string(record)};
}

}  // namespace cordon::audit
