#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
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
  node.set("holds", Node(verified.holds()))
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

}  // namespace cordon
