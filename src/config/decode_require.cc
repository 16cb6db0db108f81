#include <algorithm>
#include <array>

#include "config/decode.h"
#include "config/document_text.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kKeys{"layers", "accept_missing"};
constexpr std::array<Layer, 5> kLayers{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                       Layer::Capabilities, Layer::Cgroup};

Result<Layer> decode_layer(const Section& require, const PlacedText& word) {
  std::vector<std::string_view> names;
  for (const Layer layer : kLayers) {
    if (*word.text == name_of(layer)) return layer;
    names.push_back(name_of(layer));
  }
  std::string hint = suggestion(*word.text, names);
  if (hint.empty()) {
    hint = "the layers are";
    for (const std::string_view name : names) hint.append(" ").append(name);
  }
  return fail(require.error_at(*word.node, "unknown layer " + shown(*word.text), std::move(hint)));
}

Result<void> append_layers(const Section& require, std::string_view key,
                           std::vector<Layer>& layers) {
  CORDON_TRY(words, require.texts(key));
  for (const PlacedText& word : words) {
    CORDON_TRY(layer, decode_layer(require, word));
    layers.push_back(layer);
  }
  return {};
}

bool holds(const std::vector<Layer>& layers, Layer layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

// Going without every layer would be an unsandboxed mode, which does not exist.
Result<void> check_accepted(const Section& section, const RequireRules& require) {
  if (require.accept_missing.empty()) return {};
  const Node& list = *section.find("accept_missing");
  for (const Layer layer : require.accept_missing) {
    if (holds(require.layers, layer)) {
      return fail(section.error_at_key(
          list, shown(name_of(layer)) + " is both required and accepted missing",
          "keep it in one of the two lists"));
    }
  }
  const auto accepted = [&](Layer layer) { return holds(require.accept_missing, layer); };
  if (std::all_of(kLayers.begin(), kLayers.end(), accepted)) {
    return fail(section.error_at_key(list, "\"accept_missing\" in [require] names every layer",
                                     "at least one layer must hold"));
  }
  return {};
}

}  // namespace

Result<void> decode_require(const Section& document, DocumentRole role, RequireRules& require) {
  CORDON_TRY(section, document.member("require", kKeys));
  const Node* accepted = section.find("accept_missing");
  if (accepted != nullptr && role == DocumentRole::Policy) {
    return fail(section.error_at_key(*accepted,
                                     "\"accept_missing\" in [require] is for ceilings only",
                                     "move it to the operator's ceiling"));
  }
  CORDON_CHECK(append_layers(section, "layers", require.layers));
  CORDON_CHECK(append_layers(section, "accept_missing", require.accept_missing));
  return check_accepted(section, require);
}

}  // namespace cordon
