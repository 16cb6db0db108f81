#include "ship/shipped.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::ship {
namespace {

// A text column takes no zero byte, and only UTF-8.
std::optional<std::string> column(std::optional<std::string_view> found) {
  std::string text(found.value_or(std::string_view()));
  std::erase(text, '\0');
  if (text.empty()) return std::nullopt;
  return to_utf8(text);
}

}  // namespace

Columns columns_of(const audit::Record* record) {
  Columns columns;
  if (record == nullptr) return columns;
  const LineValue& metadata = *record->metadata;
  const LineValue* const request = metadata.find("request");
  columns.at_us = record->wall_us;
  columns.phase = std::string(audit::name_of(record->phase));
  columns.action = column(record->action);
  columns.tool = column(audit::text_in(request == nullptr ? metadata : *request, "tool"));
  columns.outcome = column(record->outcome);
  columns.reason = column(record->reason);
  if (record->phase != audit::Phase::Closing) return columns;
  columns.pending_seq = audit::number_in(metadata, "pending_seq");
  columns.denials = audit::number_in(metadata, "denial_count").value_or(0);
  columns.duration_ms = audit::number_in(metadata, "duration_ms");
  return columns;
}

}  // namespace cordon::ship
