// What a report (cordon.report/1) tells a person: what happened to the run that its policy decided,
// each with what to do about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"

namespace cordon {

struct ExplainedLine {
  std::string what;
  std::string cure;  // empty: there is none
};

// Nothing if nothing was denied, taken away, moved, held back or lost that left a trace.
std::vector<ExplainedLine> explain_report(const Node& report);

// "exit status 3" or the name of a signal; empty for a run that was not started.
std::string ended_words(const Node& report);

// Members of a report. Absent, or of another type: empty.
std::string word_in(const Node& node, const char* name);
std::optional<std::int64_t> integer_in(const Node& node, const char* name);
bool is_set(const Node& node, const char* name);
const NodeList& list_in(const Node& node, const char* name);

}  // namespace cordon
