// cordon oci: from an engine's call to the real runtime's.
//
//   words → read the bundle → judge → write the changed copy → record → the runtime → close
//
// An engine's own file is never written: it may be shared, and whoever could read it between two
// writes would start something else than what was judged. The runtime is given a bundle that
// nobody but Cordon writes.
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <utility>

#include "audit/recorder.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compat/oci/command/container_store.h"
#include "compat/oci/command/runtime_process.h"
#include "compat/oci/command/runtime_words.h"
#include "compat/oci/judge.h"
#include "config/policy_document.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "policy/names.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

using oci::CommandUse;
using oci::CommandWords;
using oci::ContainerPlace;

constexpr int kRuntimeRefused = 1;
constexpr std::string_view kNodePolicies = "/etc/cordon/policies";
constexpr const char* kRootsState = "/run/cordon/oci";

// The line that engines look for in a runtime's log.
std::string log_line(const Error& error, bool json) {
  std::string words = "cordon: " + message(error);
  for (const std::string& note : error.notes) words += "; " + sanitize(note);
  if (!error.hint.empty()) words += "; hint: " + sanitize(error.hint);
  std::array<char, 32> moment{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(moment.data(), moment.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  Node node{NodeMap{}};
  node.set("level", "error").set("msg", words).set("time", moment.data());
  if (json) return write_json(node, JsonStyle::Compact) + "\n";
  return std::string("time=\"") + moment.data() +
         "\" level=error msg=" + write_json(Node(words), JsonStyle::Compact) + "\n";
}

void write_log(const Arguments& arguments, const Error& error) {
  auto file = arguments.value(FlagId::LogFile);
  if (!file) return;
  constexpr std::string_view kFile = "file:";  // as crun spells it
  if (file->starts_with(kFile)) file->remove_prefix(kFile.size());
  constexpr mode_t kLogMode = 0644;
  const Fd log(
      ::open(std::string(*file).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kLogMode));
  if (!log.valid()) return;
  (void)write_whole(log.get(), log_line(error, arguments.value(FlagId::LogFormat) == "json"));
}

bool is_runtimes(FlagId id) {
  constexpr std::array kPassed{FlagId::RuntimeRoot, FlagId::LogFile,       FlagId::LogFormat,
                               FlagId::Debug,       FlagId::SystemdCgroup, FlagId::CgroupManager,
                               FlagId::Rootless,    FlagId::Version};
  return std::ranges::find(kPassed, id) != kPassed.end();
}

bool takes_a_value(FlagId id) {
  return id != FlagId::Debug && id != FlagId::SystemdCgroup && id != FlagId::Version;
}

// The options that stand before the command, as the engine gave them.
std::vector<std::string> passed_options(const Arguments& arguments) {
  std::vector<std::string> words;
  for (const GivenFlag& flag : arguments.flags) {
    if (!is_runtimes(flag.id)) continue;
    words.emplace_back(flag.name);
    if (takes_a_value(flag.id)) words.emplace_back(flag.value);
  }
  return words;
}

// An engine of an ordinary user starts runtimes as root of a user namespace, which has no control
// groups for it.
bool is_first_user_namespace() {
  const auto map = read_followed("/proc/self/uid_map", 1024);
  if (!map) return false;
  std::string words;
  for (const char c : *map) {
    if (c != ' ' && c != '\n') {
      words += c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  return words == "0 0 4294967295 ";
}

Result<std::string> read_document_file(const std::string& path, std::uint32_t uid) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) {
    return fail(setup_error("cannot read " + quote(path), errno, "name the bundle with --bundle"));
  }
  if (!S_ISREG(status.st_mode) || (status.st_uid != 0 && status.st_uid != uid) ||
      (status.st_mode & kOthersMayWrite) != 0) {
    return fail({.kind = ErrorKind::Untrusted,
                 .what = quote(path) + " may be written by others than the engine",
                 .hint = "let the engine own it, and nobody else write it"});
  }
  auto text = read_all(file.get(), kMaxDocumentBytes);
  if (!text) return fail(setup_error(quote(path) + " is longer than a document may be", 0));
  return *std::move(text);
}

// What is known before the command is looked at.
class OciCall {
 public:
  static Result<OciCall> make(const Arguments& arguments) {
    CORDON_TRY(caller, identify_caller());
    OciCall call(arguments, std::move(caller));
    call.is_root_ = call.caller_.uid == 0 && is_first_user_namespace();
    CORDON_TRY(program,
               oci::find_runtime(std::string(arguments.value(FlagId::RuntimeProgram).value_or("")),
                                 call.caller_.uid));
    call.program_ = std::move(program);
    return call;
  }

  Result<int> pass() const {
    std::vector<std::string> words = passed_options(arguments_);
    for (const std::string_view word : arguments_.operands) words.emplace_back(word);
    return fail(oci::become_runtime(program_, words));
  }
  Result<int> start();
  Result<int> exec();
  Result<int> update();
  Result<int> remove();

 private:
  OciCall(const Arguments& arguments, Caller caller)
      : arguments_(arguments), caller_(std::move(caller)) {}

  [[nodiscard]] std::string state_directory() const {
    if (const auto named = arguments_.value(FlagId::StateDirectory)) return std::string(*named);
    return is_root_ ? kRootsState : join(caller_.runtime_directory, "oci");
  }
  [[nodiscard]] ContainerPlace place_of(const std::string& id) const {
    return {state_directory(), arguments_.value(FlagId::RuntimeRoot).value_or(""), id};
  }
  [[nodiscard]] bool makes_groups() const {
    return is_root_ && arguments_.value(FlagId::CgroupManager).value_or("") != "disabled" &&
           arguments_.value(FlagId::Rootless).value_or("") != "true";
  }

  Result<void> read_words();
  Result<void> read_ceilings();
  Result<std::optional<Policy>> named_policy(const std::string& name) const;
  Result<Node> read_bundle(std::string& bundle) const;
  [[nodiscard]] oci::NodeRules node_rules(const std::string& bundle) const;
  [[nodiscard]] std::vector<std::string> runtime_words(const std::vector<std::string>& words) const;
  Result<void> refuse_descriptors() const;
  Result<void> open_record();
  // Records, calls the runtime and closes the record.
  Result<int> recorded(const audit::Action& action, const std::vector<std::string>& words,
                       const std::vector<std::string>& undo);
  Error refused(const audit::Action& action, Error error);
  [[nodiscard]] audit::Action action_on(std::string name, const oci::Demands& demands) const;
  // What a container of Cordon's is held to while it is there.
  struct Held {
    Node config;
    std::vector<Ceiling> bounds;
    oci::Narrowing narrowing;
  };
  Result<Held> held_container(const ContainerPlace& place) const;

  const Arguments& arguments_;
  Caller caller_;
  bool is_root_ = false;  // of the host
  std::string program_;
  CommandWords words_;
  std::string id_;
  std::vector<Ceiling> ceilings_;
  std::unique_ptr<audit::Recorder> recorder_;
  std::optional<audit::Redactor> redactor_;
};

// Runtimes take the same names and no others.
bool is_container_name(std::string_view name) {
  constexpr std::size_t kLongest = 1024;
  if (name.empty() || name.size() > kLongest || name == "." || name == "..") return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (lower_case(c) >= 'a' && lower_case(c) <= 'z') ||
           std::string_view("_+-.").find(c) != std::string_view::npos;
  });
}

