#include "faces/mcp/full/asked.h"

#include <fcntl.h>

#include <algorithm>

#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "faces/mcp/call.h"
#include "faces/mcp/full/full_table.h"
#include "faces/mcp/inside/inside.h"
#include "faces/mcp/tools/answer.h"
#include "faces/mcp/tools/excerpt.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "policy/decide.h"
#include "policy/net_rules.h"

namespace cordon::mcp {

Node approval_form() {
  Node form{NodeMap{}};
  form.set("type", "object").set("properties", Node(NodeMap{}));
  return form;
}

// A client that adds something to an empty form did not understand it.
bool says_yes(const Elicited& answer) {
  const NodeMap* content = answer.content.map();
  return answer.decision == Elicited::Decision::Accepted &&
         (content == nullptr || content->empty());
}

namespace {

// The answer as a whole: what a report keeps of a stream is the operator's choice for commands.
class WholeAnswer {
 public:
  void add(OutputFrom from, std::string_view bytes) {
    if (from == OutputFrom::Out && text.size() + bytes.size() <= kMostInsideAnswer)
      text.append(bytes);
  }
  std::string text;
};

}  // namespace

InsideAnswer ask_inside(const FileCall& file, Policy policy, const std::string& operation,
                        const Node& request) {
  std::string text = write_json(request, JsonStyle::Compact);
  const std::vector<std::string> words = {std::string(kAskInside), operation, file.place().path,
                                          std::to_string(text.size())};
  WholeAnswer heard;
  const auto hear = [&heard](OutputFrom from, std::string_view bytes) { heard.add(from, bytes); };
  InsideAnswer answer{file.run(std::move(policy), words, std::move(text), Output::heard_by(hear)),
                      std::nullopt};
  if (answer.report.error || exit_status(answer.report.outcome->end) != 0) return answer;
  constexpr std::size_t kMostValues = 500'000;
  auto node = read_json_message(heard.text, {kMostInsideAnswer, kMostValues});
  if (node && node->map() != nullptr) answer.answer = std::move(*node);
  return answer;
}

ToolResult answer_for(const FileCall& file, const InsideAnswer& answer) {
  return answer.report.error ? file.not_started(answer.report) : file.blocked(answer.report);
}

std::string text_of(const Node& answer, std::string_view name) {
  const std::string* text = text_member(answer, name);
  return text != nullptr ? *text : std::string();
}

std::uint64_t number_of(const Node& answer, std::string_view name) {
  return static_cast<std::uint64_t>(number_member(answer, name).value_or(0));
}

namespace {

// Broken where a dialog would cut it off: at a blank, or where there is none anywhere but inside of
// a character.
std::string in_lines(std::string_view text) {
  std::string lines;
  while (text.size() > kQuestionColumns) {
    std::size_t end = text.rfind(' ', kQuestionColumns);
    const bool blank = end != std::string_view::npos && end > 0;
    if (!blank) end = beginning_of(text, kQuestionColumns).size();
    lines.append(text.substr(0, end)).append("\n");
    text.remove_prefix(blank ? end + 1 : end);
  }
  return lines.append(text);
}

// request_access: a person at the client may approve something beyond the ceilings, of what the
// operator wrote into [ask]. The ceilings are widened and the clamp is asked as for any run, so
// that there is no second judgement of what may be approved. The client could answer in the
// person's place; that is why [ask] is a bound.

constexpr const char* kTool = "request_access";
constexpr std::uint64_t kDefaultLifetimeMs = std::uint64_t{15} * 60 * 1000;

ToolFault cannot_be_asked() {
  return {"Access denied", "the operator does not let this be asked for",
          "Tell the user that it is outside the operator's allowed paths. Asking again, or for "
          "another part of it, will not help: only the operator can change it, in [fs], [net] or "
          "[ask] of the ceiling.",
          "SandboxDeniedError"};
}

// Whatever else sends requests that name nobody would have the approval too.
ToolFault cannot_be_told_apart() {
  return {
      "Access denied", "this client cannot be told from the others of this server",
      "Tell the user: an approval is for one client. Over HTTP a client has to begin a session "
      "(initialize) or to name itself in io.modelcontextprotocol/clientInfo before anything can "
      "be asked for.",
      "SandboxDeniedError"};
}

ToolFault not_approved(const char* why) {
  return {"Access denied", why,
          "Do not ask for it again: go on without it, or tell the user what you needed it for. The "
          "operator can allow it for good in the ceiling.",
          "NotApproved"};
}

// The strictest of those who let something be asked for.
std::uint64_t lifetime_ms(const CallCeilings& bounds) {
  std::optional<std::uint64_t> shortest;
  for (const Ceiling& ceiling : bounds.ceilings) {
    if (!has_requestable(ceiling)) continue;
    const std::uint64_t one = ceiling.ask.expires_ms.value_or(kDefaultLifetimeMs);
    shortest = std::min(shortest.value_or(one), one);
  }
  return shortest.value_or(kDefaultLifetimeMs);
}

std::optional<Approval> approval_of(const Call& call, const Caller& caller) {
  Approval approval;
  approval.id = "g-" + random_id();
  const std::string kind = text_argument(call, "kind");
  const std::string target = text_argument(call, "target");
  if (kind == "network") {
    const auto host = parse_host_rule(target);
    if (!host) return std::nullopt;
    approval.kind = Approval::Kind::Net;
    approval.host = *host;
    return approval;
  }
  approval.kind = kind == "write" ? Approval::Kind::Write : Approval::Kind::Read;
  const auto place = canonicalize(target, caller.cwd, caller);
  if (!place) return std::nullopt;
  const bool nameable = place->kind == FileKind::Directory || place->kind == FileKind::Regular;
  if (!nameable) return std::nullopt;
  approval.path = place->path;
  approval.object = place->id;
  return approval;
}

// What a run that asks for just that would get; nothing unless it is all of it.
std::optional<Clamped> reached(const CallCeilings& bounds, const Approval& approval,
                               std::uint64_t lifetime) {
  Policy policy = policy_for(bounds, approval);
  policy.limits.wall_ms = lifetime;
  if (!permits_whole(bounds, policy)) return std::nullopt;
  auto ceilings = bounds.resolved();
  if (!ceilings) return std::nullopt;
  auto judged = judge_policy(policy, bounds.ceilings, bounds.caller,
                             {.helper = {},
                              .start = std::string(),
                              .keep = Keep::Something,
                              .approved = approvals_of(bounds),
                              .ceilings = std::move(*ceilings)});
  if (!judged) return std::nullopt;
  if (approval.kind != Approval::Kind::Net) {
    const Access access = approval.kind == Approval::Kind::Write ? Access::Write : Access::Read;
    // Also asks what is masked: credentials, denies, the server's own files.
    const auto verdict =
        cordon::decide(judged->clamped, judged->survey.facts, bounds.caller, access, approval.path);
    if (!verdict.allowed) return std::nullopt;
  }
  return std::move(judged->clamped);
}

std::string what_of(const Approval& approval) {
  if (approval.kind == Approval::Kind::Net) return "connect to it";
  const auto found = inspect_path(approval.path);
  const bool directory = found && found->kind == FileKind::Directory;
  return std::string(approval.kind == Approval::Kind::Read ? "read it" : "read and write it") +
         (directory ? " and everything below it" : "");
}

// What it is about comes first, where no dialog cuts it off. A fixed form around what is quoted, so
// that neither a path nor a reason can draw another dialog: the only ends of lines are these.
// Empty if the target is too long to be shown.
std::string access_question(const Approval& approval, std::uint64_t lifetime,
                            const std::string& reason) {
  const std::string question = in_lines(quote(target_of(approval))) + "\n" +
                               in_lines("Let the sandboxed tools " + what_of(approval) + ", for " +
                                        format_duration(lifetime) + "?") +
                               "\n";
  constexpr std::size_t kLeastReason = 40;
  if (question.size() + kLeastReason > kLongestQuestion) return {};
  std::string clean = sanitize(reason);
  std::ranges::replace(clean, '"', '\'');
  constexpr std::size_t kRoom = 24;  // for the words around it, and ends of lines
  const auto begun = beginning_of(clean, kLongestQuestion - question.size() - kRoom);
  return question + in_lines("The model says: \"" + std::string(begun) + "\"");
}

class AccessCall {
 public:
  AccessCall(ToolContext& context, Call& call, CallCeilings bounds)
      : context_(context),
        call_(call),
        bounds_(std::move(bounds)),
        lifetime_(lifetime_ms(bounds_)),
        approval_(approval_of(call, bounds_.caller)) {}

