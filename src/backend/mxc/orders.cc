#include "backend/mxc/orders.h"

#include <cstdint>
#include <cstring>
#include <variant>

#include "base/text.h"

namespace cordon::mxc {
namespace {

constexpr std::string_view kMark = "cordon executor orders 1";

class Packer {
 public:
  void text(std::string_view word) {
    number(word.size());
    bytes_.append(word);
  }
  void number(std::uint64_t value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
  }
  void list(const std::vector<std::string>& words) {
    number(words.size());
    for (const std::string& word : words) text(word);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Once something was wrong everything else is, too.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof value) return wrong();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left_.size()) {
      wrong();
      return {};
    }
    std::string word(left_.substr(0, size));
    left_.remove_prefix(size);
    // It becomes an argument of a system call, which would end there.
    if (word.find('\0') != std::string::npos) wrong();
    return word;
  }
  std::vector<std::string> list() {
    std::vector<std::string> words;
    for (std::uint64_t count = number(); count > 0 && good_; --count) words.push_back(text());
    return words;
  }
  template <typename Enum>
  Enum choice(Enum last) {
    const std::uint64_t value = number();
    if (value > static_cast<std::uint64_t>(last)) wrong();
    return good_ ? static_cast<Enum>(value) : Enum{};
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && left_.empty(); }

 private:
  std::uint64_t wrong() {
    good_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool good_ = true;
};

// The operations of the command's process, by the place they have in every plan for an executor.
void pack_confine(const Plan& plan, Packer& packer) {
  std::uint64_t limits = 0;
  int abi = 0;
  NetMode net = NetMode::None;
  for (const Op& operation : plan.confine) {
    if (std::holds_alternative<op::ResourceLimit>(operation)) ++limits;
    if (const auto* landlock = std::get_if<op::RestrictLandlock>(&operation)) abi = landlock->abi;
    if (const auto* filter = std::get_if<op::InstallSeccomp>(&operation)) net = filter->net;
  }
  packer.number(limits);
  for (const Op& operation : plan.confine) {
    if (const auto* limit = std::get_if<op::ResourceLimit>(&operation)) {
      packer.text(limit->name);
      packer.number(limit->value);
    }
  }
  packer.number(static_cast<std::uint64_t>(abi));
  packer.number(static_cast<std::uint64_t>(net));
}

void unpack_confine(Unpacker& unpacker, Plan& plan) {
  for (std::uint64_t count = unpacker.number(); count > 0 && unpacker.good(); --count) {
    std::string name = unpacker.text();
    plan.confine.emplace_back(op::ResourceLimit{std::move(name), unpacker.number()});
  }
  const auto abi = static_cast<int>(unpacker.number());
  const auto net = unpacker.choice(NetMode::Open);
  plan.confine.emplace_back(op::NoNewPrivileges{});
  plan.confine.emplace_back(op::RestrictLandlock{abi});
  plan.confine.emplace_back(op::CloseDescriptors{});
  plan.confine.emplace_back(op::NewSession{});
  plan.confine.emplace_back(op::NewKeyring{});
  plan.confine.emplace_back(op::ChangeDirectory{plan.cwd});
  plan.confine.emplace_back(op::InstallSeccomp{net, false});
  plan.confine.emplace_back(op::Execute{plan.argv});
}

}  // namespace

std::string pack_orders(const Plan& plan, bool terminal) {
  Packer packer;
  packer.text(kMark);
  packer.number(terminal ? 1 : 0);
  packer.text(plan.cwd);
  packer.list(plan.argv);
  packer.list(plan.candidates);
  packer.list(plan.environment);
  pack_confine(plan, packer);
  for (const Op& operation : plan.build) {
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule == nullptr) continue;
    packer.text(rule->path);
    packer.number(static_cast<std::uint64_t>(rule->use));
    packer.number(static_cast<std::uint64_t>(rule->kind));
    packer.number(rule->optional ? 1 : 0);
  }
  return packer.take();
}

std::optional<Orders> unpack_orders(std::string_view bytes) {
  Unpacker unpacker(bytes);
  if (unpacker.text() != kMark) return std::nullopt;
  Orders orders;
  orders.terminal = unpacker.number() == 1;
  Plan& plan = orders.plan;
  plan.backend = "mxc";
  plan.cwd = unpacker.text();
  plan.argv = unpacker.list();
  plan.candidates = unpacker.list();
  plan.environment = unpacker.list();
  unpack_confine(unpacker, plan);
  while (unpacker.good() && !unpacker.at_end()) {
    std::string path = unpacker.text();
    const auto use = unpacker.choice(LandlockUse::Device);
    const auto kind = unpacker.choice(FileKind::Other);
    const bool optional = unpacker.number() == 1;
    plan.build.emplace_back(op::LandlockAllow{std::move(path), use, kind, {}, optional});
  }
  if (!unpacker.good() || plan.argv.empty()) return std::nullopt;
  return orders;
}

}  // namespace cordon::mxc
