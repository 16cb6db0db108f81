#include "mcp/tools/env_file.h"

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "host/resolve.h"
#include "policy/environment.h"

namespace cordon::mcp {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Result<std::map<std::string, std::string>> read_env_lines(std::string_view text,
                                                          const std::string& file) {
  std::map<std::string, std::string> variables;
  unsigned number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    const std::string name(trimmed(line.substr(0, equals)));
    if (equals == std::string_view::npos || !is_valid_variable_name(name) ||
        line.find('\0') != std::string_view::npos) {
      Error error = policy_error("not an assignment", "write NAME=value");
      error.place = Place{file, number, 1};
      return fail(std::move(error));
    }
    variables.insert_or_assign(name, std::string(trimmed(line.substr(equals + 1))));
  }
  return variables;
}

Result<std::string> load_env_file(const Caller& caller) {
  std::string named;
  for (const char* name : {"CORDON_ENV_FILE", "ENTRABOT_ENV_FILE"}) {
    const auto found = caller.environment.find(name);
    if (found != caller.environment.end() && named.empty()) named = found->second;
  }
  if (named.empty()) return std::string();
  CORDON_TRY(place, canonicalize(named, caller.cwd, caller));
  CORDON_TRY(text, read_trusted_file(place.lexical, caller));
  CORDON_TRY(variables, read_env_lines(text, place.lexical));
  for (const auto& [name, value] : variables) {
    if (::setenv(name.c_str(), value.c_str(), 0) < 0) {
      return fail(setup_error("cannot set the variable " + quote(name), errno));
    }
  }
  return place.lexical;
}

}  // namespace cordon::mcp