Result<void> OciCall::read_words() {
  CORDON_TRY(words, oci::read_command(arguments_.operands));
  words_ = std::move(words);
  if (words_.operands.empty() || !is_container_name(words_.operands.front())) {
    return fail(
        usage_error(words_.command + " names no container", "write its id behind the options"));
  }
  id_ = words_.operands.front();
  return refuse_descriptors();
}

// A directory or a device that an engine leaves open is a way past every mount.
Result<void> OciCall::refuse_descriptors() const {
  const auto given = words_.value("preserve-fds");
  if (!given) return {};
  constexpr std::uint64_t kMost = 1024;
  const auto count = parse_number(*given);
  if (!count || *count > kMost) {
    return fail(usage_error("--preserve-fds " + quote(*given) + " is not a number of descriptors",
                            "write one"));
  }
  for (int fd = STDERR_FILENO + 1; fd <= STDERR_FILENO + static_cast<int>(*count); ++fd) {
    struct stat status {};
    if (::fstat(fd, &status) < 0) continue;
    const bool is_way = (::fcntl(fd, F_GETFL) & O_PATH) != 0 || S_ISDIR(status.st_mode) ||
                        S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
    if (!is_way) continue;
    return fail(policy_error("descriptor " + std::to_string(fd) +
                                 " that --preserve-fds passes on leads to a directory or a device",
                             "pass on files, pipes and sockets alone"));
  }
  return {};
}

