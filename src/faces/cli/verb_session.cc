// cordon session: a sandbox that lasts, and commands in it.
#include <sys/wait.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "base/random_id.h"
#include "base/text.h"
#include "compat/backends.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/report_file.h"
#include "faces/cli/report_page.h"
#include "faces/cli/session.h"
#include "faces/cli/session_place.h"
#include "faces/cli/session_server.h"
#include "faces/cli/verbs.h"
#include "host/canonical.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "policy/names.h"
#include "run/policy_source.h"
#include "sys/calls.h"

namespace cordon {
namespace {

constexpr int kNotStarted = 125;
constexpr std::uint64_t kDefaultIdleMs = std::uint64_t{30} * 60 * 1000;
constexpr std::uint64_t kDefaultLifetimeMs = std::uint64_t{24} * 60 * 60 * 1000;
constexpr std::size_t kLongestName = 256;

Result<std::optional<std::uint64_t>> duration_of(const Arguments& arguments, FlagId flag,
                                                 std::string_view name) {
  const auto given = arguments.value(flag);
  if (!given) return std::nullopt;
  const auto parsed = parse_duration(*given);
  if (!parsed || *parsed == 0) {
    return fail(usage_error(std::string(name) + " " + quote(*given) + " is not a duration",
                            "write a number and a unit: 90s, 30m, 8h"));
  }
  return parsed;
}

// It stands in reports and in lists.
Result<std::string> name_of(const Arguments& arguments, FlagId flag, std::string_view option) {
  const std::string name(arguments.value(flag).value_or(""));
  if (!arguments.has(flag)) return name;
  if (name.empty() || name.size() > kLongestName || sanitize(name) != name) {
    return fail(usage_error(std::string(option) + " " + quote(name) + " is no name",
                            "use 1 to 256 printable characters"));
  }
  return name;
}

Result<int> handle_descriptor(const Arguments& arguments) {
  const auto given = arguments.value(FlagId::HandleFd);
  if (!given) return -1;
  const auto number = parse_number(*given);
  if (!number || *number > INT_MAX || ::fcntl(static_cast<int>(*number), F_GETFD) < 0) {
    return fail(usage_error("--handle-fd " + quote(*given) + " is no open descriptor",
                            "open it in the shell: 9>handle"));
  }
  return static_cast<int>(*number);
}

int refuse(const Error& error) {
  say_error(error);
  return error.exit_status;
}

int answer_error(const Error& error) {
  say_error(error);
  return error.kind == ErrorKind::Unavailable ? kAnswerNo : kAnswerError;
}

struct Opening {
  RunInput input;
  SessionTerms terms;
  int handle_fd = -1;
};

Result<Opening> opening(const Arguments& arguments, const Caller& caller) {
  Opening asked;
  if (arguments.value(FlagId::Cwd) == "")
    return fail(
        usage_error("--cwd is empty", "name the directory in which the command is to start"));
  CORDON_TRY(backend, asked_backend(arguments));
  CORDON_TRY(policy, asked_policy(arguments, caller));
  CORDON_TRY(agent, name_of(arguments, FlagId::Agent, "--agent"));
  CORDON_TRY(conversation, name_of(arguments, FlagId::Conversation, "--conversation"));
  CORDON_TRY(idle, duration_of(arguments, FlagId::Idle, "--idle"));
  CORDON_TRY(lifetime, duration_of(arguments, FlagId::Lifetime, "--lifetime"));
  CORDON_TRY(handle_fd, handle_descriptor(arguments));
  asked.input.run_id = random_id();
  asked.input.policy = std::move(policy.policy);
  asked.input.ceilings = std::move(policy.ceilings);
  asked.input.cwd = arguments.value(FlagId::Cwd).value_or("");
  asked.input.backend = backend;
  asked.input.tell_choice = say_choice;
  asked.input.tell_copying = copy_progress();
  asked.input.backends = every_backend(caller, "/proc/self/exe");
  std::vector<std::string> files;
  for (const std::string_view file : arguments.values(FlagId::Ceiling)) files.emplace_back(file);
  asked.input.ceilings_now = [files, caller] { return load_ceilings(files, caller); };
  asked.terms = {std::move(agent), std::move(conversation), idle.value_or(kDefaultIdleMs),
                 lifetime.value_or(kDefaultLifetimeMs)};
  asked.handle_fd = handle_fd;
  return asked;
}

// Closes every descriptor but the three streams, `pipe` and `handle`: a server must not hold open
// what belongs to whoever started it. Returns where the pipe is now, and changes `handle` likewise.
int keep_alone(int pipe, int& handle) {
  constexpr int kPipeAt = STDERR_FILENO + 1;
  constexpr int kHandleAt = kPipeAt + 1;
  constexpr int kAbove = 64;
  const int high_pipe = ::fcntl(pipe, F_DUPFD_CLOEXEC, kAbove);
  const int high_handle = handle > STDERR_FILENO ? ::fcntl(handle, F_DUPFD_CLOEXEC, kAbove) : -1;
  ::dup3(high_pipe, kPipeAt, O_CLOEXEC);
  if (high_handle >= 0) {
    ::dup3(high_handle, kHandleAt, O_CLOEXEC);
    handle = kHandleAt;
  } else {
    ::close(kHandleAt);
  }
  (void)sys::close_range(kHandleAt + 1, UINT_MAX);
  return kPipeAt;
}

// What the starting process is told by the server, through a pipe: a status, and then the answer.
void tell_ready(int pipe, std::int32_t status, const std::string& answer) {
  write_all(pipe, std::string_view(reinterpret_cast<const char*>(&status), sizeof status));
  write_all(pipe, answer);
  ::close(pipe);
}

std::string started_answer(const OpenSession& session, const SessionPlace& place,
                           const Opening& asked, bool json) {
  if (!json) return session.id() + "\n";
  const auto or_null = [](const std::string& text) { return text.empty() ? Node() : Node(text); };
  Node node{NodeMap{}};
  node.set("schema", "cordon.session/1");
  node.set("id", session.id());
  node.set("agent", or_null(asked.terms.agent));
  node.set("conversation", or_null(asked.terms.conversation));
  node.set("handle", asked.handle_fd >= 0 ? Node() : Node(place.handle_path()));
  node.set("idle_ms", *asked.terms.idle_ms);
  node.set("lifetime_ms", *asked.terms.lifetime_ms);
  node.set("backend", name_of(session.backend()));
  return write_json(node, JsonStyle::Compact) + "\n";
}

// In the process that the session belongs to, from here on.
int serve(Opening asked, const Caller& caller, int ready, bool json) {
  const auto give_up = [&](const Error& error) {
    say_error(error);
    tell_ready(ready, error.exit_status, {});
    return error.exit_status;
  };
  forget_dead_sessions(caller);
  audit::Recorder recorder(audit::place_of(caller), audit_choice(asked.input.ceilings));
  asked.input.recorder = &recorder;
  say_dangers(asked.input.policy.net.sockets);
  const std::string handle = new_handle();
  auto session = OpenSession::open(asked.input, caller, asked.terms);
  if (!session) return give_up(session.error());
  SessionNote note;
  note.id = (*session)->id();
  note.agent = asked.terms.agent;
  note.conversation = asked.terms.conversation;
  note.backend = name_of((*session)->backend());
  note.cwd = caller.cwd;
  note.started = static_cast<std::uint64_t>(::time(nullptr));
  note.server = static_cast<std::uint64_t>(::getpid());
  auto place = SessionPlace::make(
      caller, note, asked.handle_fd >= 0 ? std::nullopt : std::optional<std::string>(handle));
  if (!place) return give_up(place.error());
  if (asked.handle_fd >= 0 && !write_all(asked.handle_fd, handle + "\n")) {
    return give_up(setup_error("cannot write the handle", errno));
  }
  tell_ready(ready, 0, started_answer(**session, *place, asked, json));
  // The terminal and the pipes of whoever started it are his again.
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int stream = 0; stream <= STDERR_FILENO; ++stream) ::dup2(null.get(), stream);
  if (asked.handle_fd > STDERR_FILENO) ::close(asked.handle_fd);
  return serve_session(**session, *place, handle);
}

// `session exec ID --json -- CMD`: the options of these verbs may stand behind the id as well.
struct WithId {
  std::string_view id;
  Arguments arguments;
};

Result<WithId> take_id(const Verb& verb, const Arguments& given) {
  if (given.operands.empty()) {
    return fail(usage_error("no session was named",
                            "name one by its id, or last: cordon session list shows them"));
  }
  WithId found{given.operands.front(), given};
  std::vector<const char*> rest;
  for (const std::string_view word : std::span(given.operands).subspan(1)) {
    rest.push_back(word.data());  // a word of the command line, with its end
  }
  found.arguments.operands.clear();
  Arguments behind;
  CORDON_CHECK(read_arguments(verb, rest, behind));
  found.arguments.flags.insert(found.arguments.flags.end(), behind.flags.begin(),
                               behind.flags.end());
  found.arguments.operands = behind.operands;
  return found;
}

Result<Node> request_for(const Caller& caller, const SessionNote& note, const Arguments& arguments,
                         std::string_view ask) {
  CORDON_TRY(handle_fd, handle_descriptor(arguments));
  std::string handle;
  if (handle_fd >= 0) {
    std::array<char, 128> text{};
    const ssize_t got = ::read(handle_fd, text.data(), text.size());
    handle.assign(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    handle.erase(handle.find_last_not_of("\n") + 1);
  } else {
    CORDON_TRY(read, read_handle(caller, note.id));
    handle = std::move(read);
  }
  Node request{NodeMap{}};
  request.set("ask", ask).set("handle", handle);
  return request;
}

// Where the report goes that the server makes.
struct ExecReport {
  std::optional<ReportFile> file;
  std::optional<PageOf> page;

  [[nodiscard]] Result<void> write(const std::string& text) const {
    if (!file) return {};
    return file->write(page ? page_of(text, *page) : text);
  }
};

Result<ExecReport> open_report(const Arguments& arguments) {
  ExecReport report;
  const auto path = arguments.value(FlagId::Report);
  if (!path) return report;
  CORDON_TRY(file, ReportFile::open(std::string(*path), kReportOfRun));
  report.file = std::move(file);
  if (!path->ends_with(".html")) return report;
  report.page.emplace();
  for (const std::string_view word : arguments.operands) report.page->argv.emplace_back(word);
  return report;
}

// The status, and what was not done although the command ran.
int end_exec(const SessionAnswer& answer, const ExecReport& report) {
  constexpr int kUnreported = 128 + SIGPIPE;
  if (!report.file) return answer.status;
  Result<void> written;
  if (answer.report.empty()) {
    written = fail(setup_error("the session gives no report: another release of cordon started it",
                               0, "start another one: cordon session start"));
  } else {
    written = report.write(answer.report);
  }
  if (written) return answer.status;
  say_error(written.error());
  return answer.status == 0 ? kUnreported : answer.status;
}

Result<int> exec(const WithId& with_id, const ExecReport& report) {
  CORDON_TRY(caller, identify_caller());
  const Arguments& arguments = with_id.arguments;
  if (arguments.operands.empty()) {
    return fail(usage_error("no command was given", "cordon session exec ID -- CMD [ARG]..."));
  }
  if (arguments.value(FlagId::Cwd) == "")
    return fail(
        usage_error("--cwd is empty", "name the directory in which the command is to start"));
  CORDON_TRY(wall_ms, duration_of(arguments, FlagId::Timeout, "--timeout"));
  CORDON_TRY(note, find_session(caller, with_id.id));
  CORDON_TRY(request, request_for(caller, note, arguments, "exec"));
  NodeList argv;
  for (const std::string_view word : arguments.operands) argv.emplace_back(std::string(word));
  request.set("argv", std::move(argv));
  request.set("conversation", std::string(arguments.value(FlagId::Conversation).value_or("")));
  if (const auto cwd = arguments.value(FlagId::Cwd)) {
    CORDON_TRY(place, spell_absolute(*cwd, caller.cwd, caller));
    request.set("cwd", place);
  }
  if (wall_ms) request.set("wall_ms", *wall_ms);
  request.set("json", arguments.has(FlagId::Json));
  request.set("summary", arguments.has(FlagId::Summary));
  request.set("report", report.file.has_value());
  CORDON_TRY(connection, connect_session(caller, note.id));
  const Fd signals = watch_signals();
  if (!signals.valid()) return fail(setup_error("cannot watch for signals", errno));
  CORDON_TRY(answer, ask_session(connection.get(), request, signals.get()));
  return end_exec(answer, report);
}

// Also of a command that was never sent to the session there is a report.
int refuse_exec(const Error& error, const Arguments& arguments, const ExecReport& report) {
  Report refused;
  refused.run_id = random_id();
  refused.error = error;
  const std::string text = refused.json() + "\n";
  if (arguments.has(FlagId::Json)) (void)say_answer(text);
  if (const auto written = report.write(text); !written) say_error(written.error());
  return refuse(error);
}

Node session_note_node(const SessionNote& note) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Node() : Node(text); };
  Node node{NodeMap{}};
  node.set("id", note.id);
  node.set("agent", or_null(note.agent));
  node.set("conversation", or_null(note.conversation));
  node.set("backend", note.backend);
  node.set("cwd", note.cwd);
  node.set("started", note.started);
  node.set("server", note.server);
  return node;
}

