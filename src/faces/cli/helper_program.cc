#include "faces/cli/helper_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/own_programs.h"

namespace cordon {

Result<std::string> own_executable() {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlink("/proc/self/exe", text.data(), text.size());
  if (length < 0) return fail(setup_error("cannot tell where cordon lies", errno));
  if (static_cast<std::size_t>(length) == text.size()) {
    return fail(setup_error("cannot tell where cordon lies", ENAMETOOLONG));
  }
  std::string path(text.data(), static_cast<std::size_t>(length));
  if (::access(path.c_str(), X_OK) < 0) {
    return fail(setup_error("cordon is not at " + quote(path), errno));
  }
  return path;
}

Result<std::string> main_program() {
  CORDON_TRY(self, own_executable());
  for (const std::string& place : own_places(parent(self), "cordon")) {
    std::unique_ptr<char, void (*)(void*)> found(::realpath(place.c_str(), nullptr), std::free);
    if (found && ::access(found.get(), X_OK) == 0) return std::string(found.get());
  }
  return fail(setup_error("cannot tell where cordon lies", 0,
                          "cordon mcp --print-config HOST prints what to write"));
}

namespace {

// Returns errno of the attempt that says most.
int execute_own(const std::string& name, std::span<const std::string> verb,
                std::span<const char* const> words) {
  const auto self = own_executable();
  if (!self) return ENOENT;
  std::vector<std::string> own{name};
  own.insert(own.end(), verb.begin(), verb.end());
  std::vector<char*> argv;
  for (std::string& word : own) argv.push_back(word.data());
  for (const char* word : words) argv.push_back(const_cast<char*>(word));
  argv.push_back(nullptr);
  int why = ENOENT;
  for (const std::string& place : own_places(parent(*self), name)) {
    ::execv(place.c_str(), argv.data());
    if (errno != ENOENT && errno != ENOTDIR) why = errno;
  }
  return why;
}

Error no_helper(const std::string& name, int why) {
  return setup_error("cannot start " + name, why,
                     "it belongs beside cordon: install it, or build it with ./cordon");
}

int become(const std::string& name, std::span<const std::string> verb,
           std::span<const char* const> words, int status) {
  const int why = execute_own(name, verb, words);
  say_error(no_helper(name, why));
  return status;
}

}  // namespace

namespace {

std::string helper_of(const Verb& verb, const Arguments& arguments) {
  if (verb.name == "apply") return "cordon-apply";
  const bool of_database = verb.name.starts_with("audit ") && arguments.has(FlagId::From);
  return of_database || verb.name == "audit ship" ? "cordon-ship" : "cordon-tools";
}

}  // namespace

int become_helper(const Verb& verb, const Arguments& arguments,
                  std::span<const char* const> words) {
  std::vector<std::string> names;
  for (const std::string_view word : split(verb.name, ' ')) names.emplace_back(word);
  return become(helper_of(verb, arguments), names, words, verb.usage_status);
}

int carry_out_helper(std::span<const HelperVerb> verbs, std::span<const char* const> words) {
  for (const HelperVerb& known : verbs) {
    const std::size_t length = known.name.find(' ') == std::string_view::npos ? 1 : 2;
    if (words.size() < length) continue;
    std::string name = words[0];
    if (length == 2) name.append(" ").append(words[1]);
    if (name != known.name) continue;
    const Verb& verb = *find_verb(name);
    Arguments arguments;
    const auto parsed = read_arguments(verb, words.subspan(length), arguments);
    if (parsed) return known.entry(arguments);
    say_error(parsed.error());
    return verb.usage_status;
  }
  say_error(usage_error("this program is a part of cordon", "cordon -h"));
  return kAnswerError;
}

Result<HelperChild> HelperChild::start(const std::string& name,
                                       std::span<const std::string> words) {
  CORDON_TRY(self, own_executable());
  std::vector<std::string> own{name};
  own.insert(own.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : own) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(setup_error("cannot make a pipe", errno));
  Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return fail(no_helper(name, ENOMEM));
  (void)::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  pid_t process = -1;
  int why = ENOENT;
  for (const std::string& place : own_places(parent(self), name)) {
    const int error =
        ::posix_spawn(&process, place.c_str(), &actions, nullptr, argv.data(), environ);
    if (error == 0) {
      why = 0;
      break;
    }
    if (error != ENOENT && error != ENOTDIR) why = error;
  }
  (void)::posix_spawn_file_actions_destroy(&actions);
  if (why != 0) return fail(no_helper(name, why));
  return HelperChild(process, std::move(read_end));
}

int HelperChild::end() {
  answer_.reset();
  if (process_ < 0) return -1;
  int status = -1;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

std::optional<std::string_view> drop_in_called(std::string_view name) {
  if (name == "lxc-exec") return "mxc";
  if (name == "srt") return "srt";
  if (name == "cordon-oci") return "oci";
  return std::nullopt;
}

int become_drop_in(std::string_view verb, std::span<const char* const> words) {
  return become("cordon-tools", std::vector{std::string(verb)}, words,
                find_verb(verb)->usage_status);
}

}  // namespace cordon
