#include <sys/utsname.h>

#include <unistd.h>

#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/audit_forms.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

enum class Form { Jsonl, Csv, Ocsf };

Result<Form> form_of(const Arguments& arguments) {
  const std::string_view word = arguments.value(FlagId::Format).value_or("jsonl");
  if (word == "jsonl") return Form::Jsonl;
  if (word == "csv") return Form::Csv;
  if (word == "ocsf") return Form::Ocsf;
  return fail(
      usage_error("--format " + quote(word) + ": unknown form", "write jsonl, csv or ocsf"));
}

// Which host it was is not in the log: it is told by the one that exports it.
std::string host_name() {
  struct utsname names {};
  return ::uname(&names) == 0 && names.nodename[0] != '\0' ? names.nodename : "unknown";
}

std::string exported(const audit::Index& index, const audit::Event& event, Form form) {
  switch (form) {
    case Form::Csv:
      return csv_row(event);
    case Form::Ocsf:
      return write_json(ocsf_event(event, host_name()), JsonStyle::Compact) + "\n";
    case Form::Jsonl: {
      const auto lines = index.lines(event);
      std::string text;
      for (const std::string& line : {lines ? lines->pending : "", lines ? lines->closing : ""}) {
        // As they stand in the file; a terminal must not be moved by one that was tampered with.
        if (!line.empty())
          text.append(::isatty(STDOUT_FILENO) == 1 ? sanitize(line) : line) += '\n';
      }
      return text;
    }
  }
  return {};
}

// The exit status.
Result<int> export_all(const Arguments& arguments) {
  CORDON_TRY(form, form_of(arguments));
  CORDON_TRY(where, audit_place());
  CORDON_TRY(filter, audit_filter(arguments, where));
  CORDON_TRY(index, audit::Index::open(where.place, audit_progress("indexing")));
  bool any = false;
  bool written = form != Form::Csv || say_answer(csv_header());
  CORDON_CHECK(index.each(filter, [&](const audit::Event& event) {
    written = written && say_answer(exported(index, event, form));
    any = true;
    return written;
  }));
  if (!written) return kAnswerError;
  return any ? kAnswerYes : kAnswerNo;
}

}  // namespace

int verb_audit_export(const Arguments& arguments) {
  const auto status = export_all(arguments);
  return status ? *status : audit_failure_status(status.error());
}

}  // namespace cordon
