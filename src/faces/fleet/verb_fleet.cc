// `cordon fleet report`: records in, one page out.
#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "audit/record.h"
#include "base/path.h"
#include "base/text.h"
#include "faces/cli/audit_forms.h"
#include "faces/cli/console.h"
#include "faces/cli/report_file.h"
#include "faces/cli/verbs.h"
#include "faces/fleet/fleet_page.h"
#include "faces/fleet/fleet_sums.h"
#include "faces/fleet/record_source.h"

namespace cordon {
namespace {

constexpr const char* kExample =
    "cordon fleet report --from postgresql://USER@HOST/DATABASE fleet.html";

Result<void> check_words(const Arguments& arguments) {
  if (!arguments.has(FlagId::From)) {
    return fail(
        usage_error("--from says where the records are: a database, or a file that cordon "
                    "audit export wrote",
                    kExample));
  }
  if (arguments.operands.empty() && !arguments.has(FlagId::Json)) {
    return fail(usage_error("name the page that is to be written",
                            std::string(kExample) + "; --json prints the sums"));
  }
  if (arguments.operands.size() > 1) {
    return fail(usage_error(
        "one page is written, and " + quote(arguments.operands[1]) + " is one name too many",
        "each file of records stands behind a --from of its own"));
  }
  for (const std::string_view page : arguments.operands) {
    if (page.ends_with(".json") || page.ends_with(".jsonl")) {
      return fail(usage_error(quote(page) + " would be a page for a browser",
                              "call it FILE.html; --json prints the sums, and records stand behind "
                              "--from"));
    }
  }
  return {};
}

// What the records of each file are called: as the file is, and where two are called so, by the
// whole name.
std::string node_of(const std::string& path, const std::vector<std::string>& from) {
  const auto short_name = [](std::string_view text) {
    std::string name(basename(text));
    if (name.ends_with(".jsonl")) name.resize(name.size() - std::string_view(".jsonl").size());
    return name;
  };
  const std::string name = short_name(path);
  const bool alone = std::ranges::none_of(from, [&](const std::string& other) {
    return other != path && !is_database(other) && short_name(other) == name;
  });
  return alone && !name.empty() ? name : path;
}

Result<FleetAsked> asked_of(const Arguments& arguments) {
  CORDON_TRY(where, audit_place());
  CORDON_TRY(filter, audit_filter(arguments, where));
  FleetAsked asked;
  for (const std::string_view one : arguments.values(FlagId::From)) asked.from.emplace_back(one);
  asked.range.since_us = filter.since_us;
  asked.range.until_us = filter.until_us;
  asked.range.node = arguments.value(FlagId::NodeName).value_or("");
  return asked;
}

// False if a database could not be asked, which was said already.
Result<bool> read_all(const Arguments& arguments, const FleetAsked& asked, FleetSums& sums) {
  const auto take = [&](const SourcedRecord& one) {
    if (one.record != nullptr) {
      sums.take(one.node, *one.record, one.received_us);
    } else {
      sums.take_strange(one.node, one.seq);
    }
  };
  for (const std::string& from : asked.from) {
    if (!is_database(from)) {
      CORDON_CHECK(read_records(from, node_of(from, asked.from), take));
      continue;
    }
    const DatabaseQuestion question{from, std::string(arguments.value(FlagId::Since).value_or("")),
                                    std::string(arguments.value(FlagId::Until).value_or("")),
                                    asked.range.node};
    CORDON_TRY(answered, ask_database(question, take));
    if (!answered) return false;
  }
  return true;
}

// The exit status.
Result<int> report(const Arguments& arguments) {
  CORDON_CHECK(check_words(arguments));
  CORDON_TRY(asked, asked_of(arguments));
  // Before a million records are read.
  std::optional<ReportFile> file;
  if (!arguments.operands.empty()) {
    CORDON_TRY(opened, ReportFile::open(std::string(arguments.operands.front()), kFleetPage));
    file = std::move(opened);
  }
  FleetSums sums(asked.range, audit::system_clock().wall_us());
  CORDON_TRY(answered, read_all(arguments, asked, sums));
  if (!answered) return kAnswerError;
  sums.finish();
  if (sums.strange > 0) {
    say_warning(std::to_string(sums.strange) +
                " record(s) cannot be read and are not counted: cordon audit verify --from tells "
                "what was done to them");
  }
  if (file) CORDON_CHECK(file->write(fleet_page(sums, asked)));
  if (arguments.has(FlagId::Json) && !say_answer(fleet_json(sums, asked))) return kAnswerError;
  if (sums.all.count > 0) return kAnswerYes;
  say(std::string("cordon: nothing is recorded there") +
      (file ? ": the page says so and no more\n" : "\n"));
  return kAnswerNo;
}

}  // namespace

int verb_fleet_report(const Arguments& arguments) {
  const auto status = report(arguments);
  return status ? *status : audit_failure_status(status.error());
}

}  // namespace cordon
