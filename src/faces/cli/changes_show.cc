// cordon changes list, show and diff: what a run held back, as people and programs read it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/line_diff.h"
#include "changes/stage.h"
#include "changes/stage_git_list.h"
#include "changes/take.h"
#include "faces/cli/changes_asked.h"
#include "faces/cli/console.h"
#include "faces/cli/html_page.h"
#include "faces/cli/pager.h"
#include "faces/cli/verbs.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

// The changes of a run as one page for a browser: the list, then each difference. It loads nothing
// and runs nothing; every text of the run is escaped.
class DiffPage {
 public:
  explicit DiffPage(std::string_view run) : run_(run) {}
  struct Row {
    std::string path;
    std::string change;
    std::string state;
    std::string size;
    std::string reason;
  };
  void add(const Row& row);
  // In the unified form (changes/line_diff.h).
  void add_difference(std::string_view path, std::string_view diff);
  [[nodiscard]] std::string text() const;

 private:
  std::string run_;
  std::vector<std::vector<HtmlPage::Markup>> rows_;
  std::string differences_;
};

std::string_view mark_of(std::string_view line) {
  if (line.starts_with("@@") || line.starts_with("+++ ") || line.starts_with("--- ")) return "i";
  if (line.starts_with('+')) return "ins";
  if (line.starts_with('-')) return "del";
  return {};
}

void DiffPage::add(const Row& row) {
  rows_.push_back({HtmlPage::element("code", row.path), HtmlPage::text_of(row.change),
                   HtmlPage::text_of(row.state), HtmlPage::text_of(row.size),
                   HtmlPage::text_of(row.reason)});
}

