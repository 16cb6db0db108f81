// The headers that a receiver wants beside the records, mostly a token. They come from the
// variables that OpenTelemetry's own programs read, or from a file of the person's own, never from
// a command line, and no message repeats what is in them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cordon::ship {

class OtlpHeaders {
 public:
  // `file`: empty for the variables OTEL_EXPORTER_OTLP_LOGS_HEADERS and OTEL_EXPORTER_OTLP_HEADERS,
  // of which the first that is there counts. A file takes their place.
  static Result<OtlpHeaders> read(const std::string& file,
                                  const std::map<std::string, std::string>& environment);

  [[nodiscard]] bool empty() const { return headers_.empty(); }
  // As they stand in a request.
  [[nodiscard]] std::string text() const;
  // What a receiver says, without the values: one that repeats what it was sent must not have a
  // token written into somebody's journal.
  [[nodiscard]] std::string masked(std::string text) const;

 private:
  Result<void> add(std::string_view name, std::string_view value, const std::string& where);
  Result<void> read_variable(std::string_view text, const std::string& where);
  Result<void> read_lines(std::string_view text, const std::string& where);

  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace cordon::ship
