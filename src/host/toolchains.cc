#include <fcntl.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "host/walk.h"
#include "host/writable.h"

namespace cordon {
namespace {

constexpr std::array kTools = std::to_array<std::string_view>(
    {"bun",    "cabal",   "cargo",  "composer", "conda", "corepack", "deno",   "dotnet",
     "elixir", "erl",     "gem",    "ghc",      "go",    "gofmt",    "gradle", "java",
     "javac",  "julia",   "kotlin", "mvn",      "node",  "npm",      "npx",    "nvim",
     "opam",   "perl",    "php",    "pip",      "pip3",  "pipx",     "pnpm",   "poetry",
     "python", "python3", "ruby",   "ruff",     "rustc", "rustup",   "sbt",    "scala",
     "swift",  "tsc",     "uv",     "uvx",      "yarn",  "zig"});
static_assert(std::is_sorted(kTools.begin(), kTools.end()));

// A directory on PATH below a home, and the directories its programs need besides themselves.
struct HomeTool {
  std::string_view place;  // relative to the home; PATH entries at or below it count
  std::array<std::string_view, 2> roots;
};
constexpr std::array kHomeTools = std::to_array<HomeTool>({
    {".asdf", {".asdf", ""}},
    {".bun/bin", {".bun/bin", ""}},
    {".cabal/bin", {".cabal/bin", ""}},
    {".cargo/bin", {".cargo/bin", ".rustup"}},
    {".composer/vendor", {".composer/vendor", ""}},
    {".deno/bin", {".deno/bin", ""}},
    {".dotnet", {".dotnet", ""}},
    {".ghcup", {".ghcup", ""}},
    {".goenv", {".goenv", ""}},
    {".jenv", {".jenv", ""}},
    {".juliaup", {".juliaup", ".julia/juliaup"}},
    {".linuxbrew", {".linuxbrew", ""}},
    {".local/bin", {".local/bin", ""}},
    {".local/share/fnm", {".local/share/fnm", ""}},
    {".local/share/mise", {".local/share/mise", ""}},
    {".local/share/pipx", {".local/share/pipx", ""}},
    {".local/share/pnpm", {".local/share/pnpm", ""}},
    {".local/share/uv/python", {".local/share/uv/python", ""}},
    {".local/share/uv/tools", {".local/share/uv/tools", ""}},
    {".nodenv", {".nodenv", ""}},
    {".npm-global", {".npm-global", ""}},
    {".pyenv", {".pyenv", ""}},
    {".rbenv", {".rbenv", ""}},
    {".rustup", {".rustup", ""}},
    {".rvm", {".rvm", ""}},
    {".sdkman/candidates", {".sdkman/candidates", ""}},
    {".volta", {".volta", ""}},
    {".yarn/bin", {".yarn/bin", ""}},
    {"bin", {"bin", ""}},
    {"go/bin", {"go/bin", ""}},
});

// A prefix is known by what lies in it, so that no project or home is taken for one.
constexpr std::array kPrefixMarks = std::to_array<std::string_view>({
    "conda-meta",                       // conda, miniforge
    "pyvenv.cfg",                       // a virtual environment
    "lib/node_modules",                 // node
    "pkg/tool",                         // go
    "lib/modules",                      // a JDK since 9
    "jre/lib",                          // a JDK before that
    "lib/rustlib",                      // a rust toolchain
    "boot/plexus-classworlds.license",  // maven
    "init.d/readme.txt",                // gradle
    "Cellar",                           // homebrew
});

// Never handed over as a whole, relative to a home.
constexpr std::array kTooMuch = std::to_array<std::string_view>(
    {".aws", ".cache", ".cargo", ".config", ".docker", ".gnupg", ".julia", ".kube", ".local",
     ".local/share", ".local/state", ".ssh", "Desktop", "Documents", "Downloads", "snap"});

// What a run could write leads nowhere it likes. One run may write `home = DIR` into a
// `pyvenv.cfg`, or a link called `node`, below its project; if the next run followed them, it would
// be granted whatever the first one named. From such a place the search goes only to directories
// that are known by name (kHomeTools): where those are is not the run's to say.
class ToolchainSearch {
 public:
  ToolchainSearch(const Caller& caller, const std::vector<std::string>& writable)
      : caller_(caller), writable_(writable) {}

