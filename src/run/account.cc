#include "run/account.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "changes/manifest.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr const char* kLast = "last";
constexpr std::size_t kMostAccount = std::size_t{4} << 20U;
// More than kMostAccounts are reduced to kFewAccounts at once, so that not every run has to look.
constexpr std::size_t kMostAccounts = 200;
constexpr std::size_t kFewAccounts = 100;

std::string accounts_directory(const std::string& state_directory) {
  return join(state_directory, "accounts");
}

bool has_something_to_tell(const Report& report) {
  if (report.error || !report.reductions.empty() || !report.changes.empty()) return true;
  const Outcome& outcome = *report.outcome;
  const bool refused =
      std::ranges::any_of(outcome.connections, [](const Connection& one) { return !one.allowed; });
  return outcome.end != End(Exited{0}) || !outcome.denials.empty() || !outcome.handoff.empty() ||
         refused;
}

// Whole or not at all: a reader may come at any time.
void put(int directory, const std::string& name, const std::string& text) {
  const std::string unfinished = "." + name;
  const Fd file(::openat(directory, unfinished.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return;
  }
  ::renameat(directory, unfinished.c_str(), directory, name.c_str());
}

// Which run was the last one. Written over in place: a rename over a file makes ext4 write the new
// one to the disk first, at the end of every run. The lock keeps who reads from half of an id;
// where somebody holds it, the file is replaced.
void put_last(int directory, const std::string& run_id) {
  const std::string text = run_id + "\n";
  const Fd file(
      ::openat(directory, kLast, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) < 0) {
    return put(directory, kLast, text);
  }
  struct stat before {};
  if (::fstat(file.get(), &before) < 0 ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return;
  }
  if (before.st_size > static_cast<off_t>(text.size())) {
    (void)!::ftruncate(file.get(), static_cast<off_t>(text.size()));
  }
}

std::string last_run(int directory) {
  const Fd file(::openat(directory, kLast, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() || ::flock(file.get(), LOCK_SH) < 0) return {};
  const auto text = read_all(file.get(), kMostAccount);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

void forget_oldest_accounts(int directory) {
  DirectoryNames names;
  if (!names.read(directory) || names.entries().size() <= kMostAccounts) return;
  std::vector<std::pair<time_t, std::string>> files;
  for (const DirectoryEntry& entry : names.entries()) {
    struct stat status {};
    std::string name(entry.name);
    if (name != kLast && ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      files.emplace_back(status.st_mtime, std::move(name));
    }
  }
  std::ranges::sort(files);
  for (std::size_t i = 0; i + kFewAccounts < files.size(); ++i) {
    ::unlinkat(directory, files[i].second.c_str(), 0);
  }
}

}  // namespace

void keep_account(const std::string& state_directory, const Report& report, AccountOf of) {
  if (of == AccountOf::Own || (!report.outcome && !report.error)) return;
  const auto directory = open_private_directory(accounts_directory(state_directory));
  if (!directory) return;
  if (has_something_to_tell(report)) {
    Report account = report;
    account.policy_json.clear();
    if (account.outcome) {
      account.outcome->out.reset();
      account.outcome->err.reset();
    }
    forget_oldest_accounts(directory->get());
    put(directory->get(), report.run_id + ".json", account.json() + "\n");
  }
  if (of == AccountOf::Command) put_last(directory->get(), report.run_id);
}

Result<std::optional<KeptAccount>> read_account(const std::string& state_directory,
                                                const std::string& run) {
  const Fd directory = open_canonical(accounts_directory(state_directory), O_RDONLY | O_DIRECTORY);
  if (!directory.valid()) return std::nullopt;
  KeptAccount account;
  const std::string newest = last_run(directory.get());
  account.run_id = run == kLast ? newest : run;
  if (!is_run_id(account.run_id)) return std::nullopt;
  const auto text = read_regular(directory.get(), account.run_id + ".json", kMostAccount);
  if (!text && account.run_id != newest) return std::nullopt;
  if (text) {
    CORDON_TRY(report, read_json(*text, account.run_id + ".json"));
    account.report = std::move(report);
  }
  return account;
}

}  // namespace cordon
