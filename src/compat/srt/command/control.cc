#include "compat/srt/command/control.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compat/convert.h"
#include "compat/dialect/host_places.h"
#include "config/node.h"
#include "config/policy_document.h"
#include "faces/cli/console.h"
#include "host/resolve.h"
#include "plan/plan.h"
#include "policy/clamp.h"
#include "policy/environment.h"
#include "run/policy_source.h"

namespace cordon::srt {

int refuse(const Error& error) {
  std::string text = "Error: " + sanitize(message(error)) + "\n";
  for (const std::string& note : error.notes) text += "also: " + sanitize(note) + "\n";
  if (!error.hint.empty()) text += "hint: " + sanitize(error.hint) + "\n";
  cordon::say(text);
  return error.kind == ErrorKind::Command ? error.exit_status : kRefused;
}

void Debug::say(std::string_view line) const {
  if (wanted_) cordon::say("[SandboxDebug] " + sanitize(line) + "\n");
}

namespace {

Node no_files() {
  const Node none{NodeList{}};
  return Node()
      .set("denyRead", none)
      .set("allowRead", none)
      .set("allowWrite", none)
      .set("denyWrite", none);
}

Node built_in() {
  const Node none{NodeList{}};
  return Node()
      .set("network", Node().set("allowedDomains", none).set("deniedDomains", none))
      .set("filesystem", no_files());
}

// The phrases that programs look for, with the reason behind them.
Error about(const std::string& file, const std::string& phrase, std::string hint) {
  return policy_error(file + " " + phrase, std::move(hint));
}

// What is wrong begins with the place in the file, which is named already.
Error because(const std::string& file, const std::string& phrase, const Error& error) {
  std::string what = message(error);
  if (what.starts_with(file + ":")) what.replace(0, file.size() + 1, "at ");
  return about(file, phrase + what, error.hint);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// True for what means the same as leaving it out.
bool is_nothing(const Node* node) {
  if (node == nullptr || std::holds_alternative<std::nullptr_t>(node->value)) return true;
  if (const NodeList* list = node->list()) return list->empty();
  if (const NodeMap* map = node->map()) {
    return std::all_of(map->begin(), map->end(),
                       [](const auto& member) { return is_nothing(&member.second); });
  }
  const bool* flag = std::get_if<bool>(&node->value);
  return flag != nullptr && !*flag;
}

bool means_the_same(const Node* one, const Node* other) {
  if (is_nothing(one) || is_nothing(other)) return is_nothing(one) && is_nothing(other);
  const NodeMap* mine = one->map();
  const NodeMap* theirs = other->map();
  if (mine != nullptr && theirs != nullptr) {
    const auto same = [&](const auto& member) {
      return means_the_same(one->find(member.first), other->find(member.first));
    };
    return std::all_of(mine->begin(), mine->end(), same) &&
           std::all_of(theirs->begin(), theirs->end(), same);
  }
  return write_json(*one, JsonStyle::Compact) == write_json(*other, JsonStyle::Compact);
}

// Absolute and without "..", and still as it was written: opening it must notice that it is a
// symlink, and holding it that a link on the way could be replaced.
Result<std::string> spelled(std::string_view text, const Caller& caller) {
  CORDON_TRY(place, canonicalize(text, caller.cwd, caller));
  if (!has_dotdot(place.lexical)) return place.lexical;
  CORDON_TRY(directory, canonicalize(parent(place.lexical), "/", caller));
  return join(directory.path, basename(place.lexical));
}

}  // namespace

Result<Settings> find_settings(std::optional<std::string_view> named, const Caller& caller) {
  if (!named && caller.home.empty()) {
    return fail(policy_error("there is no home to look for settings in", "name them with -s"));
  }
  CORDON_TRY(file, spelled(named ? *named : "~/.srt-settings.json", caller));
  struct stat status {};
  if (::lstat(file.c_str(), &status) < 0 && errno == ENOENT) {
    if (!named) return Settings{{}, built_in()};
    return fail(about(file, "does not exist", "check what -s names"));
  }
  const auto text = read_trusted_file(file, caller);
  if (!text) return fail(because(file, "could not be read: ", text.error()));
  if (is_blank(*text)) return fail(about(file, "is empty", "delete it, or write settings into it"));
  auto document = read_json(*text, file);
  if (!document) return fail(because(file, "is not valid JSON: ", document.error()));
  return Settings{file, std::move(*document)};
}

Result<Imported> policy_of(const Settings& settings, const Caller& caller) {
  Places places = places_of(caller);
  places.variables = variables_of(caller).passed;
  if (settings.file.empty()) {
    return import_policy(Dialect::Srt, settings.document, "the built-in settings", places, {});
  }
  auto read = import_policy(Dialect::Srt, settings.document, settings.file, places, {});
  if (!read) return fail(because(settings.file, "does not hold a valid config: ", read.error()));
  // Once more with the file among what must not be written: the next run would read what the
  // command had written.
  Node held = settings.document;
  for (auto& [key, value] : std::get<NodeMap>(held.value)) {
    if (key != "filesystem") continue;
    for (auto& [name, list] : std::get<NodeMap>(value.value)) {
      if (name == "denyWrite") {
        std::get<NodeList>(list.value)
            .push_back(Node().set("path", settings.file).set("literal", true));
      }
    }
  }
  return import_policy(Dialect::Srt, held, settings.file, places, {});
}

Result<NetRules> network_of(const Node& document, const Settings& running, const std::string& name,
                            const Caller& caller) {
  for (const Node* side : {&document, &running.document}) {
    const NodeMap* members = side->map();
    if (members == nullptr) return fail(policy_error(name + " holds no table"));
    for (const auto& [key, value] : *members) {
      if (key == "network" || key == "$schema" || key == "_comment") continue;
      if (means_the_same(document.find(key), running.document.find(key))) continue;
      return fail(policy_error("\"" + key + "\" cannot be changed while the command runs",
                               "send it as it was, or start another run"));
    }
  }
  // The files are those of the running settings, which were judged when the run began; what lies
  // there now may be the command's own work.
  Node alone = Node().set("filesystem", no_files());
  if (const Node* network = document.find("network")) alone.set("network", *network);
  CORDON_TRY(read, import_policy(Dialect::Srt, alone, name, places_of(caller), {}));
  return std::move(read.policy.net);
}

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

PollHook Control::poll_hook() {
  run_.debug.say("Listening for config updates on " + name_);
  return {descriptor_, [this] { return read_some(); }};
}

PollHook::Next Control::read_some() {
  std::array<char, 65536> block{};
  const ssize_t got = ::read(descriptor_, block.data(), block.size());
  if (got < 0) {
    return errno == EINTR || errno == EAGAIN ? PollHook::Next::Again : give_up(errno);
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
  return got == 0 ? PollHook::Next::Never : PollHook::Next::Again;
}

PollHook::Next Control::give_up(int error_number) {
  const std::string why = message(setup_error(name_ + " cannot be read", error_number));
  if (received_) {
    cordon::say("Error: " + why + "; no further updates will be applied\n");
    return PollHook::Next::Never;
  }
  // Whoever asked for the channel counts on it, perhaps to take something away.
  cordon::say("Error: " + why + "; the command is ended\n");
  failed_ = true;
  return PollHook::Next::EndTheRun;
}

void Control::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  received_ = true;
  if (const auto applied = apply(line); !applied) {
    cordon::say("Invalid config on " + name_ + ": ignored, previous config still in force\n");
    say_error(applied.error());
  } else {
    // What holds from now on, which the ceilings may have narrowed.
    std::string allowed;
    for (const HostRule& rule : run_.rules.now()->allow)
      allowed.append(allowed.empty() ? ", allowed: " : ", ").append(to_string(rule));
    run_.debug.say("Config updated from " + name_ + allowed);
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

namespace {

// What every sandbox has of its own, and what is about the shell that started it.
constexpr std::array<std::string_view, 10> kOwn{"PATH", "HOME",   "USER",   "LOGNAME", "SHELL",
                                                "PWD",  "OLDPWD", "TMPDIR", "_",       "SHLVL"};

// Connections are direct, and no host of a proxy is among those that are allowed.
bool names_a_proxy(const std::string& name) { return lower_case(name).ends_with("_proxy"); }

std::string reason_against(const std::string& name, std::string_view value) {
  if (is_loader_variable(name)) return "nothing may set it";
  if (is_injection_variable(name)) return "it makes programs load or run something";
  if (is_secret_name(name)) return "it may hold a secret";
  if (may_hold_login(value)) return "it may hold an address with a user's name or password";
  if (names_a_proxy(name)) return "connections are direct";
  return {};
}

}  // namespace

Variables variables_of(const Caller& caller) {
  Variables variables;
  for (const auto& [name, value] : caller.environment) {
    if (std::ranges::find(kOwn, name) != kOwn.end() || !is_valid_variable_name(name)) continue;
    std::string reason = reason_against(name, value);
    if (reason.empty()) {
      variables.passed.push_back(name);
    } else {
      if (!is_loader_variable(name)) reason += "; --env " + name + " passes it";
      variables.left_out.emplace_back(name, std::move(reason));
    }
  }
  return variables;
}

}  // namespace cordon::srt