  std::vector<std::string> run() {
    const auto path = caller_.environment.find("PATH");
    if (path == caller_.environment.end()) return {};
    const std::vector<std::string_view> entries = split(path->second, ':');
    for (const std::string_view entry : entries)
      if (entry.starts_with('/') && !is_distribution(entry)) add_project_around(entry);
    for (const std::string_view entry : entries)
      if (entry.starts_with('/')) inspect_at(std::string(entry));
    return finish();
  }

 private:
  static bool is_distribution(std::string_view directory) {
    return contains("/usr", directory) || contains("/bin", directory) ||
           contains("/sbin", directory);
  }

  void inspect_at(const std::string& written) {
    if (!seen_.insert(written).second) return;
    if (is_distribution(written)) {
      // Programs of the distribution never lead to a home; administrators put links here.
      if (written == "/usr/local/bin") follow_links(written);
      return;
    }
    if (add_known(written) == Known::Complete) return;
    const Result<Canonical> place = canonicalize(written, "/", caller_);
    if (!place || place->kind != FileKind::Directory) return;
    if (led_by_run(written)) return (void)add_known(place->path, NamedBy::Run);
    if (!is_distribution(place->path)) add_roots_of(place->path);
    follow_links(place->path);
  }

  // A directory on PATH may lie in another project than this one, where a run could write as well:
  // its environment stays on PATH when the person goes elsewhere. A project is known by its
  // repository.
  void add_project_around(std::string_view directory) {
    const std::string written = normalize(directory);
    add_repository_above(written);
    const Result<Canonical> place = canonicalize(written, "/", caller_);
    if (place && place->path != written) add_repository_above(place->path);
  }

  void add_repository_above(std::string_view path) {
    for (std::string_view up = path; up != "/" && !run_writes(up); up = parent(up)) {
      if (std::ranges::find(caller_.homes, up) != caller_.homes.end()) return;
      if (!inspect_path(join(up, ".git"))) continue;
      writable_.emplace_back(up);
      return;
    }
  }

  [[nodiscard]] bool run_writes(std::string_view path) const {
    return std::ranges::any_of(writable_,
                               [&](const std::string& root) { return contains(root, path); });
  }

  // True if the way to `path` leaves a place that a run could write: by a link that it can have
  // made. What stays inside such a place is the run's already.
  bool led_by_run(const std::string& path) {
    if (writable_.empty()) return false;
    const TracedPath way = ways_.to(path);
    if (run_writes(way.end)) return false;
    return std::ranges::any_of(way.passed,
                               [&](const PassedPlace* place) { return run_writes(place->path); });
  }

  enum class Known {
    No,
    Partly,    // links in it may lead anywhere
    Complete,  // what its programs need is known
  };

  enum class NamedBy { Caller, Run };

  // By spelling alone; most directories on a PATH below a home are one of these. A run can only
  // name those that hold installed tools, not a person's own programs.
  Known add_known(std::string_view directory, NamedBy by = NamedBy::Caller) {
    Known result = Known::No;
    for (const std::string& home : caller_.homes) {
      if (home == "/" || directory == home || !contains(home, directory)) continue;
      const std::string_view below = directory.substr(home.size() + 1);
      for (const HomeTool& tool : kHomeTools) {
        if (!contains(tool.place, below)) continue;
        const bool open = tool.place == ".local/bin" || tool.place == "bin";
        if (open && by == NamedBy::Run) continue;
        result = open ? Known::Partly : Known::Complete;
        for (const std::string_view root : tool.roots)
          if (!root.empty()) add(join(home, root));
      }
    }
    return result;
  }

  // A tool on PATH that is a link needs what lies around its target.
  void follow_links(const std::string& directory) {
    const Fd fd = open_canonical(directory, O_RDONLY | O_DIRECTORY);
    if (!fd.valid() || !names_.read(fd.get())) return;
    std::vector<std::string> links;
    for (const DirectoryEntry& entry : names_.entries())
      if (entry.type == EntryType::Symlink && is_tool(entry.name))
        links.push_back(join(directory, entry.name));
    for (const std::string& link : links) {
      const Result<Canonical> target = canonicalize(link, "/", caller_);
      if (!target || target->kind != FileKind::Regular) continue;
      const std::string place(parent(target->path));
      if (place == directory || contains("/usr", place)) continue;
      if (led_by_run(link)) {
        add_known(place, NamedBy::Run);
      } else {
        add_roots_of(place);
      }
    }
  }