  ToolResult answer() {
    if (!call_.client()->is_alone()) return refuse(cannot_be_told_apart());
    if (!approval_ || !bounds_.can_ask) return refuse(cannot_be_asked());
    if (reached(bounds_, *approval_, lifetime_)) return already_allowed();
    CallCeilings widened = bounds_;
    widened.approve({*approval_, lifetime_});
    const auto clamped = reached(widened, *approval_, lifetime_);
    if (!clamped) return refuse(cannot_be_asked());
    return ask(std::move(widened), clamped->effective());
  }

 private:
  ToolResult refuse(const ToolFault& fault) {
    return answer_fault(fault,
                        context_.refuse(bounds_.caller, call_, kTool, policy_error(fault.message)));
  }

  ToolResult already_allowed() {
    auto begun = record(bounds_, nullptr);
    if (auto* refused = std::get_if<ToolResult>(&begun)) return std::move(*refused);
    Node node{NodeMap{}};
    node.set("success", true).set("already_allowed", true);
    return std::get<RecordedCall>(begun).done(std::move(node));
  }

  ToolResult ask(CallCeilings widened, const Effective& effective) {
    const std::string subject = std::string(kind_word(approval_->kind)) + " " +
                                target_of(*approval_) + " " + std::to_string(lifetime_);
    if (context_.approvals(call_)->is_settled(subject)) {
      return refuse(not_approved("it was not approved when the user was asked"));
    }
    if (!can_be_asked(call_.client_capabilities(), "elicitation/create")) {
      return refuse(not_approved("this client has no way to ask a person"));
    }
    const std::string question =
        access_question(*approval_, lifetime_, text_argument(call_, "reason"));
    if (question.empty()) return refuse(not_approved("it is too long to be shown to a person"));
    // The name of the question holds where the target leads: if it leads elsewhere by the time the
    // answer comes, that answer is to another question.
    const Elicited answer =
        call_.elicit("access-" + sha256_hex(subject).substr(0, 32), question, approval_form());
    if (answer.decision == Elicited::Decision::Pending) return {};
    if (!says_yes(answer) || call_.cancelled()) {
      context_.approvals(call_)->note_no(subject);
      return refuse(not_approved("nobody at the client approved it"));
    }
    return grant(std::move(widened), effective);
  }

