#include "run/account.h"

#include <sys/stat.h>

#include <fcntl.h>
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
  if (!report.outcome && !report.error) return;
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
  if (of == AccountOf::Command) put(directory->get(), kLast, report.run_id + "\n");
}

Result<std::optional<KeptAccount>> read_account(const std::string& state_directory,
                                                const std::string& run) {
  const Fd directory = open_canonical(accounts_directory(state_directory), O_RDONLY | O_DIRECTORY);
  if (!directory.valid()) return std::nullopt;
  KeptAccount account;
  const auto last = read_regular(directory.get(), kLast, kMostAccount);
  const std::string newest = last ? last->substr(0, last->find('\n')) : std::string();
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
