#include <sys/utsname.h>

#include <unistd.h>

#include "audit/prune.h"
#include "audit/verify.h"
#include "base/text.h"
#include "faces/cli/audit_forms.h"
#include "faces/cli/audit_page.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"

namespace cordon {
namespace {

enum class Form { Jsonl, Csv, Ocsf, Html };

Result<Form> form_of(const Arguments& arguments) {
  const std::string_view word = arguments.value(FlagId::Format).value_or("jsonl");
  if (word == "jsonl") return Form::Jsonl;
  if (word == "csv") return Form::Csv;
  if (word == "ocsf") return Form::Ocsf;
  if (word == "html") return Form::Html;
  return fail(
      usage_error("--format " + quote(word) + ": unknown form", "write jsonl, csv, ocsf or html"));
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
    case Form::Html:
      break;
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
  AuditPage page;
  CORDON_CHECK(index.each(filter, [&](const audit::Event& event) {
    if (form == Form::Html) {
      page.add(event);
    } else {
      written = written && say_answer(exported(index, event, form));
    }
    any = true;
    return written;
  }));
  if (form == Form::Html) written = say_answer(page.text(host_name()));
  if (!written) return kAnswerError;
  return any ? kAnswerYes : kAnswerNo;
}

}  // namespace

int verb_audit_export(const Arguments& arguments) {
  const auto status = export_all(arguments);
  return status ? *status : audit_failure_status(status.error());
}

namespace {

struct VerifyAnswer {
  audit::Verification verified;
  std::optional<std::string> checkpoint;
};

Result<VerifyAnswer> verified(const Arguments& arguments) {
  CORDON_TRY(where, audit_place());
  VerifyAnswer answer;
  CORDON_TRY(found, audit::verify(where.place, audit_progress("verifying")));
  answer.verified = std::move(found);
  if (arguments.has(FlagId::Checkpoint) && answer.verified.holds()) {
    CORDON_TRY(line, audit::sign_checkpoint(where.place, answer.verified));
    answer.checkpoint = std::move(line);
  }
  return answer;
}

std::string finding_line(const audit::Finding& finding) {
  std::string line = finding.file;
  if (finding.line != 0) line += ":" + std::to_string(finding.line);
  line += ": seq " + std::to_string(finding.seq) + ": ";
  return sanitize(line.append(name_of(finding.fault)).append(": ").append(finding.what)) + "\n";
}

std::string verification_text(const VerifyAnswer& answer) {
  const audit::Verification& verified = answer.verified;
  std::string out;
  for (const audit::Finding& finding : verified.findings) out += finding_line(finding);
  for (const std::string& notice : verified.notices) out += "note: " + sanitize(notice) + "\n";
  out += verified.holds() ? tinted(STDOUT_FILENO, Tint::Good, "the log holds")
                          : tinted(STDOUT_FILENO, Tint::Bad, "the log does not hold");
  out += ": " + std::to_string(verified.records) + " record(s) in " +
         std::to_string(verified.days.size()) + " day(s), up to number " +
         std::to_string(verified.last.seq) + "; " + std::to_string(verified.open) +
         " action(s) open, " + std::to_string(verified.checkpoints) + " checkpoint(s)\n";
  if (answer.checkpoint) out += *answer.checkpoint + "\n";
  return out;
}

std::string verification_json(const VerifyAnswer& answer) {
  const audit::Verification& verified = answer.verified;
  NodeList findings;
  for (const audit::Finding& finding : verified.findings) {
    Node node;
    node.set("kind", Node(name_of(finding.fault)))
        .set("file", finding.file)
        .set("line", Node(finding.line))
        .set("seq", Node(finding.seq))
        .set("what", finding.what);
    findings.push_back(std::move(node));
  }
  NodeList notices;
  for (const std::string& notice : verified.notices) notices.emplace_back(notice);
  Node node;
  node.set("schema", "cordon.audit-verify/1")
      .set("holds", Node(verified.holds()))
      .set("records", Node(verified.records))
      .set("days", Node(std::uint64_t{verified.days.size()}))
      .set("first_seq", Node(verified.first_seq))
      .set("last_seq", Node(verified.last.seq))
      .set("last_hash", Node(to_hex(verified.last.hash)))
      .set("open", Node(verified.open))
      .set("checkpoints", Node(verified.checkpoints))
      .set("findings", Node(std::move(findings)))
      .set("notices", Node(std::move(notices)))
      .set("checkpoint", answer.checkpoint ? Node(*answer.checkpoint) : Node());
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

int verb_audit_verify(const Arguments& arguments) {
  const auto answer = verified(arguments);
  if (!answer) return audit_failure_status(answer.error());
  if (!say_answer(arguments.has(FlagId::Json) ? verification_json(*answer)
                                              : verification_text(*answer))) {
    return kAnswerError;
  }
  return answer->verified.holds() ? kAnswerYes : kAnswerNo;
}

namespace {

Result<audit::Pruned> pruned(const Arguments& arguments) {
  const auto text = arguments.value(FlagId::KeepDays);
  const auto days = text ? parse_number(*text) : std::nullopt;
  if (!days || *days == 0) {
    return fail(usage_error(text ? "--keep-days " + quote(*text) + " is not a number above zero"
                                 : "--keep-days is missing",
                            "cordon audit prune --keep-days 90"));
  }
  CORDON_TRY(where, audit_place());
  CORDON_TRY(found, audit::verify(where.place, audit_progress("verifying")));
  return audit::prune(where.place, found, *days);
}

}  // namespace

int verb_audit_prune(const Arguments& arguments) {
  const auto done = pruned(arguments);
  if (!done) return audit_failure_status(done.error());
  std::string answer;
  if (arguments.has(FlagId::Json)) {
    NodeList days;
    for (const std::string& day : done->days) days.emplace_back(day);
    Node node;
    node.set("schema", "cordon.audit-prune/1")
        .set("days", Node(std::move(days)))
        .set("records", Node(done->records))
        .set("last_seq", Node(done->last.seq));
    answer = write_json(node, JsonStyle::Pretty) + "\n";
  } else {
    for (const std::string& day : done->days) answer += "removed " + day + "\n";
  }
  if (!say_answer(answer)) return kAnswerError;
  if (!done->days.empty()) return kAnswerYes;
  say("cordon: nothing is removed: no day is older than that\n");
  return kAnswerNo;
}

}  // namespace cordon
