#include "plan/codec.h"

#include <algorithm>
#include <cstring>

#include "plan/codec_members.h"

namespace cordon::codec {
namespace {

class Writer {
 public:
  template <typename T>
  void operator()(const T& value) const {
    if constexpr (is_number<T>) {
      number(static_cast<std::uint64_t>(value));
    } else {
      static_assert(kWhole<T>, "a member is missing in the line of this type");
      Members<T>::each(value, *this);
    }
  }
  void operator()(const std::string& value) const {
    number(value.size());
    text_.append(value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    number(values.size());
    for (const T& value : values) (*this)(value);
  }
  template <typename T, std::size_t Size>
  void operator()(const std::array<T, Size>& values) const {
    for (const T& value : values) (*this)(value);
  }
  void operator()(const Op& operation) const {
    number(operation.index());
    std::visit(*this, operation);
  }

  explicit Writer(std::string& text) : text_(text) {}

 private:
  void number(std::uint64_t value) const {
    std::array<char, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    text_.append(bytes.data(), bytes.size());
  }

  std::string& text_;
};

class Reader {
 public:
  struct Rest {
    std::string_view text;
    bool good = true;
  };
  explicit Reader(Rest& rest) : rest_(rest) {}

  template <typename T>
  void operator()(T& value) const {
    if constexpr (is_number<T>) {
      value = static_cast<T>(number());
    } else {
      Members<T>::each(value, *this);
    }
  }
  void operator()(std::string& value) const { value = bytes(number()); }
  template <typename T>
  void operator()(std::vector<T>& values) const {
    // Every value takes at least eight bytes, so that a wrong count cannot ask for more than that.
    const std::uint64_t count = number();
    if (count > rest_.text.size() / sizeof(std::uint64_t)) rest_.good = false;
    if (!rest_.good) return;
    values.resize(count);
    for (T& value : values) (*this)(value);
  }
  template <typename T, std::size_t Size>
  void operator()(std::array<T, Size>& values) const {
    for (T& value : values) (*this)(value);
  }
  void operator()(Op& operation) const {
    const std::uint64_t index = number();
    if (index >= std::variant_size_v<Op>) rest_.good = false;
    if (!rest_.good) return;
    become(operation, index, std::make_index_sequence<std::variant_size_v<Op>>());
    std::visit(*this, operation);
  }

 private:
  template <std::size_t... Indices>
  static void become(Op& operation, std::uint64_t index, std::index_sequence<Indices...>) {
    ((index == Indices ? static_cast<void>(operation.emplace<Indices>()) : void()), ...);
  }
  [[nodiscard]] std::string_view bytes(std::uint64_t size) const {
    if (size > rest_.text.size()) rest_.good = false;
    if (!rest_.good) return {};
    const std::string_view taken = rest_.text.substr(0, size);
    rest_.text.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] std::uint64_t number() const {
    std::uint64_t value = 0;
    const std::string_view taken = bytes(sizeof value);
    if (rest_.good) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }

  Rest& rest_;
};

// Every word of these becomes an argument of a system call, which would end at a zero byte.
bool has_zero(const Plan& plan) {
  const auto zero = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  return zero(plan.cwd) || std::ranges::any_of(plan.argv, zero) ||
         std::ranges::any_of(plan.candidates, zero) || std::ranges::any_of(plan.environment, zero);
}

}  // namespace
}  // namespace cordon::codec

namespace cordon {

std::string encode_plan(const Plan& plan) {
  std::string text;
  const codec::Writer writer(text);
  writer(plan);
  return text;
}

std::optional<Plan> decode_plan(std::string_view text) {
  codec::Reader::Rest rest{text};
  Plan plan;
  const codec::Reader reader(rest);
  reader(plan);
  if (!rest.good || !rest.text.empty() || codec::has_zero(plan)) return std::nullopt;
  return plan;
}

}  // namespace cordon