Result<void> OciCall::read_ceilings() {
  std::vector<std::string> files;
  for (const std::string_view file : arguments_.values(FlagId::Ceiling)) files.emplace_back(file);
  CORDON_TRY(ceilings, load_ceilings(files, caller_));
  ceilings_ = std::move(ceilings);
  return {};
}

Result<std::optional<Policy>> OciCall::named_policy(const std::string& name) const {
  if (name.empty()) return std::optional<Policy>();
  // A path would be the container's choice of a file of the host.
  if (!is_container_name(name)) {
    return fail(
        policy_error("the annotation " + std::string(oci::kPolicyAnnotation) + "=" + quote(name) +
                         " is not the name of a policy",
                     "write a name alone, such as one of those in " + std::string(kNodePolicies)));
  }
  if (is_preset(name)) {
    CORDON_TRY(preset, Policy::preset(name));
    return std::optional(std::move(preset));
  }
  const std::string directory(arguments_.value(FlagId::PolicyDirectory).value_or(kNodePolicies));
  const std::string path = join(directory, name + ".toml");
  if (::access(path.c_str(), F_OK) < 0) {
    return fail(policy_error("the annotation " + std::string(oci::kPolicyAnnotation) + " names " +
                                 quote(name) + ", and this node has no policy of that name",
                             "write " + quote(path) + ", or name another"));
  }
  CORDON_TRY(policy, Policy::from_file(path));
  return std::optional(std::move(policy));
}

// `bundle` becomes canonical.
Result<Node> OciCall::read_bundle(std::string& bundle) const {
  CORDON_TRY(place,
             canonicalize_existing(bundle.starts_with('/') ? bundle : join(caller_.cwd, bundle),
                                   "/", caller_));
  bundle = place.path;
  constexpr std::array<std::string_view, 4> kSystem{"/etc", "/usr", "/proc", "/dev"};
  const bool is_above = std::ranges::any_of(kSystem, [&](std::string_view system) {
    return contains(bundle, system) || contains(system, bundle);
  });
  struct stat status {};
  if (is_above || contains(bundle, caller_.account_home.empty() ? "/" : caller_.account_home) ||
      ::stat(bundle.c_str(), &status) < 0 || (status.st_mode & kOthersMayWrite) != 0 ||
      (status.st_uid != 0 && status.st_uid != caller_.uid)) {
    return fail({.kind = ErrorKind::Untrusted,
                 .what = "the bundle " + quote(bundle) + " is not a directory of the engine's own",
                 .hint = "give each container one that nobody else may write"});
  }
  const std::string name = join(bundle, words_.value("config").value_or("config.json"));
  CORDON_TRY(text, read_document_file(name, caller_.uid));
  return read_json(text, name);
}

oci::NodeRules OciCall::node_rules(const std::string& bundle) const {
  oci::NodeRules rules;
  rules.ceilings = ceilings_;
  rules.makes_groups = makes_groups();
  rules.own.push_back(bundle);
  rules.roots.push_back(bundle);
  const auto add = [&](const std::string& path, std::vector<std::string>& places) {
    if (const auto place = canonicalize(path, "/", caller_)) places.push_back(place->path);
  };
  for (const std::string_view directory : arguments_.values(FlagId::EngineFiles)) {
    add(std::string(directory), rules.own);
    add(std::string(directory), rules.roots);
  }
  // podman keeps what it makes for a container in two directories of the container's name, and
  // names the other one with the pid file; the roots lie beside them, by the storage driver.
  constexpr std::string_view kUserData = "userdata";
  constexpr std::string_view kContainers = "-containers";
  if (basename(bundle) != kUserData || basename(parent(bundle)) != id_) return rules;
  if (const auto pid_file = words_.value("pid-file")) {
    const std::string_view place = parent(*pid_file);
    if (place.starts_with('/') && basename(place) == kUserData && basename(parent(place)) == id_) {
      add(std::string(place), rules.own);
    }
  }
  const std::string_view store = parent(parent(bundle));
  if (basename(store).ends_with(kContainers)) {
    const std::string_view driver = basename(store);
    add(join(parent(store), driver.substr(0, driver.size() - kContainers.size())), rules.roots);
  }
  return rules;
}

