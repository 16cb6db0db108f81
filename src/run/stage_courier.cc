#include "run/stage_courier.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/take.h"
#include "host/inspect.h"
#include "host/walk.h"
#include "run/object_dialogue.h"

namespace cordon {
namespace {

constexpr std::uint64_t kCourierWallMs = 300'000;
constexpr std::uint64_t kCourierMemory = std::uint64_t{1024} << 20U;
constexpr std::uint64_t kCourierScratch = std::uint64_t{768} << 20U;
constexpr std::uint64_t kCourierOutput = std::uint64_t{512} << 20U;
constexpr std::uint64_t kCourierProcesses = 32;
constexpr std::uint64_t kCourierFiles = 1024;
// What a run may have added: as objects, and as commits and trees that are judged.
constexpr std::uint64_t kMostObjectBytes = std::uint64_t{256} << 20U;
constexpr std::size_t kMostObjectFiles = 200'000;
constexpr std::size_t kMostAnswerBytes = std::size_t{192} << 20U;
constexpr std::size_t kTarBlock = 512;
constexpr std::size_t kPackHeader = 12;

// $1: the host's objects; $2: the same as an alternate. What was handed in lies in /tmp/g.
constexpr const char* kPackScript = R"(set -e
mkdir /tmp/g && cd /tmp/g && tar -xf -
mkdir -p objects refs
export GIT_DIR=/tmp/g GIT_OBJECT_DIRECTORY="$1" GIT_ALTERNATE_OBJECT_DIRECTORIES=/tmp/g/objects
exec git --no-replace-objects pack-objects --revs --stdout -q --delta-base-offset < revs
)";

// Prints the length of the index and the index, then objects as `git cat-file --batch` does.
constexpr const char* kCheckScript = R"(set -e
mkdir /tmp/g && cd /tmp/g && tar -xf -
mkdir -p objects/pack refs
export GIT_DIR=/tmp/g GIT_ALTERNATE_OBJECT_DIRECTORIES="$2"
size=0
if [ -s in.pack ]; then
  mv in.pack objects/pack/pack-1.pack
  git index-pack --strict --threads=1 -o objects/pack/pack-1.idx objects/pack/pack-1.pack > /dev/null
  size=$(($(wc -c < objects/pack/pack-1.idx)))
fi
git rev-list --objects --quiet --stdin < revs
echo "$size"
[ "$size" = 0 ] || cat objects/pack/pack-1.idx
changed() {
  while read -r old new old_id new_id rest; do
    [ "$old" != :040000 ] || echo "$old_id"
    case $new in 040000|120000) echo "$new_id";; esac
  done
}
trees() {
  git rev-parse -q --verify "$2^{commit}"
  git rev-parse -q --verify "$2^{tree}"
  if [ "$1" = - ]; then
    git ls-tree -r -t --full-tree "$2" | while read -r mode kind id rest; do
      case $mode in 040000|120000) echo "$id";; esac
    done
  else
    git rev-parse -q --verify "$1^{commit}"
    git rev-parse -q --verify "$1^{tree}"
    git diff-tree -r -t --raw --no-renames --no-abbrev "$1" "$2" | changed
  fi
}
{
  cat tips
  git rev-list --stdin < revs
  while read -r old new; do trees "$old" "$new"; done < pairs
  while read -r tip; do
    { echo "$tip"; cat nots; } | git rev-list --first-parent --boundary --stdin |
      while read -r id; do case $id in -*) trees "${id#-}" "$tip";; esac; done
  done < tips
} | sort -u | git cat-file --batch
)";

// Writes an archive as tar(1) reads it, of plain files whose names are short.
class Tar {
 public:
  explicit Tar(int file) : file_(file) {}

