// Trees for property tests: made up freely, and compared by value without their places.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "config/node.h"

namespace cordon {

inline bool same_values(const Node& a, const Node& b);

// One overload per kind of value; two values of different kinds are never compared.
struct SameValue {
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
  bool operator()(const NodeList& a, const NodeList& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_values);
  }
  bool operator()(const NodeMap& a, const NodeMap& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.first == y.first && same_values(x.second, y.second);
    });
  }
};

inline bool same_values(const Node& a, const Node& b) {
  return std::visit(SameValue{}, a.value, b.value);
}

// Valid UTF-8 with every kind of character that needs care.
inline rc::Gen<std::string> generate_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(
                          rc::gen::elementOf(std::vector<std::string>{"a",
                                                                      "Z",
                                                                      "0",
                                                                      "_",
                                                                      "-",
                                                                      ".",
                                                                      "/",
                                                                      " ",
                                                                      "=",
                                                                      "#",
                                                                      "'",
                                                                      "\"",
                                                                      "\\",
                                                                      "\n",
                                                                      "\r",
                                                                      "\t",
                                                                      "\x01",
                                                                      "\x1B",
                                                                      "\x7F",
                                                                      "\xC3\xA9",
                                                                      "\xE2\x82\xAC",
                                                                      "\xF0\x9F\x98\x80",
                                                                      "$",
                                                                      "{",
                                                                      "]"})),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& piece : pieces) text += piece;
                        return text;
                      });
}

inline rc::Gen<Node> generate_node(int depth) {
  return rc::gen::exec([depth] {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 7 : 5);
    switch (kind) {
      case 0:
        return Node(nullptr);
      case 1:
        return Node(*rc::gen::arbitrary<bool>());
      case 2:
        return Node(*rc::gen::arbitrary<std::int64_t>());
      case 3: {
        const double number = *rc::gen::arbitrary<double>();
        return Node(std::isfinite(number) ? number : 0.5);
      }
      case 4:
        return Node(*generate_text());
      case 5: {
        NodeList list;
        const int size = *rc::gen::inRange(0, 4);
        for (int i = 0; i < size; ++i) list.push_back(*generate_node(depth - 1));
        return Node(std::move(list));
      }
      default: {
        Node map{NodeMap{}};
        const int size = *rc::gen::inRange(0, 4);
        for (int i = 0; i < size; ++i) {
          std::string key = *generate_text();
          if (map.find(key) == nullptr) map.set(std::move(key), *generate_node(depth - 1));
        }
        return map;
      }
    }
  });
}

}  // namespace cordon