void DiffPage::add_difference(std::string_view path, std::string_view diff) {
  differences_ +=
      "<details open>" + HtmlPage::element("summary", path).text() + "<pre tabindex=\"0\">";
  for (std::string_view rest = diff; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const std::string_view mark = mark_of(line);
    const std::string text = HtmlPage::lines_of(line).text();
    if (mark.empty()) {
      differences_ += text;
    } else {
      const std::string tag(mark);
      differences_ += "<" + tag + ">" + text + "</" + tag + ">";
    }
    differences_ += '\n';
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  differences_ += "</pre></details>\n";
}

std::string DiffPage::text() const {
  HtmlPage page("Changes of run " + run_);
  page.table("What the run changed", {"Path", "Change", "State", "Size", "Reason"}, rows_);
  page.add(HtmlPage::Markup(differences_));
  return page.text();
}

constexpr std::size_t kMostShown = std::size_t{64} * 1024 * 1024;

// Of a file, or of everything in a directory, up to a bound.
std::uint64_t size_at(int directory, const std::string& name, int depth) {
  const auto seen = inspect_name(directory, name);
  if (!seen || depth > 16) return 0;
  if (seen->kind != FileKind::Directory) return seen->size;
  const Fd fd(::openat(directory, name.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  DirectoryNames names;
  if (!fd.valid() || !names.read(fd.get())) return 0;
  std::uint64_t sum = 0;
  for (const DirectoryEntry& entry : names.entries())
    sum += size_at(fd.get(), std::string(entry.name), depth + 1);
  return sum;
}

std::uint64_t size_of(const std::string& path) {
  if (path.empty()) return 0;
  const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
  return above.valid() ? size_at(above.get(), std::string(basename(path)), 0) : 0;
}

// One side of a comparison.
struct Content {
  enum class Kind { Absent, Text, Unread };
  Kind kind = Kind::Absent;
  std::string text;  // or why it was not read
  bool operator==(const Content&) const = default;
};

Content content_of(const std::string& path) {
  const auto unread = [](std::string why) {
    return Content{Content::Kind::Unread, std::move(why)};
  };
  if (path.empty()) return {};
  const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
  const auto is_absent = [] { return errno == ENOENT || errno == ENOTDIR; };
  if (!above.valid()) return is_absent() ? Content() : unread("its directory cannot be opened");
  const std::string name(basename(path));
  const auto seen = inspect_name(above.get(), name);
  if (!seen) return is_absent() ? Content() : unread("it cannot be looked at");
  if (seen->symlink) {
    const auto target = read_link(above.get(), name);
    if (!target) return unread("the link cannot be read");
    return {Content::Kind::Text, "-> " + *target + "\n"};
  }
  if (seen->kind == FileKind::Directory) return unread("a directory");
  if (seen->kind != FileKind::Regular) return unread("no regular file");
  if (seen->size > kMostShown) return unread("larger than " + format_size(kMostShown));
  auto text = read_regular(above.get(), name, kMostShown);
  if (!text) return unread("it cannot be read");
  return {Content::Kind::Text, std::move(*text)};
}

bool is_directory(const std::string& path) {
  const auto seen = path.empty() ? std::nullopt : inspect_path(path);
  return seen && seen->kind == FileKind::Directory;
}

// The files of one record: itself, or everything in the directory that it is.
struct Version {
  std::string path;
  std::string kept;
};
void add_versions(const std::string& path, const std::string& kept,
                  std::vector<Version>& versions) {
  if (!is_directory(kept)) return versions.push_back({path, kept});
  const Fd fd = open_canonical(kept, O_RDONLY | O_DIRECTORY);
  DirectoryNames names;
  if (!fd.valid() || !names.read(fd.get())) return;
  std::vector<std::string> sorted;
  for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
  std::ranges::sort(sorted);
  for (const std::string& name : sorted) add_versions(join(path, name), join(kept, name), versions);
}

// In the list of a stage what is in a directory has entries of its own, and a FIFO has no content.
bool has_content(const ChangeRecord& record) {
  const auto seen = inspect_path(record.kept);
  return seen && (seen->symlink || seen->kind == FileKind::Regular);
}

std::vector<Version> versions_of(const AskedChanges& asked,
                                 const std::vector<ChangeRecord>& records) {
  const bool staged = asked.manifest->mode == WriteMode::Staged;
  std::vector<Version> versions;
  for (const ChangeRecord& record : records) {
    if (is_git_record(record)) continue;
    if (staged && !record.kept.empty() && !has_content(record)) continue;
    if (record.state == Change::State::Discarded || record.state == Change::State::Lost) continue;
    if (record.kept.empty()) {
      if (record.change == Change::Kind::Deleted) versions.push_back({record.path, {}});
      continue;
    }
    add_versions(record.path, record.kept, versions);
  }
  return versions;
}

// At a terminal what is new and what is gone differ at a glance; elsewhere the text is as it is.
std::string with_colours(const std::string& diff, int terminal) {
  std::string text;
  for (const std::string_view line : split(diff, '\n')) {
    Tint tint = Tint::Plain;
    if (line.starts_with("@@") || line.starts_with("+++ ") || line.starts_with("--- ")) {
      tint = Tint::Quiet;
    } else if (line.starts_with('+')) {
      tint = Tint::Good;
    } else if (line.starts_with('-')) {
      tint = Tint::Bad;
    }
    text.append(tinted(terminal, tint, line)).append("\n");
  }
  // The last line ends with a newline, behind which there is nothing.
  text.pop_back();
  return text;
}

std::string until(const std::string& day) {
  return day.empty() ? std::string() : ", removed on " + day + " by [keep] days";
}

// Stages of other runs that wait: without [keep] nothing removes them unasked.
std::string other_stages(const AskedChanges& asked) {
  std::string text;
  const auto manifests = read_manifests(asked.handoff);
  if (!manifests) return text;
  for (const Manifest& manifest : *manifests) {
    if (manifest.mode != WriteMode::Staged || manifest.run_id == asked.manifest->run_id) continue;
    const auto waiting = std::ranges::count_if(manifest.records, [](const ChangeRecord& record) {
      return record.state == Change::State::Held || record.state == Change::State::Conflict;
    });
    if (waiting == 0 || !continued_by(manifest, asked.caller).empty()) continue;
    text += "also waiting: run " + manifest.run_id + ", " + std::to_string(waiting) +
            (waiting == 1 ? " change, " : " changes, ") + format_size(stage_size(manifest.stage)) +
            until(removal_day(asked, manifest.run_id)) + "\n";
  }
  return text;
}

// What no manifest speaks of: no verb can take it, so the command that does is told.
std::string unnoted_lines(const AskedChanges& asked) {
  std::string text;
  for (const Unnoted& one : asked.unnoted) {
    text += "not noted: run " + one.run_id + " moved away " +
            (one.path.empty() ? "a protected file" : quote(one.path)) +
            " and could not write it down; look at it, then take it";
    const bool relative = !one.path.starts_with('/');
    if (relative) text += " in the directory that the run was started in";
    const std::string to = one.path.empty() ? std::string("PATH") : shell_word(one.path);
    text += ": mv -n " + shell_word(one.kept) + " " + to + "\n";
  }
  return text;
}

// A layer does not tell a rename from a removal and a new file. For people the two are paired: what
// waits as deleted is still on the host, and can be compared.
class Renames {
 public:
  explicit Renames(const std::vector<ChangeRecord>& records) {
    for (const ChangeRecord& record : records) {
      if (record.change != Change::Kind::Deleted || record.state != Change::State::Held) continue;
      const auto seen = inspect_path(record.path);
      if (!seen || seen->kind != FileKind::Regular || seen->size == 0) continue;
      if (seen->size <= kLargest && deleted_.size() < kMost) {
        deleted_.emplace(seen->size, record.path);
      }
    }
  }

  // The path that the file had, if it is one that was renamed; each is found once.
  std::string of(const ChangeRecord& record) {
    if (record.change != Change::Kind::Added || deleted_.empty()) return {};
    const auto seen = inspect_path(record.kept);
    if (!seen || seen->kind != FileKind::Regular) return {};
    const auto [first, last] = deleted_.equal_range(seen->size);
    for (auto one = first; one != last; ++one) {
      const auto content = content_of(record.kept);
      if (content.kind != Content::Kind::Text || content_of(one->second) != content) continue;
      std::string path = one->second;
      deleted_.erase(one);
      return path;
    }
    return {};
  }

 private:
  static constexpr std::size_t kMost = 1000;
  static constexpr std::uint64_t kLargest = std::uint64_t{1024} * 1024;
  std::multimap<std::uint64_t, std::string> deleted_;  // by size
};

// How the run's version differs from the host's; empty if it does not. What cannot be compared is
// told: a difference that is not shown must not look like none.
std::string difference_of(const Version& version) {
  const Content host = content_of(version.path);
  const Content run = content_of(version.kept);
  const auto name_of_side = [&](const Content& side) {
    return side.kind == Content::Kind::Absent ? std::string("/dev/null") : version.path;
  };
  for (const Content* side : {&run, &host}) {
    if (side->kind != Content::Kind::Unread) continue;
    return "--- " + sanitize(name_of_side(host)) + "\n+++ " + sanitize(name_of_side(run)) +
           "\nnot compared: " + (side == &run ? "the run's version: " : "the host's version: ") +
           side->text + "\n";
  }
  return line_diff(host.text, run.text, name_of_side(host), name_of_side(run));
}

int say_page(const AskedChanges& asked, const std::vector<ChangeRecord>& records,
             const std::vector<Version>& versions) {
  DiffPage page(asked.manifest->run_id);
  const std::vector<Change> changes = changes_of(records, asked.caller.cwd);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    page.add({changes[i].path, std::string(name_of(changes[i].change)),
              std::string(name_of(changes[i].state)),
              records[i].kept.empty() ? "-" : format_size(size_of(records[i].kept)),
              changes[i].reason});
  }
  for (const Version& version : versions) {
    if (const std::string diff = difference_of(version); !diff.empty()) {
      page.add_difference(version.path, diff);
    }
  }
  return say_answer(page.text()) ? kAnswerYes : kAnswerError;
}

Pager::Use pager_for(const Arguments& arguments) {
  return arguments.has(FlagId::NoPager) ? Pager::Use::Never : Pager::Use::AtTerminal;
}

}  // namespace

int verb_changes_list(const Arguments& arguments) {
  const auto asked = ask_changes(arguments, AskedFor::Showing);
  if (!asked) return answer_error(asked.error());
  const std::vector<ChangeRecord> records = selected(*asked);
  if (records.empty() && asked->unnoted.empty()) return answer_nothing(arguments, *asked);
  if (arguments.has(FlagId::Json))
    return say_answer(changes_json(*asked)) ? kAnswerYes : kAnswerError;
  if (records.empty()) return say_answer(unnoted_lines(*asked)) ? kAnswerYes : kAnswerError;
  TextTable table({{"PATH"}, {"CHANGE"}, {"STATE"}, {"SIZE", Align::Right}, {"REASON"}});
  const std::vector<Change> changes = changes_of(records, asked->caller.cwd);
  const std::string& cwd = asked->caller.cwd;
  const auto below_here = [&](const std::string& path) {
    return contains(cwd, path) && path != cwd ? path.substr(cwd == "/" ? 1 : cwd.size() + 1) : path;
  };
  Renames renames(asked->manifest->mode == WriteMode::Staged ? records
                                                             : std::vector<ChangeRecord>());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    const std::uint64_t size = size_of(records[i].kept);
    std::string reason = change.reason;
    if (const std::string from = renames.of(records[i]); !from.empty()) {
      reason += (reason.empty() ? "renamed from " : ", renamed from ") + below_here(from);
    }
    table.add({change.path, std::string(name_of(change.change)), std::string(name_of(change.state)),
               records[i].kept.empty() ? "-" : format_size(size), reason});
  }
  std::string head = "run " + asked->manifest->run_id;
  if (asked->manifest->mode == WriteMode::Staged) {
    head += ", staged, " + format_size(stage_size(asked->manifest->stage));
  }
  head += until(removal_day(*asked, asked->manifest->run_id)) + "\n";
  if (asked->manifest->incomplete) {
    head += "the machine went down during this run: files may lack their end\n";
  }
  std::string others = other_stages(*asked) + unnoted_lines(*asked);
  if (const auto columns = columns_of(STDOUT_FILENO)) {
    head = wrapped(head, *columns, 2);
    others = wrapped(others, *columns, 2);
  }
  return say_answer(head + table.text_for(STDOUT_FILENO) + others) ? kAnswerYes : kAnswerError;
}

