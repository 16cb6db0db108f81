#include "faces/mcp/inside/inside.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/base64.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "faces/mcp/call.h"
#include "faces/mcp/inside/line_diff.h"
#include "run/line.h"

namespace cordon::mcp {
namespace {

struct Operation {
  std::string_view name;
  InsideReply (*carry_out)(const std::string& path, const Node& request);
};
constexpr Operation kOperations[] = {
    {"read", read_inside}, {"write", write_inside},   {"edit", edit_inside},
    {"list", list_inside}, {"search", search_inside}, {"survey", survey_inside},
};

InsideReply carry_out(std::span<const char* const> words) {
  const auto size = words.size() == 3 ? parse_number(words[2]) : std::nullopt;
  if (!size || *size > kMostInsideRequest) return tl::make_unexpected(EINVAL);
  const auto text = read_bytes(STDIN_FILENO, *size);
  if (!text) return tl::make_unexpected(text.error());
  if (text->size() != *size) return tl::make_unexpected(EPIPE);
  constexpr std::size_t kMostValues = 100'000;
  const auto request = read_json_message(*text, {kMostInsideRequest, kMostValues});
  if (!request) return tl::make_unexpected(EBADMSG);
  for (const Operation& operation : kOperations) {
    if (operation.name == words[0]) return operation.carry_out(words[1], *request);
  }
  return tl::make_unexpected(EINVAL);
}

}  // namespace

std::size_t number_or(const Node& request, std::string_view name, std::size_t otherwise) {
  const auto number = number_member(request, name);
  return number && *number >= 0 ? static_cast<std::size_t>(*number) : otherwise;
}

int ask_inside(std::span<const char* const> words) {
  const InsideReply reply = carry_out(words);
  if (!reply) return reply.error();
  return write_bytes(STDOUT_FILENO, write_json(*reply, JsonStyle::Compact));
}

namespace {

constexpr int kPlain = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Version version_from(const struct stat& status) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_ctim.tv_sec * kBillion + status.st_ctim.tv_nsec};
}

int kind_fault(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

}  // namespace

Or<std::string> read_bytes(int descriptor, std::size_t limit) {
  std::string bytes;
  constexpr std::size_t kBlock = std::size_t{256} << 10U;
  while (bytes.size() < limit) {
    const std::size_t have = bytes.size();
    bytes.resize(have + std::min(kBlock, limit - have));
    const ssize_t got = ::read(descriptor, bytes.data() + have, bytes.size() - have);
    const int failed = errno;
    bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && failed == EINTR) continue;
    if (got < 0) return tl::make_unexpected(failed);
    if (got == 0) break;
  }
  return bytes;
}

bool is_binary(std::string_view content) {
  constexpr std::size_t kLook = 8'192;
  return content.substr(0, kLook).find('\0') != std::string_view::npos;
}

int write_bytes(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

Or<WholeFile> read_whole(const std::string& path, std::size_t limit) {
  const Fd file(::open(path.c_str(), kPlain));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) return tl::make_unexpected(errno);
  if (const int fault = kind_fault(status)) return tl::make_unexpected(fault);
  auto content = read_bytes(file.get(), limit);
  if (!content) return tl::make_unexpected(content.error());
  return WholeFile{std::move(*content), version_from(status)};
}

Or<Version> version_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) return tl::make_unexpected(errno);
  if (const int fault = kind_fault(status)) return tl::make_unexpected(fault);
  return version_from(status);
}