  void add(const std::string& name, std::string_view content) {
    begin(name, content.size());
    put(content);
    pad(content.size());
  }
  // The content of a file, of which exactly `size` bytes are taken.
  void add_file(const std::string& name, int from, std::uint64_t size) {
    begin(name, size);
    std::array<char, 65536> buffer;
    for (std::uint64_t left = size; left > 0 && error_ == 0;) {
      const std::size_t want = std::min<std::uint64_t>(left, buffer.size());
      const ssize_t got = ::read(from, buffer.data(), want);
      if (got <= 0) {
        error_ = got < 0 ? errno : EIO;
        return;
      }
      put({buffer.data(), static_cast<std::size_t>(got)});
      left -= static_cast<std::uint64_t>(got);
    }
    pad(size);
  }
  // 0 or errno.
  int end() {
    put(std::string(2 * kTarBlock, '\0'));
    if (error_ == 0 && ::lseek(file_, 0, SEEK_SET) != 0) error_ = errno;
    return error_;
  }

 private:
  void put(std::string_view bytes) {
    if (error_ == 0) error_ = write_whole(file_, bytes);
  }
  void pad(std::uint64_t size) {
    put(std::string((kTarBlock - size % kTarBlock) % kTarBlock, '\0'));
  }
  void begin(const std::string& name, std::uint64_t size) {
    std::array<char, kTarBlock> head{};
    std::memcpy(head.data(), name.data(), std::min<std::size_t>(name.size(), 99));
    (void)std::snprintf(head.data() + 100, 8, "%07o", 0644U);
    (void)std::snprintf(head.data() + 108, 8, "%07o", 0U);
    (void)std::snprintf(head.data() + 116, 8, "%07o", 0U);
    (void)std::snprintf(head.data() + 124, 12, "%011llo", static_cast<unsigned long long>(size));
    (void)std::snprintf(head.data() + 136, 12, "%011o", 0U);
    std::memset(head.data() + 148, ' ', 8);
    head[156] = '0';
    std::memcpy(head.data() + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (const char c : head) sum += static_cast<unsigned char>(c);
    (void)std::snprintf(head.data() + 148, 8, "%06o", sum);
    head[155] = ' ';
    put({head.data(), head.size()});
  }

  int file_;
  int error_ = 0;
};

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Hands over the objects that a run wrote: files with the names of objects, and nothing else.
class LayerObjects {
 public:
  LayerObjects(Tar& tar, GitHash hash) : tar_(tar), rest_(hash == GitHash::Sha1 ? 38 : 62) {}

  Result<void> add(const std::string& layer) {
    const KeptDirectory git = KeptDirectory::open(AT_FDCWD, layer);
    const KeptDirectory objects =
        git.valid() ? KeptDirectory::open(git.get(), "objects") : KeptDirectory();
    if (!objects.valid()) return {};
    for (const std::string& name : names_in_layer(objects.get())) {
      const bool loose = name.size() == 2 && is_hex(name);
      if (!loose && name != "pack") continue;
      const KeptDirectory below = KeptDirectory::open(objects.get(), name);
      if (!below.valid()) continue;
      for (const std::string& file : names_in_layer(below.get())) {
        if (loose ? file.size() == rest_ && is_hex(file) : is_pack(file)) {
          CORDON_CHECK(add_object(below.get(), file, "objects/" + name + "/" + file));
        }
      }
    }
    return {};
  }

 private:
  static std::vector<std::string> names_in_layer(int directory) {
    DirectoryNames names;
    std::vector<std::string> found;
    if (!names.read(directory)) return found;
    for (const DirectoryEntry& entry : names.entries()) found.emplace_back(entry.name);
    return found;
  }

  static bool is_pack(std::string_view name) {
    constexpr std::string_view kPrefix = "pack-";
    if (!name.starts_with(kPrefix)) return false;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return false;
    const std::string_view id = name.substr(kPrefix.size(), dot - kPrefix.size());
    const std::string_view kind = name.substr(dot);
    return (id.size() == 40 || id.size() == 64) && is_hex(id) &&
           (kind == ".pack" || kind == ".idx");
  }

