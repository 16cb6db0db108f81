// lxc-exec, and `cordon mxc`: from a command line to a request, and to its answer.
#include "base/text.h"
#include "compat/dialect/host_places.h"
#include "compat/mxc/command/execute.h"
#include "compat/mxc/command/phases.h"
#include "faces/cli/console.h"
#include "faces/cli/help_text.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/backends.h"
#include "run/run_record.h"

namespace cordon {
namespace {

Result<Arguments> parse(const Verb& verb, std::span<const char* const> words) {
  Arguments all;
  CORDON_CHECK(read_arguments(verb, words, all));
  if (all.operands.size() > 1) {
    return fail(usage_error("unexpected operand " + quote(all.operands[1])));
  }
  return all;
}

int say_backends() {
  NodeList backends;
  if (const auto native = make_backend(BackendKind::Native); native) {
    if (const auto works = (*native)->probe(); works) {
      Node entry;
      entry.set("backend", Node("bubblewrap"))
          .set("tier", Node("cordon-native"))
          .set("capabilities", Node(NodeList{}))
          .set("warnings", Node(NodeList{}));
      backends.push_back(std::move(entry));
    }
  }
  return say_answer(write_json(backends, JsonStyle::Compact) + "\n") ? 0 : mxc::kRequestError;
}

int refuse_request(const Error& error, std::string_view code) {
  say("Request error\n" + sanitize(message(error)) + "\n" + mxc::envelope(code, error) + "\n");
  return mxc::kRequestError;
}

int answer_request(const Arguments& arguments) {
  const auto backend = asked_backend(arguments);
  if (!backend) return refuse_request(backend.error(), "malformed_request");
  const auto text = mxc::request_text(arguments);
  if (!text) return refuse_request(text.error(), "malformed_request");
  const auto document = read_json(text->text, text->name);
  if (!document) return refuse_request(document.error(), "malformed_request");
  const auto caller = identify_caller();
  if (!caller) return refuse_request(caller.error(), "backend_error");
  const mxc::Diagnostics diagnostics(arguments.has(FlagId::Debug),
                                     std::string(arguments.value(FlagId::LogFile).value_or("")));
  if (document->find("phase") != nullptr) {
    return mxc::carry_out_phase(*document, text->name, *caller, diagnostics,
                                {arguments.has(FlagId::DryRun), *backend});
  }
  auto request = read_mxc_request(*document, text->name, places_of(*caller));
  if (!request) {
    // A request that was refused is an action; a document that is none is not.
    if (!arguments.has(FlagId::DryRun)) record_refusal({}, *caller, request.error());
    const bool foreign = request.error().kind == ErrorKind::Unsupported;
    return refuse_request(request.error(),
                          foreign ? "unsupported_containment" : "policy_validation");
  }
  return mxc::execute(
      {std::move(*request), arguments.has(FlagId::DryRun), *backend, mxc::ErrorsTo::Stderr},
      *caller, diagnostics);
}

}  // namespace

int verb_mxc(std::span<const char* const> words) {
  const Verb& verb = *find_verb("mxc");
  const auto arguments = parse(verb, words);
  if (!arguments) {
    say_error(arguments.error());
    return kAnswerError;
  }
  if (arguments->has(FlagId::ShortHelp) || arguments->has(FlagId::Help)) {
    return say_answer(arguments->has(FlagId::Help) ? long_help(verb) : short_help(verb)) ? 0 : 1;
  }
  if (arguments->has(FlagId::AvailableBackends)) return say_backends();
  if (arguments->operands.empty() && !arguments->has(FlagId::Config) &&
      !arguments->has(FlagId::ConfigBase64)) {
    say_error(usage_error("no request was given", "cordon mxc [OPTION]... FILE"));
    return kAnswerError;
  }
  return answer_request(*arguments);
}

}  // namespace cordon
