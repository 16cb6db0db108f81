#include "cli/srt/control.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/sha256.h"
#include "base/text.h"
#include "cli/talk.h"
#include "config/document_text.h"
#include "config/policy_document.h"
#include "host/resolve.h"
#include "plan/plan.h"
#include "policy/clamp.h"
#include "run/policy_source.h"

namespace cordon::srt {
namespace {

Result<Clamped> clamped_network(const NetRules& net, const std::vector<Ceiling>& ceilings,
                                const Caller& caller) {
  Policy policy;
  policy.net = net;
  CORDON_TRY(resolved, resolve(policy, caller));
  std::vector<ResolvedCeiling> bounds;
  for (const Ceiling& ceiling : ceilings) {
    CORDON_TRY(bound, resolve(ceiling, caller));
    bounds.push_back(std::move(bound));
  }
  return clamp(resolved, bounds);
}

}  // namespace

Result<int> control_descriptor(std::string_view number) {
  int descriptor = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), descriptor);
  if (error != std::errc() || end != number.data() + number.size() || descriptor < 3) {
    return fail(usage_error("--control-fd " + quote(number) + " is no descriptor of 3 or more"));
  }
  // Reads nothing, and says whether it could.
  if (::read(descriptor, nullptr, 0) < 0) {
    return fail(setup_error("--control-fd " + quote(number) + " is not usable", errno,
                            "the command is not run without the channel that was asked for"));
  }
  (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

Control::Control(int descriptor, const Run& run)
    : descriptor_(descriptor), name_("control fd " + std::to_string(descriptor)), run_(run) {}

Errand Control::errand() {
  run_.debug.say("Listening for config updates on " + name_);
  return {descriptor_, [this] { return read_some(); }};
}

Errand::Next Control::read_some() {
  std::array<char, 65536> block{};
  const ssize_t got = ::read(descriptor_, block.data(), block.size());
  if (got < 0) {
    return errno == EINTR || errno == EAGAIN ? Errand::Next::Again : give_up(errno);
  }
  // The end means only that nothing more will come; a last line needs no newline.
  pending_.append(block.data(), static_cast<std::size_t>(got));
  if (got == 0) pending_ += '\n';
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = pending_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    take_line(std::string_view(pending_).substr(begin, end - begin));
  }
  pending_.erase(0, begin);
  if (pending_.size() > kMaxDocumentBytes) return give_up(EMSGSIZE);
  return got == 0 ? Errand::Next::Never : Errand::Next::Again;
}

Errand::Next Control::give_up(int error_number) {
  const std::string why = message(setup_error(name_ + " cannot be read", error_number));
  if (received_) {
    cordon::say("Error: " + why + "; no further updates will be applied\n");
    return Errand::Next::Never;
  }
  // Whoever asked for the channel counts on it, perhaps to take something away.
  cordon::say("Error: " + why + "; the command is ended\n");
  failed_ = true;
  return Errand::Next::EndTheRun;
}

void Control::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  received_ = true;
  if (const auto applied = apply(line); !applied) {
    cordon::say("Invalid config on " + name_ + ": ignored, previous config still in force\n");
    say_error(applied.error());
  } else {
    run_.debug.say("Config updated from " + name_);
  }
}

Result<void> Control::apply(std::string_view line) {
  CORDON_TRY(document, read_json(line, name_));
  CORDON_TRY(net, network_of(document, run_.settings, name_, run_.caller));
  net.mode = NetMode::Allow;
  CORDON_TRY(ceilings, load_ceilings({}, run_.caller));
  CORDON_TRY(clamped, clamped_network(net, ceilings, run_.caller));
  for (const Reduction& reduction : clamped.reductions()) {
    run_.debug.say(reduction_line(reduction));
  }
  const Effective& effective = clamped.effective();
  CORDON_CHECK(refuse_synthetic(effective.net));
  if (run_.rules.now()->mode != NetMode::Allow && !effective.net.allow.empty()) {
    return fail(
        policy_error("the ceilings permitted no network when the run began", "start another run"));
  }
  audit::Action action;
  action.name = "srt_update";
  action.cwd = run_.caller.cwd;
  action.effective = &effective;
  action.ceilings = ceilings;
  action.policy_hash =
      "sha256:" + sha256_hex(write_json(encode_effective(effective), JsonStyle::Compact));
  CORDON_TRY(redactor, run_.recorder.redactor(run_.caller));
  CORDON_TRY(ticket, run_.recorder.begin(redactor.pending(action)));
  NetRules next = effective.net;
  next.mode = NetMode::Allow;
  run_.rules.replace(std::move(next));
  audit::Closing closing;
  closing.ending = audit::Ending::Success;
  return run_.recorder.close(ticket, closing);
}

}  // namespace cordon::srt
