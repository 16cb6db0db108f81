#include <array>

#include "config/decode.h"
#include "config/document_text.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 1> kAuditKeys{"on_failure"};
constexpr std::array kChoices{AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn};

}  // namespace

// Whether a run may go on without its record is for the operator to say, never for the run.
Result<void> refuse_audit(const Section& document) {
  const Node* audit = document.find("audit");
  if (audit == nullptr) return {};
  return fail(document.error_at_key(*audit, "[audit] is for ceilings only",
                                    "move it to the operator's ceiling"));
}

Result<AuditFailure> decode_audit(const Section& document) {
  CORDON_TRY(section, document.member("audit", kAuditKeys));
  CORDON_TRY(word, section.text("on_failure"));
  if (!word) return AuditFailure::Deny;
  std::array<std::string_view, kChoices.size()> names;
  for (std::size_t i = 0; i < kChoices.size(); ++i) {
    names[i] = name_of(kChoices[i]);
    if (*word->text == names[i]) return kChoices[i];
  }
  std::string hint = suggestion(*word->text, names);
  if (hint.empty()) hint = "write deny, buffer or warn";
  return fail(section.error_at(*word->node,
                               "unknown " + section.title("on_failure") + ": " + shown(*word->text),
                               std::move(hint)));
}

}  // namespace cordon
