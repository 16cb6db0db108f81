#include "policy/environment.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "policy/agents.h"
#include "policy/http_rules.h"

namespace cordon {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// Whole families, by prefix.
constexpr auto kInjectionPrefixes = std::to_array<std::string_view>(
    {"DYLD_",   // loads libraries on macOS
     "PYTHON",  // PYTHONSTARTUP, PYTHONPATH, PYTHONHOME: run or replace modules
     "GIT_",    // GIT_SSH_COMMAND, GIT_EXTERNAL_DIFF, GIT_CONFIG_*: run commands
     "SSH_",    // SSH_ASKPASS runs a program, SSH_AUTH_SOCK leads to an agent
     "BASH_FUNC_", "LUA_INIT", "LUA_PATH", "LUA_CPATH",
     "CORECLR_",  // profilers are libraries
     "COR_",      // the same for the older runtime
     "OPENSSL_",  // OPENSSL_CONF and OPENSSL_MODULES load providers
     "NPM_CONFIG_", "npm_config_", "GDK_PIXBUF_"});

constexpr auto kInjectionNames = std::to_array<std::string_view>(
    {// Shells: files that are sourced and strings that are evaluated or split.
     "BASH_ENV", "ENV", "IFS", "CDPATH", "PATH", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4",
     "SHELLOPTS", "BASHOPTS", "ZDOTDIR", "FPATH", "INPUTRC",
     // Interpreters: options, start-up code and search paths.
     "NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB", "RUBYOPT",
     "RUBYLIB", "GEM_PATH", "GEM_HOME", "BUNDLE_GEMFILE", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
     "JDK_JAVA_OPTIONS", "CLASSPATH", "MAVEN_OPTS", "GRADLE_OPTS", "PHPRC", "PHP_INI_SCAN_DIR",
     "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "TCLLIBPATH", "ERL_FLAGS",
     "ERL_AFLAGS", "ERL_LIBS", "DOTNET_STARTUP_HOOKS", "PYTEST_ADDOPTS",
     // Build tools that run what a variable names.
     "MAKEFLAGS", "GCC_EXEC_PREFIX", "COMPILER_PATH", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER",
     "RUSTC_WORKSPACE_WRAPPER",
     // Programs that start another one.
     "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER",
     // The C library: converters, locales, catalogues and name lookup from files of one's choice.
     "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS"});

bool covered(const Effective& effective, std::string_view path) {
  const auto covers = [&](const Grant& grant) { return contains(grant.path, path); };
  return std::any_of(effective.read.begin(), effective.read.end(), covers) ||
         std::any_of(effective.write.begin(), effective.write.end(), covers);
}

bool in_a_home(const Caller& caller, std::string_view path) {
  return std::any_of(caller.homes.begin(), caller.homes.end(),
                     [&](const std::string& home) { return contains(home, path); });
}

// The caller's PATH without relative entries, which would be looked up wherever the command is, and
// without the parts of a home that are not there inside.
std::string path_inside(const Effective& effective, const Caller& caller) {
  const auto found = caller.environment.find("PATH");
  if (found == caller.environment.end()) return std::string(kDefaultPath);
  std::string path;
  for (const std::string_view entry : split(found->second, ':')) {
    if (!entry.starts_with('/')) continue;
    const std::string normal = normalize(entry);
    if (in_a_home(caller, normal) && !covered(effective, normal)) continue;
    path.append(path.empty() ? "" : ":").append(entry);
  }
  return path.empty() ? std::string(kDefaultPath) : path;
}

// The home's own path where anything of it exists inside.
std::string home_inside(const Effective& effective, const Caller& caller) {
  if (caller.home.empty()) return "/";
  if (effective.home != HomeMode::None) return caller.home;
  const auto below = [&](const Grant& grant) {
    return contains(caller.home, grant.path) || contains(grant.path, caller.home);
  };
  const bool visible = std::any_of(effective.read.begin(), effective.read.end(), below) ||
                       std::any_of(effective.write.begin(), effective.write.end(), below);
  return visible ? caller.home : "/";
}

bool has_temporary(const Effective& effective) {
  if (effective.scratch) return true;
  return std::any_of(effective.write.begin(), effective.write.end(),
                     [](const Grant& grant) { return contains(grant.path, "/tmp"); });
}

std::string shell_inside(const Caller& caller) {
  const auto found = caller.environment.find("SHELL");
  if (found == caller.environment.end()) return "/bin/sh";
  const std::string& shell = found->second;
  const bool of_the_system = shell.starts_with("/bin/") || shell.starts_with("/usr/bin/");
  return of_the_system && !has_dotdot(shell) ? shell : "/bin/sh";
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

}  // namespace

bool is_loader_variable(std::string_view name) {
  return name.starts_with("LD_") || name == "GLIBC_TUNABLES";
}

bool is_injection_variable(std::string_view name) {
  if (is_loader_variable(name)) return true;
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kInjectionPrefixes.begin(), kInjectionPrefixes.end(), begins) ||
         std::find(kInjectionNames.begin(), kInjectionNames.end(), name) != kInjectionNames.end();
}

