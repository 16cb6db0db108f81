#include "faces/doctor/host_hooks.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::string_view kBlockAtEnd = "|| exit 2";

bool is_text(const Node* node, std::string_view text) {
  return node != nullptr && node->text() != nullptr && *node->text() == text;
}

// Whether a pattern of the settings covers every one of the names. Only forms that leave no doubt
// count: nothing, everything, or the names themselves with bars between them.
bool covers(const Node* matcher, std::span<const std::string_view> names) {
  if (matcher == nullptr) return true;
  const std::string* text = matcher->text();
  if (text == nullptr) return false;
  if (text->empty() || *text == "*" || *text == ".*") return true;
  const auto parts = split(*text, '|');
  return std::ranges::all_of(
      names, [&](std::string_view name) { return std::ranges::find(parts, name) != parts.end(); });
}

// Whether a pattern may mean one of the names. Some hosts look for it anywhere in the name, so only
// plain words that stand in none of them mean none of them.
bool may_mean(const Node* matcher, std::span<const std::string_view> names) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|";
  const std::string* text = matcher == nullptr ? nullptr : matcher->text();
  if (text == nullptr || text->find_first_not_of(kPlain) != std::string::npos) return true;
  return std::ranges::any_of(split(*text, '|'), [&](std::string_view part) {
    return std::ranges::any_of(
        names, [&](std::string_view name) { return name.find(part) != std::string_view::npos; });
  });
}

// A host that runs the call after a hook failed does so unless the hook ends with status 2, so a
// hook that only names Cordon blocks nothing once Cordon is not there.
bool blocks_by_itself(const Node& hook, std::string_view command) {
  return command.ends_with(kBlockAtEnd) || is_text(hook.find("onFailure"), "block");
}