std::vector<std::string> OciCall::runtime_words(const std::vector<std::string>& words) const {
  std::vector<std::string> all = passed_options(arguments_);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

audit::Action OciCall::action_on(std::string name, const oci::Demands& demands) const {
  audit::Action action;
  action.name = std::move(name);
  action.backend = "oci";
  action.cwd = caller_.cwd;
  action.argv = demands.argv;
  action.ceilings = ceilings_;
  return action;
}

Result<void> OciCall::open_record() {
  recorder_ = std::make_unique<audit::Recorder>(audit::place_of(caller_), audit_choice(ceilings_));
  CORDON_TRY(redactor, recorder_->redactor(caller_));
  redactor_ = std::move(redactor);
  return {};
}

// The refusal, with what kept it from being recorded if something did.
Error OciCall::refused(const audit::Action& action, Error error) {
  if (!redactor_) {
    if (auto opened = open_record(); !opened) {
      error.notes.push_back("and it was not recorded: " + message(opened.error()));
      return error;
    }
  }
  const auto told = recorder_->refuse(redactor_->pending(action), audit::Redactor::refusal(error));
  if (!told) error.notes.push_back("and it was not recorded: " + message(told.error()));
  return error;
}

Result<int> OciCall::recorded(const audit::Action& action, const std::vector<std::string>& words,
                              const std::vector<std::string>& undo) {
  CORDON_CHECK(open_record());
  CORDON_TRY(ticket, recorder_->begin(redactor_->pending(action)));
  if (ticket.unwritten) say_warning("the record is not written: " + message(*ticket.unwritten));
  const auto began = std::chrono::steady_clock::now();
  const Result<int> status = oci::call_runtime(program_, words, undo);
  audit::Closing closing;
  closing.duration_ms =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::steady_clock::now() - began)
                                     .count());
  if (!status) {
    closing = audit::Redactor::refusal(status.error());
  } else {
    closing.ending = *status == 0 ? audit::Ending::Success : audit::Ending::Exit;
    closing.exit_code = *status;
  }
  if (auto closed = recorder_->close(ticket, closing); !closed) {
    say_warning("the end is not recorded: " + message(closed.error()));
  }
  return status;
}

Result<int> OciCall::start() {
  oci::Demands demands;
  audit::Action action = action_on(std::string(arguments_.operands.front()), demands);
  const auto no = [&](Error error) { return fail(refused(action, std::move(error))); };
  if (auto read = read_words(); !read) return no(std::move(read).error());
  action.session = id_;
  std::string bundle = words_.value("bundle").value_or(caller_.cwd);
  if (auto ceilings = read_ceilings(); !ceilings) return no(std::move(ceilings).error());
  action.ceilings = ceilings_;
  const auto config = read_bundle(bundle);
  if (!config) return no(config.error());
  caller_.cwd = bundle;  // what "@cwd" of a policy means for a container
  action.cwd = bundle;
  std::set<std::string> hooks;
  for (const std::string_view hook : arguments_.values(FlagId::HookProgram)) hooks.emplace(hook);
  demands = oci::read_demands(*config, {bundle, hooks});
  action.argv = demands.argv;
  oci::NodeRules rules = node_rules(bundle);
  auto named = named_policy(demands.policy);
  if (!named) return no(std::move(named).error());
  rules.named = std::move(*named);
  const auto judged = oci::judge_container(demands, rules, caller_);
  if (!judged) return no(judged.error());
  const Effective& effective = judged->judgement->clamped.effective();
  action.policy = rules.named ? &*rules.named : &judged->asked;
  action.effective = &effective;
  action.policy_hash =
      "sha256:" + sha256_hex(write_json(encode_effective(effective), JsonStyle::Compact));
  action.reductions = judged->reductions;
  if (!judged->complaints.empty()) return no(oci::refusal_of(judged->complaints));
  const auto narrowed = oci::narrowed_config(*config, judged->narrowing);
  if (!narrowed) return no(narrowed.error());

  const ContainerPlace place = place_of(id_);
  if (place.exists()) {
    CORDON_TRY(there, oci::ask_runtime(program_, runtime_words({"state", id_})));
    if (there == 0) {
      return no(usage_error("a container of the name " + id_ + " is there already",
                            "delete it first, or choose another name"));
    }
    place.remove();  // its container went without a delete, as when the host ended
  }
  if (auto made = place.make(write_json(*narrowed, JsonStyle::Compact)); !made) {
    return no(std::move(made).error());
  }
  words_.replace("config", {});
  words_.replace("bundle", place.path());
  const bool foreground = words_.command == "run" && !words_.has("detach");
  auto status =
      recorded(action, runtime_words(words_.words()), runtime_words({"delete", "--force", id_}));
  if (!status || *status != 0 || (foreground && !words_.has("keep"))) place.remove();
  return status;
}

