#include "run/secret_source.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "host/inspect.h"
#include "run/secret_program.h"

namespace cordon {
namespace {

constexpr std::size_t kLongestValue = 8192;
constexpr std::size_t kMostOfAFile = std::size_t{1} << 20U;
constexpr std::chrono::seconds kReadTimeout{30};

std::string_view rest_of_source(const SecretRule& source) {
  return std::string_view(source.from).substr(source.from.find(':') + 1);
}

bool comes_from(const SecretRule& source, std::string_view kind) {
  return source.from.starts_with(std::string(kind) + ":");
}

Result<std::string> read_secret(int descriptor) {
  auto text = read_all(descriptor, kMostOfAFile);
  if (!text) return fail(setup_error("it cannot be read, or is too long", 0));
  return *std::move(text);
}

// What RFC 6901 calls a JSON pointer.
const Node* find_by_pointer(const Node& document, std::string_view pointer) {
  const Node* node = &document;
  for (const std::string_view part : split(pointer.substr(1), '/')) {
    std::string key;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool escaped = part[i] == '~' && i + 1 < part.size();
      key += escaped ? (part[++i] == '1' ? '/' : '~') : part[i];
    }
    if (const NodeList* list = node->list()) {
      const auto index = parse_number(key);
      if (!index || *index >= list->size()) return nullptr;
      node = &(*list)[*index];
    } else {
      node = node->find(key);
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

Result<std::string> value_in_file(const SecretRule& source, const Caller& caller) {
  const std::string path = *file_of(source, caller);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) {
    return fail(unreadable_secret(source, std::string(::strerrordesc_np(errno))));
  }
  if (!S_ISREG(status.st_mode)) return fail(unreadable_secret(source, "it is not a file"));
  auto text = read_secret(file.get());
  if (!text) return fail(unreadable_secret(source, message(text.error())));
  const std::size_t hash = source.from.find('#');
  if (hash == std::string::npos) return text;
  const auto document = read_json(*text, path);
  if (!document) return fail(unreadable_secret(source, "it is not JSON"));
  const Node* node = find_by_pointer(*document, std::string_view(source.from).substr(hash + 1));
  if (node == nullptr || node->text() == nullptr) {
    return fail(unreadable_secret(source, "there is no string at that place"));
  }
  return *node->text();
}

Result<std::string> value_now(const SecretRule& source, const SecretReader& reader) {
  Result<std::string> found = std::string();
  if (comes_from(source, "file")) {
    found = value_in_file(source, reader.caller);
  } else if (comes_from(source, "env")) {
    const auto& environment = reader.caller.environment;
    const auto variable = environment.find(std::string(rest_of_source(source)));
    if (variable == environment.end()) return fail(unreadable_secret(source, "it is not set"));
    found = variable->second;
  } else {
    found = told_by_program(source, reader.variables);
  }
  if (!found) return found;
  std::string value = *std::move(found);
  while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
  if (value.empty()) return fail(unreadable_secret(source, "it is empty"));
  // It becomes the line of a header: what could begin another one is no part of it.
  const bool plain = value.size() <= kLongestValue &&
                     std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
  if (!plain) return fail(unreadable_secret(source, "it cannot be the value of a header"));
  if (source.kind == SecretRule::Kind::Basic) value.insert(0, source.user + ":");
  return value;
}

bool write_fully(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Carries out `work` in a copy of this process that leaves nothing of its memory behind: not here,
// in no core file, and not for a debugger of the same user. What it says is an error; it has
// nothing else to say.
Result<void> in_another_process(const std::function<Result<void>()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(setup_error("cannot start the process that reads secrets", errno));
  if (child == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
      (void)::signal(signal, SIG_DFL);
    }
    ::setsid();
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    const auto done = work();
    if (!done) {
      const Error& error = done.error();
      (void)write_fully(in.get(),
                        std::string(name_of(error.kind)) + "\n" + error.what + "\n" + error.hint);
    }
    ::_exit(done ? 0 : 1);
  }
  in.reset();
  const auto until = std::chrono::steady_clock::now() + kReadTimeout;
  std::string said;
  bool late = false;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd polled{out.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    char bytes[1024];
    const ssize_t got = ready > 0 ? ::read(out.get(), bytes, sizeof bytes) : 0;
    late = ready == 0;
    if (got <= 0) break;
    said.append(bytes, static_cast<std::size_t>(got));
  }
  // With what it started.
  if (late) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (late) {
    return fail(policy_error("a secret could not be read within 30 seconds",
                             "look at the command of its [[secret]]"));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::size_t kind_end = std::min(said.find('\n'), said.size());
  const std::size_t what_end = std::min(said.find('\n', kind_end + 1), said.size());
  if (what_end == said.size()) {
    return fail(setup_error("the process that reads secrets ended", 0));
  }
  const std::string what = said.substr(kind_end + 1, what_end - kind_end - 1);
  Error error =
      said.starts_with(name_of(ErrorKind::Policy)) ? policy_error(what) : setup_error(what, 0);
  error.hint = said.substr(what_end + 1);
  return fail(std::move(error));
}

}  // namespace

std::optional<std::string> file_of(const SecretRule& source, const Caller& caller) {
  if (!comes_from(source, "file")) return std::nullopt;
  std::string_view path = rest_of_source(source);
  path = path.substr(0, path.find('#'));
  if (path.starts_with("~/")) return join(caller.home, path.substr(2));
  return std::string(path);
}

std::optional<std::string> stamp_of(const SecretRule& source, const Caller& caller) {
  const auto path = file_of(source, caller);
  struct stat status {};
  if (!path || ::stat(path->c_str(), &status) < 0) return std::nullopt;
  std::string stamp;
  for (const auto part :
       {static_cast<long long>(status.st_dev), static_cast<long long>(status.st_ino),
        static_cast<long long>(status.st_size), static_cast<long long>(status.st_mtim.tv_sec),
        static_cast<long long>(status.st_mtim.tv_nsec),
        static_cast<long long>(status.st_ctim.tv_sec),
        static_cast<long long>(status.st_ctim.tv_nsec)}) {
    stamp += std::to_string(part) + " ";
  }
  return stamp;
}

Result<Fd> sealed_configuration(const gate::Configuration& plain,
                                const std::vector<SecretRule>& sources,
                                const SecretReader& reader) {
  Fd memory(::memfd_create("configuration", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return fail(setup_error("cannot make a memory file", errno));
  CORDON_CHECK(in_another_process([&]() -> Result<void> {
    gate::Configuration whole = plain;
    for (std::size_t i = 0; i < whole.secrets.size(); ++i) {
      CORDON_TRY(value, value_now(sources[i], reader));
      whole.secrets[i].value = std::move(value);
    }
    if (!write_fully(memory.get(), gate::encode(whole))) {
      return fail(setup_error("cannot write a memory file", errno));
    }
    return {};
  }));
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::lseek(memory.get(), 0, SEEK_SET) < 0 || ::fcntl(memory.get(), F_ADD_SEALS, kSeals) < 0) {
    return fail(setup_error("cannot seal a memory file", errno));
  }
  return memory;
}

Result<void> send_value(int control, const SecretRule& source, const SecretReader& reader) {
  return in_another_process([&]() -> Result<void> {
    CORDON_TRY(value, value_now(source, reader));
    const std::string packet = gate::encode(gate::ToGate(gate::NewSecret{source.name, value}));
    if (::send(control, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
      return fail(setup_error("the gate has ended", errno));
    }
    return {};
  });
}

}  // namespace cordon
