// Reads XML into a tree of elements: for settings of other tools, of which a few values are taken.
// Attributes, comments and processing instructions are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cordon {

struct XmlElement {
  std::string name;  // as it is written, with its prefix
  std::string text;  // all that stands directly in it, as UTF-8
  std::vector<XmlElement> children;

  // The first child of that name; null if there is none.
  [[nodiscard]] const XmlElement* find(std::string_view child) const;
};

// The outermost element. Refused, with the place: what is not well-formed, a document type
// (entities could be made to grow, or to name other files), nesting deeper than 64, more than 1
// MiB. `name` is used in messages only.
Result<XmlElement> read_xml(std::string_view text, const std::string& name);

}  // namespace cordon
