#include "mcp/full/ask_inside.h"

#include "mcp/inside/inside.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

// The answer as a whole: what a report keeps of a stream is the operator's choice for commands.
class WholeAnswer {
 public:
  void add(OutputFrom from, std::string_view bytes) {
    if (from == OutputFrom::Out && text.size() + bytes.size() <= kMostInsideAnswer)
      text.append(bytes);
  }
  std::string text;
};

}  // namespace

InsideAnswer ask_inside(const FileCall& file, Policy policy, const std::string& operation,
                        const Node& request) {
  std::string text = write_json(request, JsonStyle::Compact);
  const std::vector<std::string> words = {std::string(kAskInside), operation, file.place().path,
                                          std::to_string(text.size())};
  WholeAnswer heard;
  const auto hear = [&heard](OutputFrom from, std::string_view bytes) { heard.add(from, bytes); };
  InsideAnswer answer{file.run(std::move(policy), words, std::move(text), Output::heard_by(hear)),
                      std::nullopt};
  if (answer.report.error || exit_status(answer.report.outcome->end) != 0) return answer;
  constexpr std::size_t kMostValues = 500'000;
  auto node = read_json_message(heard.text, {kMostInsideAnswer, kMostValues});
  if (node && node->map() != nullptr) answer.answer = std::move(*node);
  return answer;
}

ToolResult answer_for(const FileCall& file, const InsideAnswer& answer) {
  return answer.report.error ? file.not_started(answer.report) : file.blocked(answer.report);
}

std::string text_of(const Node& answer, std::string_view name) {
  const std::string* text = text_member(answer, name);
  return text != nullptr ? *text : std::string();
}

std::uint64_t number_of(const Node& answer, std::string_view name) {
  return static_cast<std::uint64_t>(number_member(answer, name).value_or(0));
}

}  // namespace cordon::mcp