std::string started_at(std::uint64_t seconds) {
  const auto when = static_cast<time_t>(seconds);
  tm parts{};
  std::array<char, 32> text{};
  if (::localtime_r(&when, &parts) == nullptr) return {};
  const std::size_t size = ::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), size};
}

Result<int> stop(const Arguments& given) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(with_id, take_id(*find_verb("session stop"), given));
  CORDON_TRY(note, find_session(caller, with_id.id));
  CORDON_TRY(request, request_for(caller, note, with_id.arguments, "stop"));
  CORDON_TRY(connection, connect_session(caller, note.id));
  CORDON_TRY(answer, ask_session(connection.get(), request, -1));
  return answer.status;
}

Result<int> show(const Arguments& given) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(with_id, take_id(*find_verb("session show"), given));
  CORDON_TRY(note, find_session(caller, with_id.id));
  std::string text;
  if (with_id.arguments.has(FlagId::Json)) {
    Node node = session_note_node(note);
    node.set("schema", "cordon.session/1");
    text = write_json(node, JsonStyle::Compact) + "\n";
  } else {
    const auto line = [&](const char* name, const std::string& value) {
      if (!value.empty()) text += std::string(name) + sanitize(value) + "\n";
    };
    line("session       ", note.id);
    line("agent         ", note.agent);
    line("conversation  ", note.conversation);
    line("directory     ", note.cwd);
    line("since         ", started_at(note.started));
    line("mechanism     ", note.backend);
    line("server        ", std::to_string(note.server));
  }
  return say_answer(text) ? kAnswerYes : kAnswerError;
}

}  // namespace