int verb_changes_show(const Arguments& arguments) {
  const auto asked = ask_changes(arguments, AskedFor::Showing);
  if (!asked) return answer_error(asked.error());
  const std::vector<ChangeRecord> records = selected(*asked);
  if (records.empty()) return answer_nothing(arguments, *asked);
  if (arguments.has(FlagId::Json))
    return say_answer(changes_json(*asked)) ? kAnswerYes : kAnswerError;
  const std::vector<Version> versions = versions_of(*asked, records);
  if (versions.empty()) return answer_nothing(arguments, *asked);
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  Pager pager(pager_for(arguments));
  for (const Version& version : versions) {
    // At a terminal with the text, which a pager may show; else standard output has the text alone.
    const auto tell = [&](const std::string& line) {
      if (terminal) return pager.say(line);
      say(line);
      return true;
    };
    if (versions.size() > 1 && !tell("==> " + sanitize(version.path) + "\n")) break;
    if (version.kept.empty()) {
      if (!tell("cordon: the run deleted " + quote(version.path) + "\n")) break;
      continue;
    }
    const Content content = content_of(version.kept);
    if (content.kind != Content::Kind::Text) {
      return answer_error(setup_error("cannot show the run's version of " + quote(version.path) +
                                          ": " +
                                          (content.text.empty() ? "it is gone" : content.text),
                                      0, "it lies in " + quote(version.kept)));
    }
    // Who leaves a pager has read enough.
    if (!pager.say(terminal ? sanitize_lines(content.text) : content.text))
      return pager.is_started() ? kAnswerYes : kAnswerError;
  }
  return kAnswerYes;
}

int verb_changes_diff(const Arguments& arguments) {
  const auto asked = ask_changes(arguments, AskedFor::Showing);
  if (!asked) return answer_error(asked.error());
  const std::vector<ChangeRecord> records = selected(*asked);
  if (records.empty()) return answer_nothing(arguments, *asked);
  if (arguments.has(FlagId::Json))
    return say_answer(changes_json(*asked)) ? kAnswerYes : kAnswerError;
  const std::vector<Version> versions = versions_of(*asked, records);
  if (arguments.has(FlagId::Html)) return say_page(*asked, records, versions);
  std::size_t next = 0;
  std::string first;
  while (first.empty() && next < versions.size()) first = difference_of(versions[next++]);
  if (first.empty()) return answer_nothing(arguments, *asked);
  Pager pager(pager_for(arguments));
  bool read_on = pager.say(with_colours(first, pager.terminal()));
  for (; read_on && next < versions.size(); ++next) {
    const std::string diff = difference_of(versions[next]);
    if (!diff.empty()) read_on = pager.say(with_colours(diff, pager.terminal()));
  }
  return read_on || pager.is_started() ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