Or<Fd> lock_for_change(const std::string& path) {
  const std::string directory(parent(path));
  Fd held(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!held.valid()) held = Fd(::open(path.c_str(), kPlain));
  if (!held.valid()) return tl::make_unexpected(errno);
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
    if (errno != EWOULDBLOCK && errno != EINTR) return tl::make_unexpected(errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return tl::make_unexpected(EAGAIN);
}

namespace {

// Replacing a file, and exact edits of one. Both know what they replace: a file that is not what
// the caller has seen, or that changes meanwhile, is left alone.

constexpr std::size_t kMostReplaced = std::size_t{64} << 20U;
constexpr std::size_t kMostEdited = std::size_t{8} << 20U;
constexpr std::size_t kMostDiff = 40'000;

Node fault(std::string_view what) {
  Node node{NodeMap{}};
  node.set("fault", what);
  return node;
}

// Whether the file is the one the caller has seen. Nothing: it is, or nothing was said about it.
std::optional<Node> unexpected(const Node& request, const std::string& is) {
  const std::string* expected = text_member(request, "expected_sha256");
  if (expected == nullptr || *expected == is) return std::nullopt;
  Node node = fault("changed");
  node.set("sha256", is);
  return node;
}

// Programs that know nothing of our lock may have written since.
bool is_still(const std::string& path, const Or<WholeFile>& seen) {
  const auto now = version_of(path);
  if (!now) return now.error() == ENOENT && !seen && seen.error() == ENOENT;
  return seen && *now == seen->version;
}

int make_directories(const std::string& path) {
  if (path == "/" || ::access(path.c_str(), F_OK) == 0) return 0;
  if (const int failed = make_directories(std::string(parent(path)))) return failed;
  constexpr mode_t kDirectory = 0777;
  return ::mkdir(path.c_str(), kDirectory) < 0 && errno != EEXIST ? errno : 0;
}

std::optional<unsigned> wanted_mode(const Node& request) {
  const std::string* text = text_member(request, "mode");
  if (text == nullptr || text->size() != 4) return std::nullopt;
  unsigned mode = 0;
  for (const char digit : *text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    mode = mode * 8 + static_cast<unsigned>(digit - '0');
  }
  return mode;
}

std::size_t occurrences(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(from);
    result.append(text.substr(0, at));
    if (at == std::string_view::npos) return result;
    result.append(to);
    text.remove_prefix(at + from.size());
  }
}

// The content after all edits, or what is wrong with the first that cannot be made.
tl::expected<std::string, Node> edited(std::string content, const NodeList& edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const std::string* from = text_member(edits[i], "old");
    const std::string* to = text_member(edits[i], "new");
    const auto wanted = static_cast<std::size_t>(number_member(edits[i], "count").value_or(1));
    if (from == nullptr || to == nullptr || from->empty()) {
      return tl::make_unexpected(fault("malformed"));
    }
    const std::size_t found = occurrences(content, *from);
    if (found != wanted) {
      Node node = fault("count");
      node.set("edit", i).set("found", found).set("wanted", wanted);
      const bool ends_differ = content.find("\r\n") != std::string::npos &&
                               from->find('\n') != std::string::npos &&
                               from->find("\r\n") == std::string::npos;
      node.set("line_ends_differ", ends_differ);
      return tl::make_unexpected(std::move(node));
    }
    content = replaced(content, *from, *to);
    if (content.size() > 2 * kMostEdited) return tl::make_unexpected(fault("large"));
  }
  return content;
}

}  // namespace

InsideReply write_inside(const std::string& path, const Node& request) {
  const std::string* content = text_member(request, "content");
  if (content == nullptr) return tl::make_unexpected(EINVAL);
  if (flag_member(request, "create_dirs")) {
    if (const int failed = make_directories(std::string(parent(path)))) {
      return tl::make_unexpected(failed);
    }
  }
  const auto lock = lock_for_change(path);
  if (!lock) return tl::make_unexpected(lock.error());
  const auto old = read_whole(path, kMostReplaced);
  if (!old && old.error() != ENOENT && old.error() != EACCES) {
    return tl::make_unexpected(old.error());
  }
  std::string before = old || old.error() != ENOENT ? "unknown" : "none";
  if (old && old->content.size() == old->version.size) before = sha256_hex(old->content);
  if (auto node = unexpected(request, before)) return std::move(*node);
  const bool minds = text_member(request, "expected_sha256") != nullptr;
  if (minds && !is_still(path, old)) return fault("changed");
  if (const int failed = put_file(path, *content, wanted_mode(request))) {
    return tl::make_unexpected(failed);
  }
  Node answer{NodeMap{}};
  answer.set("sha256", sha256_hex(*content)).set("previous_sha256", before);
  return answer;
}

