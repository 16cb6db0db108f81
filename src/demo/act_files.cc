#include <unistd.h>

#include "demo/acts.h"

namespace cordon::demo {
namespace {

constexpr std::string_view kWrittenNote = "written by the agent";

std::vector<std::string> append_to(const std::string& path) {
  return {"/bin/sh", "-c", R"(echo "$1" >> "$2")", "sh", std::string(kWrittenNote), path};
}

Scenario read_a_document(Stage& stage) {
  const std::string path = stage.home().at("Documents/report.txt");
  return stage.play("read a document", {{"/bin/cat", path}, {"~/Documents"}, {}, {}},
                    Expected::Allowed, [](const Report& report) {
                      const bool same =
                          report.outcome->out->head == std::string(ScratchHome::kReport) + "\n";
                      return Sight{same, same ? "the command printed the document"
                                              : "the command did not print the document"};
                    });
}

Scenario change_a_document(Stage& stage) {
  const std::string path = stage.home().at("Documents/report.txt");
  return stage.play("change a document", {append_to(path), {}, {"~/Documents"}, {}},
                    Expected::Blocked, [&](const Report&) {
                      const bool whole =
                          content_of(path) == std::string(ScratchHome::kReport) + "\n";
                      const bool possible = ::access(path.c_str(), W_OK) == 0;
                      return Sight{whole && possible,
                                   !whole     ? "the document was changed"
                                   : possible ? "the document is as it was; you could change it"
                                              : "nobody could change it: nothing was shown"};
                    });
}

Scenario write_to_temp(Stage& stage) {
  const std::string path = "/tmp/note-" + stage.home().token();
  return stage.play(
      "write to /tmp", {append_to(path), {}, {}, {}}, Expected::Allowed, [&](const Report&) {
        const bool outside = ::unlink(path.c_str()) == 0;
        return Sight{!outside, outside ? path + " appeared on the host"
                                       : "it was a private /tmp: the host's has no such file"};
      });
}

Scenario write_a_download(Stage& stage) {
  const std::string path = stage.home().at("Downloads/result.txt");
  return stage.play("write a download", {append_to(path), {}, {"~/Downloads"}, {}},
                    Expected::Allowed, [&](const Report&) {
                      const bool arrived = content_of(path) == std::string(kWrittenNote) + "\n";
                      return Sight{arrived, arrived ? "the file is there on the host"
                                                    : "the file did not arrive on the host"};
                    });
}

}  // namespace

Scenarios play_files(Stage& stage) {
  return {read_a_document(stage), change_a_document(stage), write_to_temp(stage),
          write_a_download(stage)};
}

}  // namespace cordon::demo