  static bool is_tool(std::string_view name) {
    if (std::binary_search(kTools.begin(), kTools.end(), name)) return true;
    return name.starts_with("python3.");
  }

  // `directory` is canonical and holds programs.
  void add_roots_of(const std::string& directory) {
    if (!examined_.insert(directory).second) return;
    const Known known = add_known(directory);
    if (known == Known::Complete) return;
    const auto rustup = caller_.environment.find("RUSTUP_HOME");
    if (rustup != caller_.environment.end() && rustup->second.starts_with('/') &&
        inspect_path(join(directory, "cargo")))
      add(normalize(rustup->second));
    if (known == Known::No) add(directory);
    add_prefix(directory);
  }

  void add_prefix(const std::string& directory) {
    const std::string prefix(parent(directory));
    if (prefix == "/" || !has_mark(prefix)) return;
    add(prefix);
    follow_virtual_environment(prefix);
  }

  static bool has_mark(const std::string& prefix) {
    const Fd fd = open_canonical(prefix, O_PATH | O_DIRECTORY);
    if (!fd.valid()) return false;
    for (const std::string_view mark : kPrefixMarks)
      if (inspect_name(fd.get(), std::string(mark))) return true;
    return false;
  }

  // The interpreter of a virtual environment lies where it was made from.
  void follow_virtual_environment(const std::string& prefix) {
    const auto text = read_regular(AT_FDCWD, join(prefix, "pyvenv.cfg"), 65536);
    if (!text) return;
    for (const std::string_view line : split(*text, '\n')) {
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      if (trimmed(line.substr(0, equals)) != "home") continue;
      const Result<Canonical> base =
          canonicalize(trimmed(line.substr(equals + 1)), prefix, caller_);
      if (!base || base->kind != FileKind::Directory || contains("/usr", base->path)) continue;
      if (run_writes(prefix)) {
        add_known(base->path, NamedBy::Run);
      } else {
        add_roots_of(base->path);
        follow_links(base->path);
      }
    }
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
  }

  void add(const std::string& path) {
    if (!tried_.insert(path).second) return;
    const Result<Canonical> place = canonicalize(path, "/", caller_);
    if (!place || place->kind != FileKind::Directory || is_too_much(place->path)) return;
    if (led_by_run(path)) return;
    roots_.insert(place->path);
  }

  [[nodiscard]] bool is_too_much(const std::string& path) const {
    if (path == "/" || is_system_directory(path) || path == "/tmp" || path == "/var/tmp")
      return true;
    for (const std::string* own :
         {&caller_.config_directory, &caller_.state_directory, &caller_.runtime_directory})
      if (!own->empty() && (contains(path, *own) || contains(*own, path))) return true;
    for (const std::string& home : caller_.homes) {
      if (contains(path, home)) return true;
      for (const std::string_view place : kTooMuch)
        if (contains(path, join(home, place))) return true;
      for (const std::string_view secret : {".ssh", ".gnupg", ".aws", ".kube", ".config"})
        if (contains(join(home, secret), path)) return true;
    }
    return false;
  }

  // Sorted, and nothing that lies inside another root.
  std::vector<std::string> finish() {
    std::vector<std::string> out;
    for (const std::string& root : roots_) {
      const bool inside = std::any_of(roots_.begin(), roots_.end(), [&](const std::string& other) {
        return other != root && contains(other, root);
      });
      if (!inside) out.push_back(root);
    }
    return out;
  }

  const Caller& caller_;
  std::vector<std::string> writable_;
  PathTrace ways_;
  DirectoryNames names_;
  std::set<std::string> seen_;
  std::set<std::string> examined_;
  std::set<std::string> tried_;
  std::set<std::string> roots_;
};

}  // namespace

std::vector<std::string> toolchain_roots(const Caller& caller,
                                         const std::vector<std::string>& writable) {
  return ToolchainSearch(caller, writable).run();
}

}  // namespace cordon