std::optional<std::string_view> unknown_member(const Node& map,
                                               std::span<const std::string_view> known) {
  if (map.map() == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(*map.map(), [&](const auto& member) {
    return std::ranges::find(known, member.first) == known.end();
  });
  return found == map.map()->end() ? std::nullopt : std::optional<std::string_view>(found->first);
}

// One hook that may be asked about the shell.
struct Asked {
  const Settings* settings;
  const Node* group;  // null where the host has none
  const Node* hook;
};

std::vector<Asked> asked_about_shell(std::span<const Settings> files, const HookForm& form) {
  std::vector<Asked> found;
  for (const Settings& settings : files) {
    const Node* entries = at(settings.document, {"hooks", form.event});
    if (entries == nullptr || entries->list() == nullptr) continue;
    for (const Node& entry : *entries->list()) {
      if (form.shape == HookForm::Shape::Flat) {
        found.push_back({&settings, nullptr, &entry});
        continue;
      }
      const Node* hooks = entry.find("hooks");
      if (!may_mean(entry.find("matcher"), form.shell) || hooks == nullptr ||
          hooks->list() == nullptr) {
        continue;
      }
      for (const Node& hook : *hooks->list()) found.push_back({&settings, &entry, &hook});
    }
  }
  return found;
}

const std::string* cordon_line(const Asked& asked, const HookForm& form) {
  const Node* command = asked.hook->find(form.command);
  const std::string* text = command == nullptr ? nullptr : command->text();
  return text != nullptr && is_hook_call(*text, form.host) ? text : nullptr;
}

// What keeps this hook from being asked, or makes it another one than its line says.
std::optional<std::string> not_judged(const Asked& asked, const HookForm& form) {
  const std::string file = quote(asked.settings->path);
  if (cordon_line(asked, form) == nullptr) {
    return "another hook in " + file + " is asked about the shell too, and may change the call";
  }
  constexpr std::array<std::string_view, 3> kGroup{"matcher", "hooks", "sequential"};
  if (const auto member =
          asked.group == nullptr ? std::nullopt : unknown_member(*asked.group, kGroup)) {
    return "the group of the hook in " + file + " has " + shown(*member) +
           ", and may not be asked each time: leave it out";
  }
  if (!is_text(asked.hook->find("type"), "command")) {
    return "the hook in " + file + " is not of \"type\": \"command\"";
  }
  std::vector<std::string_view> known{"type", form.command, form.time};
  known.insert(known.end(), form.remarks.begin(), form.remarks.end());
  if (is_text(asked.hook->find("onFailure"), "block")) known.emplace_back("onFailure");
  if (const auto member = unknown_member(*asked.hook, known)) {
    return "the hook in " + file + " has " + shown(*member) +
           ", and may not be asked or waited for each time: leave it out";
  }
  return std::nullopt;
}

// Why a hook that calls Cordon lets a call through as it came.
std::optional<std::string> lets_through(const Asked& asked, const HookForm& form) {
  const std::string file = quote(asked.settings->path);
  if (form.failure == HookForm::Failure::RunsCall &&
      !blocks_by_itself(*asked.hook, *cordon_line(asked, form))) {
    return "the hook in " + file +
           " does not end in \"|| exit 2\": without Cordon the command would run";
  }
  const Node* time = asked.hook->find(form.time);
  const auto* given = time == nullptr ? nullptr : std::get_if<std::int64_t>(&time->value);
  if (time != nullptr && (given == nullptr || *given < form.half_minute)) {
    return "the hook in " + file +
           " has less than 30 seconds, and is passed over when they are up: leave " +
           shown(form.time) + " out, or write " + std::to_string(form.half_minute);
  }
  return std::nullopt;
}

bool is_harmless(const Node& value, HookSwitch::Harmless harmless) {
  const bool* on = std::get_if<bool>(&value.value);
  switch (harmless) {
    case HookSwitch::Harmless::True:
      return on != nullptr && *on;
    case HookSwitch::Harmless::False:
      return on != nullptr && !*on;
    case HookSwitch::Harmless::EmptyList:
      return value.list() != nullptr && value.list()->empty();
  }
  return false;
}

// What switches every hook of these settings off, or some of them.
std::optional<OwnTools> switched_off(std::span<const Settings> files,
                                     std::span<const HookSwitch> switches) {
  for (const Settings& settings : files) {
    for (const HookSwitch& off : switches) {
      const Node* value = settings.document.find(off.key);
      std::string name(off.key);
      if (value != nullptr && value->map() != nullptr && !off.below.empty()) {
        value = value->find(off.below);
        name.append(".").append(off.below);
      }
      if (value == nullptr || is_harmless(*value, off.harmless)) continue;
      return OwnTools{ToolReach::Outside,
                      name + " in " + quote(settings.path) + " switches hooks off"};
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_hook_call(std::string_view command, std::string_view host) {
  if (command.ends_with(kBlockAtEnd)) command.remove_suffix(kBlockAtEnd.size());
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:@%+ ";
  if (command.find_first_not_of(kPlain) != std::string_view::npos) return false;
  auto words = split(command, ' ');
  std::erase_if(words, [](const auto& word) { return word.empty(); });
  if (words.size() < 3) return false;
  const std::string_view program = words[0];
  const bool is_cordon = program == "cordon" || program.ends_with("/cordon");
  return is_cordon && words[1] == "hook" && words[2] == host &&
         std::ranges::none_of(words,
                              [](const auto& word) { return word == "-h" || word == "--help"; });
}

std::optional<OwnTools> by_hook(std::span<const Settings> own, std::span<const Settings> others,
                                const HookForm& form) {
  const auto mine = asked_about_shell(own, form);
  const auto theirs = asked_about_shell(others, form);
  const auto calls = [&](const Asked& asked) { return cordon_line(asked, form) != nullptr; };
  if (std::ranges::none_of(mine, calls)) {
    const auto found = std::ranges::find_if(theirs, calls);
    if (found == theirs.end()) return std::nullopt;
    return OwnTools{ToolReach::Outside,
                    "the hook in " + quote(found->settings->path) +
                        " is one of the project, which takes it away again: write it into the "
                        "settings of the person"};
  }
  for (const auto files : {own, others}) {
    if (auto off = switched_off(files, form.switches)) return off;
  }
  for (const auto& hooks : {mine, theirs}) {
    for (const Asked& asked : hooks) {
      if (auto why = not_judged(asked, form)) return OwnTools{ToolReach::Outside, std::move(*why)};
    }
  }
  std::optional<OwnTools> weak;
  for (const Asked& asked : mine) {
    if (asked.group != nullptr && !covers(asked.group->find("matcher"), form.shell)) continue;
    auto why = lets_through(asked, form);
    if (!why) {
      return OwnTools{ToolReach::Contained, "a hook in " + quote(asked.settings->path)};
    }
    weak = OwnTools{ToolReach::Outside, std::move(*why)};
  }
  return weak;
}

bool names_hook(std::span<const Settings> files, std::string_view event, std::string_view host) {
  const std::string wanted = "cordon hook " + std::string(host);
  return std::ranges::any_of(files, [&](const Settings& settings) {
    const Node* groups = at(settings.document, {"hooks", event});
    return groups != nullptr &&
           write_json(*groups, JsonStyle::Compact).find(wanted) != std::string::npos;
  });
}

}  // namespace cordon