Result<OciCall::Held> OciCall::held_container(const ContainerPlace& place) const {
  const auto text = place.config();
  if (!text) {
    return fail(policy_error("the container " + id_ + " was not started by cordon oci",
                             "start it anew: what was never judged gets no further commands"));
  }
  CORDON_TRY(config, read_json(*text, "config.json of " + id_));
  Held held;
  std::string name;
  if (const Node* annotations = config.find("annotations")) {
    const Node* value = annotations->find(oci::kPolicyAnnotation);
    if (value != nullptr && value->text() != nullptr && !value->text()->starts_with("sha256:")) {
      name = *value->text();
    }
  }
  held.config = std::move(config);
  CORDON_TRY(named, named_policy(name));
  if (ceilings_.empty()) return fail(policy_error("this node has no ceiling any more"));
  held.bounds = ceilings_;
  if (named) held.bounds.push_back(oci::as_bound(*named, ceilings_));
  Limits& limits = held.narrowing.limits;
  for (const Ceiling& bound : held.bounds) {
    for (const LimitField& field : limit_fields()) {
      const auto& most = bound.policy.limits.*field.member;
      auto& least = limits.*field.member;
      if (most) least = std::min(least.value_or(*most), *most);
    }
  }
  held.narrowing.keeps_capabilities = oci::all_accept_missing(ceilings_, Layer::Capabilities);
  return held;
}

Result<int> OciCall::exec() {
  oci::Demands demands;
  audit::Action action = action_on("exec", demands);
  const auto no = [&](Error error) { return fail(refused(action, std::move(error))); };
  if (auto read = read_words(); !read) return no(std::move(read).error());
  action.session = id_;
  if (auto ceilings = read_ceilings(); !ceilings) return no(std::move(ceilings).error());
  action.ceilings = ceilings_;
  const ContainerPlace place = place_of(id_);
  auto held = held_container(place);
  if (!held) return no(std::move(held).error());
  const auto file = words_.value("process");
  Node process{NodeMap{}};
  if (file) {
    const auto text = read_document_file(*file, caller_.uid);
    if (!text) return no(text.error());
    auto read = read_json(*text, *file);
    if (!read) return no(std::move(read).error());
    process = std::move(*read);
  } else {
    // The runtime takes the rest from the changed copy.
    process.set("cwd", words_.value("cwd").value_or("/"));
    NodeList variables;
    NodeList command;
    for (const oci::GivenOption& one : words_.options) {
      if (one.name == "env") variables.emplace_back(one.value);
    }
    for (std::size_t i = 1; i < words_.operands.size(); ++i)
      command.emplace_back(words_.operands[i]);
    process.set("args", std::move(command)).set("env", std::move(variables));
  }
  oci::read_process(process, file ? *file : "exec", demands);
  action.argv = demands.argv;
  if (!demands.complaints.empty()) return no(oci::refusal_of(demands.complaints));
  std::set<std::string> dropped = oci::refused_variables(demands.variables, held->bounds);
  std::string copy;
  if (file) {
    held->narrowing.dropped_variables = std::move(dropped);
    auto put =
        place.put(write_json(oci::narrowed_process(process, held->narrowing), JsonStyle::Compact));
    if (!put) return no(std::move(put).error());
    copy = std::move(*put);
    words_.replace("process", copy);
  } else {
    std::erase_if(words_.options, [&](const oci::GivenOption& one) {
      return one.name == "env" && dropped.contains(one.value.substr(0, one.value.find('=')));
    });
  }
  auto status = recorded(action, runtime_words(words_.words()), {});
  if (!copy.empty()) ::unlink(copy.c_str());
  return status;
}