  Result<void> add_object(int directory, const std::string& name, const std::string& as) {
    const Fd file = open_kept_file(directory, name);
    const auto seen = file.valid() ? inspect_fd(file.get()) : std::nullopt;
    // An empty one stands for an object that was removed (changes/layer_marks.h), or is none.
    if (!seen || seen->kind != FileKind::Regular || seen->size == 0) return {};
    bytes_ += seen->size;
    if (++files_ > kMostObjectFiles || bytes_ > kMostObjectBytes) {
      return fail(setup_error("the run added more than " + format_size(kMostObjectBytes) + " or " +
                                  std::to_string(kMostObjectFiles) + " files of objects",
                              EFBIG, "commit outside: the work tree arrives"));
    }
    tar_.add_file(as, file.get(), seen->size);
    return {};
  }

  Tar& tar_;
  std::size_t rest_;
  std::uint64_t bytes_ = 0;
  std::size_t files_ = 0;
};

// A path in the form that git reads from an environment variable that holds several.
std::string as_alternate(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string config_of(GitHash hash) {
  std::string text = "[core]\n\tbare = true\n\tcommitGraph = false\n\tmultiPackIndex = false\n";
  text += hash == GitHash::Sha256 ? "\trepositoryformatversion = 1\n"
                                    "[extensions]\n\tobjectFormat = sha256\n"
                                  : "\trepositoryformatversion = 0\n";
  return text +
         "[pack]\n\tthreads = 1\n\twindowMemory = 64m\n\tuseBitmaps = false\n"
         "\twriteReverseIndex = false\n";
}

// Everything that both are handed.
void add_common(Tar& tar, const WantedCommits& wanted) {
  std::string tips;
  std::string nots;
  std::string pairs;
  for (const std::string& id : wanted.tips) tips += id + "\n";
  for (const std::string& id : wanted.known) nots += "^" + id + "\n";
  for (const WantedCommits::Pair& pair : wanted.pairs) {
    pairs += (pair.before.empty() ? "-" : pair.before) + " " + pair.after + "\n";
  }
  tar.add("HEAD", "ref: refs/heads/none\n");
  tar.add("config", config_of(wanted.hash));
  tar.add("tips", tips);
  tar.add("nots", nots);
  tar.add("revs", tips + nots);
  tar.add("pairs", pairs);
  // A clone that is cut off somewhere is complete from there on.
  const Fd git = open_canonical(wanted.git_directory, O_PATH | O_DIRECTORY);
  const auto shallow =
      git.valid() ? read_regular(git.get(), "shallow", kMostAnswerBytes) : std::nullopt;
  if (shallow) tar.add("shallow", *shallow);
}

Result<Fd> own_file(const std::string& directory) {
  Fd file(::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  const std::string name = join(directory, "in");
  file = Fd(::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(setup_error("cannot write in " + quote(directory), errno));
  (void)::unlink(name.c_str());
  return file;
}

Result<void> written(int error, const std::string& directory) {
  if (error == 0) return {};
  return fail(setup_error("cannot write in " + quote(directory), error));
}

}  // namespace

Result<void> StageCourier::run(const WantedCommits& wanted, const char* script, int in,
                               const std::function<void(std::string_view)>& hear) {
  const std::string objects = join(wanted.git_directory, "objects");
  RunInput input = own_git_input(outer_, objects);
  input.policy.fs.scratch = kCourierScratch;
  input.policy.limits.wall_ms = kCourierWallMs;
  input.policy.limits.memory = kCourierMemory;
  input.policy.limits.output_total = kCourierOutput;
  input.policy.limits.pids = kCourierProcesses;
  input.policy.limits.files = kCourierFiles;
  input.argv = {"/bin/sh", "-c", script, "cordon", objects, as_alternate(objects)};
  input.streams.in = Input::drawn_from(in);
  input.streams.out = Output::heard_by([&](OutputFrom from, std::string_view bytes) {
    if (from == OutputFrom::Out) hear(bytes);
  });
  const Report report = run_contained(input, caller_);
  if (report.outcome) {
    const std::vector<Quarantined>& handoff = report.outcome->handoff;
    recovered_.insert(recovered_.end(), handoff.begin(), handoff.end());
  }
  const std::string failure = failure_of_git(report);
  if (failure.empty()) return {};
  return fail(setup_error(failure, 0));
}

// Leaves wanted.into/pack. False: there is nothing in it, since the host has everything.
Result<bool> StageCourier::pack(const WantedCommits& wanted) {
  CORDON_TRY(layer, own_file(wanted.into));
  Tar tar(layer.get());
  add_common(tar, wanted);
  CORDON_CHECK(LayerObjects(tar, wanted.hash).add(wanted.layer));
  CORDON_CHECK(written(tar.end(), wanted.into));
  const std::string path = join(wanted.into, "pack");
  const Fd pack(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!pack.valid()) return fail(setup_error("cannot write " + quote(path), errno));
  int error = 0;
  std::uint64_t size = 0;
  CORDON_CHECK(run(wanted, kPackScript, layer.get(), [&](std::string_view bytes) {
    size += bytes.size();
    if (size > 2 * kMostObjectBytes) error = EFBIG;
    if (error == 0) error = write_whole(pack.get(), bytes);
  }));
  CORDON_CHECK(written(error, wanted.into));
  std::array<char, kPackHeader> head{};
  if (::pread(pack.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()) ||
      std::memcmp(head.data(), "PACK", 4) != 0) {
    return fail(setup_error("git made no pack of the commits", 0));
  }
  // The last word of the head is the number of objects.
  return std::any_of(head.begin() + 8, head.end(), [](char c) { return c != '\0'; });
}

// Leaves wanted.into/idx, if there is a pack.
Result<GitObjects> StageCourier::check(const WantedCommits& wanted, bool has_pack) {
  CORDON_TRY(in, own_file(wanted.into));
  Tar tar(in.get());
  add_common(tar, wanted);
  if (has_pack) {
    const Fd pack(::open(join(wanted.into, "pack").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const auto seen = pack.valid() ? inspect_fd(pack.get()) : std::nullopt;
    if (!seen) return fail(setup_error("cannot read the pack", errno));
    tar.add_file("in.pack", pack.get(), seen->size);
  }
  CORDON_CHECK(written(tar.end(), wanted.into));
  std::string answer;
  bool flood = false;
  CORDON_CHECK(run(wanted, kCheckScript, in.get(), [&](std::string_view bytes) {
    flood = flood || answer.size() + bytes.size() > kMostAnswerBytes;
    if (!flood) answer.append(bytes);
  }));
  const std::size_t line = answer.find('\n');
  const auto size = line != std::string::npos
                        ? parse_number(std::string_view(answer).substr(0, line))
                        : std::nullopt;
  if (flood || !size || *size > answer.size() - line - 1 || has_pack != (*size != 0)) {
    return fail(setup_error("git gave an answer that is none, or one that is too long", 0));
  }
  const std::string_view rest = std::string_view(answer).substr(line + 1);
  if (has_pack) {
    const Fd idx(::open(join(wanted.into, "idx").c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    CORDON_CHECK(
        written(idx.valid() ? write_whole(idx.get(), rest.substr(0, *size)) : errno, wanted.into));
  }
  GitObjects objects;
  if (!objects.add_batch(rest.substr(*size))) {
    return fail(setup_error("git named an object that is not what its name says", 0));
  }
  return objects;
}

Result<BroughtCommits> StageCourier::bring(const WantedCommits& wanted) {
  CORDON_TRY(has_pack, pack(wanted));
  CORDON_TRY(objects, check(wanted, has_pack));
  return BroughtCommits{has_pack, std::move(objects)};
}

}  // namespace cordon
