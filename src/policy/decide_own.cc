#include "policy/decide_own.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "policy/own_places.h"

namespace cordon {
namespace {

using Maybe = std::optional<Verdict>;

// What is inside at a place of the sandbox's own, and how it may be used.
class OwnPlace {
 public:
  OwnPlace(const Effective& effective, const HostFacts& facts, const Caller& caller, Access access,
           std::string_view path)
      : effective_(effective), facts_(facts), caller_(caller), access_(access), path_(path) {}

  [[nodiscard]] Maybe verdict() const {
    if (auto found = by_home()) return found;
    if (auto found = by_scratch()) return found;
    if (contains("/proc", path_)) return by_proc();
    if (auto found = by_device()) return found;
    if (auto found = by_written_file()) return found;
    return by_way_to_something();
  }

 private:
  [[nodiscard]] Verdict yes(std::string rule, std::string reason) const {
    return {true, std::move(rule), std::move(reason), {}};
  }
  [[nodiscard]] Verdict no(std::string rule, std::string reason, std::string change = {}) const {
    return {false, std::move(rule), std::move(reason), std::move(change)};
  }
  [[nodiscard]] Maybe private_place(std::string_view root, std::string rule) const;
  [[nodiscard]] bool leads_to_a_grant() const;
  [[nodiscard]] Maybe by_home() const;
  [[nodiscard]] Maybe by_scratch() const;
  [[nodiscard]] Verdict by_proc() const;
  [[nodiscard]] Maybe by_device() const;
  [[nodiscard]] Maybe by_written_file() const;
  [[nodiscard]] Maybe by_way_to_something() const;
  [[nodiscard]] std::vector<std::string_view> ends_of_ways() const;

  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  Access access_;
  std::string_view path_;
};

// Writes succeed and reach nothing outside.
Maybe OwnPlace::private_place(std::string_view root, std::string rule) const {
  if (!contains(root, path_)) return std::nullopt;
  if (access_ == Access::Write) {
    return yes(std::move(rule), root == caller_.home && effective_.home == HomeMode::Persistent
                                    ? "private to the sandbox; nothing outside changes"
                                    : "private to the sandbox: written, and gone after the run");
  }
  if (path_ == root) return yes(std::move(rule), "private to the sandbox");
  return no(std::move(rule), "the place is private inside; the file outside is not visible",
            "--read " + quote(path_));
}

// As plan/native_plan.cc has it.
bool OwnPlace::leads_to_a_grant() const {
  if (access_ != Access::Write || effective_.home != HomeMode::Private) return false;
  return std::ranges::any_of(effective_.write, [&](const Grant& grant) {
    if (grant.path == caller_.home || !contains(caller_.home, grant.path)) return false;
    const auto below = components(std::string_view(grant.path).substr(caller_.home.size()));
    return below.size() > 1 && !below.front().starts_with('.') &&
           contains(join(caller_.home, below.front()), path_);
  });
}

Maybe OwnPlace::by_home() const {
  const bool exists = effective_.home == HomeMode::Persistent ||
                      (effective_.home == HomeMode::Private && effective_.scratch);
  if (!exists || caller_.home.empty()) return std::nullopt;
  if (leads_to_a_grant()) {
    return no(
        "home = \"private\"",
        "it only leads to a grant and is read-only, so that nothing is written where it would "
        "be gone",
        "--write " + quote(path_));
  }
  return private_place(caller_.home, "home = \"" + std::string(name_of(effective_.home)) + "\"");
}

Maybe OwnPlace::by_scratch() const {
  if (!effective_.scratch) return std::nullopt;
  const std::string rule = "scratch = \"" + format_size(*effective_.scratch) + "\"";
  for (const ScratchPlace& place : kScratchPlaces) {
    if (auto found = private_place(place.path, rule)) return found;
  }
  return std::nullopt;
}

Verdict OwnPlace::by_proc() const {
  const auto covers = [&](std::string_view masked) { return contains(masked, path_); };
  const bool masked =
      std::any_of(kMaskedProcFiles.begin(), kMaskedProcFiles.end(), covers) ||
      std::any_of(kMaskedProcDirectories.begin(), kMaskedProcDirectories.end(), covers);
  if (masked) return no("/proc", "it shows the machine rather than the sandbox, and is masked");
  if (access_ == Access::Write) return no("/proc", "it is read-only inside");
  if (access_ == Access::Execute) return no("/proc", "nothing in it can be executed");
  const std::vector<std::string_view> parts = components(path_);
  if (parts.size() > 1 && std::isdigit(static_cast<unsigned char>(parts[1].front())) != 0) {
    return no("/proc", "a fresh one that shows only the sandbox's own processes");
  }
  return yes("/proc", "a fresh one that shows the sandbox's own processes");
}

Maybe OwnPlace::by_device() const {
  const bool link = std::any_of(kDeviceLinks.begin(), kDeviceLinks.end(),
                                [&](const DeviceLink& at) { return at.path == path_; });
  if (!link && !lists(kDevices, path_) && !contains(kTerminals, path_)) return std::nullopt;
  if (access_ == Access::Execute) return no("/dev", "nothing in it can be executed");
  return yes("/dev", link || path_ == kTerminals ? "the sandbox's own streams and terminals"
                                                 : "one of the few devices every sandbox has");
}

Maybe OwnPlace::by_written_file() const {
  const bool network = lists(kNetworkFiles, path_);
  if (!network && !lists(kWrittenFiles, path_)) return std::nullopt;
  const std::string rule = "system \"" + std::string(path_) + "\"";
  if (access_ == Access::Write) return no(rule, "system files are read-only");
  if (access_ == Access::Execute) return no(rule, "what lies in /etc is only read");
  return yes(rule, network && effective_.net.mode == NetMode::Open
                       ? "the host's own, since the network is the host's"
                       : "written for the sandbox; the host's own is not visible");
}

std::vector<std::string_view> OwnPlace::ends_of_ways() const {
  std::vector<std::string_view> ends = {kTerminals, kEmptyDirectory, kWrittenFiles.front()};
  for (const Grant& grant : effective_.read) ends.push_back(grant.path);
  for (const Grant& grant : effective_.write) ends.push_back(grant.path);
  for (const SystemEntry& entry : facts_.system) ends.push_back(entry.path);
  if (effective_.home != HomeMode::None && !caller_.home.empty()) ends.push_back(caller_.home);
  if (effective_.scratch) {
    for (const ScratchPlace& place : kScratchPlaces) ends.push_back(place.path);
  }
  return ends;
}

Maybe OwnPlace::by_way_to_something() const {
  const std::vector<std::string_view> ends = ends_of_ways();
  const bool leads = std::any_of(ends.begin(), ends.end(),
                                 [&](std::string_view end) { return contains(path_, end); });
  if (!leads || access_ == Access::Execute) return std::nullopt;
  const std::string rule = "directory \"" + std::string(path_) + "\"";
  if (access_ == Access::Write) {
    return no(rule, "it is read-only inside", "--write " + quote(path_));
  }
  return yes(rule, "inside it holds only what leads to something else that is there");
}

}  // namespace

Maybe decide_own(const Effective& effective, const HostFacts& facts, const Caller& caller,
                 Access access, std::string_view path) {
  return OwnPlace(effective, facts, caller, access, path).verdict();
}

}  // namespace cordon
