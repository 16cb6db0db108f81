#include "config/xml.h"

#include <expat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "config/node.h"

namespace cordon {
namespace {

// Takes the events of the parser, and ends it where a document is refused.
class XmlBuilder {
 public:
  explicit XmlBuilder(XML_Parser parser) : parser_(parser) {}

  void open(std::string_view name) {
    if (is_refused()) return;
    if (open_.size() == kMaxDocumentDepth) return refuse("nested deeper than 64");
    open_.push_back({std::string(name), {}, {}});
  }
  void add(std::string_view text) {
    if (!is_refused() && !open_.empty()) open_.back().text.append(text);
  }
  // The parser tells the end of an empty element even after it was stopped at its beginning.
  void close() {
    if (is_refused()) return;
    XmlElement closed = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) {
      outermost_ = std::move(closed);
    } else {
      open_.back().children.push_back(std::move(closed));
    }
  }
  void refuse(std::string reason) {
    refusal_ = std::move(reason);
    ::XML_StopParser(parser_, XML_FALSE);
  }

  [[nodiscard]] bool is_refused() const { return !refusal_.empty(); }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  XmlElement take() && { return std::move(outermost_); }

 private:
  XML_Parser parser_;
  std::string refusal_;
  std::vector<XmlElement> open_;
  XmlElement outermost_;
};

XmlBuilder& builder_of(void* data) { return *static_cast<XmlBuilder*>(data); }

void XMLCALL begin_element(void* data, const XML_Char* name, const XML_Char** /*attributes*/) {
  builder_of(data).open(name);
}

void XMLCALL end_element(void* data, const XML_Char* /*name*/) { builder_of(data).close(); }

void XMLCALL add_characters(void* data, const XML_Char* text, int size) {
  builder_of(data).add({text, static_cast<std::size_t>(size)});
}

void XMLCALL refuse_document_type(void* data, const XML_Char* /*name*/, const XML_Char* /*system*/,
                                  const XML_Char* /*public_name*/, int /*has_declarations*/) {
  builder_of(data).refuse("it has a document type");
}

}  // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  const auto found = std::ranges::find(children, child, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

Result<XmlElement> read_xml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxDocumentBytes) {
    return fail(document_error(name, Position{0, 0}, "document is larger than 1 MiB"));
  }
  const std::unique_ptr<XML_ParserStruct, decltype(&::XML_ParserFree)> parser(
      ::XML_ParserCreate(nullptr), &::XML_ParserFree);
  if (parser == nullptr) return fail(setup_error("no memory for a parser", ENOMEM));
  XmlBuilder builder(parser.get());
  ::XML_SetUserData(parser.get(), &builder);
  ::XML_SetElementHandler(parser.get(), begin_element, end_element);
  ::XML_SetCharacterDataHandler(parser.get(), add_characters);
  ::XML_SetStartDoctypeDeclHandler(parser.get(), refuse_document_type);
  const XML_Status status =
      ::XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (status == XML_STATUS_OK) return std::move(builder).take();
  const Position place{static_cast<unsigned>(::XML_GetCurrentLineNumber(parser.get())),
                       static_cast<unsigned>(::XML_GetCurrentColumnNumber(parser.get())) + 1};
  return fail(document_error(
      name, place,
      builder.is_refused() ? builder.refusal()
                           : std::string(::XML_ErrorString(::XML_GetErrorCode(parser.get())))));
}

}  // namespace cordon
