// The parts of the MXC reader.
#pragma once

#include "config/foreign/foreign_table.h"
#include "config/foreign/mxc_request.h"

namespace cordon {

// One document while it is read.
struct MxcDocument {
  ForeignTables& tables;
  const Section& top;
  MxcVersion version;

  [[nodiscard]] UnknownKeys nested() const {
    return version.at_least(0, 8) ? UnknownKeys::Refused : UnknownKeys::Ignored;
  }
};

Result<void> read_mxc_process(MxcDocument& document, MxcRequest& request);
Result<void> read_mxc_filesystem(MxcDocument& document, const Places& places, Policy& policy);
Result<void> read_mxc_network(MxcDocument& document, Policy& policy);
// egress, ingress and runtimeConfig, from version 0.8 on.
Result<void> read_mxc_directions(MxcDocument& document, const Section& network, Policy& policy);
// Only `endpoint` can be reached, and programs are told so by the usual variables.
void go_through_proxy(const std::string& url, const HostRule& endpoint, Policy& policy);
// The endpoint of "http://host:port"; nothing for anything else.
Result<HostRule> parse_proxy_url(std::string_view url);

}  // namespace cordon