Result<int> OciCall::update() {
  oci::Demands demands;
  audit::Action action = action_on("update", demands);
  const auto no = [&](Error error) { return fail(refused(action, std::move(error))); };
  if (auto read = read_words(); !read) return no(std::move(read).error());
  action.session = id_;
  if (auto ceilings = read_ceilings(); !ceilings) return no(std::move(ceilings).error());
  action.ceilings = ceilings_;
  const ContainerPlace place = place_of(id_);
  const auto held = held_container(place);
  if (!held) return no(held.error());
  const auto file = words_.value("resources");
  if (!file) {
    return no(usage_error("update is given no --resources FILE",
                          "let the engine give the whole of it in a file"));
  }
  std::optional<std::string> text;
  if (*file == "-") {
    text = read_all(STDIN_FILENO, kMaxDocumentBytes);
    if (!text) return no(setup_error("cannot read the resources from standard input", EIO));
  } else {
    auto read = read_document_file(*file, caller_.uid);
    if (!read) return no(std::move(read).error());
    text = std::move(*read);
  }
  const auto resources = read_json(*text, "the resources");
  if (!resources) return no(resources.error());
  if (resources->find("unified") != nullptr) {
    return no(
        policy_error("update gives values of control groups by their names, which may lift "
                     "any limit",
                     "let the engine ask for memory, pids and cpu"));
  }
  if (const auto lifted = oci::lifted_bound(*resources, held->narrowing.limits)) {
    return no(policy_error("update lifts limits." + *lifted + " beyond what was judged",
                           "ask for less, or raise it in the node's ceiling"));
  }
  auto copy = place.put(write_json(oci::update_without_devices(*resources), JsonStyle::Compact));
  if (!copy) return no(std::move(copy).error());
  words_.replace("resources", *copy);
  auto status = recorded(action, runtime_words(words_.words()), {});
  ::unlink(copy->c_str());
  return status;
}

// Whatever its options are: it ends a container.
Result<int> OciCall::remove() {
  std::vector<std::string> words;
  for (const std::string_view word : arguments_.operands) {
    words.emplace_back(word);
    if (words.size() > 1 && !word.starts_with('-')) id_ = std::string(word);
  }
  CORDON_TRY(status, oci::call_runtime(program_, runtime_words(words), {}));
  if (status == 0 && !id_.empty()) place_of(id_).remove();
  return status;
}

Result<int> carry_out(const Arguments& arguments) {
  if (arguments.operands.empty()) {
    if (!arguments.has(FlagId::Version)) {
      return fail(usage_error("no command was given", "cordon oci [OPTION]... COMMAND [ARG]..."));
    }
    CORDON_TRY(call, OciCall::make(arguments));
    return call.pass();
  }
  const std::string_view command = arguments.operands.front();
  const auto use = oci::use_of(command);
  if (!use) {
    return fail(usage_error("the command " + quote(command) + " is one that Cordon does not know",
                            "name the runtime itself for it: runc " + shell_word(command)));
  }
  if (*use == CommandUse::Refuse) {
    return fail(policy_error(std::string(command) + " would start what was never judged, or write "
                                                    "a container's memory down",
                             "start a container anew with create"));
  }
  CORDON_TRY(call, OciCall::make(arguments));
  switch (*use) {
    case CommandUse::Start:
      return call.start();
    case CommandUse::Exec:
      return call.exec();
    case CommandUse::Update:
      return call.update();
    case CommandUse::Delete:
      return call.remove();
    case CommandUse::Pass:
    case CommandUse::Refuse:
      break;
  }
  return call.pass();
}

}  // namespace

int verb_oci(const Arguments& arguments) {
  const Result<int> status = carry_out(arguments);
  if (status) return *status;
  say_error(status.error());
  write_log(arguments, status.error());
  return kRuntimeRefused;
}

}  // namespace cordon