InsideReply edit_inside(const std::string& path, const Node& request) {
  const Node* list = request.find("edits");
  const NodeList* edits = list != nullptr ? list->list() : nullptr;
  if (edits == nullptr) return tl::make_unexpected(EINVAL);
  const auto lock = lock_for_change(path);
  if (!lock) return tl::make_unexpected(lock.error());
  const auto old = read_whole(path, kMostEdited);
  if (!old) return tl::make_unexpected(old.error());
  if (old->content.size() != old->version.size) return fault("large");
  const std::string before = sha256_hex(old->content);
  if (auto node = unexpected(request, before)) return std::move(*node);
  const auto changed = edited(old->content, *edits);
  if (!changed) return changed.error();
  if (!flag_member(request, "dry_run")) {
    if (!is_still(path, old)) return fault("changed");
    if (const int failed = put_file(path, *changed, std::nullopt)) {
      return tl::make_unexpected(failed);
    }
  }
  Node answer{NodeMap{}};
  answer.set("sha256", sha256_hex(*changed))
      .set("previous_sha256", before)
      .set("diff", to_utf8(line_diff(old->content, *changed, kMostDiff)));
  return answer;
}

namespace {

// One page of a file: lines as text, or bytes as Base64.

constexpr std::size_t kMostLooked = std::size_t{64} << 20U;  // a longer file has no hash
constexpr std::size_t kMostBytes = 20'000;                   // more than any answer holds

// Where line `number`, counted from 1, begins.
std::size_t line_begin(std::string_view text, std::size_t number) {
  std::size_t at = 0;
  for (std::size_t line = 1; line < number && at < text.size(); ++line) {
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
  return at;
}

std::size_t count_lines(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return ends + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// Whole lines as far as they fit; a first line that does not is cut.
std::string_view lines_from(std::string_view text, std::size_t start, std::size_t most) {
  std::string_view rest = text.substr(line_begin(text, start));
  std::size_t end = 0;
  for (std::size_t line = 0; line < most && end < rest.size(); ++line) {
    const std::size_t newline = rest.find('\n', end);
    const std::size_t next = newline == std::string_view::npos ? rest.size() : newline + 1;
    if (next > kMostBytes) return rest.substr(0, end != 0 ? end : kMostBytes);
    end = next;
  }
  return rest.substr(0, end);
}

// What stands around a part of the file: whoever masks secrets must see those that the part cuts.
void add_context(Node& answer, const std::string& content, std::string_view part) {
  constexpr std::size_t kBefore = std::size_t{16} << 10U;  // a private key fits in
  constexpr std::size_t kBehind = std::size_t{4} << 10U;
  const auto begin = static_cast<std::size_t>(part.data() - content.data());
  const std::size_t end = begin + part.size();
  const std::size_t from = begin - std::min(begin, kBefore);
  answer.set("before", to_utf8(std::string_view(content).substr(from, begin - from)))
      .set("behind", to_utf8(std::string_view(content).substr(end, kBehind)));
}

}  // namespace

InsideReply read_inside(const std::string& path, const Node& request) {
  const auto file = read_whole(path, kMostLooked);
  if (!file) return tl::make_unexpected(file.error());
  const std::string& content = file->content;
  Node answer{NodeMap{}};
  const bool whole = content.size() == file->version.size;
  answer.set("size", file->version.size);
  if (whole) answer.set("sha256", sha256_hex(content)).set("lines", count_lines(content));
  const std::string* encoding = text_member(request, "encoding");
  if (encoding != nullptr && *encoding == "base64") {
    const std::size_t begin = std::min(number_or(request, "start_byte", 0), content.size());
    const std::size_t most = std::min(number_or(request, "most", kMostBytes), kMostBytes);
    const std::string_view part = std::string_view(content).substr(begin, most);
    // As text beside it: what is to be masked must be seen before it is shown in another form.
    answer.set("content", to_utf8(part)).set("base64", base64(part)).set("bytes", part.size());
    add_context(answer, content, part);
    return answer;
  }
  const std::string_view part =
      lines_from(content, std::max<std::size_t>(number_or(request, "start_line", 1), 1),
                 number_or(request, "max_lines", kMostBytes));
  if (is_binary(content)) answer.set("binary", true);
  answer.set("content", to_utf8(part)).set("valid", is_valid_utf8(part));
  add_context(answer, content, part);
  return answer;
}

namespace {

constexpr mode_t kNewFile = 0666;
constexpr mode_t kPermissions = 0777;

// Without waiting for a writer of a FIFO, and never through a link.
int read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  const auto bytes = read_bytes(file.get(), kMostRead);
  if (!bytes) return bytes.error();
  if (const int failed = write_bytes(STDOUT_FILENO, *bytes)) return failed;
  return write_bytes(STDERR_FILENO, std::to_string(status.st_size));
}

int write_file(const std::string& path, std::uint64_t size) {
  const auto content = read_bytes(STDIN_FILENO, size);
  if (!content) return content.error();
  if (content->size() != size) return EPIPE;
  return put_file(path, *content, std::nullopt);
}

// A file without a name, filled; or, where the file system has none of those, with a name of its
// own. Whoever is killed while filling it leaves nothing in the first case.
class NewFile {
 public:
  NewFile(int directory, mode_t mode)
      : directory_(directory),
        name_(".cordon-" + random_id()),
        file_(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode)) {
    if (file_.valid() || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return;
    file_ = Fd(::openat(directory, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    named_ = file_.valid();
  }
  ~NewFile() {
    if (named_) ::unlinkat(directory_, name_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] const Fd& file() const { return file_; }

  int become(const std::string& name) {
    if (!named_) {
      const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
      if (::linkat(AT_FDCWD, self.c_str(), directory_, name_.c_str(), AT_SYMLINK_FOLLOW) < 0) {
        return errno;
      }
      named_ = true;
    }
    if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) < 0) return errno;
    named_ = false;
    return 0;
  }

 private:
  int directory_;
  std::string name_;
  Fd file_;
  bool named_ = false;
};

int put_in_place(int directory, const std::string& name, std::string_view content,
                 std::optional<unsigned> mode) {
  const Fd file(
      ::openat(directory, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  if (const int failed = write_bytes(file.get(), content)) return failed;
  if (::ftruncate(file.get(), static_cast<off_t>(content.size())) < 0) return errno;
  if (mode && ::fchmod(file.get(), *mode & kPermissions) < 0) return errno;
  return ::fsync(file.get()) < 0 ? errno : 0;
}

}  // namespace

int put_file(const std::string& path, std::string_view content, std::optional<unsigned> mode) {
  const std::string normal = normalize(path);
  const std::string name(basename(normal));
  if (name.empty()) return EISDIR;
  const Fd directory(::open(std::string(parent(normal)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return errno;
  struct stat old {};
  const bool exists = ::fstatat(directory.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(old.st_mode)) return EISDIR;
  if (exists && !S_ISREG(old.st_mode)) return EINVAL;
  if (exists && ::faccessat(directory.get(), name.c_str(), W_OK, AT_EACCESS) < 0) return errno;
  // A rename would give somebody else's file to us.
  if (exists && old.st_uid != ::geteuid())
    return put_in_place(directory.get(), name, content, mode);
  NewFile made(directory.get(), exists ? old.st_mode & kPermissions : kNewFile);
  if (!made.file().valid()) {
    const int why = errno;
    return exists ? put_in_place(directory.get(), name, content, mode) : why;
  }
  if (const int failed = write_bytes(made.file().get(), content)) return failed;
  const mode_t wanted = mode ? *mode : old.st_mode;
  if ((exists || mode) && ::fchmod(made.file().get(), wanted & kPermissions) < 0) return errno;
  if (::fsync(made.file().get()) < 0) return errno;
  return made.become(name);
}

int file_inside(std::span<const char* const> words) {
  int failed = EINVAL;
  if (words.size() == 2 && std::string_view(words[0]) == "read") {
    failed = read_file(words[1]);
  } else if (words.size() == 3 && std::string_view(words[0]) == "write") {
    if (const auto size = parse_number(words[2])) failed = write_file(words[1], *size);
  }
  if (words.size() == 4 && words[0] == kAskInside) failed = ask_inside(words.subspan(1));
  if (failed != 0) write_bytes(STDERR_FILENO, std::strerror(failed));
  return failed;
}

}  // namespace cordon::mcp
