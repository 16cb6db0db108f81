// A report (cordon.report/1) as one page for a browser: how the run ended, what it was denied and
// what to do about that, what held it, what it used of its limits, what it changed, and whom it
// talked to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace cordon {

// What a report does not say, and who started the run knows.
struct PageOf {
  std::vector<std::string> argv;
};

std::string report_page(const Node& report, const PageOf& of);
// From the text of a report.
std::string page_of(std::string_view report, const PageOf& of);

}  // namespace cordon