bool is_secret_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> kWords{"TOKEN",  "SECRET",     "PASSWORD",
                                                   "PASSWD", "PASSPHRASE", "CREDENTIAL",
                                                   "APIKEY", "API_KEY",    "PRIVATE_KEY"};
  const std::string text = upper_case(name);
  constexpr std::array<std::string_view, 7> kEnds{"_KEY",  "_PAT",   "_PWD",   "_PASS",
                                                  "_AUTH", "_CREDS", "_COOKIE"};
  const auto ends = [&](std::string_view end) { return text.ends_with(end); };
  if (std::ranges::any_of(kEnds, ends)) return true;
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

bool is_valid_variable_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

namespace {

constexpr auto kBuildVariables = std::to_array<std::string_view>({"CARGO_TERM_COLOR",
                                                                  "CC",
                                                                  "CFLAGS",
                                                                  "CGO_ENABLED",
                                                                  "CI",
                                                                  "CLICOLOR",
                                                                  "CLICOLOR_FORCE",
                                                                  "CMAKE_BUILD_PARALLEL_LEVEL",
                                                                  "CMAKE_BUILD_TYPE",
                                                                  "CPPFLAGS",
                                                                  "CTEST_OUTPUT_ON_FAILURE",
                                                                  "CTEST_PARALLEL_LEVEL",
                                                                  "CXX",
                                                                  "CXXFLAGS",
                                                                  "FORCE_COLOR",
                                                                  "GOARCH",
                                                                  "GOMAXPROCS",
                                                                  "GOOS",
                                                                  "LDFLAGS",
                                                                  "NODE_ENV",
                                                                  "OMP_NUM_THREADS",
                                                                  "RUST_BACKTRACE",
                                                                  "SOURCE_DATE_EPOCH"});
static_assert(std::ranges::is_sorted(kBuildVariables));

}  // namespace

std::span<const std::string_view> build_variables() { return kBuildVariables; }

bool is_build_variable(std::string_view name) {
  return std::ranges::binary_search(kBuildVariables, name);
}

bool may_hold_login(std::string_view value) {
  constexpr std::string_view kBegin = "://";
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  for (std::size_t at = value.find(kBegin); at != std::string_view::npos;
       at = value.find(kBegin, at)) {
    at += kBegin.size();
    const std::string_view rest = value.substr(at);
    if (rest.substr(0, rest.find_first_of(kSpace)).find('@') != std::string_view::npos) return true;
  }
  return false;
}

std::vector<std::string> build_environment(const Effective& effective, const Caller& caller,
                                           const std::string& cwd) {
  const std::string user = caller.user.empty() ? "user" : caller.user;
  std::map<std::string, std::string> variables{
      {"PATH", path_inside(effective, caller)},
      {"HOME", home_inside(effective, caller)},
      {"USER", user},
      {"LOGNAME", user},
      {"SHELL", shell_inside(caller)},
      {"LANG", "C.UTF-8"},
      {"TERM", "dumb"},
      {"PWD", cwd},
  };
  if (has_temporary(effective)) variables["TMPDIR"] = "/tmp";
  const std::optional<Credential> credential = credential_of(effective, caller);
  for (const std::string& name : effective.env.pass) {
    if (is_withheld(name, effective.agent, credential)) continue;
    // In its place stands a placeholder, below.
    const bool outside = credential && credential->kind == Credential::Kind::Outside;
    if (outside && credential->label == name) continue;
    const auto found = caller.environment.find(name);
    if (found == caller.environment.end() || is_loader_variable(name)) continue;
    variables[name] = found->second;
  }
  for (const auto& [name, value] : effective.env.set) {
    if (!is_loader_variable(name)) variables[name] = value;
  }
  if (effective.net.ssh_agent) variables["SSH_AUTH_SOCK"] = kSshAgentSocket;
  // Last: a variable whose secret is added outside never shows the secret itself.
  for (auto& [name, value] : variables_for_requests(effective)) variables[name] = std::move(value);
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    environment.push_back(name);
    environment.back().append("=").append(value);
  }
  return environment;
}

}  // namespace cordon
