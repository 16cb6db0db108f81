// Documents made by small choices over tiny alphabets, so that containment, equality and overlap
// happen in most cases.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cordon::testing {

// Random words read as a sequence of small choices; shrinking the words shrinks the documents.
class Choices {
 public:
  explicit Choices(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

  std::size_t below(std::size_t count) {
    if (range_ < count) refill();
    const std::size_t choice = left_ % count;
    left_ /= count;
    range_ /= count;
    return choice;
  }
  bool one_in(std::size_t count) { return below(count) == count - 1; }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  void refill() {
    left_ = next_ < words_.size() ? words_[next_++] : 0;
    range_ = ~std::uint64_t{0};
  }
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t range_ = 0;
};

inline Choices any_choices() {
  return Choices(*rc::gen::container<std::vector<std::uint64_t>>(
      48, rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>())));
}

}  // namespace cordon::testing