int verb_session_start(const Arguments& arguments) {
  const auto caller = identify_caller();
  if (!caller) return refuse(caller.error());
  auto asked = opening(arguments, *caller);
  if (!asked) return refuse(asked.error());
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) < 0) return refuse(setup_error("cannot make a pipe", errno));
  const Fd told(ready[0]);
  const pid_t server = ::fork();
  if (server < 0) return refuse(setup_error("cannot fork", errno));
  if (server == 0) {
    ::setsid();
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGPIPE, SIG_IGN);
    const int pipe = keep_alone(ready[1], asked->handle_fd);
    const int status = serve(std::move(*asked), *caller, pipe, arguments.has(FlagId::Json));
    ::_exit(status);
  }
  ::close(ready[1]);
  const auto text = read_all(told.get(), 64 * 1024);
  std::int32_t status = kNotStarted;
  if (!text || text->size() < sizeof status) {
    // It ended without a word, which a signal makes it do.
    ::waitpid(server, nullptr, 0);
    return refuse(setup_error("the session's server ended while it started", 0));
  }
  std::copy_n(text->begin(), sizeof status, reinterpret_cast<char*>(&status));
  if (status != 0) {
    ::waitpid(server, nullptr, 0);
    return status;
  }
  if (say_answer(text->substr(sizeof status))) return 0;
  // Nobody knows its id, so that nobody would stop it.
  ::kill(server, SIGTERM);
  ::waitpid(server, nullptr, 0);
  return kNotStarted;
}

