#include "faces/cli/helper_program.h"

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

int become(const std::string& name, std::span<const std::string> verb,
           std::span<const char* const> words, int status) {
  const int why = execute_own(name, verb, words);
  say_error(setup_error("cannot start " + name, why,
                        "it belongs beside cordon: install it, or build it with ./cordon"));
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
