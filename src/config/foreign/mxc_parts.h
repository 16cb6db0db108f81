// The parts of the MXC reader.
#pragma once

#include "config/foreign/foreign_table.h"
#include "config/foreign/mxc_keys.h"
#include "config/foreign/mxc_request.h"

namespace cordon {

// One document while it is read.
struct MxcDocument {
  ForeignTables& tables;  // opened by member() and element() alone
  const Section& top;
  MxcVersion version;

  [[nodiscard]] UnknownKeys nested() const {
    return version.at_least(0, 8) ? UnknownKeys::Refused : UnknownKeys::Ignored;
  }
  // The table as a member of the one it is named after.
  Result<Section> member(const Section& parent, const MxcTable& table) const {
    const std::size_t dot = table.name.rfind('.');
    const bool direct = dot == std::string_view::npos;
    return tables.member(parent, direct ? "" : table.name.substr(0, dot),
                         direct ? table.name : table.name.substr(dot + 1), table.keys, nested());
  }
  // One of a list of such tables; `name` says which list, for messages.
  Result<Section> element(const Node& node, const std::string& name, const MxcTable& table) const {
    return tables.open(node, name, table.keys, nested());
  }
};

Result<void> read_mxc_process(MxcDocument& document, MxcRequest& request);
Result<void> read_mxc_filesystem(MxcDocument& document, const Places& places, Policy& policy);
Result<void> read_mxc_network(MxcDocument& document, Policy& policy);
// egress, ingress and runtimeConfig, from version 0.8 on.
Result<void> read_mxc_directions(MxcDocument& document, const Section& network, Policy& policy);
// The addresses of a host's own loopback.
std::vector<HostRule> mxc_loopback();
// Only `endpoint` can be reached, and programs are told so by the usual variables.
void go_through_proxy(const std::string& url, const HostRule& endpoint, Policy& policy);
// The endpoint of "http://host:port"; nothing for anything else.
Result<HostRule> parse_proxy_url(std::string_view url);

}  // namespace cordon