  // The record is durable before anything is wider.
  ToolResult grant(CallCeilings widened, const Effective& effective) {
    Fd pin;
    if (approval_->kind != Approval::Kind::Net) {
      pin = open_canonical(approval_->path, O_PATH | O_CLOEXEC);
      const auto held = pin.valid() ? inspect_fd(pin.get()) : std::nullopt;
      if (!held || held->id != approval_->object) return refuse(cannot_be_asked());
    }
    auto begun = record(std::move(widened), &effective);
    if (auto* refused = std::get_if<ToolResult>(&begun)) return std::move(*refused);
    auto& recorded = std::get<RecordedCall>(begun);
    if (!context_.approvals(call_)->keep(*approval_, std::move(pin), lifetime_)) {
      return recorded.failed(not_approved("too many approvals hold already"));
    }
    Node node{NodeMap{}};
    node.set("success", true)
        .set("approval", approval_->id)
        .set("kind", kind_word(approval_->kind))
        .set("target", sanitize(target_of(*approval_)))
        .set("expires_in_ms", lifetime_)
        .set("help",
             "It holds for all tools of this client until then, and for no other client. A command "
             "that makes use of it is ended with it.");
    return recorded.done(std::move(node));
  }

  std::variant<RecordedCall, ToolResult> record(CallCeilings bounds, const Effective* effective) {
    audit::Action action;
    action.name = kTool;
    action.path = approval_->path;
    if (approval_->kind == Approval::Kind::Net) action.host = to_string(approval_->host);
    action.effective = effective;
    return RecordedCall::begin(context_, call_, std::move(bounds), action);
  }

  ToolContext& context_;
  Call& call_;
  const CallCeilings bounds_;
  const std::uint64_t lifetime_;
  const std::optional<Approval> approval_;
};

}  // namespace

ToolResult request_access(FullToolContext& bench, Call& call) {
  ToolContext& context = *bench.context;
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  auto bounds = context.bounds(*caller, call);
  if (!bounds) {
    return answer_fault(fault_of(bounds.error()),
                        context.refuse(*caller, call, kTool, bounds.error()));
  }
  return AccessCall(context, call, std::move(*bounds)).answer();
}

namespace {

// unsafe_write_local_file of the profile `full`: a person at the client is asked, and everything
// but their yes is a no. The client could answer in their place; the tool is only there because the
// operator switched it on.

// A fixed form around the quoted target, so that what a program printed cannot draw another dialog.
std::string write_question(const std::string& canonical, std::size_t bytes) {
  return in_lines(quote(canonical)) + "\nLet " + std::to_string(bytes) +
         " bytes be written there once, outside of every sandbox?";
}

}  // namespace

ToolResult approved_unsafe_write(FullToolContext& bench, Call& call) {
  ToolContext& context = *bench.context;
  const std::string tool = "unsafe_write_local_file";
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  const auto place = canonicalize(text_argument(call, "path"), caller->cwd, *caller);
  // What cannot be resolved is refused there, with its record.
  if (!place) return unsafe_write_local_file(context, call);
  const auto no = [&](const char* why) {
    const ToolFault fault{"Permission denied", why,
                          "Tell the user. write_local_file needs no approval inside what the "
                          "operator allows.",
                          "SandboxDeniedError"};
    return answer_fault(fault, context.refuse(*caller, call, tool, policy_error(why)));
  };
  const std::string question = write_question(place->path, text_argument(call, "content").size());
  if (question.size() > kLongestQuestion) return no("the path is too long to be shown to a person");
  // The name of the question holds where the path leads: if a link leads elsewhere by the time the
  // answer comes, that answer is to another question.
  const std::string key = "approve-" + sha256_hex(place->path).substr(0, 32);
  const Elicited answer = call.elicit(key, question, approval_form());
  if (answer.decision == Elicited::Decision::Pending) return {};
  if (!says_yes(answer)) return no("nobody at the client approved this write");
  return unsafe_write_to(context, call, place->path);
}

}  // namespace cordon::mcp