int verb_session_exec(const Arguments& arguments) {
  const auto with_id = take_id(*find_verb("session exec"), arguments);
  if (!with_id) return refuse_exec(with_id.error(), arguments, {});
  const auto report = open_report(with_id->arguments);
  if (!report) return refuse_exec(report.error(), with_id->arguments, {});
  const auto status = exec(*with_id, *report);
  return status ? *status : refuse_exec(status.error(), with_id->arguments, *report);
}

int verb_session_stop(const Arguments& arguments) {
  const auto status = stop(arguments);
  return status ? *status : answer_error(status.error());
}

int verb_session_show(const Arguments& arguments) {
  const auto status = show(arguments);
  return status ? *status : answer_error(status.error());
}

int verb_session_list(const Arguments& arguments) {
  const auto caller = identify_caller();
  if (!caller) return answer_error(caller.error());
  const std::vector<SessionNote> living = living_sessions(*caller);
  const int status = living.empty() ? kAnswerNo : kAnswerYes;
  if (arguments.has(FlagId::Json)) {
    NodeList list;
    for (const SessionNote& note : living) list.push_back(session_note_node(note));
    Node node{NodeMap{}};
    node.set("schema", "cordon.sessions/1");
    node.set("sessions", std::move(list));
    return say_answer(write_json(node, JsonStyle::Compact) + "\n") ? status : kAnswerError;
  }
  if (living.empty()) {
    say("cordon: no session is open; cordon session start opens one\n");
    return status;
  }
  TextTable table({{"SESSION"}, {"SINCE"}, {"AGENT"}, {"CONVERSATION"}, {"DIRECTORY"}});
  for (const SessionNote& note : living) {
    table.add({note.id, started_at(note.started), note.agent.empty() ? "-" : note.agent,
               note.conversation.empty() ? "-" : note.conversation, note.cwd});
  }
  return say_answer(table.text_for(STDOUT_FILENO)) ? status : kAnswerError;
}

}  // namespace cordon
