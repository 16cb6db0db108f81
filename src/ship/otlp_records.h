// Records in the JSON form of the OpenTelemetry protocol, and what a receiver answers. One record
// is one log record: its body is the line as it stands in the log, its attributes what the columns
// of the database are, so that the receiver tells a record that it has already by its node and
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ship/shipped.h"

namespace cordon::ship {

// What the records are of.
struct OtlpResource {
  std::string node;
  std::string host;
};

// ExportLogsServiceRequest.
std::string otlp_request(const OtlpResource& resource, std::span<const Shipped> records,
                         std::int64_t observed_us);

// ExportLogsServiceResponse.
struct OtlpReply {
  std::uint64_t rejected = 0;
  std::string message;
};
// Nothing if it is none, with which nobody has said that the records were taken.
std::optional<OtlpReply> read_otlp_reply(std::string_view body);

// The words of an answer that is no success; empty if it has none.
std::string otlp_failure_text(std::string_view body);

}  // namespace cordon::ship
