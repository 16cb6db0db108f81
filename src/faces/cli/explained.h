// What a report (cordon.report/1) tells a person: what happened to the run that its policy decided,
// each with what to do about it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"
#include "cordon/change.h"

namespace cordon {

struct ExplainedLine {
  std::string what;
  std::string cure;  // empty: there is none
};

// What has become of a change since the run ended, by its path as the report has it; nothing if
// that is not known.
using StateNow = std::function<std::optional<Change::State>(const std::string& path)>;

// Nothing if nothing was denied, taken away, moved, held back or lost that left a trace. Without
// `now` everything is as it was when the run ended.
std::vector<ExplainedLine> explain_report(const Node& report, const StateNow& now = {});

// "exit status 3" or the name of a signal; empty for a run that was not started.
std::string ended_words(const Node& report);

// Members of a report. Absent, or of another type: empty.
std::string word_in(const Node& node, const char* name);
std::optional<std::int64_t> integer_in(const Node& node, const char* name);
bool is_set(const Node& node, const char* name);
const NodeList& list_in(const Node& node, const char* name);

}  // namespace cordon
